/* Streams that write ASCII where the locale has no UTF-8 (base/plain_text.h). */
#ifndef FATHOM_CLI_PLAIN_OUTPUT_H
#define FATHOM_CLI_PLAIN_OUTPUT_H

#include <stdio.h>

/* A stream that writes to `output`, in ASCII where that is wanted; else `output`. Closing it closes both. */
FILE *fm_plain_output(FILE *output);

/* Standard output and error of the process, once, after setlocale(). */
void fm_plain_output_standard(void);

#endif
