#include "export/sink.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

static void fail(struct fm_sink *sink, int code)
{
	if (!sink->failed)
		sink->code = code ? code : EIO;
	sink->failed = true;
}

void fm_sink_bytes(struct fm_sink *sink, const void *bytes, size_t count)
{
	if (!sink->failed && count && fwrite_unlocked(bytes, 1, count, sink->file) != count)
		fail(sink, errno);
}

void fm_sink_byte(struct fm_sink *sink, char byte)
{
	if (!sink->failed && putc_unlocked(byte, sink->file) == EOF)
		fail(sink, errno);
}

void fm_sink_text(struct fm_sink *sink, const char *text)
{
	fm_sink_bytes(sink, text, strlen(text));
}

void fm_sink_unsigned(struct fm_sink *sink, uint64_t value)
{
	char digits[24];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	fm_sink_bytes(sink, digits + at, sizeof(digits) - at);
}

void fm_sink_signed(struct fm_sink *sink, int64_t value)
{
	if (value < 0)
		fm_sink_byte(sink, '-');
	fm_sink_unsigned(sink, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void fm_sink_address(struct fm_sink *sink, uint64_t value)
{
	char digits[24];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	digits[--at] = 'x';
	digits[--at] = '0';
	fm_sink_bytes(sink, digits + at, sizeof(digits) - at);
}

void fm_sink_seconds(struct fm_sink *sink, uint64_t nanoseconds)
{
	char part[10] = ".000000000";
	uint64_t rest = nanoseconds % 1000000000;

	for (unsigned i = 9; i; i--, rest /= 10)
		part[i] = (char)('0' + rest % 10);
	fm_sink_unsigned(sink, nanoseconds / 1000000000);
	fm_sink_bytes(sink, part, sizeof(part));
}

void fm_sink_real(struct fm_sink *sink, double value, const char *none)
{
	char text[40];

	if (!isfinite(value)) {
		fm_sink_text(sink, none);
		return;
	}
	if (value == floor(value) && fabs(value) < 1e15) {
		fm_sink_signed(sink, (int64_t)value);
		return;
	}
	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	fm_sink_text(sink, text);
}

void fm_sink_json(struct fm_sink *sink, const char *text)
{
	fm_sink_byte(sink, '"');
	while (*text) {
		size_t length = fm_printable_length((const unsigned char *)text);
		unsigned char byte = (unsigned char)*text;
		char escaped[8];

		if (!length) {
			fm_sink_text(sink, "\\ufffd");
			text++;
			continue;
		}
		if (byte < 0x20 || byte == 0x7f || strchr("\"\\<>&", byte)) {
			snprintf(escaped, sizeof(escaped), byte == '"' || byte == '\\' ? "\\%c" : "\\u%04x", byte);
			fm_sink_text(sink, escaped);
		} else {
			fm_sink_bytes(sink, text, length);
		}
		text += length;
	}
	fm_sink_byte(sink, '"');
}

void fm_sink_csv(struct fm_sink *sink, const char *text)
{
	bool formula = *text && strchr("=+-@\t\r", *text);

	if (!formula && !strpbrk(text, "\",\r\n")) {
		fm_sink_text(sink, text);
		return;
	}
	fm_sink_text(sink, formula ? "\"'" : "\"");
	for (; *text; text++) {
		if (*text == '"')
			fm_sink_byte(sink, '"');
		fm_sink_byte(sink, *text);
	}
	fm_sink_byte(sink, '"');
}

void fm_sink_line(struct fm_sink *sink, const char *text, const char *empty)
{
	if (!*text)
		fm_sink_text(sink, empty);
	while (*text) {
		size_t length = fm_printable_length((const unsigned char *)text);

		if (!length || (unsigned char)*text < 0x20 || *text == 0x7f)
			fm_sink_byte(sink, length ? ' ' : '?');
		else
			fm_sink_bytes(sink, text, length);
		text += length ? length : 1;
	}
}

bool fm_sink_is_over(struct fm_sink *sink)
{
	if (sink->stop && *sink->stop)
		fail(sink, EINTR);
	return sink->failed;
}
