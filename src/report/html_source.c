/* Source excerpts around hot lines in `report --html`. A recording is untrusted and may name any file. Only regular
 * files with endings of source files are shown, so that a page that is sent to others contains no keys or passwords. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/html_parts.h"

enum {
	FILES_MAX = 24,
	LINES_MAX = 1200, /* of one file */
	AROUND = 8,       /* lines before and after a hot one */
	WIDTH_MAX = 400,
	BYTES_MAX = 4 << 20,
};

static const char *const endings[] = {"c",   "h",   "cc",  "cpp", "cxx", "c++", "hh",  "hpp",   "hxx", "inc",
                                      "inl", "ipp", "tcc", "f",   "f77", "f90", "f95", "f03",   "f08", "for",
                                      "rs",  "go",  "d",   "zig", "adb", "ads", "m",   "mm",    "cu",  "cuh",
                                      "cl",  "s",   "asm", "pas", "nim", "cr",  "v",   "swift", "ispc"};

static bool looks_like_source(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && !strchr(dot, '/') && i < sizeof(endings) / sizeof(endings[0]); i++)
		if (!strcasecmp(dot + 1, endings[i]))
			return true;
	return false;
}

static char *read_whole(const char *path, time_t *ret_changed)
{
	int descriptor = looks_like_source(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	struct stat status;
	size_t length = 0;
	char *text = NULL;

	if (descriptor < 0)
		return NULL;
	if (!fstat(descriptor, &status) && S_ISREG(status.st_mode) && status.st_size < BYTES_MAX) {
		text = malloc((size_t)status.st_size + 1);
		while (text && length < (size_t)status.st_size) {
			ssize_t got = read(descriptor, text + length, (size_t)status.st_size - length);

			if (got <= 0)
				break;
			length += (size_t)got;
		}
		if (text)
			text[length] = 0;
		*ret_changed = status.st_mtime;
	}
	close(descriptor);
	return text;
}

/* A line for JSON: invalid UTF-8 is shown as '?'. */
static json_t *line_json(const char *begin, size_t length)
{
	char text[WIDTH_MAX + 1];
	json_t *value;

	length = length < WIDTH_MAX ? length : WIDTH_MAX;
	/* not in the middle of a character */
	while (length && length == WIDTH_MAX && ((unsigned char)begin[length] & 0xc0) == 0x80)
		length--;
	memcpy(text, begin, length);
	if (length && text[length - 1] == '\r')
		length--;
	value = json_stringn(text, length);
	if (value)
		return value;
	for (size_t i = 0; i < length; i++)
		text[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	value = json_stringn(text, length);
	return value ? value : json_string("");
}

static bool is_near(const struct fm_html_source_line *lines, size_t count, const char *file, int64_t line)
{
	for (size_t i = 0; i < count; i++)
		if (llabs(lines[i].line - line) <= AROUND && !strcmp(lines[i].file, file))
			return true;
	return false;
}

/* [[number, text], …] */
static json_t *pieces_json(const char *text, const struct fm_html_source_line *lines, size_t count, const char *file)
{
	json_t *array = json_array();

	for (int64_t number = 1; *text && json_array_size(array) < LINES_MAX; number++) {
		size_t length = strcspn(text, "\n");

		if (is_near(lines, count, file, number))
			json_array_append_new(array, json_pack("[I, o]", (json_int_t)number, line_json(text, length)));
		text += length + (text[length] != 0);
	}
	return array;
}

static bool is_newer(time_t changed, const char *recorded)
{
	struct tm when = {0};

	return strptime(recorded, "%Y-%m-%dT%H:%M:%SZ", &when) && changed > timegm(&when);
}

json_t *fm_html_sources(const struct fm_html_source_line *lines, size_t count, const char *recorded)
{
	json_t *array = json_array();
	unsigned files = 0;

	for (size_t i = 0; i < count && files < FILES_MAX; i++) {
		time_t changed = 0;
		bool earlier = false;
		char *text;
		json_t *pieces;

		for (size_t k = 0; k < i && !earlier; k++)
			earlier = !strcmp(lines[k].file, lines[i].file);
		if (earlier || !*lines[i].file || lines[i].line <= 0)
			continue;
		text = read_whole(lines[i].file, &changed);
		pieces = text ? pieces_json(text, lines, count, lines[i].file) : NULL;
		if (pieces && json_array_size(pieces)) {
			files++;
			json_array_append_new(array, json_pack("{s:s, s:b, s:O}", "file", lines[i].file, "newer",
			                                       is_newer(changed, recorded), "lines", pieces));
		}
		json_decref(pieces);
		free(text);
	}
	return array;
}
