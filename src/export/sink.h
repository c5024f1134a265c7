/* One output file of an exporter, with a large buffer. The first failure is kept, so that writers need not check every
   value; fm_files_finish() returns it. Texts come from untrusted programs: each is written by the function for its
   format. */
#ifndef FATHOM_EXPORT_SINK_H
#define FATHOM_EXPORT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct fm_sink {
	FILE *file;
	bool failed;
	int code;                  /* errno of the first failure */
	const volatile bool *stop; /* set to cancel the export; may be NULL */
};

void fm_sink_bytes(struct fm_sink *sink, const void *bytes, size_t count);
void fm_sink_byte(struct fm_sink *sink, char byte);
/* Writes a text of Fathom, unchanged. */
void fm_sink_text(struct fm_sink *sink, const char *text);
void fm_sink_unsigned(struct fm_sink *sink, uint64_t value);
void fm_sink_signed(struct fm_sink *sink, int64_t value);
/* 0x7f00… */
void fm_sink_address(struct fm_sink *sink, uint64_t value);
/* Nanoseconds as seconds: "1.000000020". */
void fm_sink_seconds(struct fm_sink *sink, uint64_t nanoseconds);
/* The shortest text that reads back as the same number; `none` if it is infinite or not a number. */
void fm_sink_real(struct fm_sink *sink, double value, const char *none);

/* A JSON string with quotes. Invalid UTF-8 becomes U+FFFD. "<", ">" and "&" are escaped for use in a page. */
void fm_sink_json(struct fm_sink *sink, const char *text);
/* A field of a CSV file, in quotes if necessary. A field that looks like a formula gets an apostrophe in front. */
void fm_sink_csv(struct fm_sink *sink, const char *text);
/* Text for formats with one record per line: control characters become blanks, invalid UTF-8 "?", an empty text
   `empty`. */
void fm_sink_line(struct fm_sink *sink, const char *text, const char *empty);

/* True after a failure or a cancellation. */
bool fm_sink_is_over(struct fm_sink *sink);

#endif
