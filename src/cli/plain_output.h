/* Streams that write ASCII where the locale has no UTF-8 (base/plain_text.h). */
#ifndef FATHOM_CLI_PLAIN_OUTPUT_H
#define FATHOM_CLI_PLAIN_OUTPUT_H

#include <stdio.h>

/* A stream that writes ASCII to `output` if the locale needs ASCII, otherwise `output`. Closing the stream closes both.
 */
FILE *fm_plain_output(FILE *output);

/* Standard output and error of the process, once, after setlocale(). */
void fm_plain_output_standard(void);

#endif
