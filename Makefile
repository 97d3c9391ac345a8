# pagewell: one Makefile for everything, no recursion into folders.
#
#	make			build/libpagewell.so and build/pagewell
#	make check		all tests; installs what they need first
#	make demo		the examples; the same
#	make install		PREFIX=/usr/local DESTDIR=
#	make lint check-layers check-symbols format clean
#	make torture mutants fuzz suites bench bench-full
#	make deb		Debian's packages, in build/deb
#
# V=1 shows the commands, CC=clang changes the compiler, B=folder builds elsewhere.

ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
OBJCOPY ?= objcopy
PREFIX ?= /usr/local
B ?= build
JOBS ?= 2

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

ifeq ($(V),1)
Q :=
else
Q := @
endif
say = @printf '  %-5s %s\n' $(1) $@

# ---- flags -----------------------------------------------------------------------------

# _GNU_SOURCE is defined empty, so that a file that defines it too is not warned about.
CPPFLAGS += -D_GNU_SOURCE= -I.
WARN := -Wall -Wextra -Werror

# initial-exec: a thread-local variable is one load away and needs no allocation; a
# library that is preloaded always finds room. No PLT: the library is bound at start
# (-z now) anyway. Hidden: only what shim/ marks as exported is.
COMMON := -std=gnu11 -g $(WARN) -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	  -fno-plt -pthread
LIBS := -pthread -ldl
# noseparate-code: two mappings less to make and to take down in every process.
LDHARD := -Wl,-z,now,-z,relro,-z,noexecstack,-z,nodelete,-z,noseparate-code \
	  -Wl,--as-needed,--hash-style=gnu

FLAVOURS := release debug asan ubsan tsan
FLAGS_release := -O2
FLAGS_debug := -O1 -fno-omit-frame-pointer -DPW_DEBUG
FLAGS_asan := $(FLAGS_debug) -fsanitize=address,undefined -fno-sanitize-recover=undefined
FLAGS_ubsan := $(FLAGS_debug) -fsanitize=undefined -fno-sanitize-recover=undefined
FLAGS_tsan := $(FLAGS_debug) -fsanitize=thread
ifneq ($(findstring clang,$(CC)),clang)
# gcc warns wherever a fence is used that TSan can't follow.
FLAGS_tsan += -Wno-tsan
endif

# The sanitizers' own symbols are resolved by the program that loads the library.
DEFS := -Wl,-z,defs
DEFS_release := $(DEFS)
DEFS_debug := $(DEFS)

# ---- sources ---------------------------------------------------------------------------

# For C programs that use the engine; the shim is its other user.
CLIENT := $(wildcard cache/client*.c)
ENGINE := $(filter-out $(CLIENT),$(wildcard cache/*.c cache/*.S))
SHIM := $(wildcard shim/*.c shim/*.S)
# What every start runs is linked first: near the symbol tables, which the loader has brought in.
STARTS := $(patsubst %,shim/%.c,pages life real knobs thunk stdio_hook store explain thread report) \
	  cache/sys.c cache/stats.c
# `pagewell top` is a program of its own: ncurses would make every start of pagewell slower.
TOP := $(wildcard cache/command/top_*.c)
COMMAND := $(filter-out $(TOP),$(wildcard cache/command/*.c))
TOP_PARTS := $(patsubst %,cache/command/%.c,options say shared stat_take text users)
VERSIONS := $(wildcard shim/versions.map)

UNIT := $(wildcard tests/unit/test_*.c)
UNIT_PARTS := $(filter-out $(UNIT),$(wildcard tests/unit/*.c))

# A folder of tests: each file with a main is a program, lib*.c is a shared object, and the
# rest is an archive that the folder's programs are linked with. build.mk, where there is
# one, has what single programs need beyond that (`$(T)/shim/NAME: TEST_CFLAGS += ...`).
T := $(B)/tests
TEST_DIRS := gates shim torture system diff model
TEST_C := $(wildcard $(patsubst %,tests/%/*.c,$(TEST_DIRS)))
TEST_SO := $(foreach c,$(TEST_C),$(if $(filter lib%,$(notdir $(c))),$(c)))
TEST_MAIN := $(filter-out $(TEST_SO),$(if $(TEST_C),\
	     $(shell grep -l '^int main\b' $(TEST_C))))
TEST_PARTS := $(filter-out $(TEST_SO) $(TEST_MAIN),$(TEST_C))
TEST_PROGRAMS := $(TEST_MAIN:%.c=$(B)/%) $(TEST_SO:%.c=$(B)/%.so)

obj = $(addsuffix .o,$(addprefix $(B)/$(1)/,$(basename $(2))))

# ---- the product -----------------------------------------------------------------------

.PHONY: all
all: $(if $(SHIM),$(B)/libpagewell.so) $(if $(COMMAND),$(B)/pagewell $(B)/pagewell-top) \
	$(if $(ENGINE),$(B)/release/libpagewell-cache.a)

# Moved into place in one step: somebody may be running the old one.
$(B)/libpagewell.so $(B)/pagewell $(B)/pagewell-top: $(B)/%: $(B)/release/%
	$(Q)cp $< $@.tmp && mv $@.tmp $@

# $(1) is the flavour. What a file was compiled with is a prerequisite: other flags,
# another compiler, and it is compiled again.
define flavour
FULL_$(1) := $$(CC) $$(CPPFLAGS) $$(COMMON) $$(FLAGS_$(1)) $$(CFLAGS)

$(B)/$(1)/.flags: FORCE
	@mkdir -p $$(@D)
	@echo '$$(FULL_$(1)) $$(LDFLAGS)' | cmp -s - $$@ || \
		echo '$$(FULL_$(1)) $$(LDFLAGS)' >$$@

$(B)/$(1)/%.o: %.c $(B)/$(1)/.flags
	$$(call say,CC)
	@mkdir -p $$(@D)
	$$(Q)$$(FULL_$(1)) -MMD -MP -c $$< -o $$@

$(B)/$(1)/%.o: %.S $(B)/$(1)/.flags
	$$(call say,AS)
	@mkdir -p $$(@D)
	$$(Q)$$(FULL_$(1)) -MMD -MP -Wa,--noexecstack -c $$< -o $$@

$(B)/$(1)/libpagewell-cache.a: $$(call obj,$(1),$$(ENGINE) $$(CLIENT))
	$$(call say,AR)
	$$(Q)rm -f $$@ && $$(AR) rcsD $$@ $$^

$(B)/$(1)/pagewell: $$(call obj,$(1),$$(COMMAND)) $(B)/$(1)/libpagewell-cache.a
	$$(call say,LINK)
	$$(Q)$$(FULL_$(1)) $$(LDFLAGS) -pie -Wl,-z,now,-z,relro,-z,noexecstack $$^ \
		$$(LIBS) -o $$@

$(B)/$(1)/pagewell-top: $$(call obj,$(1),$$(TOP) $$(TOP_PARTS)) \
		$(B)/$(1)/libpagewell-cache.a
	$$(call say,LINK)
	$$(Q)$$(FULL_$(1)) $$(LDFLAGS) -pie -Wl,-z,now,-z,relro,-z,noexecstack $$^ \
		-lncursesw -ltinfo $$(LIBS) -o $$@

$(B)/$(1)/libpagewell.so: $$(call obj,$(1),$$(STARTS) \
				$$(filter-out $$(STARTS),$$(SHIM) $$(ENGINE))) \
		$(B)/libpw-jemalloc.a $$(VERSIONS)
	$$(call say,LINK)
	$$(Q)$$(FULL_$(1)) $$(LDFLAGS) -shared $$(LDHARD) $$(DEFS_$(1)) \
		-Wl,-soname,libpagewell.so -Wl,--exclude-libs,libpw-jemalloc.a \
		$$(VERSIONS:%=-Wl,--version-script,%) $$(filter %.o %.a,$$^) $$(LIBS) -o $$@

$(B)/$(1)/tests/unit/%: $(B)/$(1)/tests/unit/%.o \
		$$(call obj,$(1),$$(UNIT_PARTS) $$(UNIT_PARTS_$(1))) \
		$(B)/$(1)/libpagewell-cache.a
	$$(call say,LINK)
	$$(Q)$$(FULL_$(1)) $$(LDFLAGS) $$^ -lcriterion $$(LIBS) -o $$@

-include $$(wildcard $(B)/$(1)/cache/*.d $(B)/$(1)/cache/command/*.d \
	$(B)/$(1)/shim/*.d $(B)/$(1)/tests/unit/*.d $(B)/$(1)/tests/lib/*.d)
endef

# Criterion puts its arena at a random address, which under TSan is mostly taken.
UNIT_PARTS_tsan := tests/lib/tsan_arena.c

$(foreach f,$(FLAVOURS),$(eval $(call flavour,$(f))))

.PHONY: FORCE
FORCE:

.SECONDARY:

# ---- jemalloc --------------------------------------------------------------------------

# Debian's static PIC archive as one object that keeps to itself (DESIGN section 10): only
# what mallocx and dallocx need is drawn in, so the C++ operators stay out; only those two
# stay global, and the link hides them; its constructor is dropped, so that it does nothing
# before the first mallocx; and each reference to a name that the shim exports, or that
# must not happen inside a host, becomes pw_je_NAME, which shim/jemalloc_libc.c defines.
# mallctl's name tree loses its relocations: nobody can call mallctl, and they are nine
# tenths of what the loader would have to do, five pages of it, in every process. What is left
# of it is constant, and its unlikely code ordinary: so that the relocated constants are in one
# page, and our own code begins where the symbol tables end.
JEMALLOC_A = $(shell $(CC) -print-file-name=libjemalloc_pic.a)
# the kernel's, without passing through our own exports
JE_NAMES := mmap munmap mprotect madvise
# refused: the heap's break, configuration and system files, threads of its own, handlers
JE_NAMES += sbrk syscall open creat close readlink sysconf dlsym atexit \
	    pthread_create pthread_sigmask gettimeofday
# where jemalloc's settings come from
JE_NAMES += secure_getenv
# called by the shim's own fork gate, if at all
JE_NAMES += pthread_atfork
# libc would allocate with the program's malloc, and take one of the program's keys
JE_NAMES += pthread_key_create pthread_setspecific
# only its profiler's, which is off; they would draw in libm and libgcc_s
JE_NAMES += exp log round _Unwind_Backtrace _Unwind_GetIP

$(B)/jemalloc.o: Makefile
	$(call say,JE)
	@mkdir -p $(@D)
	@test -f "$(JEMALLOC_A)" || { \
		echo 'libjemalloc_pic.a is missing: tests/lib/deps build' >&2; exit 1; }
	$(Q)cd $(@D) && $(AR) x $(JEMALLOC_A) ctl.pic.o
	$(Q)$(OBJCOPY) --remove-relocations=.data.rel.ro.local \
		--rename-section .data.rel.ro.local=.rodata,alloc,load,readonly,data,contents \
		$(@D)/ctl.pic.o
	$(Q)ld -r -u mallocx -u dallocx $(@D)/ctl.pic.o $(JEMALLOC_A) -o $@.tmp
	$(Q)$(OBJCOPY) $(foreach n,$(JE_NAMES),--redefine-sym $(n)=pw_je_$(n)) \
		--keep-global-symbol=mallocx --keep-global-symbol=dallocx \
		--remove-section=.init_array --remove-section=.fini_array \
		--remove-section=.ctors --rename-section .text.unlikely=.text $@.tmp $@
	$(Q)rm $@.tmp $(@D)/ctl.pic.o

# An archive, because only an archive's symbols can be hidden by --exclude-libs.
$(B)/libpw-jemalloc.a: $(B)/jemalloc.o
	$(Q)rm -f $@ && $(AR) rcsD $@ $<

# ---- tests -----------------------------------------------------------------------------

UNIT_FLAVOURS := debug asan tsan
UNIT_RUN := $(foreach f,$(UNIT_FLAVOURS),$(UNIT:%.c=$(B)/$(f)/%))

TEST_CFLAGS := -std=gnu11 -O2 -g -pthread -Wall -Wextra -Werror
TEST_LIBS :=

-include $(wildcard tests/*/build.mk)

$(T)/.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CPPFLAGS) $(TEST_CFLAGS)' | cmp -s - $@ || \
		echo '$(CC) $(CPPFLAGS) $(TEST_CFLAGS)' >$@

$(T)/%.o: tests/%.c $(T)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(TEST_CFLAGS) -MMD -MP -c $< -o $@

$(T)/%.so: tests/%.c $(T)/.flags
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(TEST_CFLAGS) -MMD -MP -fPIC -shared $< $(TEST_LIBS) -o $@

define test_dir
$(T)/$(1)/parts.a: $$(filter $(T)/$(1)/%,$$(TEST_PARTS:%.c=$(B)/%.o))
	$$(Q)rm -f $$@ && $$(AR) rcsD $$@ $$^

$(filter $(T)/$(1)/%,$(TEST_MAIN:%.c=$(B)/%)): %: %.o \
		$$(if $$(filter tests/$(1)/%,$$(TEST_PARTS)),$(T)/$(1)/parts.a)
	$$(call say,LINK)
	$$(Q)$$(CC) $$(TEST_CFLAGS) $$^ $$(TEST_LIBS) -o $$@

-include $$(wildcard $(T)/$(1)/*.d)
endef
$(foreach d,$(TEST_DIRS),$(if $(filter tests/$(d)/%,$(TEST_MAIN)),\
	$(eval $(call test_dir,$(d)))))

# A script is a test if it ends in .sh, or has no extension and may be executed.
TEST_SCRIPTS := $(shell find $(wildcard $(TEST_DIRS:%=tests/%)) -maxdepth 1 -type f \
		! -name '_*' '(' -name '*.sh' -o ! -name '*.*' -perm -u+x ')' | sort)
TEST_RUN := $(filter tests/gates/%,$(TEST_SCRIPTS)) $(UNIT_RUN) \
	    $(foreach p,$(TEST_PROGRAMS),$(if $(filter test_%,$(notdir $(p))),$(p))) \
	    $(filter-out tests/gates/%,$(TEST_SCRIPTS))

.PHONY: test-programs check check-run
test-programs: $(TEST_PROGRAMS)

# The settings that every test and script gets.
export PAGEWELL_LIB := $(abspath $(B)/libpagewell.so)
export PAGEWELL_BIN := $(abspath $(B)/pagewell)
export PAGEWELL_DEBUG_LIB := $(abspath $(B)/debug/libpagewell.so)
export PAGEWELL_TESTS := $(abspath $(T))
export PAGEWELL_JEMALLOC := $(abspath $(B)/jemalloc.o)
export CC B

# make again, because what deps installs must be there before it looks for it. A test
# that does not compile is a failed case; the others are run all the same.
again = $(MAKE) --no-print-directory
check:
	@tests/lib/deps build check
	@$(again) -j$(JOBS) all || { echo '0 passed, 1 failed, 0 skipped'; exit 1; }
	@$(again) -j$(JOBS) -k check-build && broken=0 || broken=1; \
		FAILED_BEFORE=$$broken $(again) check-run

.PHONY: check-build
check-build: test-programs $(UNIT_RUN) $(if $(SHIM),$(B)/debug/libpagewell.so)

check-run:
	@tests/run $(TEST_RUN)

# Those that say most in a few minutes, with few packages; examples/README.md has the others.
DEMO := shell php dd criterion client

.PHONY: demo
demo:
	@tests/lib/deps build demo
	@$(again) -j$(JOBS) all
	@set -e; for name in $(DEMO); do echo; examples/$$name/run; done

.PHONY: lint check-layers check-symbols format
lint:
	@tests/gates/lint
check-layers:
	@tests/gates/layers
check-symbols: all
	@tests/gates/symbols
format:
	$(Q)clang-format -i $$(tests/gates/_sources)

.PHONY: torture mutants fuzz suites bench bench-full
torture: all test-programs $(B)/debug/libpagewell.so
	@tests/torture/_long
mutants: all test-programs
	@status=0; for m in tests/*/_mutants; do $$m || status=1; done; exit $$status
fuzz: all test-programs
	@tests/diff/_fuzz
suites: all
	@tests/suites/run
bench: all
	@tests/bench/run
bench-full: all
	@tests/bench/run --full

# ---- install ---------------------------------------------------------------------------

# Of the engine one header is installed, which is to stay as it is (cache/client.h).
VERSION := $(shell sed -n 's/^#define PW_VERSION "\(.*\)"/\1/p' cache/pagewell.h)
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
LIBEXECDIR ?= $(PREFIX)/libexec
INSTALLED := $(PREFIX)/bin/pagewell $(LIBEXECDIR)/pagewell/pagewell-top \
	     $(LIBDIR)/libpagewell.so $(LIBDIR)/libpagewell-cache.a \
	     $(LIBDIR)/pkgconfig/pagewell-cache.pc $(INCLUDEDIR)/pagewell/client.h \
	     $(MANDIR)/man1/pagewell.1 $(MANDIR)/man7/pagewell.7 \
	     $(BASHDIR)/pagewell $(ZSHDIR)/_pagewell $(FISHDIR)/pagewell.fish

.PHONY: install uninstall clean
install: all
	install -d $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	install $(B)/pagewell $(DESTDIR)$(PREFIX)/bin/
	install $(B)/pagewell-top $(DESTDIR)$(LIBEXECDIR)/pagewell/
	install -m 644 $(B)/libpagewell.so $(B)/release/libpagewell-cache.a \
		$(DESTDIR)$(LIBDIR)/
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' cache/pagewell-cache.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/pagewell-cache.pc
	install -m 644 cache/client.h $(DESTDIR)$(INCLUDEDIR)/pagewell/
	install -m 644 cache/command/man/pagewell.1 $(DESTDIR)$(MANDIR)/man1/
	install -m 644 cache/command/man/pagewell.7 $(DESTDIR)$(MANDIR)/man7/
	install -m 644 cache/command/completions/pagewell.bash $(DESTDIR)$(BASHDIR)/pagewell
	install -m 644 cache/command/completions/_pagewell $(DESTDIR)$(ZSHDIR)/
	install -m 644 cache/command/completions/pagewell.fish $(DESTDIR)$(FISHDIR)/

uninstall:
	rm -f $(INSTALLED:%=$(DESTDIR)%)
	-rmdir $(DESTDIR)$(INCLUDEDIR)/pagewell $(DESTDIR)$(LIBEXECDIR)/pagewell

.PHONY: deb
deb:
	@tests/lib/deps build deb
	@cache/debian/build $(B)/deb

clean:
	rm -rf $(B)
