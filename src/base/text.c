#include "base/text.h"

#include "base/plain_text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char *fm_text_bytes(char *buffer, size_t size, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	unsigned unit = 0;
	char number[32];

	while (bytes >= 1024 && unit < 4) {
		bytes /= 1024;
		unit++;
	}
	snprintf(number, sizeof(number), "%.*f", bytes < 10 ? 2 : bytes < 100 ? 1 : 0, bytes);
	if (strchr(number, '.')) {
		size_t end = strlen(number);

		while (number[end - 1] == '0')
			number[--end] = 0;
		if (number[end - 1] == '.')
			number[--end] = 0;
	}
	snprintf(buffer, size, "%s %s", number, units[unit]);
	return buffer;
}

const char *fm_text_number(char *buffer, size_t size, double value)
{
	double magnitude = fabs(value);
	int decimals = 0;

	if (magnitude > 0 && magnitude < 100)
		decimals = magnitude >= 10 ? 1 : magnitude >= 1 ? 2 : (int)fmin(8, ceil(2 - log10(magnitude)));
	snprintf(buffer, size, "%.*f", decimals, value);
	return buffer;
}

int fm_text_parse_duration(const char *text, double *ret_seconds, struct fm_error *error)
{
	static const struct {
		const char *suffix;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"min", 60}, {"m", 60}, {"h", 3600}};
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end != text && !errno && value > 0 && isfinite(value))
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (!strcmp(end, units[i].suffix)) {
				*ret_seconds = value * units[i].seconds;
				return 0;
			}
	return fm_error_set(error, EINVAL, "\"%s\" is not a duration: write 500ms, 10s, 2min or 1h", text);
}

int fm_text_parse_unsigned(const char *text, const char *what, uint64_t least, uint64_t most, uint64_t *ret_value,
                           struct fm_error *error)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (end == text || *end || errno || strchr(text, '-') || value < least || value > most)
		return fm_error_set(error, EINVAL, "%s takes a whole number from %llu to %llu, not \"%s\"", what,
		                    (unsigned long long)least, (unsigned long long)most, text);
	*ret_value = value;
	return 0;
}

int fm_text_read_line(const char *path, char *buffer, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (file < 0)
		return -errno;
	length = read(file, buffer, size - 1);
	if (length < 0) {
		int code = errno;

		close(file);
		return -code;
	}
	close(file);
	buffer[length] = 0;
	buffer[strcspn(buffer, "\n")] = 0;
	return 0;
}

int fm_text_read_number(const char *path, long long *ret_value)
{
	char line[64];
	char *end;
	long long value;
	int status = fm_text_read_line(path, line, sizeof(line));

	if (status)
		return status;
	errno = 0;
	value = strtoll(line, &end, 10);
	if (end == line || errno)
		return -ENODATA;
	*ret_value = value;
	return 0;
}

/* How many bytes the character of UTF-8 takes that begins here; 0 when none does. */
static unsigned character_length(const unsigned char *text)
{
	/* by the first byte: the number of following bytes, and the least character of that length */
	unsigned follow = *text < 0x80 ? 0 : *text >= 0xf0 ? 3 : *text >= 0xe0 ? 2 : 1;
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	uint32_t character = follow ? *text & (0x3fu >> follow) : *text;

	if (follow && (*text < 0xc0 || *text > 0xf4))
		return 0;
	for (unsigned i = 1; i <= follow; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3fu);
	}
	if (character < least[follow] || character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
		return 0;
	return follow + 1;
}

bool fm_text_is_clean(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		unsigned length = character_length(at);

		if (!length || (*at < ' ' && *at != '\t') || *at == 0x7f)
			return false;
		at += length;
	}
	return true;
}

void fm_text_complete(char *text)
{
	size_t length = strlen(text), back = 0;

	while (back < 3 && back < length && ((unsigned char)text[length - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back < length && !character_length((unsigned char *)text + length - 1 - back))
		text[length - 1 - back] = '\0';
}

size_t fm_text_width(const char *text)
{
	size_t width = 0;

	if (fm_plain_is_wanted())
		return fm_plain_width(text);
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static bool begins_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Bytes of the first columns. */
static size_t head_bytes(const char *text, size_t columns)
{
	size_t bytes = 0;

	for (; text[bytes]; bytes++)
		if (begins_character(text[bytes]) && !columns--)
			break;
	return bytes;
}

/* Bytes of the last columns. */
static size_t tail_bytes(const char *text, size_t length, size_t columns)
{
	size_t begin = length;

	while (begin && columns)
		if (begins_character(text[--begin]))
			columns--;
	return length - begin;
}

const char *fm_text_elide(char *buffer, size_t size, const char *text, size_t columns)
{
	static const char mark[] = "…";
	size_t length = strlen(text), head, tail, kept;

	if (!size)
		return buffer;
	if (length < size && fm_text_width(text) <= columns) {
		memcpy(buffer, text, length + 1);
		return buffer;
	}
	*buffer = '\0';
	if (!columns || size < sizeof(mark))
		return buffer;
	kept = columns - 1 < size ? columns - 1 : size;
	/* characters of several bytes may need fewer columns than there are */
	for (;; kept--) {
		head = head_bytes(text, (kept + 1) / 2);
		tail = tail_bytes(text, length, kept / 2);
		if (head + tail + sizeof(mark) <= size && head + tail < length)
			break;
		/* invalid UTF-8 has no width */
		if (!kept)
			return buffer;
	}
	memcpy(buffer, text, head);
	memcpy(buffer + head, mark, sizeof(mark) - 1);
	memcpy(buffer + head + sizeof(mark) - 1, text + length - tail, tail);
	buffer[head + sizeof(mark) - 1 + tail] = '\0';
	return buffer;
}

unsigned fm_text_columns(int file_descriptor)
{
	struct winsize window;

	if (isatty(file_descriptor) && !ioctl(file_descriptor, TIOCGWINSZ, &window) && window.ws_col)
		return window.ws_col < 60 ? 60 : window.ws_col;
	return 100;
}

const char *fm_text_grouped(char *buffer, size_t size, uint64_t value)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	size_t used = 0;

	for (int i = 0; i < length && used + 2 < size; i++) {
		if (i && (length - i) % 3 == 0)
			buffer[used++] = ',';
		buffer[used++] = digits[i];
	}
	buffer[used] = 0;
	return buffer;
}

bool fm_text_has_words(const char *pattern, const char *first, const char *second)
{
	while (pattern && *pattern) {
		size_t length = strcspn(pattern, " *");
		char word[128];

		snprintf(word, sizeof(word), "%.*s", (int)length, pattern);
		if (*word && !strcasestr(first, word) && !strcasestr(second, word))
			return false;
		pattern += length + (pattern[length] != 0);
	}
	return true;
}
