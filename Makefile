# What is built lies in $(B)/ and nowhere else. LuaRocks gives CC, CFLAGS, LIBFLAG and LUA_INCDIR;
# everything that must hold with any compiler's flags is in BASE.

B ?= build
CC ?= cc
CFLAGS ?= -O2 -g
LIBFLAG ?= -shared
LUAJIT ?= luajit
# Development targets (below) turn warnings into errors; an unknown compiler of a user must not.
WERROR ?=

BASE := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -fvisibility=hidden -fPIC -MMD -MP
LIBS := -ldl -lpthread

# LuaRocks may know another Lua's headers (the core uses nothing that differs), or none at all.
lua_dirs := $(LUA_INCDIR) /usr/include/luajit-2.1 /usr/local/include/luajit-2.1 /usr/include/lua5.1
lua_dir := $(firstword $(foreach d,$(lua_dirs),$(patsubst %/lua.h,%,$(wildcard $(d)/lua.h))))
INCLUDE := -Isrc -I$(B) $(if $(lua_dir),-I$(lua_dir))
COMPILE = $(CC) $(CFLAGS) $(BASE) $(INCLUDE)

core_src := $(sort $(wildcard src/core/*.c))
lib_src := src/module.c src/abi.c $(core_src) $(sort $(wildcard src/lua/*.c src/python/*.c src/exchange/*.c src/cuda/*.c))
object = $(patsubst src/%.c,$(B)/obj/%.o,$(1))

c_tests := $(patsubst spec/c/%.c,$(B)/spec/%,$(wildcard spec/c/*_test.c))
c_doubles := $(patsubst spec/c/%.c,$(B)/spec/%.so,$(wildcard spec/c/*_double.c))
c_hosts := $(patsubst spec/c/%.c,$(B)/spec/%,$(wildcard spec/c/*_host.c))

.PHONY: all build clean help FORCE
.DELETE_ON_ERROR:

all: build

##build     compile the library into build/
build: $(B)/xchg/core.so

$(B)/xchg/core.so: $(call object,$(lib_src)) $(B)/objects
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LIBFLAG) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

$(B)/obj/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(WERROR) -c $< -o $@

$(B)/obj/abi.o: $(B)/abi_text.h

# The text that ffi.cdef reads: src/xchg.h after the preprocessor, without what came from other folders.
# A string literal would be longer than C11 promises, so it is written as numbers.
$(B)/abi_text.h: $(wildcard src/*.h) $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BASE) -Isrc -E -MF $@.d src/xchg.h -o $(B)/abi_text.i
	awk '/^# [0-9]+ "/ { ours = index($$0, "\"src/") > 0; next } /^#/ { next } ours && NF' $(B)/abi_text.i | \
	  sed 's/__attribute__((visibility("default"))) *//' > $(B)/abi_text.txt
	test -s $(B)/abi_text.txt
	{ echo 'static const char xchg__abi_text[] = {'; od -An -v -tx1 $(B)/abi_text.txt | sed 's/ \(..\)/0x\1, /g'; \
	  echo '0};'; } > $@

# Other flags, or another set of files, rebuild what they shaped.
stamp = @mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@
$(B)/flags: FORCE
	$(call stamp,$(COMPILE))
$(B)/objects: FORCE
	$(call stamp,$(LIBFLAG) $(LDFLAGS) $(lib_src))

##c-tests   build the programs and test doubles of spec/c/
c-tests: WERROR := -Werror
c-tests: build $(c_tests) $(c_doubles) $(c_hosts)

$(B)/spec/%_test: spec/c/%_test.c $(call object,$(core_src)) $(B)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(WERROR) -Ispec/c -MF $@.d -o $@ $< $(filter %.o,$^) $(LIBS) -lm

$(B)/spec/%_double.so: spec/c/%_double.c $(B)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(WERROR) -Ispec/c -MF $@.d -shared -o $@ $< $(LIBS) -lm

$(B)/spec/%_host: spec/c/%_host.c $(B)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(WERROR) -Ispec/c -MF $@.d -o $@ $< -lluajit-5.1 $(LIBS) -lm

##clean     remove everything that was built
clean:
	rm -rf $(B)

##help      this list
help:
	@sed -n 's/^##/  make /p' $(firstword $(MAKEFILE_LIST))

-include $(shell find $(B) -name '*.d' 2>/dev/null)
