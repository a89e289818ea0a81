/* table.h: Lua tables as Python containers. In a door's body. */
#ifndef XCHG_PYTHON_TABLE_H
#define XCHG_PYTHON_TABLE_H

#include "python/convert.h"

typedef enum {
  XCHG_TABLE_BY_KEYS, /* a list or a dict, whichever the keys say; else refused */
  XCHG_TABLE_LIST,    /* elements 1 to #t; other keys are refused */
  XCHG_TABLE_DICT     /* any keys */
} xchg__table_kind;

/* A new reference on the container made of the table at `index`. Tables inside it are converted by their keys;
 * a table that occurs twice, or inside itself, becomes one object. Raises what it cannot convert. */
PyObject *xchg__table_convert(lua_State *L, int index, xchg__table_kind kind, const xchg__spot *spot);

/* The same for a table inside a table. */
PyObject *xchg__table_convert_nested(lua_State *L, int index, xchg__conversion *conversion, const xchg__spot *spot);

/* Registers the metatable of keyword tables and leaves it on the stack: python.kwargs gives it to {table}. */
void xchg__table_open(lua_State *L);
/* 1, and pushes the table inside, if the value at `index` is a keyword table. */
int xchg__table_keywords(lua_State *L, int index);

#endif
