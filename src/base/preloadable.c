#include "base/preloadable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, INTERPRETERS_MAX = 4, LARGEST = 256 << 20 };

int fm_program_resolve(const char *name, char *ret_path, size_t size, struct fm_error *error)
{
	const char *path = getenv("PATH");
	char file[PATH_ROOM];
	int problem = ENOENT;
	struct stat there;

	if (strchr(name, '/')) {
		if (stat(name, &there))
			return errno == ENOENT || errno == ENOTDIR
			           ? fm_error_set(error, ENOENT, "%s: there is no such program", name)
			           : fm_error_set(error, EACCES, "%s: cannot be run: %s", name, strerror(errno));
		if (!S_ISREG(there.st_mode) || access(name, X_OK))
			return fm_error_set(error, EACCES, "%s: cannot be run: %s", name, strerror(EACCES));
		return (size_t)snprintf(ret_path, size, "%s", name) < size
		           ? 0
		           : fm_error_set(error, ENOENT, "%s: the path is too long", name);
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *name && *path;) {
		size_t length = strcspn(path, ":");

		if ((size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, name) < sizeof(file) &&
		    !stat(file, &there)) {
			if (S_ISREG(there.st_mode) && !access(file, X_OK) && strlen(file) < size) {
				memcpy(ret_path, file, strlen(file) + 1);
				return 0;
			}
			problem = EACCES;
		}
		path += length + (path[length] == ':');
	}
	return problem == ENOENT ? fm_error_set(error, ENOENT, "%s: there is no such program", name)
	                         : fm_error_set(error, EACCES, "%s: cannot be run: %s", name, strerror(problem));
}

/* The dynamic linker ignores LD_PRELOAD where a program gets rights that its user lacks. */
static int check_rights(const char *path, int file, struct fm_error *error)
{
	struct stat there;

	if (fstat(file, &there))
		return 0;
	if ((there.st_mode & S_ISUID) && there.st_uid != geteuid())
		return fm_error_set(
		    error, ENOTSUP,
		    "%s runs as another user (setuid), so nothing can be preloaded: run it as that user, or record a "
		    "copy without that bit",
		    path);
	if ((there.st_mode & S_ISGID) && (there.st_mode & S_IXGRP) && there.st_gid != getegid())
		return fm_error_set(
		    error, ENOTSUP,
		    "%s runs as another group (setgid), so nothing can be preloaded: run it in that group, or record a "
		    "copy without that bit",
		    path);
	if (geteuid() && fgetxattr(file, "security.capability", NULL, 0) > 0)
		return fm_error_set(
		    error, ENOTSUP,
		    "%s has file capabilities, so nothing can be preloaded: record a copy without capabilities (cp "
		    "removes them), or run as root",
		    path);
	return 0;
}

static const char *processor_name(unsigned machine)
{
	return machine == EM_AARCH64 ? "64-bit ARM"
	       : machine == EM_RISCV ? "RISC-V"
	       : machine == EM_386   ? "32-bit x86"
	                             : "another processor";
}

/* Where in the file an address of the program is; 0: nowhere. */
static uint64_t offset_of(int file, const Elf64_Ehdr *head, uint64_t address)
{
	Elf64_Phdr segment;

	for (unsigned i = 0; i < head->e_phnum; i++)
		if (pread(file, &segment, sizeof(segment), (off_t)(head->e_phoff + i * sizeof(segment))) ==
		        sizeof(segment) &&
		    segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
		    address - segment.p_vaddr < segment.p_filesz)
			return segment.p_offset + (address - segment.p_vaddr);
	return 0;
}

/* Sanitizers whose libraries want to be the first and to know all memory, by a function that their programs call. */
static const struct {
	const char *function, *words;
} sanitizers[] = {{"__asan_init", "address"},
                  {"__tsan_init", "thread"},
                  {"__msan_init", "memory"},
                  {"__hwasan_init", "hardware-assisted address"}};

/* The name of the one that it is built with; NULL: none. */
static const char *sanitizer_of(int file, const Elf64_Ehdr *head, const Elf64_Phdr *dynamic)
{
	enum { ENTRIES = 4096, LONGEST = 64 << 20 };
	uint64_t at = 0, size = 0;
	const char *found = NULL;
	Elf64_Dyn entry;
	char *texts;

	for (unsigned i = 0; i < ENTRIES && i < dynamic->p_filesz / sizeof(entry); i++) {
		if (pread(file, &entry, sizeof(entry), (off_t)(dynamic->p_offset + i * sizeof(entry))) !=
		        sizeof(entry) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			at = offset_of(file, head, entry.d_un.d_ptr);
		if (entry.d_tag == DT_STRSZ)
			size = entry.d_un.d_val;
	}
	texts = at && size && size < LONGEST ? malloc(size) : NULL;
	if (texts && pread(file, texts, size, (off_t)at) == (ssize_t)size)
		for (unsigned i = 0; i < sizeof(sanitizers) / sizeof(sanitizers[0]) && !found; i++)
			if (memmem(texts, size, sanitizers[i].function, strlen(sanitizers[i].function) + 1))
				found = sanitizers[i].words;
	free(texts);
	return found;
}

/* "; OPTION runs it in the emulator", in words. */
static const char *remedy(const char *emulated, char *text, size_t size)
{
	text[0] = 0;
	if (emulated)
		snprintf(text, size, "; %s runs it in an emulator (needs QEMU, 30 to 100 times slower)", emulated);
	return text;
}

static int check_elf(const char *path, int file, const Elf64_Ehdr *head, const char *emulated, struct fm_error *error)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char interpreter[256] = "", instead[160];
	Elf64_Phdr segment, dynamic = {0};
	const char *sanitizer;

	remedy(emulated, instead, sizeof(instead));

	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != EM_X86_64)
		return fm_error_set(error, ENOTSUP,
		                    "%s is a program for %s: only 64-bit x86 programs can be observed natively%s", path,
		                    processor_name(head->e_machine), head->e_machine == EM_AARCH64 ? instead : "");
	if (head->e_phentsize != sizeof(segment))
		return fm_error_set(error, EACCES, "%s: a damaged ELF file", path);
	for (unsigned i = 0; i < head->e_phnum; i++) {
		if (pread(file, &segment, sizeof(segment), (off_t)(head->e_phoff + i * sizeof(segment))) !=
		    sizeof(segment))
			return fm_error_set(error, EACCES, "%s: a damaged ELF file", path);
		if (segment.p_type == PT_DYNAMIC)
			dynamic = segment;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz < 2 || segment.p_filesz >= sizeof(interpreter) ||
		    pread(file, interpreter, segment.p_filesz, (off_t)segment.p_offset) != (ssize_t)segment.p_filesz)
			return fm_error_set(error, EACCES, "%s: a damaged ELF file", path);
		interpreter[segment.p_filesz - 1] = '\0';
	}
	/* the dynamic linker itself, with a program as its argument, preloads too */
	if (!*interpreter && strncmp(name, "ld-linux", 8) != 0)
		return fm_error_set(error, ENOTSUP,
		                    "%s is linked statically, so nothing can be preloaded: link it dynamically%s", path,
		                    instead);
	sanitizer = dynamic.p_filesz ? sanitizer_of(file, head, &dynamic) : NULL;
	if (sanitizer)
		return fm_error_set(error, ENOTSUP,
		                    "%s is built with the %s sanitizer, whose library must be loaded first: build "
		                    "without the sanitizer",
		                    path, sanitizer);
	if (strstr(interpreter, "ld-musl"))
		return fm_error_set(
		    error, ENOTSUP,
		    "%s uses the musl C library, and Fathom's library needs glibc: build it for glibc%s", path,
		    instead);
	return 0;
}

static bool has_leak_sanitizer(const char *path)
{
	static const char function[] = "__lsan_init";
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *text = MAP_FAILED;
	struct stat there;
	bool found = false;

	if (file < 0)
		return false;
	if (!fstat(file, &there) && S_ISREG(there.st_mode) && there.st_size > 0 && there.st_size < LARGEST)
		text = mmap(NULL, (size_t)there.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (text != MAP_FAILED) {
		found = memmem(text, (size_t)there.st_size, function, sizeof(function));
		munmap((void *)text, (size_t)there.st_size);
	}
	return found;
}

/* Looks in its code for a system call instruction shortly after the number of seccomp() or prctl() is loaded. */
bool fm_preloadable_filters(const char *path)
{
	enum { BEFORE = 64 };
	static const uint8_t numbers[2][5] = {{0xb8, SYS_prctl}, {0xb8, SYS_seccomp & 255, SYS_seccomp >> 8}};
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const uint8_t *code = MAP_FAILED, *at;
	struct stat there;
	bool found = false;

	if (file < 0)
		return false;
	if (!fstat(file, &there) && S_ISREG(there.st_mode) && there.st_size > BEFORE && there.st_size < LARGEST)
		code = mmap(NULL, (size_t)there.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (code == MAP_FAILED)
		return false;
	at = code + BEFORE;
	while (!found && (at = memmem(at, (size_t)(code + there.st_size - at), "\x0f\x05", 2))) {
		for (unsigned i = 0; i < 2; i++)
			found |= memmem(at - BEFORE, BEFORE, numbers[i], sizeof(numbers[i])) != NULL;
		at += 2;
	}
	munmap((void *)code, (size_t)there.st_size);
	return found;
}

int fm_preloadable_check_deep(const char *path, const char *emulated, struct fm_error *error)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	int r = fm_preloadable_check(path, emulated, error);

	if (!r && !strncmp(name, "qemu-", 5))
		return fm_error_set(error, ENOTSUP, "%s emulates programs and depends on faults: use 'fathom stat'",
		                    name);
	if (!r && has_leak_sanitizer(path))
		return fm_error_set(
		    error, ENOTSUP,
		    "%s is built with the leak sanitizer, which conflicts with Fathom's library: build without the "
		    "sanitizer, or use 'fathom stat'",
		    path);
	return r;
}

int fm_preloadable_check(const char *path, const char *emulated, struct fm_error *error)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char interpreter[256];

	if (!strcmp(name, "valgrind"))
		return fm_error_set(error, ENOTSUP,
		                    "valgrind runs programs in an emulator, which Fathom cannot observe: give the "
		                    "program without valgrind");
#if !defined(__x86_64__)
	remedy(emulated, interpreter, sizeof(interpreter));
	return fm_error_set(error, ENOTSUP,
	                    "%s cannot be observed natively: the libraries for that exist for x86-64 only%s", path,
	                    interpreter);
#endif
	for (int depth = 0; depth <= INTERPRETERS_MAX; depth++) {
		char head[256] = "", *line = head + 2;
		int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;
		ssize_t length;
		Elf64_Ehdr elf;

		if (file < 0) /* may be run all the same */
			return errno == ENOENT ? fm_error_set(error, EACCES, "%s: there is no such interpreter", path)
			                       : 0;
		length = pread(file, head, sizeof(head) - 1, 0);
		r = check_rights(path, file, error);
		memcpy(&elf, head, sizeof(elf));
		if (!r && length >= (ssize_t)sizeof(elf) && !memcmp(elf.e_ident, ELFMAG, SELFMAG)) {
			r = check_elf(path, file, &elf, emulated, error);
			close(file);
			return r;
		}
		close(file);
		if (r)
			return r;
		if (length < 3 || head[0] != '#' || head[1] != '!')
			return fm_error_set(
			    error, EACCES,
			    "%s cannot be run: it is neither an ELF program nor a script with an interpreter line",
			    path);
		line[strcspn(line, "\n")] = '\0';
		line += strspn(line, " \t");
		line[strcspn(line, " \t")] = '\0';
		memcpy(interpreter, line, strlen(line) + 1);
		path = interpreter;
	}
	return fm_error_set(error, EACCES, "%s: too many interpreters", path);
}
