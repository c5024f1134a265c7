#include "cli/plain_output.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_text.h"

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

	if (!output || !fm_plain_is_wanted())
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

void fm_plain_output_standard(void)
{
	if (!strcmp(nl_langinfo(CODESET), "UTF-8"))
		return;
	fm_plain_want();
	stdout = fm_plain_output(stdout);
	stderr = fm_plain_output(stderr);
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stderr, NULL, _IONBF, 0);
}
