/* Doubling arrays. */
#include "list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *ptx_list_add(ptx_list *list, size_t size) {
  void *item;
  if (list->count == list->room) {
    size_t room = list->room ? list->room * 2 : 16;
    void *items;
    if (room > SIZE_MAX / 2 / size)
      return NULL;
    items = realloc(list->items, room * size);
    if (!items)
      return NULL;
    list->items = items;
    list->room = room;
  }
  item = (char *)list->items + list->count++ * size;
  memset(item, 0, size);
  return item;
}

void ptx_list_free(ptx_list *list) {
  free(list->items);
  *list = (ptx_list){0};
}
