# What is built lies in $(B)/ and nowhere else. LuaRocks gives CC, CFLAGS, LIBFLAG and LUA_INCDIR;
# everything that must hold with any compiler's flags is in BASE.

B ?= build
CC ?= cc
CFLAGS ?= -O2 -g
LIBFLAG ?= -shared
LUAJIT ?= luajit
# Development targets (below) turn warnings into errors; an unknown compiler of a user must not.
WERROR ?=

# The import of a small array crosses many files of the core: a third of its time is calls between them. LTO= does without.
LTO ?= $(shell for flag in -flto=auto -flto; do \
  echo 'int f(void); int f(void) { return 0; }' | $(CC) $$flag -O2 -shared -fPIC -x c - -o /dev/null 2>/dev/null && \
  echo $$flag && break; done)
LTO := $(LTO)

BASE := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -fvisibility=hidden -fPIC -MMD -MP
LIBS := -ldl -lpthread

# LuaRocks may know another Lua's headers (the core uses nothing that differs), or none at all.
lua_dirs := $(LUA_INCDIR) /usr/include/luajit-2.1 /usr/local/include/luajit-2.1 /usr/include/lua5.1
lua_dir := $(firstword $(foreach d,$(lua_dirs),$(patsubst %/lua.h,%,$(wildcard $(d)/lua.h))))
INCLUDE := -Isrc -I$(B) $(if $(lua_dir),-I$(lua_dir))
COMPILE = $(CC) $(CFLAGS) $(LTO) $(BASE) $(INCLUDE)

core_src := $(sort $(wildcard src/core/*.c))
lib_src := src/module.c src/abi.c $(core_src) $(sort $(wildcard src/lua/*.c src/python/*.c src/exchange/*.c src/cuda/*.c))
object = $(patsubst src/%.c,$(B)/obj/%.o,$(1))

# The simulated CUDA device: an object of its own that knows nothing of the library. What it executes is compiled once for each
# instruction set that is worth it; the best one that runs here is taken at start.
sim_src := $(sort $(filter-out src/sim/exec/%,$(wildcard src/sim/*.c src/sim/*/*.c)))
sim_exec_src := $(sort $(wildcard src/sim/exec/*.c))
sim_isas ?= base $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),v3 v4)
sim_flags_v3 := -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt
sim_flags_v4 := $(sim_flags_v3) -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512cd -mprefer-vector-width=512
# Contraction would round once where PTX rounds twice; SIM_O= does without for the sanitizers.
SIM_O ?= -O3
SIM_COMPILE = $(CC) $(CFLAGS) $(BASE) -ffp-contract=off -fno-strict-aliasing
sim_objects = $(patsubst src/sim/%.c,$(B)/sim/%.o,$(sim_src)) \
  $(foreach isa,$(sim_isas),$(patsubst src/sim/exec/%.c,$(B)/sim/exec/%.$(isa).o,$(sim_exec_src)))
# file and the SONAME that it carries: empty libraries that need the simulator (the last two need nothing). Each has a version
# node of its name: programs that were linked with NVIDIA's runtime ask for it.
sim_aliases := sim_cuda=libcuda.so.1 sim_cudart12=libcudart.so.12 sim_cudart13=libcudart.so.13
sim_hollow := sim_nvjitlink12=libnvJitLink.so.12 sim_nvjitlink13=libnvJitLink.so.13
alias_file = $(B)/xchg/$(firstword $(subst =, ,$(1))).so

c_tests := $(patsubst spec/c/%.c,$(B)/spec/%,$(wildcard spec/c/*_test.c))
c_doubles := $(patsubst spec/c/%.c,$(B)/spec/%.so,$(wildcard spec/c/*_double.c))
c_hosts := $(patsubst spec/c/%.c,$(B)/spec/%,$(wildcard spec/c/*_host.c))

# V=1 shows the commands.
Q = $(if $(V),,@echo "  $(notdir $(firstword $(CC))) $@";)

.PHONY: all build sim c-tests clean demo test test-orders test-gpu gpu-bundle bench env info lint lint-ready lint-lua \
  lint-format lint-rock lint-gcc lint-clang format asan tsan valgrind fuzz install-test check sources products help FORCE
.DELETE_ON_ERROR:

all: build

##build         compile the library into build/
alias_files := $(foreach alias,$(sim_aliases) $(sim_hollow),$(call alias_file,$(alias)))
products := $(B)/xchg/core.so $(B)/xchg/sim.so $(alias_files)
build: $(products)

$(B)/xchg/core.so: $(call object,$(lib_src)) $(B)/objects
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LTO) $(LIBFLAG) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

$(B)/obj/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(WERROR) -c $< -o $@

# ---- the simulated device ----
$(B)/xchg/sim.so: $(sim_objects) $(B)/sim_objects
	@mkdir -p $(@D)
	@echo '{ global: cu*; __cuda*; xsim_*; local: *; };' > $@.map
	$(Q)$(CC) $(CFLAGS) $(LIBFLAG) $(LDFLAGS) -Wl,-soname,libxchg_sim.so -Wl,-z,nodelete -Wl,-Bsymbolic \
	  -Wl,--version-script=$@.map -o $@ $(filter %.o,$^) -lpthread -lm
	@rm -f $@.map

$(B)/sim/%.o: src/sim/%.c $(B)/sim_flags
	@mkdir -p $(@D)
	$(Q)$(SIM_COMPILE) $(WERROR) -c $< -o $@

# Rounding modes other than to nearest live in a file of their own: -frounding-math would stop the vectoriser elsewhere.
define sim_exec_rule
$(B)/sim/exec/%.$(1).o: src/sim/exec/%.c $(B)/sim_flags
	@mkdir -p $$(@D)
	$$(Q)$$(SIM_COMPILE) $$(SIM_O) -fno-math-errno -fno-trapping-math $$(sim_flags_$(1)) -DSIM_ISA=$(1) \
	  $$(if $$(findstring rounding,$$<),-frounding-math) $$(WERROR) -c $$< -o $$@
endef
$(foreach isa,$(sim_isas),$(eval $(call sim_exec_rule,$(isa))))

define sim_alias_rule
$(call alias_file,$(1)): $(2) $(B)/sim_flags
	@mkdir -p $$(@D)
	@echo '$(lastword $(subst =, ,$(1))) { };' > $$@.map
	$$(Q)$$(CC) $$(LIBFLAG) $$(LDFLAGS) -Wl,-soname,$(lastword $(subst =, ,$(1))) -Wl,--no-as-needed -Wl,-rpath,'$$$$ORIGIN' \
	  -Wl,--version-script=$$@.map -x c /dev/null -x none -o $$@ $$(filter %.so,$$^)
	@rm -f $$@.map
endef
$(foreach alias,$(sim_aliases),$(eval $(call sim_alias_rule,$(alias),$(B)/xchg/sim.so)))
$(foreach alias,$(sim_hollow),$(eval $(call sim_alias_rule,$(alias),)))

##sim           build only the simulated CUDA device
sim: $(B)/xchg/sim.so $(alias_files)

$(B)/obj/abi.o: $(B)/abi_text.h

# The text that ffi.cdef reads: src/xchg.h after the preprocessor, without what came from other folders.
# A string literal would be longer than C11 promises, so it is written as numbers.
$(B)/abi_text.h: $(wildcard src/*.h) $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(BASE) -Isrc -E -MF $@.d src/xchg.h -o $(B)/abi_text.i
	@awk '/^# [0-9]+ "/ { ours = index($$0, "\"src/") > 0; next } /^#/ { next } ours && NF' $(B)/abi_text.i | \
	  sed 's/__attribute__((visibility("default"))) *//' > $(B)/abi_text.txt
	@test -s $(B)/abi_text.txt
	@{ echo 'static const char xchg__abi_text[] = {'; od -An -v -tx1 $(B)/abi_text.txt | sed 's/ \(..\)/0x\1, /g'; \
	  echo '0};'; } > $@

# Other flags, or another set of files, rebuild what they shaped.
stamp = @mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@
$(B)/flags: FORCE
	$(call stamp,$(COMPILE))
$(B)/objects: FORCE
	$(call stamp,$(LIBFLAG) $(LDFLAGS) $(lib_src))
$(B)/sim_flags: FORCE
	$(call stamp,$(SIM_COMPILE) $(SIM_O) $(LIBFLAG) $(LDFLAGS))
$(B)/sim_objects: FORCE
	$(call stamp,$(sim_objects))

##c-tests       build the programs and test doubles of spec/c/
c-tests: WERROR := -Werror
c-tests: build $(c_tests) $(c_doubles) $(c_hosts)

$(B)/spec/%_test: spec/c/%_test.c $(call object,$(core_src)) $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(WERROR) -Ispec/c -MF $@.d -o $@ $< $(filter %.o,$^) $(LIBS) -lm

# Tests of the simulator are linked with it and not with the core.
$(B)/spec/sim_%_test: spec/c/sim_%_test.c $(sim_objects) $(B)/sim_flags
	@mkdir -p $(@D)
	$(Q)$(SIM_COMPILE) $(WERROR) -DSIM_ISA=base -Isrc -Isrc/sim -Ispec/c -MF $@.d -o $@ $< $(filter %.o,$^) -lpthread -lm

# Tests of what drives devices are linked with all of it that needs no Lua.
cuda_parts := $(call object,$(core_src) $(sort $(shell grep -L '"lua/' src/cuda/*.c)))
$(B)/spec/cuda_%_test: spec/c/cuda_%_test.c $(cuda_parts) $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(WERROR) -Ispec/c -MF $@.d -o $@ $< $(filter %.o,$^) $(LIBS) -lm

# The search for CUDA goes by SONAMEs.
$(B)/spec/cudart_double.so: LIBS += -Wl,-soname,libcudart.so.12
$(B)/spec/%_double.so: spec/c/%_double.c $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(WERROR) -Ispec/c -MF $@.d -shared -o $@ $< $(LIBS) -lm

$(B)/spec/%_host: spec/c/%_host.c $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(WERROR) -Ispec/c -MF $@.d -o $@ $< -lluajit-5.1 $(LIBS) -lm

# Below here nothing is compiled. `bootstrap` finds or installs what a target needs (in no time when all is there);
# its `env` is what `make env` prints.
export XCHG_BUILD := $(B)
run = eval "$$(./bootstrap env)" &&
sub = +@$(MAKE) --no-print-directory

##demo          run examples/quickstart.lua on real arrays, then examples/cuda.lua on a GPU or the simulated device
demo:
	@./bootstrap setup demo
	$(sub) build
	@$(run) $(LUAJIT) examples/quickstart.lua
	@if ./bootstrap setup nvrtc; then echo; $(run) $(LUAJIT) examples/cuda.lua; \
	  else echo "the half of the demo that is about CUDA devices is left out"; fi

# Operations of the simulated device run late; specs whose results another order could change run in other ones too. The rest
# of CUDA's ask compilers and files.
schedules ?= random:1
busted = $(LUAJIT) "$$(command -v busted)" --ignore-lua
unordered := $(patsubst %,spec/cuda_%_spec.lua,behaviours cache compile find lost mangled prototype signature sim)
part_cuda := $(sort $(wildcard spec/cuda_*_spec.lua)) spec/kernels_spec.lua
part_others := $(filter-out $(part_cuda),$(sort $(wildcard spec/*_spec.lua)))
part_ordered := $(filter-out $(unordered),$(filter spec/cuda_%,$(part_cuda)))
run_part = XCHG_TEST_PART=$(1) $(busted) $(part_$(1))
in_orders = for schedule in $(schedules); do echo "XCHG_SIM_SCHEDULE=$$schedule:"; \
  XCHG_SIM_SCHEDULE=$$schedule $(call run_part,ordered) || failed=1; done

##test          every spec, CUDA's in two orders beside all others; SPEC=spec/x_spec.lua or PART=cuda, others or ordered
##              for some, SEED=n to repeat, ARGS= for busted
test:
	@./bootstrap setup test
	$(sub) c-tests
	@$(run) $(if $(SPEC)$(PART)$(ARGS)$(SEED), \
	  XCHG_TEST_PART=$(PART) $(busted) $(if $(SEED),--seed=$(SEED)) $(ARGS) $(or $(SPEC),$(part_$(PART))), \
	  others=$$(mktemp); trap 'rm -f "$$others"' EXIT; trap 'exit 130' INT TERM; \
	  $(call run_part,others) >"$$others" 2>&1 & \
	  $(call run_part,cuda) || failed=1; $(in_orders); wait $$! || failed=1; cat "$$others"; exit $${failed:-0})

##test-all      the same with TensorFlow, Paddle and CuPy besides: 5 GB, in .venv-big
test-all: export XCHG_TEST_SET := big
test-all: test

##test-orders   CUDA's specs in other orders of operations: schedules="eager random:1 random:2"
test-orders:
	@./bootstrap setup test
	$(sub) c-tests
	@$(run) $(in_orders); exit $${failed:-0}

##test-gpu      CUDA's specs and the kernels on this machine's GPU, and a report
test-gpu:
	@./bootstrap setup test
	$(sub) c-tests
	@$(run) sh .ci/gpu-run

##gpu-bundle    a folder (and .tar.gz) that does that on a bare machine with a GPU
gpu-bundle:
	@./bootstrap setup test
	$(sub) c-tests
	@$(run) sh .ci/gpu-bundle

##bench         what things cost, as ratios against peers in the same run
bench:
	@./bootstrap setup bench
	$(sub) build
	@$(run) $(LUAJIT) bench/run.lua $(ARGS)

##env           shell lines for any script: eval "$(make -s env)"; luajit my.lua
env:
	@./bootstrap env

##info          what the library finds on this machine
info: build
	@$(run) $(LUAJIT) bin/xchg info

##lint          luacheck, clang-format, the rockspec, and gcc and clang with warnings as errors
lint:
	+@$(MAKE) -k --no-print-directory lint-lua lint-format lint-rock lint-gcc lint-clang

c_files = $(shell find src spec bench examples -name '*.[ch]' 2>/dev/null)
lint-ready:
	@./bootstrap setup lint
lint-lua: lint-ready
	luacheck -q .
lint-format: lint-ready
	.tools/bin/clang-format --dry-run -Werror $(c_files)
lint-rock: lint-ready
	luarocks --lua-version 5.1 lint xchg-scm-1.rockspec
lint-gcc: lint-ready
	$(sub) c-tests B=build/gcc CC=gcc SIM_O= sim_isas=base
lint-clang: lint-ready
	$(sub) c-tests B=build/clang CC=clang SIM_O= sim_isas=base

##format        rewrite the C files in the project's style
format: lint-ready
	.tools/bin/clang-format -i $(c_files)

##asan          the specs with AddressSanitizer, UBSan and LeakSanitizer in the core
##tsan          the specs with ThreadSanitizer in the core
##valgrind      the specs under valgrind
asan tsan valgrind:
	@./bootstrap setup $@
	+@.ci/sanitize $@ $(SPEC)

##fuzz          the fuzzers of spec/c with libFuzzer; RUNS=1000000 inputs each
fuzz:
	@./bootstrap setup fuzz
	+@.ci/fuzz

##install-test  install the committed tree with LuaRocks in each way that a user may, and use it
install-test:
	@./bootstrap setup install-test
	+@.ci/install-test

##check         lint, specs, sanitizers, install and other CPythons, as the continuous integration does it
check:
	@bash .ci/run

# For the specs.
sources:
	@printf '%s\n' $(lib_src) $(sim_src) $(sim_exec_src)
products:
	@printf '%s\n' $(products)

##clean         remove everything that was built
clean:
	rm -rf $(B)

##help          this list
help:
	@sed -n 's/^##/  make /p' $(firstword $(MAKEFILE_LIST))

-include $(shell find $(B) -name '*.d' 2>/dev/null)
