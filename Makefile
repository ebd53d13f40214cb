# SPDX-License-Identifier: GPL-2.0-or-later
# make            build ./pagereel and ./pagereel.so (the SQLite extension)
# make demo       set up, build and run the main job        make test   every test
# make bench      benchmarks, side by side                  make fuzz   fuzz targets, briefly
# make install    DESTDIR= and prefix= are respected

VERSION := 0.1
prefix ?= /usr/local
CC ?= cc
BUILD ?= build
Q := $(if $(V),,@)
OPT ?= -O2 -g
SAN ?=
WERROR ?=

PKGS := libtracefs libtraceevent libtracecmd sqlite3 libzstd
CPPFLAGS += -I. -D_GNU_SOURCE -DPAGEREEL_VERSION='"$(VERSION)"'
CFLAGS_ALL = -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wno-unused-parameter -Wno-missing-field-initializers -fno-strict-aliasing -fPIC -pthread \
	$(OPT) $(SAN) $(WERROR) $(CFLAGS) $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDLIBS += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lstreamvbyte -lm -pthread

# Command line tools first; every directory is one module.
MODULES := base schema replay replay/models replay/kernel replay/components capture analyze cmd
SRCS := $(foreach m,$(MODULES),$(wildcard $(m)/*.c))
SQL := $(wildcard schema/*.sql analyze/*.sql)
SQLOBJ := $(SQL:%.sql=$(BUILD)/%.sql.o)
OBJ := $(SRCS:%.c=$(BUILD)/%.o) $(SQLOBJ)
LIB := $(BUILD)/libpagereel.a

.SUFFIXES:
all: pagereel pagereel.so

ifeq ($(BUILD),build)
pagereel: $(BUILD)/pagereel
	$(Q)cp -f $< $@
pagereel.so: $(BUILD)/pagereel.so
	$(Q)cp -f $< $@
else
pagereel pagereel.so: %: $(BUILD)/% ;
endif

$(BUILD)/pagereel: $(BUILD)/pagereel.o $(LIB)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

# The extension: the same decoder compiled against sqlite3ext.h. See schema/extension.c.
EXT_SRCS := $(wildcard schema/extension.c schema/vtab*.c schema/*codec*.c schema/page_merge.c schema/page_life.c schema/file_map.c) base/err.c base/names.c
$(BUILD)/pagereel.so: $(EXT_SRCS) $(wildcard schema/*.h base/*.h)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -DPAGEREEL_EXTENSION -shared -o $@ $(EXT_SRCS) -lstreamvbyte

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# x/y.sql becomes: const char sql_x_y[] (dashes become underscores)
$(BUILD)/%.sql.c: %.sql Makefile
	@mkdir -p $(@D)
	@{ printf 'extern const char sql_%s[];\nconst char sql_%s[] =\n' \
		$(subst -,_,$(subst /,_,$*)) $(subst -,_,$(subst /,_,$*)); \
	sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $<; echo ';'; } > $@

$(BUILD)/%.sql.o: $(BUILD)/%.sql.c
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

# ---- tests: tests/run.sh counts what cmocka and bats report ------------------------------------
UNIT_SRCS := $(wildcard tests/unit/test_*.c)
UNIT := $(UNIT_SRCS:%.c=$(BUILD)/%)
HELPER_SRCS := $(wildcard tests/helpers/*.c)
HELPERS := $(HELPER_SRCS:%.c=$(BUILD)/%)

$(BUILD)/tests/unit/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS) -lcmocka

$(BUILD)/tests/helpers/%: tests/helpers/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP $(LDFLAGS) -o $@ $< -lm -pthread

$(BUILD)/tests/bench/%: tests/bench/%.c $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)

unit: $(UNIT)
# Tools of the live tests read databases with the library.
LIVE_TOOLS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/live/*.c))

$(BUILD)/tests/live/%: tests/live/%.c $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)

helpers: $(HELPERS) $(LIVE_TOOLS)

SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
unit-asan:
	$(MAKE) BUILD=build-asan OPT='-O1 -g' SAN='$(SANFLAGS)' WERROR='$(WERROR)' unit

check-layers:
	@tests/check-layers.sh

# The four case studies: bounds checked, databases in $(BUILD)/cases, pages in docs/cases renewed.
cases: all
	@docs/cases/update.sh $(BUILD)/cases
	@mkdir -p $(BUILD)/cases && ./pagereel case all --force -o $(BUILD)/cases

# The case 'swappiness' on the kernel that runs here, every cell five times (root, a quarter of an hour).
cases-live: all helpers
	@tests/live/swappiness.sh $(CASES)

# Measures the codecs again: lines for replay/components/codec_cost.c (wants liblzo2-dev, liblz4-dev).
codec-costs: tests/measure/codec_cost.c
	@mkdir -p $(BUILD)
	$(Q)$(CC) -O2 -Wall -Wextra -D_GNU_SOURCE -o $(BUILD)/codec_cost $< -llzo2 -llz4 -lzstd
	@$(BUILD)/codec_cost text $$(find /usr/include /usr/share/doc -type f -size +3k | sort | head -3000) \
		-- binary $$(find /usr/bin /usr/lib -type f -size +100k | sort | head -150)

# Every test; installs what it needs when root on Debian. Last line: N passed, N failed, N skipped
test:
	@tests/setup.sh test && tests/run.sh

# Records a real workload (or takes the bundled recording), replays it, compares, asks in SQL.
demo:
	@tests/setup.sh build && $(MAKE) -s all && tests/demo.sh

bench:
	@tests/setup.sh bench && $(MAKE) -s all helpers && tests/bench/run.sh

# The kernel models against the kernel that runs here: tests/truth/truth.sh, resumes. TRUTH='--quick', --cpu
truth:
	@tests/setup.sh bench && $(MAKE) -s all && tests/truth/truth.sh $(TRUTH)

# The kernel models against Debian's 6.12 and 6.1 in guests: tests/guest/models.sh, resumes. GUEST='--quick'
guest: all
	@tests/guest/models.sh $(GUEST)

# The same without a memcg, in guests of several sizes: kswapd and watermarks. GUEST='--kernel 6.1'
guest-machine: all
	@tests/guest/machine.sh $(GUEST)

fuzz:
	@tests/setup.sh test && $(MAKE) -s all && tests/fuzz/run.sh 120

# ---- man pages, install ------------------------------------------------------------------------
MAN_SRCS := $(wildcard docs/man/*.scd)
MAN := $(MAN_SRCS:docs/man/%.scd=$(BUILD)/man/%)
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
mandir ?= $(prefix)/share/man
docdir ?= $(prefix)/share/doc/pagereel
completiondir ?= $(prefix)/share/bash-completion/completions
INSTALL ?= install

# The date in a page is that of its text, so that the same source gives the same page.
$(BUILD)/man/%: docs/man/%.scd docs/man/tidy.awk
	@mkdir -p $(@D)
	$(Q)SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(stat -c %Y $<)} scdoc < $< > $@.raw && \
		awk -f docs/man/tidy.awk $@.raw > $@ && rm $@.raw

man: $(MAN)

install: all man
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir)/pagereel $(DESTDIR)$(includedir)/pagereel \
		$(DESTDIR)$(includedir)/pagereel/base $(DESTDIR)$(includedir)/pagereel/replay \
		$(DESTDIR)$(mandir)/man1 $(DESTDIR)$(docdir) $(DESTDIR)$(completiondir)
	$(INSTALL) -m 755 $(BUILD)/pagereel $(DESTDIR)$(bindir)/pagereel
	$(INSTALL) -m 644 $(BUILD)/pagereel.so $(DESTDIR)$(libdir)/pagereel/pagereel.so
	$(INSTALL) -m 644 base/base.h $(DESTDIR)$(includedir)/pagereel/base/base.h
	$(INSTALL) -m 644 replay/model.h $(DESTDIR)$(includedir)/pagereel/replay/model.h
	$(INSTALL) -m 644 $(MAN) $(DESTDIR)$(mandir)/man1
	$(INSTALL) -m 644 docs/pagereel.bash $(DESTDIR)$(completiondir)/pagereel
	$(INSTALL) -m 644 LICENSE $(wildcard README.md docs/schema.md) $(DESTDIR)$(docdir)

# Removes what install put there, and directories of our own only.
uninstall:
	rm -f $(DESTDIR)$(bindir)/pagereel $(DESTDIR)$(completiondir)/pagereel \
		$(addprefix $(DESTDIR)$(mandir)/man1/,$(notdir $(MAN)))
	rm -rf $(DESTDIR)$(libdir)/pagereel $(DESTDIR)$(includedir)/pagereel $(DESTDIR)$(docdir)

clean:
	rm -rf build build-* pagereel pagereel.so

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: cases codec-costs man uninstall all unit unit-asan helpers test check-layers clean demo bench truth guest guest-machine fuzz install
.SECONDARY:
