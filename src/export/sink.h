/* Where an exporter writes: one file, through a large buffer. A failure is remembered, so that writers need not ask
   after every value; fm_files_finish() tells it. Texts come from other people's programs: each has to be written by the
   function for the format it goes into. */
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
	const volatile bool *stop; /* somebody wants it to end; may be NULL */
};

void fm_sink_bytes(struct fm_sink *sink, const void *bytes, size_t count);
void fm_sink_byte(struct fm_sink *sink, char byte);
/* Our own words: as they are. */
void fm_sink_text(struct fm_sink *sink, const char *text);
void fm_sink_unsigned(struct fm_sink *sink, uint64_t value);
void fm_sink_signed(struct fm_sink *sink, int64_t value);
/* 0x7f00… */
void fm_sink_address(struct fm_sink *sink, uint64_t value);
/* Nanoseconds as seconds: "1.000000020". */
void fm_sink_seconds(struct fm_sink *sink, uint64_t nanoseconds);
/* The shortest text that reads back as the same number; `none` for what is none (infinite, not a number). */
void fm_sink_real(struct fm_sink *sink, double value, const char *none);

/* A JSON string, with its quotes. What is no UTF-8 becomes U+FFFD; "<", ">" and "&" are escaped too, so that the file
   may stand in a page. */
void fm_sink_json(struct fm_sink *sink, const char *text);
/* A field of a CSV file, in quotes when it must be. One that a spreadsheet would take for a formula gets an
   apostrophe in front. */
void fm_sink_csv(struct fm_sink *sink, const char *text);
/* Text for formats in which a line is a record: control characters become blanks, what is no UTF-8 "?"; an empty one
   becomes `empty`. */
void fm_sink_line(struct fm_sink *sink, const char *text, const char *empty);

/* Has it failed, or is it to end? */
bool fm_sink_is_over(struct fm_sink *sink);

#endif
