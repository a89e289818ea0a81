#include "python/name.h"

#include <stdlib.h>
#include <string.h>

#include "core/release.h"
#include "lua/raise.h"

enum {
  CACHE_SIZE = 256 /* entries, a power of two */
};

typedef struct {
  const char *text; /* of the Lua string, whose address is its identity while it lives */
  PyObject *name;   /* one reference */
} entry;

/* Apart from the userdata: it outlives it in the release queue. */
typedef struct {
  xchg_release release;
  entry entries[CACHE_SIZE];
} cache;

static void cache_release(xchg_release *release, int python) {
  cache *self = (cache *)release;
  for (int i = 0; python && i < CACHE_SIZE; i++)
    xchg__py.Py_DecRef(self->entries[i].name);
  free(self);
}

static int cache_gc(lua_State *L) {
  cache **self = lua_touserdata(L, 1);
  if (*self != NULL)
    xchg__release_push(&(*self)->release);
  *self = NULL;
  return 0;
}

/* The userdata's environment holds the Lua strings, each under the number of its entry. */
void xchg__name_push_cache(lua_State *L) {
  cache **self = lua_newuserdata(L, sizeof *self);
  *self = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, cache_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_createtable(L, CACHE_SIZE, 0);
  lua_setfenv(L, -2);
  *self = calloc(1, sizeof **self);
  if (*self == NULL)
    xchg__raisef(L, XCHG_E_MEMORY, "python: out of memory");
  (*self)->release.run = cache_release;
}

static unsigned entry_number(const char *text) {
  uintptr_t address = (uintptr_t)text >> 3;
  return (unsigned)(address ^ (address >> 8) ^ (address >> 16)) % CACHE_SIZE;
}

PyObject *xchg__name_get(lua_State *L, int cache_index, int index) {
  cache *self = *(cache **)lua_touserdata(L, cache_index);
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  unsigned number = entry_number(text);
  entry *found = self != NULL ? &self->entries[number] : NULL; /* none once the state is closing */
  PyObject *name, *old;
  if (found != NULL && found->text == text) {
    xchg__py.Py_IncRef(found->name);
    return found->name;
  }
  name = xchg__py.PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, NULL);
  if (name == NULL) {
    xchg__py.PyErr_Clear();
    xchg__raisef(L, XCHG_E_ARGUMENT, "python: the attribute name is not UTF-8");
  }
  xchg__py.PyUnicode_InternInPlace(&name);
  if (found == NULL)
    return name;
  lua_getfenv(L, cache_index); /* neither allocates: the stack has room, and the table its full size */
  lua_pushvalue(L, index);
  lua_rawseti(L, -2, (int)number + 1);
  lua_pop(L, 1);
  old = found->name;
  xchg__py.Py_IncRef(name);
  found->name = name;
  found->text = text;
  xchg__py.Py_DecRef(old);
  return name;
}

PyObject *xchg__name_own(int name) {
  static PyObject *names[XCHG_NAME_COUNT];
  static const char *const texts[XCHG_NAME_COUNT] = {
#define NAME_TEXT(enumerator, text) text,
      XCHG_NAMES(NAME_TEXT)
#undef NAME_TEXT
  };
  if (names[name] == NULL)
    names[name] = xchg__py.PyUnicode_InternFromString(texts[name]);
  return names[name];
}

int xchg__name_lookup_object(PyObject *object, PyObject *name, PyObject **out) {
  if (xchg__py.PyObject_GetOptionalAttr != NULL)
    return xchg__py.PyObject_GetOptionalAttr(object, name, out);
  if (xchg__py._PyObject_LookupAttr != NULL)
    return xchg__py._PyObject_LookupAttr(object, name, out);
  *out = xchg__py.PyObject_GetAttr(object, name);
  if (*out != NULL)
    return 1;
  if (!xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_AttributeError))
    return -1;
  xchg__py.PyErr_Clear();
  return 0;
}

int xchg__name_lookup(PyObject *object, int name, PyObject **out) {
  PyObject *text = xchg__name_own(name);
  *out = NULL;
  return text != NULL ? xchg__name_lookup_object(object, text, out) : -1;
}
