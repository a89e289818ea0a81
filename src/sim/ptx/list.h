/* An array that grows: what the parser gathers before it is copied to the arena in its final size. */
#ifndef SIM_PTX_LIST_H
#define SIM_PTX_LIST_H

#include <stddef.h>

typedef struct {
  void *items; /* owned */
  size_t count, room;
} ptx_list;

/* A zeroed item at the end, valid until the next one; NULL without memory. `size`: of one item, always the same for
   a list. */
void *ptx_list_add(ptx_list *list, size_t size);
void ptx_list_free(ptx_list *list);

/* Item i as a pointer to `type`. */
#define PTX_LIST_AT(list, type, i) (&((type *)(list).items)[i])

#endif
