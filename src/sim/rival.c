/* Looks through the loaded objects. An alias of ours names libxchg_sim.so among what it needs. */
#include "rival.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  char *path;
  size_t room;
  bool found;
} search;

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info) {
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  return NULL;
}

static int object_look(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  search *wanted = data;
  const ElfW(Dyn) *dynamic = dynamic_of(info);
  const char *strings = NULL, *name = "";
  for (const ElfW(Dyn) *each = dynamic; each && each->d_tag != DT_NULL; each++)
    if (each->d_tag == DT_STRTAB)
      strings = (const char *)each->d_un.d_ptr;
  /* The loader has made the address absolute, but for the vdso. */
  if (!strings || (uintptr_t)strings < info->dlpi_addr)
    return 0;
  bool ours = false;
  for (const ElfW(Dyn) *each = dynamic; each->d_tag != DT_NULL; each++) {
    if (each->d_tag == DT_SONAME)
      name = strings + each->d_un.d_val;
    if (each->d_tag == DT_NEEDED && !strcmp(strings + each->d_un.d_val, "libxchg_sim.so"))
      ours = true;
  }
  if (strcmp(name, "libcuda.so.1") || ours)
    return 0;
  snprintf(wanted->path, wanted->room, "%s", info->dlpi_name);
  wanted->found = true;
  return 1;
}

bool sim_rival_find(char *path, size_t room) {
  search wanted = {path, room, false};
  dl_iterate_phdr(object_look, &wanted);
  return wanted.found;
}
