/* module.c: luaopen_xchg_core. Makes what one Lua state owns (tensor slots, the weak table of its
 * tensors, the sentinel that tells when a GC cycle has ended) and registers the lua_CFunction doors. */
#include <dlfcn.h>
#include <lauxlib.h>
#include <string.h>
#include <time.h>

#include "abi.h"
#include "core/counter.h"
#include "core/tensor.h"
#include "cuda/closure.h"
#include "cuda/pending.h"
#include "cuda/stream.h"
#include "cuda/use.h"
#include "exchange/exchange.h"
#include "lua/cdata.h"
#include "lua/raise.h"
#include "lua/tensor.h"
#include "python/interpreter.h"
#include "python/open.h"

#define ARENA_METATABLE "xchg.arena"
#define SENTINEL_METATABLE "xchg.sentinel"
#define CORE "xchg.core"
#define TENSORS "xchg.tensors" /* registry: the weak table {[slot] = tensor} */
#define THREAD "xchg.thread"   /* registry: the thread that opened the core, kept for its questions to the collector */

#ifndef LUA_GCISRUNNING
#  define LUA_GCISRUNNING 9 /* LuaJIT's; headers of Lua 5.1 lack it */
#endif

enum { SKIPPED_SWEEPS = 256 };

/* ---- dead tensors ------------------------------------------------------------------------------ */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* 1 inside a finalizer of Lua, where the collector is held; also where the program has stopped it. */
static int arena_collecting(void *lua) {
  return lua_gc(lua, LUA_GCISRUNNING, 0) == 0;
}

/* Frees the slots whose tensor has vanished from the weak table, and those that wait for it. Pure C: queued releases
 * stay queued. */
static void arena_sweep(lua_State *L, xchg_slots *slots) {
  int32_t numbers = slots->chunk_count * XCHG_SLOTS_PER_CHUNK;
  /* A debug hook may have called us in the making of a tensor. But an error there leaves the count up for ever. */
  if (slots->head.busy > 0 && ++slots->skipped < SKIPPED_SWEEPS)
    return;
  slots->skipped = slots->head.busy = 0;
  slots->head.attention &= ~XCHG_ATTEND_SWEEP;
  lua_getfield(L, LUA_REGISTRYINDEX, TENSORS);
  for (int32_t number = 1; number <= numbers; number++) {
    const xchg_slot *slot = xchg__slot_get(slots, number);
    if (slot == NULL)
      continue;
    lua_rawgeti(L, -1, number);
    if (slot->doomed && lua_type(L, -1) == XCHG_LUA_TCDATA) {
      xchg_tensor *head = (xchg_tensor *)(uintptr_t)lua_topointer(L, -1);
      if (head->_slot == 0) /* else it has come back to life, in another slot */
        xchg__tensor_poison(head);
    }
    if (slot->doomed || lua_isnil(L, -1))
      xchg__slot_free(slots, number);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  xchg__budget_settle();
}

/* Runs queued releases if Python can run now; where it has gone they are forgotten by their own rules, and where it
 * cannot be entered from here they wait. Before it, what waited for streams is looked at; `wait` waits for them. */
static void release_drain(int wait) {
  xchg__gil_state gil;
  xchg__use_poll(wait);
  if (!xchg__release_waiting())
    return;
  if (xchg__gil_borrow(&gil)) {
    xchg__release_drain(1);
    xchg__gil_leave(gil);
  } else if (!xchg__python_alive()) {
    xchg__release_drain(0);
  }
}

/* core.attend(): does what arena.attention asks for. Called from Lua's cold branches only. */
static int core_attend(lua_State *L) {
  xchg_slots *slots = lua_touserdata(L, lua_upvalueindex(1));
  int32_t wanted = slots->head.attention;
  /* What a finalizer has interrupted may be reading memory that a sweep would free. */
  if (arena_collecting(L) && xchg__slots_doomed_few(slots))
    wanted &= XCHG_ATTEND_DRAIN;
  if (wanted & XCHG_ATTEND_COLLECT) {
    double start = seconds_now();
    int64_t before[XCHG_PLACES];
    for (int32_t place = 0; place < XCHG_PLACES; place++)
      before[place] = xchg__budget_exceeded(place) ? xchg__count_sum(xchg__storage_count(place)) : -1;
    slots->head.attention &= ~XCHG_ATTEND_COLLECT;
    lua_gc(L, LUA_GCCOLLECT, 0);
    arena_sweep(L, slots);
    release_drain(0);
    double end = seconds_now();
    for (int32_t place = 0; place < XCHG_PLACES; place++)
      if (before[place] >= 0)
        xchg__budget_adapt(place, before[place], end - start, end - slots->collected_at);
    slots->collected_at = end;
  } else if (wanted & XCHG_ATTEND_SWEEP) {
    arena_sweep(L, slots);
    xchg__use_poll(0);
  }
  if (wanted & XCHG_ATTEND_DRAIN) {
    slots->head.attention &= ~XCHG_ATTEND_DRAIN;
    release_drain(0);
  }
  return 0;
}

/* core.collect(): finds dead tensors and runs every release, now: those that streams hold up after a wait for these. */
static int core_collect(lua_State *L) {
  arena_sweep(L, lua_touserdata(L, lua_upvalueindex(1)));
  release_drain(1);
  return 0;
}

/* core.drain(): runs every queued release, now. */
static int core_drain(lua_State *L) {
  (void)L;
  release_drain(0);
  return 0;
}

/* A sentinel dies with each GC cycle, asks for a sweep, and leaves another in its place. */
static void sentinel_arm(lua_State *L, xchg_slots *slots) {
  xchg_slots **sentinel = lua_newuserdata(L, sizeof(xchg_slots *));
  *sentinel = slots;
  luaL_getmetatable(L, SENTINEL_METATABLE);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

static int sentinel_gc(lua_State *L) {
  xchg_slots *slots = *(xchg_slots **)lua_touserdata(L, 1);
  if (!slots->closed) {
    slots->head.attention |= XCHG_ATTEND_SWEEP;
    sentinel_arm(L, slots);
  }
  return 0;
}

/* ---- the end of a Lua state -------------------------------------------------------------------- */

/* The arena's memory outlives this: LuaJIT frees userdata after all finalizers, and other finalizers
 * may still hold tensors. Those become released ones. */
static int arena_gc(lua_State *L) {
  xchg_slots *slots = lua_touserdata(L, 1);
  if (slots->closed)
    return 0;
  lua_getfield(L, LUA_REGISTRYINDEX, TENSORS);
  for (int32_t number = 1; number <= slots->chunk_count * XCHG_SLOTS_PER_CHUNK; number++) {
    lua_rawgeti(L, -1, number);
    if (lua_type(L, -1) == XCHG_LUA_TCDATA)
      xchg__tensor_poison((xchg_tensor *)(uintptr_t)lua_topointer(L, -1));
    lua_pop(L, 1);
  }
  xchg__slots_close(slots);
  xchg__cuda_streams_close(&slots->head);
  xchg__pending_close(&slots->head);
  release_drain(1);
  xchg__python_flush();
  return 0;
}

/* Pushes the arena: an xchg_arena to the FFI, an xchg_slots to C. */
static xchg_slots *arena_push(lua_State *L) {
  xchg_slots *slots = lua_newuserdata(L, sizeof *slots);
  xchg__slots_init(slots);
  slots->collected_at = seconds_now();
  luaL_newmetatable(L, ARENA_METATABLE);
  lua_pushcfunction(L, arena_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return slots;
}

/* lua_close unloads every C module; Python, threads and exit handlers keep pointers into this one. */
static void pin_self(void) {
  Dl_info self;
  if (dladdr(__func__, &self) != 0 && self.dli_fname != NULL)
    (void)dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE); /* never closed: the flag stays */
}

/* ---- registration ------------------------------------------------------------------------------ */

/* core.raise(code, message): raises an error object. */
static int core_raise(lua_State *L) {
  size_t length;
  const char *code = luaL_checkstring(L, 1);
  const char *message = luaL_checklstring(L, 2, &length);
  xchg__raise_push(L, 0, message, length);
  lua_pushstring(L, code);
  lua_setfield(L, -2, "code");
  return lua_error(L);
}

/* core.raise_scratch(error, where): raises what C wrote into the scratch error, and clears it before anything can run
 * that uses it again (a finalizer, where memory is taken). */
static int core_raise_scratch(lua_State *L) {
  xchg_error *scratch = (xchg_error *)(uintptr_t)lua_topointer(L, 1), err;
  const char *where = luaL_checkstring(L, 2), *colon, *message;
  size_t length;
  err = *scratch;
  scratch->code = 0;
  colon = strchr(err.message, ':');
  lua_pushfstring(L, "%s%s", where, colon != NULL ? colon : "");
  message = lua_tolstring(L, -1, &length);
  xchg__raise_push_error(L, &err, message, length);
  return lua_error(L);
}

/* core.next(table, key): Lua's next. LuaJITs of 2021 and 2022 compile theirs wrongly: a trace through it may follow
 * half a pointer, and a loop of pairs that leaves its trace inside of a finalizer begins again for ever. Calls of a C
 * function are not compiled. */
static int core_next(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  if (lua_next(L, 1))
    return 2;
  lua_pushnil(L);
  return 1;
}

/* core.own(prefix): chunks named so are the library's own and never the `where` of an error. */
static int core_own(lua_State *L) {
  xchg__raise_own(L, luaL_checkstring(L, 1));
  return 0;
}

static const luaL_Reg functions[] = {
    {"drain", core_drain},
    {"next", core_next},
    {"raise", core_raise},
    {"own", core_own},
    {"raise_scratch", core_raise_scratch},
    {"cdata_learn", xchg__cdata_learn},
    {"cdata_tensor", xchg__cdata_tensor},
    {"cuda_launcher", xchg__launcher_new},
    {"tensor_types", xchg__tensor_types},
    {NULL, NULL},
};

XCHG_API int luaopen_xchg_core(lua_State *L);

int luaopen_xchg_core(lua_State *L) {
  xchg_slots *slots;
  int core, arena;
  /* A state has one core, also where a test runner makes it forget and require us again. */
  lua_getfield(L, LUA_REGISTRYINDEX, CORE);
  if (!lua_isnil(L, -1))
    return 1;
  pin_self();
  lua_createtable(L, 0, 16);
  core = lua_gettop(L);
  luaL_register(L, NULL, functions);

  xchg__abi_push(L);
  lua_setfield(L, core, "abi");
  xchg__raise_open(L);
  lua_setfield(L, core, "error_metatable");

  slots = arena_push(L);
  arena = lua_gettop(L);
  lua_pushvalue(L, arena);
  lua_setfield(L, core, "arena");
  lua_pushthread(L);
  lua_setfield(L, LUA_REGISTRYINDEX, THREAD);
  slots->lua = L;
  slots->collecting = arena_collecting;

  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, TENSORS);
  lua_setfield(L, core, "tensors");

  luaL_newmetatable(L, SENTINEL_METATABLE);
  lua_pushcfunction(L, sentinel_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  sentinel_arm(L, slots);

  lua_pushvalue(L, arena);
  lua_pushcclosure(L, core_attend, 1);
  lua_setfield(L, core, "attend");
  lua_pushvalue(L, arena);
  lua_pushcclosure(L, core_collect, 1);
  lua_setfield(L, core, "collect");

  xchg__python_open(L);
  lua_setfield(L, core, "python");
  lua_pushvalue(L, arena);
  xchg__exchange_open(L);
  lua_setfield(L, core, "exchange");

  lua_pushvalue(L, core);
  lua_setfield(L, LUA_REGISTRYINDEX, CORE);
  lua_pushvalue(L, core);
  return 1;
}
