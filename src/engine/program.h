/* How to run a program file: the emulator, and the interpreters of a script. */
#ifndef FATHOM_ENGINE_PROGRAM_H
#define FATHOM_ENGINE_PROGRAM_H

#include "base/error.h"

enum { FM_PROGRAM_PATH = 1024, FM_PROGRAM_INTERPRETERS = 3 };

struct fm_program {
	const char *emulator; /* name of the QEMU program */
	unsigned interpreters;
	char interpreter[FM_PROGRAM_INTERPRETERS][FM_PROGRAM_PATH]; /* the script's first, then the interpreter's own */
	char argument[FM_PROGRAM_INTERPRETERS][FM_PROGRAM_PATH];
};

/* -EACCES if the file is not executable, -ENOTSUP if the engine cannot run it. */
int fm_program_inspect(const char *path, struct fm_program *ret_program, struct fm_error *error);

#endif
