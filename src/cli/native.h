/* Running the user's program by itself, to see how long it takes. */
#ifndef FATHOM_CLI_NATIVE_H
#define FATHOM_CLI_NATIVE_H

#include "model/picture.h"

struct fm_native_options {
	unsigned least, most; /* runs */
	double seconds;       /* after these no further one is begun, beyond the least */
	const char *region;   /* of this one only these instances are timed; NULL: all of all */
	uint64_t first_instance, last_instance;
	bool silent; /* also the first run's output is only measured */
};

/* The first run has our output, the others write into a file that is only measured (ret_output_bytes, -1 when there was
   no other run). Standard input is rewound for each when that is possible; otherwise the later ones find it empty.
   -ENOENT and -EACCES when the program cannot be run; however it ends is no error. */
int fm_native_run(char *const *argv, const struct fm_native_options *options, struct fm_native *ret_native,
                  int64_t *ret_output_bytes, struct fm_error *error);

/* From now on what is written to standard output goes into a file; the end gives its size and puts the old one back. */
int fm_output_divert(void);
int64_t fm_output_restore(int saved);

/* Standard input at the place where it was at first. false when it cannot be: what reads it will find nothing. */
bool fm_input_rewind(void);
void fm_input_remember(void);

#endif
