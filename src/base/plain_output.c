#include "base/plain_output.h"

#include <langinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	uint32_t character;
	const char *plain;
} substitutes[] = {
    {0x00b1, "+-"}, {0x00d7, "x"},  {0x00b5, "u"},  {0x03bc, "u"},  {0x2013, "-"},   {0x2014, "-"},    {0x2212, "-"},
    {0x2018, "'"},  {0x2019, "'"},  {0x201c, "\""}, {0x201d, "\""}, {0x2026, "..."}, {0x2190, "<-"},   {0x2192, "->"},
    {0x2264, "<="}, {0x2265, ">="}, {0x2248, "~"},  {0x00b2, "2"},  {0x00b7, "."},   {0x221a, "sqrt"},
};

/* Lines and blocks of plots: the mark that takes as little room and says as much. */
static const char *mark(uint32_t character)
{
	static const char steps[] = ".:+#";

	if (character >= 0x2800 && character <= 0x28ff) { /* braille: by how many of the eight dots there are */
		unsigned dots = (unsigned)__builtin_popcount(character & 0xff);
		static char text[4][2];

		if (!dots)
			return " ";
		snprintf(text[(dots - 1) / 2], 2, "%c", steps[(dots - 1) / 2]);
		return text[(dots - 1) / 2];
	}
	if (character == 0x2500 || character == 0x2501 || character == 0x2504 || character == 0x2505)
		return "-";
	if (character == 0x2502 || character == 0x2503 || character == 0x2506 || character == 0x2507 ||
	    character == 0x250a)
		return "|";
	if (character >= 0x2508 && character <= 0x257f)
		return "+";
	if (character >= 0x2580 && character <= 0x259f)
		return "#";
	return "?";
}

static const char *substitute(uint32_t character)
{
	for (size_t i = 0; i < sizeof(substitutes) / sizeof(substitutes[0]); i++)
		if (substitutes[i].character == character)
			return substitutes[i].plain;
	return mark(character);
}

/* Bytes of the character that begins so; 1 for what begins none. */
static size_t length_of(unsigned char first)
{
	return first >= 0xf0 && first < 0xf8   ? 4
	       : first >= 0xe0 && first < 0xf0 ? 3
	       : first >= 0xc2 && first < 0xe0 ? 2
	                                       : 1;
}

static bool decode(const unsigned char *text, size_t length, uint32_t *ret_character)
{
	uint32_t character = text[0] & (0xff >> (length + 1));

	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return false;
		character = character << 6 | (text[i] & 0x3f);
	}
	*ret_character = character;
	return true;
}

size_t fm_plain_text(const char *text, size_t length, char *plain, size_t *ret_rest)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + length;
	size_t used = 0;

	*ret_rest = 0;
	while (at < end) {
		size_t bytes = length_of(*at);
		const char *instead;
		uint32_t character;

		if (*at < 0x80) {
			plain[used++] = (char)*at++;
			continue;
		}
		if (bytes > (size_t)(end - at)) {
			*ret_rest = (size_t)(end - at);
			break;
		}
		if (bytes == 1 || !decode(at, bytes, &character)) { /* in another encoding: it is not ours to change */
			plain[used++] = (char)*at++;
			continue;
		}
		instead = substitute(character);
		memcpy(plain + used, instead, strlen(instead));
		used += strlen(instead);
		at += bytes;
	}
	return used;
}

struct plain {
	FILE *output;
	char rest[4];
	size_t rest_length;
};

static ssize_t write_plain(void *cookie, const char *text, size_t length)
{
	struct plain *plain = cookie;
	char *whole = malloc(5 * (length + sizeof(plain->rest)));
	size_t used, rest, before = plain->rest_length;
	bool written;

	if (!whole)
		return -1;
	memcpy(whole, plain->rest, before);
	memcpy(whole + before, text, length);
	used = fm_plain_text(whole, before + length, whole + before + length, &rest);
	memcpy(plain->rest, whole + before + length - rest, rest);
	plain->rest_length = rest;
	written = fwrite(whole + before + length, 1, used, plain->output) == used && !fflush(plain->output);
	free(whole);
	return written ? (ssize_t)length : -1;
}

static int close_plain(void *cookie)
{
	struct plain *plain = cookie;
	int result = fclose(plain->output);

	free(plain);
	return result;
}

FILE *fm_plain_output(FILE *output)
{
	const cookie_io_functions_t functions = {.write = write_plain, .close = close_plain};
	struct plain *plain;
	FILE *stream;

	if (!output || !strcmp(nl_langinfo(CODESET), "UTF-8"))
		return output;
	plain = calloc(1, sizeof(*plain));
	if (!plain)
		return output;
	plain->output = output;
	stream = fopencookie(plain, "w", functions);
	if (!stream) {
		free(plain);
		return output;
	}
	return stream;
}

static bool wanted;

bool fm_plain_is_wanted(void)
{
	return wanted;
}

size_t fm_plain_width(const char *text)
{
	size_t length = strlen(text), rest;
	char *plain = malloc(4 * length + 1);

	if (plain)
		length = fm_plain_text(text, length, plain, &rest);
	free(plain);
	return length;
}

void fm_plain_output_standard(void)
{
	FILE *output = fm_plain_output(stdout), *errors = fm_plain_output(stderr);

	if (output != stdout)
		setvbuf(output, NULL, _IOLBF, 0);
	if (errors != stderr)
		setvbuf(errors, NULL, _IONBF, 0);
	wanted = output != stdout;
	stdout = output;
	stderr = errors;
}
