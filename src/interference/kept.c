/* The calibration as a file beside the machine profile. The file is not trusted: every number is checked. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "interference/calibrate.h"
#include "json/figure.h"
#include "profile/profile.h"

enum { FORMAT = 1 };
#define MOST_BYTES 1e12
#define MOST_RATE 1e13

static int path_of(char **ret_path, struct fm_error *error)
{
	static const char ending[] = ".json";
	char *profile;
	size_t length;
	int status = fm_profile_default_path(&profile, error);

	if (status)
		return status;
	length = strlen(profile);
	if (length > strlen(ending) && !strcmp(profile + length - strlen(ending), ending))
		profile[length - strlen(ending)] = 0;
	status =
	    asprintf(ret_path, "%s-interference.json", profile) < 0 ? fm_error_set(error, ENOMEM, "out of memory") : 0;
	free(profile);
	return status;
}

static json_t *axis_json(const struct fm_interference_axis *axis)
{
	json_t *object = json_object(), *steps = json_array();

	json_object_set_new(object, "effect", json_string(fm_effect_name(axis->effect)));
	fm_json_set_figure(object, "full", &axis->full);
	for (unsigned i = 0; i < axis->count; i++) {
		const struct fm_interference_step *step = &axis->steps[i];
		json_t *row = json_object();

		json_object_set_new(row, "takers", json_integer(step->setting.takers));
		json_object_set_new(row, "bytes", json_integer((json_int_t)step->setting.bytes));
		json_object_set_new(row, "rate", json_real(step->setting.rate));
		fm_json_set_figure(row, "slower", &step->slower);
		fm_json_set_figure(row, "other", &step->other);
		fm_json_set_figure(row, "left", &step->left);
		json_object_set_new(row, "effect", json_string(fm_effect_name(step->effect)));
		json_object_set_new(row, "side_effect", json_string(fm_effect_name(step->side_effect)));
		json_object_set_new(row, "offered", json_boolean(step->offered));
		json_array_append_new(steps, row);
	}
	json_object_set_new(object, "steps", steps);
	return object;
}

json_t *fm_interference_to_json(const struct fm_interference *calibration)
{
	json_t *root = fm_json_document("calibration"), *cpus = json_array();

	json_object_set_new(root, "format", json_integer(FORMAT));
	json_object_set_new(root, "taken", json_string(calibration->taken));
	json_object_set_new(root, "processor", json_string(calibration->processor));
	json_object_set_new(root, "level", json_string(calibration->level));
	json_object_set_new(root, "cache_bytes", json_integer((json_int_t)calibration->cache_bytes));
	json_object_set_new(root, "private_bytes", json_integer((json_int_t)calibration->private_bytes));
	json_object_set_new(root, "effective_bytes", json_integer((json_int_t)calibration->effective_bytes));
	json_object_set_new(root, "program_cpu", json_integer(calibration->program_cpu));
	for (unsigned i = 0; i < calibration->taker_count; i++)
		json_array_append_new(cpus, json_integer(calibration->taker_cpus[i]));
	json_object_set_new(root, "taker_cpus", cpus);
	json_object_set_new(root, "shares_cache", json_boolean(calibration->shares_cache));
	json_object_set_new(root, "huge_pages", json_boolean(calibration->huge_pages));
	json_object_set_new(root, "counted", json_boolean(calibration->counted));
	json_object_set_new(root, "private_ns", json_real(calibration->times.private_ns));
	json_object_set_new(root, "near_ns", json_real(calibration->times.near_ns));
	json_object_set_new(root, "far_ns", json_real(calibration->times.far_ns));
	json_object_set_new(root, "blocks", json_integer(calibration->blocks));
	json_object_set_new(root, "seconds", json_real(calibration->seconds));
	json_object_set_new(root, "disturbance", fm_json_disturbance(&calibration->disturbance));
	json_object_set_new(root, "capacity", axis_json(&calibration->capacity));
	json_object_set_new(root, "bandwidth", axis_json(&calibration->bandwidth));
	json_object_set_new(root, "capacity_statement", json_string(calibration->capacity_statement));
	json_object_set_new(root, "bandwidth_statement", json_string(calibration->bandwidth_statement));
	json_object_set_new(root, "remark", json_string(calibration->remark));
	return root;
}

static bool read_text(const json_t *object, const char *name, char *text, size_t size)
{
	const char *value = json_string_value(json_object_get(object, name));

	if (!value || strlen(value) >= size || !fm_text_is_clean(value))
		return false;
	snprintf(text, size, "%s", value);
	return true;
}

static bool read_number(const json_t *object, const char *name, double least, double most, double *ret_number)
{
	const json_t *value = json_object_get(object, name);
	double number = json_number_value(value);

	if (!json_is_number(value) || !(number >= least && number <= most))
		return false;
	*ret_number = number;
	return true;
}

static bool is_sound(const struct fm_figure *figure)
{
	return !figure->available || (isfinite(figure->value) && figure->low >= 0 && figure->low <= figure->value &&
	                              figure->value <= figure->high && figure->high <= MOST_BYTES);
}

static bool read_step(const json_t *row, unsigned taker_count, uint64_t cache_bytes, struct fm_interference_step *step)
{
	double takers, bytes, rate;

	if (!read_number(row, "takers", 1, taker_count, &takers) ||
	    !read_number(row, "bytes", 0, 2 * (double)cache_bytes, &bytes) ||
	    !read_number(row, "rate", 0, MOST_RATE, &rate))
		return false;
	step->setting = (struct fm_interference_setting){(unsigned)takers, (uint64_t)bytes, rate};
	step->slower = fm_json_get_figure(row, "slower");
	step->other = fm_json_get_figure(row, "other");
	step->left = fm_json_get_figure(row, "left");
	step->effect = fm_effect_find(json_string_value(json_object_get(row, "effect")));
	step->side_effect = fm_effect_find(json_string_value(json_object_get(row, "side_effect")));
	step->offered = json_is_true(json_object_get(row, "offered"));
	step->expected = INFINITY;
	return is_sound(&step->slower) && is_sound(&step->other) && is_sound(&step->left) &&
	       (!step->offered || (step->left.available && step->left.value > 0));
}

static bool read_axis(const json_t *root, const char *name, unsigned taker_count, uint64_t cache_bytes,
                      struct fm_interference_axis *axis)
{
	const json_t *object = json_object_get(root, name), *steps = json_object_get(object, "steps");

	if (!json_is_array(steps) || json_array_size(steps) > FM_INTERFERENCE_STEPS)
		return false;
	axis->effect = fm_effect_find(json_string_value(json_object_get(object, "effect")));
	axis->full = fm_json_get_figure(object, "full");
	axis->count = (unsigned)json_array_size(steps);
	for (unsigned i = 0; i < axis->count; i++)
		if (!read_step(json_array_get(steps, i), taker_count, cache_bytes, &axis->steps[i]))
			return false;
	return is_sound(&axis->full) && (axis->full.available || !fm_interference_offered(axis));
}

static bool read_cpus(const json_t *root, struct fm_interference *calibration)
{
	const json_t *cpus = json_object_get(root, "taker_cpus");

	if (!json_is_array(cpus) || !json_array_size(cpus) || json_array_size(cpus) > FM_INTERFERENCE_TAKERS)
		return false;
	calibration->taker_count = (unsigned)json_array_size(cpus);
	for (unsigned i = 0; i < calibration->taker_count; i++) {
		json_int_t cpu = json_integer_value(json_array_get(cpus, i));

		if (!json_is_integer(json_array_get(cpus, i)) || cpu < 0 || cpu >= FM_CPUS_MAX)
			return false;
		calibration->taker_cpus[i] = (unsigned)cpu;
	}
	return true;
}

int fm_interference_from_json(const json_t *root, struct fm_interference **ret_calibration, struct fm_error *error)
{
	struct fm_interference *calibration = calloc(1, sizeof(*calibration));
	double format, bytes, own, effective, cpu, blocks;

	if (!calibration)
		return fm_error_set(error, ENOMEM, "out of memory");
	if (!read_number(root, "format", FORMAT, FORMAT, &format) ||
	    !read_text(root, "taken", calibration->taken, sizeof(calibration->taken)) ||
	    !read_text(root, "processor", calibration->processor, sizeof(calibration->processor)) ||
	    !read_text(root, "level", calibration->level, sizeof(calibration->level)) ||
	    !read_text(root, "remark", calibration->remark, sizeof(calibration->remark)) ||
	    !read_text(root, "capacity_statement", calibration->capacity_statement,
	               sizeof(calibration->capacity_statement)) ||
	    !read_text(root, "bandwidth_statement", calibration->bandwidth_statement,
	               sizeof(calibration->bandwidth_statement)) ||
	    !read_number(root, "cache_bytes", 1, MOST_BYTES, &bytes) ||
	    !read_number(root, "private_bytes", 1, bytes, &own) ||
	    !read_number(root, "effective_bytes", 1, bytes, &effective) ||
	    !read_number(root, "program_cpu", 0, FM_CPUS_MAX - 1, &cpu) ||
	    !read_number(root, "blocks", 0, 1e6, &blocks) ||
	    !read_number(root, "private_ns", 0, 1e6, &calibration->times.private_ns) ||
	    !read_number(root, "near_ns", 0, 1e6, &calibration->times.near_ns) ||
	    !read_number(root, "far_ns", 0, 1e6, &calibration->times.far_ns) ||
	    !read_number(root, "seconds", 0, 1e6, &calibration->seconds) || !read_cpus(root, calibration) ||
	    !read_axis(root, "capacity", calibration->taker_count, (uint64_t)bytes, &calibration->capacity) ||
	    !read_axis(root, "bandwidth", calibration->taker_count, (uint64_t)bytes, &calibration->bandwidth)) {
		free(calibration);
		return fm_error_set(error, EBADMSG,
		                    "the file is not a calibration of interference, or has another "
		                    "version");
	}
	calibration->cache_bytes = (uint64_t)bytes;
	calibration->private_bytes = (uint64_t)own;
	calibration->effective_bytes = (uint64_t)effective;
	calibration->program_cpu = (unsigned)cpu;
	calibration->blocks = (unsigned)blocks;
	calibration->shares_cache = json_is_true(json_object_get(root, "shares_cache"));
	calibration->huge_pages = json_is_true(json_object_get(root, "huge_pages"));
	calibration->counted = json_is_true(json_object_get(root, "counted"));
	fm_json_get_disturbance(json_object_get(root, "disturbance"), &calibration->disturbance);
	*ret_calibration = calibration;
	return 0;
}

int fm_interference_save(const struct fm_interference *calibration, struct fm_error *error)
{
	char *path;
	json_t *root;
	int status = path_of(&path, error);

	if (status)
		return status;
	root = fm_interference_to_json(calibration);
	status = fm_json_replace(path, root, error);
	json_decref(root);
	free(path);
	return status;
}

int fm_interference_load(struct fm_interference **ret_calibration, struct fm_error *error)
{
	json_t *root = NULL;
	char *path;
	int status = path_of(&path, error);

	if (status)
		return status;
	status = fm_json_read(path, &root, error);
	if (!status)
		status = fm_interference_from_json(root, ret_calibration, error);
	if (status)
		fm_error_prefix(error, "%s", path);
	json_decref(root);
	free(path);
	return status;
}
