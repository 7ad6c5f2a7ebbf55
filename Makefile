# The front door. CMake does the building; this file only remembers the words.
#
#   make            build the library            make demo    see it at work in half a minute
#   make test       every test                   make soak    the slow ones: long stress, fuzzers
#   make bench      against the other mallocs    make install PREFIX=/usr/local [COMPAT=0]
#   make clean
#
# Each installs what it needs and is missing (Debian, as root or with sudo); see scripts/setup.

BUILD ?= build/release
PREFIX ?= /usr/local
COMPAT ?= 1
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PEERS ?=
ROUNDS ?= 5

CONFIGURE = cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release

.PHONY: all build demo test soak bench install clean

all: build

$(BUILD)/CMakeCache.txt:
	@$(CONFIGURE) > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }

build:
	@scripts/setup build
	@mkdir -p build
	@$(CONFIGURE) -DVT_TESTS=OFF -DVT_BENCH=OFF > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory
	@echo "built $(BUILD)/lib/libvitrine.so.1; next: make demo, or $(BUILD)/bin/vitrine run your-program"

demo:
	@scripts/setup demo
	@mkdir -p build
	@$(CONFIGURE) -DVT_TESTS=OFF -DVT_BENCH=OFF > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory > build/build.log 2>&1 || { cat build/build.log; exit 1; }
	@scripts/demo $(BUILD)

test:
	@scripts/setup test
	@mkdir -p build
	@$(CONFIGURE) -DVT_TESTS=ON -DVT_BENCH=ON > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory
	@ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure -LE soak

soak:
	@scripts/setup test
	@mkdir -p build
	@$(CONFIGURE) -DVT_TESTS=ON -DVT_BENCH=ON > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory
	@VT_SOAK=1 ctest --test-dir $(BUILD) --output-on-failure -L 'soak|stress|risk'

bench:
	@scripts/setup bench
	@mkdir -p build
	@$(CONFIGURE) -DVT_TESTS=OFF -DVT_BENCH=ON > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory > build/build.log 2>&1 || { cat build/build.log; exit 1; }
	@status=0; python3 bench/run.py --bin $(BUILD)/bench --lib vitrine=$(BUILD)/lib/libvitrine.so.1 \
		$(if $(PEERS),--peers $(PEERS)) --rounds $(ROUNDS) --json build/bench.json --md build/bench.md --check || status=$$?; \
		python3 bench/tools.py --bin $(BUILD)/bin --json build/bench-tools.json --check || status=$$?; exit $$status

install: CONFIGURE += -DVT_COMPAT=$(if $(filter 0,$(COMPAT)),OFF,ON)
install: build
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX) > build/install.log || { cat build/install.log; exit 1; }
	@DESTDIR=$(DESTDIR) scripts/installed build/install.log

clean:
	rm -rf build
