#include "base/preloadable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, INTERPRETERS_MAX = 4 };

static const char by_engine[] = "--sampler exact can record it (needs QEMU, about 100 times slower)";

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
		    "%s runs as another user (setuid), and nothing can be preloaded into such programs: run it "
		    "as that user, or record a copy without that bit",
		    path);
	if ((there.st_mode & S_ISGID) && (there.st_mode & S_IXGRP) && there.st_gid != getegid())
		return fm_error_set(
		    error, ENOTSUP,
		    "%s runs as another group (setgid), and nothing can be preloaded into such programs: run "
		    "it in that group, or record a copy without that bit",
		    path);
	if (geteuid() && fgetxattr(file, "security.capability", NULL, 0) > 0)
		return fm_error_set(
		    error, ENOTSUP,
		    "%s has capabilities of its own, and nothing can be preloaded into such programs: record "
		    "a copy without them (cp loses them), or run as root",
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

/* Whether it needs a library whose name begins so. */
static bool needs_library(int file, const Elf64_Ehdr *head, const Elf64_Phdr *dynamic, const char *name)
{
	enum { MOST = 4096 };
	uint64_t texts = 0;
	char needed[64];
	Elf64_Dyn entry;

	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < MOST && i < dynamic->p_filesz / sizeof(entry); i++) {
			if (pread(file, &entry, sizeof(entry), (off_t)(dynamic->p_offset + i * sizeof(entry))) !=
			        sizeof(entry) ||
			    entry.d_tag == DT_NULL)
				break;
			if (!pass && entry.d_tag == DT_STRTAB)
				texts = offset_of(file, head, entry.d_un.d_ptr);
			if (pass && texts && entry.d_tag == DT_NEEDED &&
			    pread(file, needed, sizeof(needed), (off_t)(texts + entry.d_un.d_val)) >
			        (ssize_t)strlen(name) &&
			    !strncmp(needed, name, strlen(name)))
				return true;
		}
	return false;
}

static int check_elf(const char *path, int file, const Elf64_Ehdr *head, struct fm_error *error)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char interpreter[256] = "";
	Elf64_Phdr segment, dynamic = {0};

	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != EM_X86_64)
		return fm_error_set(error, ENOTSUP,
		                    "%s is a program for %s: only 64-bit x86 programs can be sampled%s%s", path,
		                    processor_name(head->e_machine), head->e_machine == EM_AARCH64 ? "; " : "",
		                    head->e_machine == EM_AARCH64 ? by_engine : "");
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
		return fm_error_set(
		    error, ENOTSUP,
		    "%s is linked statically, and nothing can be preloaded into it: link it dynamically; or %s", path,
		    by_engine);
	if (dynamic.p_filesz && needs_library(file, head, &dynamic, "libasan.so."))
		return fm_error_set(
		    error, ENOTSUP,
		    "%s is built with the address sanitizer, whose library wants to be the first: build it without",
		    path);
	if (strstr(interpreter, "ld-musl"))
		return fm_error_set(
		    error, ENOTSUP,
		    "%s uses the musl C library, and the sampling library needs glibc: build it for glibc; or %s", path,
		    by_engine);
	return 0;
}

int fm_preloadable_check(const char *path, struct fm_error *error)
{
	char interpreter[256];

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
			r = check_elf(path, file, &elf, error);
			close(file);
			return r;
		}
		close(file);
		if (r)
			return r;
		if (length < 3 || head[0] != '#' || head[1] != '!')
			return fm_error_set(
			    error, EACCES,
			    "%s cannot be run: it is neither an ELF program nor a script that says what runs it", path);
		line[strcspn(line, "\n")] = '\0';
		line += strspn(line, " \t");
		line[strcspn(line, " \t")] = '\0';
		memcpy(interpreter, line, strlen(line) + 1);
		path = interpreter;
	}
	return fm_error_set(error, EACCES, "%s: too many interpreters", path);
}
