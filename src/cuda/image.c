#include "core/error.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FATBIN_MAGIC UINT32_C(0xBA55ED50)
#define FATBIN_WRAPPER_MAGIC UINT32_C(0x466243B1)

enum { FATBIN_HEADER = 16, FATBIN_ENTRY = 64 };

static const uint64_t LARGEST = INT32_MAX;

static int refuse(xchg_error *err, const char *what) {
  return xchg__error_set(err, XCHG_E_ARGUMENT, "load: %s; PTX text, a cubin or a fatbin is expected, whole", what);
}

/* Whether `count` things of `each` bytes from `offset` on lie inside. */
static int fits(uint64_t offset, uint64_t count, uint64_t each, uint64_t size) {
  return offset <= size && (each == 0 || count <= (size - offset) / each);
}

static int cubin_check(const char *image, size_t size, xchg_error *err) {
  Elf64_Ehdr head;
  if (size < sizeof head)
    return refuse(err, "this cubin ends inside of its header");
  memcpy(&head, image, sizeof head);
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
    return refuse(err, "this is an ELF file, but no 64-bit little-endian one");
  if (head.e_machine != EM_CUDA)
    return refuse(err, "this is an ELF file for another machine than a CUDA device");
  if (head.e_shnum == 0 || head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shstrndx >= head.e_shnum ||
      (head.e_phnum != 0 && head.e_phentsize != sizeof(Elf64_Phdr)))
    return refuse(err, "the header of this cubin makes no sense");
  if (!fits(head.e_shoff, head.e_shnum, sizeof(Elf64_Shdr), size) ||
      !fits(head.e_phoff, head.e_phnum, sizeof(Elf64_Phdr), size))
    return refuse(err, "this cubin ends before its tables");
  for (unsigned i = 0; i < head.e_shnum; i++) {
    Elf64_Shdr section;
    memcpy(&section, image + head.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
        !fits(section.sh_offset, section.sh_size, 1, size))
      return refuse(err, "this cubin ends before one of its sections");
    if ((section.sh_type == SHT_SYMTAB || section.sh_type == SHT_STRTAB) && section.sh_link >= head.e_shnum)
      return refuse(err, "the sections of this cubin make no sense");
  }
  for (unsigned i = 0; i < head.e_phnum; i++) {
    Elf64_Phdr part;
    memcpy(&part, image + head.e_phoff + i * sizeof part, sizeof part);
    if (!fits(part.p_offset, part.p_filesz, 1, size))
      return refuse(err, "this cubin ends before one of its segments");
  }
  return XCHG_CUDA_IMAGE_CUBIN;
}

/* A header {magic, version, its own size, size of what follows}, then entries {kind, version, own size, size}. */
static int fatbin_check(const char *image, size_t size, xchg_error *err) {
  uint16_t head_size;
  uint64_t body, at, end;
  if (size < FATBIN_HEADER)
    return refuse(err, "this fatbin ends inside of its header");
  memcpy(&head_size, image + 6, sizeof head_size);
  memcpy(&body, image + 8, sizeof body);
  if (head_size < FATBIN_HEADER || head_size > size || !fits(head_size, body, 1, size))
    return refuse(err, "this fatbin is shorter than its header says");
  if (body == 0)
    return refuse(err, "this fatbin is empty");
  at = head_size;
  end = head_size + body;
  while (at < end) {
    uint32_t entry_head;
    uint64_t entry_size;
    if (end - at < FATBIN_ENTRY)
      return refuse(err, "this fatbin ends inside of an entry's header");
    memcpy(&entry_head, image + at + 4, sizeof entry_head);
    memcpy(&entry_size, image + at + 8, sizeof entry_size);
    if (entry_head < FATBIN_ENTRY || entry_head > end - at || entry_size > end - at - entry_head)
      return refuse(err, "an entry of this fatbin is longer than the rest of it");
    at += entry_head + entry_size;
  }
  return XCHG_CUDA_IMAGE_FATBIN;
}

/* The first word decides, comments before it aside. */
static int ptx_check(const char *image, size_t size, xchg_error *err) {
  size_t at = 0;
  if (memchr(image, '\0', size) != NULL)
    return refuse(err, "this is neither ELF nor a fatbin, and as text it contains a NUL byte");
  while (at < size) {
    if (isspace((unsigned char)image[at])) {
      at++;
    } else if (size - at >= 2 && image[at] == '/' && image[at + 1] == '/') {
      const char *line = memchr(image + at, '\n', size - at);
      at = line != NULL ? (size_t)(line - image) + 1 : size;
    } else if (size - at >= 2 && image[at] == '/' && image[at + 1] == '*') {
      const char *close = memmem(image + at + 2, size - at - 2, "*/", 2);
      at = close != NULL ? (size_t)(close - image) + 2 : size;
    } else {
      break;
    }
  }
  if (size - at < 8 || memcmp(image + at, ".version", 8) != 0)
    return refuse(err, "this is not PTX text (which begins with .version), no ELF file and no fatbin");
  return XCHG_CUDA_IMAGE_PTX;
}

int32_t xchg_cuda_image_check(const char *image, size_t size, xchg_error *err) {
  uint32_t magic = 0;
  while (size > 0 && image[size - 1] == '\0' && memchr("\177\x50", image[0], 2) == NULL)
    size--; /* text may bring its NUL */
  if (size == 0)
    return refuse(err, "the image is empty");
  if (size > LARGEST)
    return xchg__error_set(err, XCHG_E_RANGE, "load: an image of %zu bytes; 2 GiB are the most", size);
  if (size >= sizeof magic)
    memcpy(&magic, image, sizeof magic);
  if (magic == FATBIN_MAGIC)
    return fatbin_check(image, size, err);
  if (magic == FATBIN_WRAPPER_MAGIC)
    return refuse(err,
                  "this is the wrapper of a fatbin, which holds addresses; the fatbin itself begins with 50 ED 55 BA");
  if (memcmp(image, ELFMAG, size < SELFMAG ? size : SELFMAG) == 0)
    return size < SELFMAG ? refuse(err, "this cubin ends inside of its header") : cubin_check(image, size, err);
  return ptx_check(image, size, err);
}

int32_t xchg_cuda_image_read(char **out, size_t *size, const char *path, xchg_error *err) {
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), code = 0;
  struct stat info;
  char *image = NULL;
  *out = NULL;
  *size = 0;
  if (file < 0)
    return xchg__error_set(err, XCHG_E_ARGUMENT,
                           "load: %.200s: %s; PTX text, a cubin, a fatbin or the path of such a file is expected", path,
                           strerror(errno));
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > INT32_MAX)
    code = xchg__error_set(err, XCHG_E_ARGUMENT, "load: %.200s is no file of code", path);
  else if ((image = malloc((size_t)info.st_size + 1)) == NULL)
    code = xchg__error_set(err, XCHG_E_MEMORY, "load: no memory for the %lld bytes of %.200s", (long long)info.st_size,
                           path);
  while (code == 0 && *size < (size_t)info.st_size) {
    ssize_t part = read(file, image + *size, (size_t)info.st_size - *size);
    if (part > 0)
      *size += (size_t)part;
    else if (part == 0 || errno != EINTR)
      break;
  }
  close(file);
  if (code == 0 && *size != (size_t)info.st_size)
    code = xchg__error_set(err, XCHG_E_ARGUMENT, "load: %.200s could not be read to its end", path);
  if (code != 0) {
    free(image);
    *size = 0;
    return code;
  }
  *out = image;
  return 0;
}

void xchg_cuda_image_free(char *image) {
  free(image);
}
