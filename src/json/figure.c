#include "json/figure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/version.h"

/* Six digits are more than any interval here deserves, and keep the files readable. */
static json_t *real(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	return json_real(strtod(text, NULL));
}

json_t *fm_json_figure(const struct fm_figure *figure)
{
	if (!figure->available || !isfinite(figure->value) || !isfinite(figure->low) || !isfinite(figure->high))
		return json_null();
	return json_pack("{s:o, s:s, s:o, s:o, s:s, s:s, s:i, s:i}", "value", real(figure->value), "unit", figure->unit,
	                 "low", real(figure->low), "high", real(figure->high), "origin", fm_origin_name(figure->origin),
	                 "backend", figure->backend, "trials", (int)figure->trials, "set_aside",
	                 (int)figure->set_aside);
}

void fm_json_set_figure(json_t *object, const char *name, const struct fm_figure *figure)
{
	char why[64];

	json_object_set_new(object, name, fm_json_figure(figure));
	if (figure->available)
		return;
	snprintf(why, sizeof(why), "%s_why", name);
	json_object_set_new(object, why, json_string(figure->why));
}

struct fm_figure fm_json_get_figure(const json_t *object, const char *name)
{
	const json_t *member = json_object_get(object, name);
	const char *unit, *origin, *backend;
	char key[64];
	double value, low, high;
	int trials, aside = 0;
	struct fm_figure figure;

	if (json_unpack((json_t *)member, "{s:F, s:s, s:F, s:F, s:s, s:s, s:i, s?i}", "value", &value, "unit", &unit,
	                "low", &low, "high", &high, "origin", &origin, "backend", &backend, "trials", &trials,
	                "set_aside", &aside) ||
	    fm_origin_find(origin) == FM_ORIGIN_COUNT || trials < 0 || low > value || value > high) {
		snprintf(key, sizeof(key), "%s_why", name);
		unit = json_string_value(json_object_get(object, key));
		return fm_figure_unavailable("%s", unit ? unit : "not in the file");
	}
	figure = fm_figure_make(value, low, high, unit, fm_origin_find(origin), backend, (unsigned)trials);
	figure.set_aside = aside < 0 ? 0 : (unsigned)aside;
	return figure;
}

static const char *const cause_names[FM_DISTURBANCE_CAUSES] = {"waited", "stolen", "slow"};

json_t *fm_json_text(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

void fm_json_set_null(json_t *object, const char *name, const char *why)
{
	char key[80];

	snprintf(key, sizeof(key), "%s_why", name);
	json_object_set_new(object, name, json_null());
	json_object_set_new(object, key, json_string(why));
}

void fm_json_print(json_t *root, FILE *output)
{
	if (root && !json_dumpf(root, output, JSON_INDENT(1)))
		fputc('\n', output);
	json_decref(root);
}

json_t *fm_json_disturbance(const struct fm_disturbance *disturbance)
{
	json_t *object =
	    json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "trials", (json_int_t)disturbance->trials, "disturbed",
	              (json_int_t)disturbance->disturbed, "seconds", real((double)disturbance->elapsed_ns / 1e9),
	              "stolen_seconds", real((double)disturbance->stolen_ns / 1e9), "waited_seconds",
	              real((double)disturbance->waited_ns / 1e9), "heartbeat_best_ns",
	              real(disturbance->heartbeat_best), "heartbeat_worst_ns", real(disturbance->heartbeat_worst));
	json_t *causes = json_object();

	for (int i = 0; i < FM_DISTURBANCE_CAUSES; i++)
		json_object_set_new(causes, cause_names[i], json_integer((json_int_t)disturbance->cause[i]));
	json_object_set_new(object, "causes", causes);
	return object;
}

static uint64_t nanoseconds(const json_t *seconds)
{
	return (uint64_t)fmin(fmax(json_number_value(seconds) * 1e9, 0), 1e18);
}

void fm_json_get_disturbance(const json_t *object, struct fm_disturbance *ret_disturbance)
{
	struct fm_disturbance result = {0};
	const json_t *causes = json_object_get(object, "causes");

	result.trials = (uint64_t)json_integer_value(json_object_get(object, "trials"));
	result.disturbed = (uint64_t)json_integer_value(json_object_get(object, "disturbed"));
	result.elapsed_ns = nanoseconds(json_object_get(object, "seconds"));
	result.stolen_ns = nanoseconds(json_object_get(object, "stolen_seconds"));
	result.waited_ns = nanoseconds(json_object_get(object, "waited_seconds"));
	result.heartbeat_best = json_number_value(json_object_get(object, "heartbeat_best_ns"));
	result.heartbeat_worst = json_number_value(json_object_get(object, "heartbeat_worst_ns"));
	for (int i = 0; i < FM_DISTURBANCE_CAUSES; i++)
		result.cause[i] = (uint64_t)json_integer_value(json_object_get(causes, cause_names[i]));
	*ret_disturbance = result;
}

json_t *fm_json_document(const char *verb)
{
	return json_pack("{s:s, s:s}", "fathom", FM_VERSION, "verb", verb);
}

int fm_json_read(const char *path, json_t **ret_root, struct fm_error *error)
{
	json_error_t reason;
	json_t *root;
	FILE *file = fopen(path, "re");

	if (!file)
		return fm_error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	root = json_loadf(file, JSON_REJECT_DUPLICATES, &reason);
	fclose(file);
	if (!root)
		return fm_error_set(error, EBADMSG, "%s:%d: %s", path, reason.line, reason.text);
	if (!json_is_object(root)) {
		json_decref(root);
		return fm_error_set(error, EBADMSG, "%s: not a JSON object", path);
	}
	*ret_root = root;
	return 0;
}

static int make_directories(const char *path, struct fm_error *error)
{
	char *copy = strdup(path);
	int status = 0;

	if (!copy)
		return fm_error_set(error, ENOMEM, "out of memory");
	for (char *slash = strchr(copy + 1, '/'); slash && !status; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(copy, 0777) && errno != EEXIST)
			status = fm_error_set(error, errno, "cannot make the directory %s: %s", copy, strerror(errno));
		*slash = '/';
	}
	free(copy);
	return status;
}

int fm_json_replace(const char *path, const json_t *root, struct fm_error *error)
{
	char *temporary = NULL;
	FILE *file = NULL;
	int descriptor = -1;
	int status = make_directories(path, error);

	if (status)
		return status;
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return fm_error_set(error, ENOMEM, "out of memory");
	descriptor = mkstemp(temporary);
	if (descriptor < 0) {
		status = fm_error_set(error, errno, "cannot write beside %s: %s", path, strerror(errno));
		free(temporary);
		return status;
	}
	file = fdopen(descriptor, "w");
	if (!file) {
		close(descriptor);
		status = fm_error_set(error, ENOMEM, "out of memory");
	} else {
		bool bad = json_dumpf(root, file, JSON_INDENT(1)) || fputc('\n', file) == EOF || fflush(file) ||
		           fchmod(descriptor, 0644) || fsync(descriptor);
		int code = errno;

		bad |= fclose(file) != 0;
		if (bad || rename(temporary, path))
			status = fm_error_set(error, bad ? code : errno, "cannot write %s: %s", path,
			                      strerror(bad ? code : errno));
	}
	if (status)
		unlink(temporary);
	free(temporary);
	return status;
}
