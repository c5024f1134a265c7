# The front door. CMake does the work; these are the words to know:
#   make          build build/fathom
#   make run      install what is missing, build, do the main job: stat on the examples
#   make test     install what is missing, build with gcc and clang, run every test and the linters
#   make fuzz     fuzz the readers of files, FUZZ_SECONDS each (60)
#   make soak     tests that depend on time or threads, ROUNDS times (20)
#   make bench    ratios against peers, interleaved; needs a quiet machine
#   make install  into PREFIX (default /usr/local)
#   make deb      build/fathom_VERSION_amd64.deb, a Debian package
#   make format, make lint, make clean
PREFIX ?= /usr/local
BUILD ?= build
JOBS ?= $(shell nproc)

.PHONY: all run test fuzz soak bench install deb format lint clean setup-build setup-deb setup-test setup-soak setup-bench configure
all: configure
	@cmake --build $(BUILD) -j$(JOBS)

configure:
	@scripts/setup --check build
	@test -f $(BUILD)/CMakeCache.txt || cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)

setup-build:
	@scripts/setup build page
setup-deb:
	@scripts/setup build page deb
setup-test:
	@scripts/setup build page deb test
# where there can be no clean Debian, its test is skipped
setup-soak: setup-test
	@scripts/setup soak && scripts/chroot $(BUILD)/debian12.tar || true
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

deb: setup-deb
	@$(MAKE) --no-print-directory all
	@test -f $(BUILD)/web/page.made || { echo "fathom: no package without 'report --html': the build says above what is missing" >&2; exit 1; }
	@scripts/deb $(BUILD)
	@ls $(BUILD)/fathom_*.deb

format:
	clang-format -i $$(git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'bench/*.[ch]' 'include/*.h' | grep -v kernels/x86_64/)

lint: setup-test
	@scripts/lint $(BUILD)

clean:
	rm -rf $(BUILD)
