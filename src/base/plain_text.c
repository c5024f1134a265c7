#include "base/plain_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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

/* Lines and blocks of plots: an ASCII character of the same width and meaning. */
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
		if (bytes == 1 || !decode(at, bytes, &character)) { /* another encoding stays unchanged */
			plain[used++] = (char)*at++;
			continue;
		}
		instead = substitute(character);
		while (*instead)
			plain[used++] = *instead++;
		at += bytes;
	}
	return used;
}

static bool wanted;

void fm_plain_want(void)
{
	wanted = true;
}

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
