#include "trust/floors.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/description.h"
#include "trust/judging.h"

enum { LINES_MAX = 256, LARGEST = 1 << 16 };

struct line {
	char pattern[96];
	double tool, other, walks;
};

struct fm_floors {
	struct line lines[LINES_MAX];
	unsigned count;
};

static int parse_line(char *text, const char *file, unsigned number, struct line *line, struct fm_error *error)
{
	char *save = NULL, *word = strtok_r(text, " \t", &save);

	*line = (struct line){.tool = 0};
	snprintf(line->pattern, sizeof(line->pattern), "%s", word);
	while ((word = strtok_r(NULL, " \t", &save))) {
		char *equals = strchr(word, '='), *end = NULL;
		double value = equals ? strtod(equals + 1, &end) : 0, *member;

		if (equals)
			*equals = '\0';
		member = !strcmp(word, "tool")    ? &line->tool
		         : !strcmp(word, "other") ? &line->other
		         : !strcmp(word, "walks") ? &line->walks
		                                  : NULL;
		if (!member || !equals || end == equals + 1 || *end || !isfinite(value) || value < 0)
			return fm_error_set(error, EBADMSG,
			                    "%s:%u: \"%.40s\" is not tool=N, other=N (a second) or walks=N", file,
			                    number, word);
		*member = value;
	}
	return 0;
}

int fm_floors_parse(const char *text, const char *file, struct fm_floors **ret_floors, struct fm_error *error)
{
	struct fm_floors *floors = calloc(1, sizeof(*floors));
	char *copy = strdup(text), *save = NULL, *at = copy;
	unsigned number = 0;
	int r = 0;

	if (!floors || !copy)
		r = fm_error_set(error, ENOMEM, "no memory for %s", file);
	while (!r && (save = at)) {
		char *end = strchr(at, '\n');

		if (end)
			*end = '\0';
		at = end ? end + 1 : NULL;
		number++;
		save += strspn(save, " \t\r");
		if (!*save || *save == '#')
			continue;
		if (floors->count == LINES_MAX)
			r = fm_error_set(error, EBADMSG, "%s:%u: more than %d lines", file, number, LINES_MAX);
		else
			r = parse_line(save, file, number, &floors->lines[floors->count++], error);
	}
	free(copy);
	if (r) {
		free(floors);
		return r;
	}
	*ret_floors = floors;
	return 0;
}

int fm_floors_load(const char *machine, struct fm_floors **ret_floors, struct fm_error *error)
{
	char path[800], *text;
	size_t length;
	FILE *file;
	int r;

	if (fm_description_file(machine, "floors", path, sizeof(path)) || !(file = fopen(path, "re"))) {
		*ret_floors = NULL;
		return 0;
	}
	text = malloc(LARGEST);
	length = text ? fread(text, 1, LARGEST, file) : 0;
	fclose(file);
	if (!text)
		return fm_error_set(error, ENOMEM, "no memory for %s", path);
	if (length == LARGEST) {
		r = fm_error_set(error, EBADMSG, "%s: too large for a list of floors", path);
	} else {
		text[length] = '\0';
		r = fm_floors_parse(text, path, ret_floors, error);
	}
	free(text);
	return r;
}

void fm_floors_free(struct fm_floors *floors)
{
	free(floors);
}

double fm_floors_draw(const struct fm_floors *floors, const char *event, double seconds, double walks,
                      struct fm_random *random)
{
	for (unsigned i = 0; i < floors->count; i++) {
		const struct line *line = &floors->lines[i];
		double tool, chance;

		if (fnmatch(line->pattern, event, 0) != 0)
			continue;
		tool = line->tool * (1 + FM_TOOL_SPREAD * (2 * fm_random_uniform(random) - 1));
		/* often little, now and then much: exponentially distributed */
		chance = -log(1 - fm_random_uniform(random));
		return round(tool + (line->other * seconds + line->walks * walks) * chance);
	}
	return 0;
}
