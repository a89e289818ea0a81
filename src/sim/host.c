/* Asks the system about addresses. */
#include "host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Linux 5.14; older C libraries do not name them. */
enum { POPULATE_READ = 22, POPULATE_WRITE = 23 };
/* Touching every page costs a tenth of the copy itself; from here on reading the list of mappings is cheaper. */
static const uint64_t list_from = 1 << 20;

/* By the list of mappings. Where it cannot be read, all is taken for usable. */
static bool list_usable(uint64_t address, uint64_t end, bool write) {
  FILE *list = fopen("/proc/self/maps", "re");
  if (!list)
    return true;
  char line[512];
  bool line_begins = true;
  while (address < end && fgets(line, sizeof line, list)) {
    uint64_t first, past;
    char rights[5];
    bool complete = false;
    for (const char *at = line; *at; at++)
      complete |= *at == '\n';
    bool read = line_begins && sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &first, &past, rights) == 3;
    line_begins = complete;
    if (!read || past <= address)
      continue;
    if (first > address || rights[write] == '-')
      break;
    address = past;
  }
  fclose(list);
  return address >= end;
}

bool sim_host_usable(uint64_t address, uint64_t size, bool write) {
  if (!size)
    return true;
  if (!address || size > UINT64_MAX / 2 || address > UINT64_MAX / 2 - size)
    return false;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = address / page * page, end = address + size;
  if (size < list_from) {
    int saved = errno;
    int failed = madvise((void *)(uintptr_t)begin, end - begin, write ? POPULATE_WRITE : POPULATE_READ) ? errno : 0;
    errno = saved;
    /* EINVAL: an older system, or a mapping of a device. */
    if (failed != EINVAL && failed != EINTR)
      return !failed;
  }
  return list_usable(address, end, write);
}

bool sim_host_read(const sim_host_piece *pieces, size_t count) {
  enum { MOST = 64 };
  struct iovec to[MOST], from[MOST];
  size_t total = 0;
  for (size_t i = 0; i < count; i++) {
    to[i] = (struct iovec){pieces[i].to, pieces[i].size};
    from[i] = (struct iovec){(void *)(uintptr_t)pieces[i].from, pieces[i].size};
    total += pieces[i].size;
  }
  int saved = errno;
  ssize_t got = process_vm_readv(getpid(), to, count, from, count, 0);
  int failed = got < 0 ? errno : 0;
  errno = saved;
  /* Sandboxes refuse the call: then the pointers are believed, but for those that cannot be. */
  if (failed && failed != EFAULT && failed != EIO) {
    for (size_t i = 0; i < count; i++) {
      if (!sim_host_usable((uintptr_t)pieces[i].from, pieces[i].size, false))
        return false;
      memcpy(pieces[i].to, pieces[i].from, pieces[i].size);
    }
    return true;
  }
  return (size_t)got == total;
}
