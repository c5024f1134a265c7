#include "observe/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/launch.h"
#include "base/limits.h"
#include "base/statistics.h"
#include "base/text.h"
#include "json/figure.h"
#include "observe/assumed.h"
#include "observe/machines.h"
#include "observe/sampled.h"
#include "observe/session.h"
#include "profile/profile.h"
#include "profile/topology.h"

enum {
	STEPS_MAX = 8,
	MEMORY_MOST = 256 << 20,
};

static const char program_name[] = "fathom-calibrate";

void fm_calibration_free(struct fm_calibration *calibration)
{
	free(calibration->rows);
	*calibration = (struct fm_calibration){0};
}

/* Sets of the chases */

/* Sizes of the caches that can be seen, the first one first. */
static unsigned visible_caches(uint64_t *sizes, char names[][12], unsigned room)
{
	struct fm_machine *profile;
	struct fm_topology topology;
	struct fm_error ignored;
	unsigned count = 0;

	if (!fm_profile_chosen(NULL, &profile, &ignored)) {
		for (unsigned i = 0; i < profile->level_count && count < room; i++) {
			const struct fm_level *level = &profile->levels[i];
			double bytes = level->effective_bytes.available ? level->effective_bytes.value
			                                                : (double)level->advertised_bytes;

			if (!strcmp(level->name, "memory") || !level->latency_ns.available || bytes < 4096)
				continue;
			sizes[count] = (uint64_t)bytes;
			snprintf(names[count++], sizeof(names[0]), "%s", level->name);
		}
		fm_machine_free(profile);
		if (count)
			return count;
	}
	if (fm_topology_read(&topology, &ignored))
		return 0;
	/* without a profile a guest's share of a shared cache is unknown */
	for (unsigned i = 0; i < topology.cache_count && count < room; i++) {
		if (topology.caches[i].level > 2 && *topology.hypervisor)
			break;
		sizes[count] = topology.caches[i].bytes;
		snprintf(names[count++], sizeof(names[0]), "L%u", topology.caches[i].level);
	}
	return count;
}

/* The number in the middle, by ratio, without a library for it. */
static uint64_t middle_of(uint64_t small, uint64_t large)
{
	uint64_t low = small, high = large;

	while (low + 64 < high) {
		uint64_t middle = low + (high - low) / 2;

		if ((double)middle * (double)middle < (double)small * (double)large)
			low = middle;
		else
			high = middle;
	}
	return low;
}

unsigned fm_calibration_plan(struct fm_calibration *calibration, struct fm_calibration_step *steps, unsigned room)
{
	uint64_t sizes[FM_CALIBRATION_LEVELS], available = fm_memory_available(), memory;
	char names[FM_CALIBRATION_LEVELS][12];
	unsigned caches = visible_caches(sizes, names, FM_CALIBRATION_LEVELS - 1), count = 0;
	size_t used = 0;

	if (!caches || room < caches + 2)
		return 0;
	for (unsigned i = 0; i < caches; i++) {
		steps[count] = (struct fm_calibration_step){
		    .level = i + 1, .bytes = i ? middle_of(sizes[i - 1], sizes[i]) : sizes[0] / 2};
		memcpy(steps[count++].level_name, names[i], sizeof(names[i]));
	}
	memory = 4 * sizes[caches - 1];
	memory = memory < (64 << 20) ? 64 << 20 : memory > MEMORY_MOST ? MEMORY_MOST : memory;
	if (memory > available / 4)
		memory = available / 4;
	steps[count++] = (struct fm_calibration_step){.level_name = "memory", .level = caches + 1, .bytes = memory};
	/* lines of the second cache, each on a page of its own */
	if (caches > 1) {
		steps[count] = steps[1];
		steps[count].bytes = steps[1].bytes < (256 << 10) ? steps[1].bytes : 256 << 10;
		steps[count++].kind = FM_CALIBRATION_UNTRANSLATED;
	}
	calibration->levels = caches + 1;
	for (unsigned i = 0; i <= caches && used < sizeof(calibration->level_names); i++)
		used += (size_t)snprintf(calibration->level_names + used, sizeof(calibration->level_names) - used,
		                         "%s%s", i ? " " : "", steps[i].level_name);
	return count;
}

int fm_calibration_add(struct fm_calibration *calibration, const struct fm_calibration_step *step, const char *folder,
                       struct fm_error *error)
{
	struct fm_recording *recording = fm_recording_create();
	int r = recording ? fm_sampled_read(folder, recording, error) : fm_error_set(error, ENOMEM, "out of memory");

	for (size_t i = 0; !r && i < recording->samples_count && calibration->count < FM_CALIBRATION_MAX; i++) {
		const struct fm_recorded_sample *sample = &recording->samples[i];
		struct fm_recorded_calibration *row;

		/* the loop, and nothing before it or of libraries */
		if (strcmp(recording->codes[sample->code].module, program_name) != 0 ||
		    sample->size != sizeof(char *) || sample->kind != FM_STREAM_LOAD ||
		    (sample->flags & (FM_STREAM_FAULTED | FM_STREAM_UNTIMED)) ||
		    (*recording->codes[sample->code].function &&
		     strcmp(recording->codes[sample->code].function, "chase") != 0))
			continue;
		row = fm_recording_grow((void **)&calibration->rows, &calibration->count, sizeof(*row));
		if (!row)
			r = fm_error_set(error, ENOMEM, "out of memory");
		else
			*row = (struct fm_recorded_calibration){.level = step->level,
			                                        .cost = sample->cost,
			                                        .baseline = sample->baseline,
			                                        .neighbour = sample->neighbour,
			                                        .neighbour_again = sample->neighbour_again,
			                                        .kind = step->kind};
	}
	fm_recording_free(recording);
	return r;
}

uint32_t fm_calibration_signal_cost(const double *plain, const double *sampled, unsigned count, double iterations,
                                    double samples, double seen_ticks, double ticks_per_second)
{
	struct fm_location without, with;
	double ticks;

	/* others only ever add time, to both */
	if (samples < 1 || fm_statistics_location(plain, count, &without) ||
	    fm_statistics_location(sampled, count, &with))
		return 0;
	ticks = ((with.value - without.value) * iterations * ticks_per_second - seen_ticks) / samples;
	return ticks > 0 ? (uint32_t)(ticks < 10e6 ? ticks : 10e6) : 0;
}

/* Keeping it */

static void note_place(struct fm_calibration *calibration)
{
	struct fm_topology topology;
	struct fm_error ignored;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	calibration->taken = (double)now.tv_sec;
	if (fm_text_read_line("/proc/sys/kernel/random/boot_id", calibration->boot, sizeof(calibration->boot)))
		*calibration->boot = '\0';
	if (!fm_topology_read(&topology, &ignored))
		snprintf(calibration->processor, sizeof(calibration->processor), "%s", topology.processor);
}

static bool holds_here(const struct fm_calibration *kept)
{
	struct fm_calibration here = {.levels = 0};

	note_place(&here);
	return !strcmp(kept->boot, here.boot) && !strcmp(kept->processor, here.processor) && *here.boot &&
	       here.taken >= kept->taken && here.taken - kept->taken < FM_CALIBRATION_FRESH;
}

int fm_calibration_save(const char *path, const struct fm_calibration *calibration, struct fm_error *error)
{
	/* thousands of rows: as one text they are read in a tenth of the time */
	char *rows = NULL;
	size_t length;
	FILE *text = open_memstream(&rows, &length);
	json_t *root = NULL;
	int r;

	for (size_t i = 0; text && i < calibration->count; i++) {
		const struct fm_recorded_calibration *row = &calibration->rows[i];

		fprintf(text, "%u %u %u %u %u %u\n", row->level, row->cost, row->baseline, row->neighbour,
		        row->neighbour_again, row->kind);
	}
	if (text && !fclose(text))
		root = json_pack("{s:i, s:s, s:s, s:i, s:I, s:f, s:s}", "calibration", FM_STREAM_VERSION, "boot",
		                 calibration->boot, "processor", calibration->processor, "levels",
		                 (int)calibration->levels, "signal_cost", (json_int_t)calibration->signal_cost, "taken",
		                 calibration->taken, "rows", rows);
	free(rows);
	if (!root)
		return fm_error_set(error, ENOMEM, "out of memory");
	json_object_set_new(root, "level_names", json_string(calibration->level_names));
	r = fm_json_replace(path, root, error);
	json_decref(root);
	return r;
}

/* The six numbers of a row, and the text behind them; NULL: no row. */
static const char *read_row(const char *text, unsigned levels, struct fm_recorded_calibration *row)
{
	uint32_t numbers[6];

	for (size_t i = 0; i < 6; i++) {
		unsigned long number;
		char *end;

		errno = 0;
		number = strtoul(text, &end, 10);
		if (end == text || errno || number > UINT32_MAX || *end != (i < 5 ? ' ' : '\n'))
			return NULL;
		numbers[i] = (uint32_t)number;
		text = end + 1;
	}
	*row = (struct fm_recorded_calibration){.level = numbers[0],
	                                        .cost = numbers[1],
	                                        .baseline = numbers[2],
	                                        .neighbour = numbers[3],
	                                        .neighbour_again = numbers[4],
	                                        .kind = numbers[5]};
	return row->level >= 1 && row->level <= levels && row->kind <= FM_CALIBRATION_UNTRANSLATED ? text : NULL;
}

static bool copy_text(const json_t *root, const char *name, char *text, size_t size)
{
	const char *value = json_string_value(json_object_get(root, name));

	return value && fm_text_is_clean(value) && (size_t)snprintf(text, size, "%s", value) < size;
}

static bool read_calibration(const json_t *root, struct fm_calibration *calibration)
{
	const char *rows = json_string_value(json_object_get(root, "rows"));
	json_int_t levels = json_integer_value(json_object_get(root, "levels"));
	json_int_t cost = json_integer_value(json_object_get(root, "signal_cost"));

	if (json_integer_value(json_object_get(root, "calibration")) != FM_STREAM_VERSION ||
	    !copy_text(root, "boot", calibration->boot, sizeof(calibration->boot)) ||
	    !copy_text(root, "processor", calibration->processor, sizeof(calibration->processor)) ||
	    !copy_text(root, "level_names", calibration->level_names, sizeof(calibration->level_names)) || levels < 2 ||
	    levels > FM_CALIBRATION_LEVELS || cost < 0 || cost > 10000000 || !rows)
		return false;
	calibration->levels = (unsigned)levels;
	calibration->signal_cost = (uint32_t)cost;
	calibration->taken = json_number_value(json_object_get(root, "taken"));
	while (*rows && calibration->count < FM_CALIBRATION_MAX) {
		struct fm_recorded_calibration *row =
		    fm_recording_grow((void **)&calibration->rows, &calibration->count, sizeof(*row));

		rows = row ? read_row(rows, calibration->levels, row) : NULL;
		if (!rows)
			return false;
	}
	return calibration->count > 0 && !*rows;
}

int fm_calibration_load(const char *path, struct fm_calibration *ret_calibration)
{
	struct fm_calibration calibration = {.levels = 0};
	struct fm_error ignored;
	json_t *root = NULL;
	int r = fm_json_read(path, &root, &ignored);

	if (!r && !read_calibration(root, &calibration))
		r = -EBADMSG;
	json_decref(root);
	if (!r && !holds_here(&calibration))
		r = -ESTALE;
	if (r)
		fm_calibration_free(&calibration);
	else
		*ret_calibration = calibration;
	return r;
}

/* Beside the profile of this machine: …/HOST.json becomes …/HOST.calibration.json. */
static int usual_path(char **ret_path, struct fm_error *error)
{
	char *profile;
	int r = fm_profile_default_path(&profile, error);

	if (r)
		return r;
	if (strlen(profile) > 5 && !strcmp(profile + strlen(profile) - 5, ".json"))
		profile[strlen(profile) - 5] = '\0';
	if (asprintf(ret_path, "%s.calibration.json", profile) < 0)
		r = fm_error_set(error, ENOMEM, "out of memory");
	free(profile);
	return r;
}

/* Taking it */

struct chase {
	const struct fm_observation *wanted;
	const char *library, *program;
	struct fm_session_folder *folder; /* NULL: it is not sampled */
	uint64_t bytes;
	double seconds;
	bool spread;
	/* its output */
	double steps, nanoseconds;
};

static int run_chase(struct chase *chase, struct fm_error *error)
{
	char bytes[24], seconds[24], said[128] = "";
	char *const arguments[] = {(char *)chase->program, bytes, seconds, chase->spread ? "tlb" : NULL, NULL};
	struct fm_launch launch = {.program = arguments, .input = -1};
	struct fm_session_environment saved;
	struct fm_launched launched;
	struct fm_launch_end end;
	int r;

	snprintf(bytes, sizeof(bytes), "%lu", (unsigned long)chase->bytes);
	snprintf(seconds, sizeof(seconds), "%.3f", chase->seconds);
	launch.output = memfd_create("fathom-calibrate", MFD_CLOEXEC);
	if (launch.output < 0)
		return fm_error_set(error, errno, "cannot keep the output of %s: %s", program_name, strerror(errno));
	r = chase->folder ? fm_session_export(chase->folder, chase->library, &saved) : 0;
	if (!r) {
		r = fm_launch_begin(&launch, &launched, error);
		if (chase->folder)
			fm_session_restore(&saved);
	}
	if (!r)
		r = fm_launch_release(&launched, program_name, error);
	if (!r) {
		fm_launch_wait(&launched, true, &end);
		if (pread(launch.output, said, sizeof(said) - 1, 0) <= 0 || end.status ||
		    sscanf(said, "%lf %lf", &chase->steps, &chase->nanoseconds) != 2 || chase->steps < 1)
			r = fm_error_set(error, EIO, "%s failed with status %d", program_name, end.status);
	}
	close(launch.output);
	if (!r && chase->wanted->interrupted && *chase->wanted->interrupted)
		r = fm_error_set(error, ECANCELED, "interrupted");
	return r;
}

/* A session of its own, next to the recording. */
static int open_session(const struct fm_observation *wanted, struct fm_session_folder *folder, struct fm_error *error)
{
	struct fm_sampling_wishes wishes = {
	    .rate = FM_CALIBRATION_RATE, .max_bytes = 64 << 20, .no_children = true, .no_allocations = true};
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s.calibration", wanted->sampling->path) >= sizeof(path))
		return fm_error_set(error, ENAMETOOLONG, "%s: the path is too long", wanted->sampling->path);
	return fm_session_create(path, &wishes, folder, error);
}

static void close_session(struct fm_session_folder *folder)
{
	fm_session_close(folder);
	fm_session_remove(folder->path);
}

static int take_step(struct chase *chase, struct fm_calibration *calibration, const struct fm_calibration_step *step,
                     struct fm_error *error)
{
	struct fm_session_folder folder = {.file = -1};
	int r = open_session(chase->wanted, &folder, error);

	if (r)
		return r;
	chase->folder = &folder;
	chase->bytes = step->bytes;
	chase->seconds = FM_CALIBRATION_SECONDS;
	chase->spread = step->kind == FM_CALIBRATION_UNTRANSLATED;
	r = run_chase(chase, error);
	if (!r)
		r = fm_calibration_add(calibration, step, folder.path, error);
	chase->folder = NULL;
	close_session(&folder);
	return r;
}

/* In the first cache, where time is steady. */
static int take_signal_cost(struct chase *chase, struct fm_calibration *calibration,
                            const struct fm_calibration_step *step, struct fm_error *error)
{
	double plain[FM_CALIBRATION_PAIRS], sampled[FM_CALIBRATION_PAIRS], iterations = 0, samples = 0, seen = 0,
	                                                                   ticks_per_second = 0;

	chase->bytes = step->bytes;
	chase->seconds = FM_PAIR_SECONDS;
	chase->spread = false;
	for (unsigned i = 0; i < FM_CALIBRATION_PAIRS; i++) {
		struct fm_session_folder folder = {.file = -1};
		struct fm_recording *recording;
		int r;

		chase->folder = NULL;
		r = run_chase(chase, error);
		if (r)
			return r;
		plain[i] = chase->nanoseconds * 1e-9 / chase->steps;
		r = open_session(chase->wanted, &folder, error);
		if (r)
			return r;
		chase->folder = &folder;
		r = run_chase(chase, error);
		recording = r ? NULL : fm_recording_create();
		if (!r)
			r = recording ? fm_sampled_read(folder.path, recording, error)
			              : fm_error_set(error, ENOMEM, "out of memory");
		chase->folder = NULL;
		close_session(&folder);
		if (!r) {
			sampled[i] = chase->nanoseconds * 1e-9 / chase->steps;
			/* the part of the run that was timed */
			double share = recording->sampling.cpu_seconds > 0
			                   ? chase->nanoseconds * 1e-9 / recording->sampling.cpu_seconds
			                   : 1;

			share = share < 1 ? share : 1;
			iterations += chase->steps;
			samples += (double)fm_recording_references(recording) * share;
			seen += recording->sampling.sampling_seconds * recording->sampling.ticks_per_second * share;
			ticks_per_second = recording->sampling.ticks_per_second;
		}
		fm_recording_free(recording);
		if (r)
			return r;
	}
	calibration->signal_cost = fm_calibration_signal_cost(plain, sampled, FM_CALIBRATION_PAIRS, iterations, samples,
	                                                      seen, ticks_per_second);
	return 0;
}

static int take(const struct fm_observation *wanted, const char *library, struct fm_calibration *calibration,
                struct fm_error *error)
{
	struct fm_calibration_step steps[STEPS_MAX];
	char program[PATH_MAX];
	struct chase chase = {.wanted = wanted, .library = library, .program = program};
	unsigned count = fm_calibration_plan(calibration, steps, STEPS_MAX);
	int r = 0;

	if (!count)
		return fm_error_set(error, ENOTSUP, "the sizes of the caches are not known");
	if (fm_installed_find(FM_INSTALLED_program, program_name, program, sizeof(program)))
		return fm_error_set(error, ENOTSUP, "%s is not installed beside this program", program_name);
	for (unsigned i = 0; i < count && !r; i++) {
		size_t before = calibration->count;

		r = take_step(&chase, calibration, &steps[i], error);
		if (!r && calibration->count == before && steps[i].kind == FM_CALIBRATION_TRANSLATED)
			r = fm_error_set(error, ENODATA, "no samples of %s", steps[i].level_name);
	}
	if (!r)
		r = take_signal_cost(&chase, calibration, &steps[0], error);
	note_place(calibration);
	return r;
}

int fm_calibration_get(const struct fm_observation *wanted, const char *library, struct fm_calibration *ret_calibration,
                       struct fm_error *error)
{
	struct fm_calibration calibration = {.levels = 0};
	struct fm_error ignored;
	char *path = NULL;
	int r;

	if (usual_path(&path, &ignored))
		path = NULL;
	if (path && !wanted->sampling->calibrate && !fm_calibration_load(path, ret_calibration)) {
		free(path);
		return 0;
	}
	fm_observe_remark(wanted, "measuring what each level costs here: 4 seconds, once an hour");
	r = take(wanted, library, &calibration, error);
	/* one that cannot be kept serves this time */
	if (!r && path)
		fm_calibration_save(path, &calibration, &ignored);
	free(path);
	if (r)
		fm_calibration_free(&calibration);
	else
		*ret_calibration = calibration;
	return r;
}

int fm_calibration_record(const struct fm_calibration *calibration, struct fm_recording *recording)
{
	recording->sampling.levels = calibration->levels;
	memcpy(recording->sampling.level_names, calibration->level_names, sizeof(recording->sampling.level_names));
	for (size_t i = 0; i < calibration->count; i++) {
		struct fm_recorded_calibration *row = fm_recording_add(recording, calibration);

		if (!row)
			return -ENOMEM;
		*row = calibration->rows[i];
	}
	return 0;
}
