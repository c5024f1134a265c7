#include "engine/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One file: its emulator by the ELF header, or its interpreter. */
static int inspect(const char *path, const char **ret_emulator, char *ret_interpreter, char *ret_argument,
                   struct fm_error *error)
{
	unsigned char head[256] = {0};
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, head, sizeof(head) - 1);
	Elf64_Ehdr elf;

	if (file >= 0)
		close(file);
	if (length < 0)
		return fm_error_set(error, EACCES, "%s: cannot be read: %s", path, strerror(errno));
	*ret_interpreter = *ret_argument = 0;
	if (head[0] == '#' && head[1] == '!') {
		char *line = (char *)head + 2, *blank;

		line[strcspn(line, "\n")] = 0;
		line += strspn(line, " \t");
		blank = line + strcspn(line, " \t");
		snprintf(ret_argument, FM_PROGRAM_PATH, "%s", blank + strspn(blank, " \t"));
		*blank = 0;
		snprintf(ret_interpreter, FM_PROGRAM_PATH, "%s", line);
		return 0;
	}
	memcpy(&elf, head, sizeof(elf));
	if ((size_t)length < sizeof(elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64)
		return fm_error_set(error, EACCES, "%s: neither a 64-bit ELF program nor a script", path);
	if (elf.e_machine == EM_X86_64)
		*ret_emulator = "qemu-x86_64";
	else if (elf.e_machine == EM_AARCH64)
		*ret_emulator = "qemu-aarch64";
	else
		return fm_error_set(error, ENOTSUP, "%s: the emulator runs x86-64 and aarch64 programs only", path);
	return 0;
}

int fm_program_inspect(const char *path, struct fm_program *ret_program, struct fm_error *error)
{
	const char *at = path;

	memset(ret_program, 0, sizeof(*ret_program));
	for (;;) {
		unsigned depth = ret_program->interpreters;
		char interpreter[FM_PROGRAM_PATH], argument[FM_PROGRAM_PATH];
		int status = inspect(at, &ret_program->emulator, interpreter, argument, error);

		if (status || ret_program->emulator)
			return status;
		if (depth == FM_PROGRAM_INTERPRETERS)
			return fm_error_set(error, EACCES, "%s: too many interpreters", path);
		memcpy(ret_program->interpreter[depth], interpreter, sizeof(interpreter));
		memcpy(ret_program->argument[depth], argument, sizeof(argument));
		at = ret_program->interpreter[depth];
		ret_program->interpreters++;
	}
}
