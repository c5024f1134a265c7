/* How a program file is run: by which emulator, and for a script through which interpreters. */
#ifndef FATHOM_ENGINE_PROGRAM_H
#define FATHOM_ENGINE_PROGRAM_H

#include "base/error.h"

enum { FM_PROGRAM_PATH = 1024, FM_PROGRAM_INTERPRETERS = 3 };

struct fm_program {
	const char *emulator; /* name of the QEMU program */
	unsigned interpreters;
	char interpreter[FM_PROGRAM_INTERPRETERS][FM_PROGRAM_PATH]; /* the script's first, its interpreter's next */
	char argument[FM_PROGRAM_INTERPRETERS][FM_PROGRAM_PATH];
};

/* -EACCES for what cannot be run, -ENOTSUP for what the engine cannot run. */
int fm_program_inspect(const char *path, struct fm_program *ret_program, struct fm_error *error);

#endif
