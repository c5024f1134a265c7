# The front door. CMake does the work; these are the words to know:
#   make          build build/fathom
#   make run      install what is missing, build, do the main job: stat on the examples
#   make test     install what is missing, build with gcc and clang, run every test and the linters
#   make fuzz     fuzz the readers of files, FUZZ_SECONDS each (60)
#   make soak     tests that depend on time or threads, ROUNDS times (20)
#   make bench    ratios against peers, interleaved; needs a quiet machine
#   make install  into PREFIX (default /usr/local)
#   make format, make lint, make clean
PREFIX ?= /usr/local
BUILD ?= build
JOBS ?= $(shell nproc)

.PHONY: all run test fuzz soak bench install format lint clean setup-build setup-test setup-bench setup-soak configure
all: configure
	@cmake --build $(BUILD) -j$(JOBS)

configure:
	@scripts/setup --check build
	@test -f $(BUILD)/CMakeCache.txt || cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)

setup-build:
	@scripts/setup build page
setup-test:
	@scripts/setup build page test
setup-soak:
	@scripts/setup build page test soak
setup-bench:
	@scripts/setup build page bench

run: setup-build
	@$(MAKE) --no-print-directory all
	@scripts/run $(BUILD)

# configured again: the libraries of the tests may have been installed just now
test: setup-test
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@$(MAKE) --no-print-directory all
	@scripts/test $(BUILD)

fuzz: setup-test
	@scripts/fuzz $(BUILD)

soak: setup-soak
	@$(MAKE) --no-print-directory all
	@scripts/soak $(BUILD)

bench: setup-bench
	@$(MAKE) --no-print-directory all
	@scripts/bench $(BUILD)

install: all
	cmake --install $(BUILD) --prefix $(PREFIX)

format:
	clang-format -i $$(git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'bench/*.[ch]' 'include/*.h' | grep -v x86_64/)

lint: setup-test
	@scripts/lint $(BUILD)

clean:
	rm -rf $(BUILD)
