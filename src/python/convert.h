/* convert.h: values between Lua and Python. All of it in a door's body.
 *
 * Lua to Python: nil None; boolean bool; number int where it is integral, at most 2^53 in magnitude and not
 * -0.0, else float; int64_t and uint64_t cdata int; string str (strict UTF-8); a sequence list; a table with only
 * string keys dict; box its object; tensor by the registered hook. Everything else is refused by name.
 *
 * Python to Lua: None nil; bool; int a number where that is exact (at most 2^53 in magnitude), else int64_t or
 * uint64_t cdata where it fits, else boxed; float (NaN canonical); str UTF-8, lone surrogates of undecodable
 * bytes giving those bytes back; bytes. Instances of subclasses of these convert too (numpy.float64, IntEnum);
 * everything else is boxed: numpy.int64 and numpy.float32 are no such subclasses. */
#ifndef XCHG_PYTHON_CONVERT_H
#define XCHG_PYTHON_CONVERT_H

#include <lua.h>

#include "python/libpython.h"

/* New reference for the Lua value at `index`. A value that cannot be converted raises a Lua error that names
 * `what` ("argument 2") and the cure; no reference is lost. */
PyObject *xchg__convert_from_lua(lua_State *L, int index, const char *what);
/* The same, named by its position among the arguments. */
PyObject *xchg__convert_argument(lua_State *L, int index, int position);

/* The same, owned by the door. */
PyObject *xchg__convert_own(lua_State *L, int index, int position);

/* Pushes the Lua value for `object`, whose reference is stolen in every case. */
void xchg__convert_to_lua(lua_State *L, PyObject *object);
/* The same, with python.None for None: where nil would end a loop or leave a hole. */
void xchg__convert_element_to_lua(lua_State *L, PyObject *object);

/* Pushes a str as a string whatever is in it; what no bytes stand for is escaped. Steals. For people to read. */
void xchg__convert_text_to_lua(lua_State *L, PyObject *text);

/* Upward hook: exchange/export registers how a tensor cdata becomes a Python object (new reference, or
 * NULL with an exception set). */
void xchg__convert_register_tensor(PyObject *(*convert)(lua_State *L, const void *payload));

/* ---- for the conversion of tables --------------------------------------------------------------- */

/* Where in an argument a value stands. */
typedef struct xchg__spot {
  const struct xchg__spot *outer; /* NULL: it is the argument itself */
  const char *what;               /* the argument's name; NULL: "argument <position>" */
  int position;                   /* of the argument, or the element's index where key is NULL */
  const char *key;
} xchg__spot;

/* New reference for the value at `index`, which stands at `spot`. */
PyObject *xchg__convert_at(lua_State *L, int index, const xchg__spot *spot);

/* One argument under conversion. */
typedef struct {
  int memo;  /* stack index of {[table] = number in keep}, nil until it is needed */
  int root;  /* stack index of the argument */
  int keep;  /* mark: the door's reference on a list of what was made of tables; NULL until it is needed */
  int depth; /* of nested tables */
  PyObject *root_object;
} xchg__conversion;

/* The same for a value inside the argument. */
PyObject *xchg__convert_value(lua_State *L, int index, xchg__conversion *conversion, const xchg__spot *spot);

/* Raises "python: argument 2[3].name: <text>". Does not return. */
void xchg__convert_refuse(lua_State *L, int code, const xchg__spot *spot, const char *text);

#endif
