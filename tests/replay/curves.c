/* Windows and watched lines of a folder become a curve; what is damaged is left out. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "observe/sampled.h"
#include "replay/make_parts.h"
#include "record/window_code.h"

enum { MS = 1000000, REFERENCES = 4000, LINES = 16384, WINDOWS = 60 };

static struct maker maker;

static struct fm_recording *read_parts(void)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_error error;

	maker_write(&maker);
	if (fm_sampled_read(maker.folder, recording, &error) || fm_recording_settle(recording, &error))
		fail_msg("%s", error.message);
	maker_remove(&maker);
	return recording;
}

/* A window of references to any of so many lines, and a watch of the first survivor: its reuse comes after so many
   references on average. Ticks are nanoseconds, and a reference takes one. */
static void add_window(struct maker_process *process, struct fm_random *random, uint32_t number, uint32_t lines)
{
	static uint32_t last[LINES];
	static uint8_t again[REFERENCES], bytes[REFERENCES * FM_WINDOW_REFERENCE_BYTES];
	uint8_t *at = bytes, *body;
	uint32_t position = 0;
	struct fm_stream_window window = {
	    .number = number, .references = REFERENCES, .ticks = 4 * REFERENCES, .period_ns = MS};
	struct fm_stream_watched *watched;

	memset(last, 0, sizeof(last));
	memset(again, 0, sizeof(again));
	for (uint32_t i = 0; i < REFERENCES; i++) {
		uint32_t line = (uint32_t)fm_random_below(random, lines);

		at = fm_window_encode(at, last[line] ? i + 1 - last[line] : 0);
		if (last[line])
			again[last[line] - 1] = 1;
		last[line] = i + 1;
	}
	while (again[position])
		position++;
	window.watched = position + 1;
	window.all_bytes = (uint32_t)(at - bytes);
	/* in two entries */
	for (unsigned half = 0; half < 2; half++) {
		window.first_byte = half ? window.all_bytes / 2 : 0;
		window.bytes = half ? window.all_bytes - window.first_byte : window.all_bytes / 2;
		body = maker_entry(process, FM_STREAM_WINDOW, 1, (uint64_t)number * MS + half,
		                   sizeof(window) + window.bytes);
		memcpy(body, &window, sizeof(window));
		memcpy(body + sizeof(window), bytes + window.first_byte, window.bytes);
	}
	watched = maker_entry(process, FM_STREAM_WATCHED, 1, (uint64_t)number * MS + MS / 2, sizeof(*watched));
	*watched =
	    (struct fm_stream_watched){.window = number, .position = position, .end = FM_WATCH_REUSED, .share = 1};
	watched->ns = (uint64_t)(-log(fm_random_uniform(random)) * lines);
}

static double ratio_at(const struct fm_recording *recording, double bytes, double *ret_low, double *ret_high)
{
	for (size_t i = 0; i < recording->curve_points_count; i++)
		if (recording->curve_points[i].bytes >= bytes * 0.999) {
			*ret_low = recording->curve_points[i].low;
			*ret_high = recording->curve_points[i].high;
			return recording->curve_points[i].value;
		}
	fail_msg("there is no such size");
	return 0;
}

static void windows_and_watches_make_a_curve(void **state)
{
	struct maker_process *process;
	struct fm_recording *recording;
	struct fm_stream_pace *pace;
	struct fm_random random;
	double low = 0, high = 0, value;

	(void)state;
	fm_random_seed(&random, 11);
	maker_begin(&maker);
	process = maker_process(&maker, 1, 0, 0, 0);
	for (uint32_t i = 1; i <= WINDOWS; i++)
		add_window(process, &random, i, LINES);
	for (unsigned i = 0; i < 4; i++) {
		pace = maker_entry(process, FM_STREAM_PACE, 1, (WINDOWS + 1 + i) * (uint64_t)MS, sizeof(*pace));
		*pace = (struct fm_stream_pace){.gap = 100000, .ns = 100000, .gaps = 10, .intervals = 8};
	}
	recording = read_parts();
	assert_int_equal(recording->curves_count, 1);
	assert_int_equal(recording->curves[0].windows, WINDOWS);
	assert_int_equal(recording->curves[0].watched, WINDOWS);
	assert_int_equal(recording->curves[0].reused, WINDOWS);
	assert_true(recording->curves[0].pace > 0.99 && recording->curves[0].pace < 1.01);
	/* half of the lines fit: half of the references miss */
	value = ratio_at(recording, LINES * 64 / 2, &low, &high);
	assert_true(value > 0.4 && value < 0.6 && low <= 0.5 && high >= 0.5);
	value = ratio_at(recording, LINES * 64 * 4, &low, &high);
	assert_true(value < 0.05 && low < 0.01);
	value = ratio_at(recording, 65536, &low, &high);
	assert_true(value > 0.9);
	fm_recording_free(recording);
}

static void windows_alone_leave_large_sizes_open(void **state)
{
	struct maker_process *process;
	struct fm_recording *recording;
	struct fm_random random;
	double low = 0, high = 0;

	(void)state;
	fm_random_seed(&random, 12);
	maker_begin(&maker);
	process = maker_process(&maker, 1, 0, 0, 0);
	process->head.watch_error = 13;
	for (uint32_t i = 1; i <= 20; i++) {
		add_window(process, &random, i, LINES);
	}
	/* nobody knows what became of them */
	for (size_t i = 0; i < process->count * FM_STREAM_CHUNK; i += 8) {
		struct fm_stream_entry *entry = (struct fm_stream_entry *)(void *)(process->chunks + i);

		if (i + sizeof(*entry) <= process->count * FM_STREAM_CHUNK && entry->kind == FM_STREAM_WATCHED &&
		    entry->words == (sizeof(*entry) + sizeof(struct fm_stream_watched)) / 8)
			((struct fm_stream_watched *)(entry + 1))->end = FM_WATCH_LOST;
	}
	recording = read_parts();
	assert_int_equal(recording->curves_count, 1);
	assert_int_equal(recording->curves[0].watched, 0);
	assert_non_null(strstr(recording->curves[0].remark, "Permission denied"));
	ratio_at(recording, LINES * 64 * 4, &low, &high);
	assert_true(low == 0 && high > 0.5);
	fm_recording_free(recording);
}

static void damaged_windows_are_left_out(void **state)
{
	struct maker_process *process;
	struct fm_recording *recording;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 13);
	maker_begin(&maker);
	process = maker_process(&maker, 1, 0, 0, 0);
	for (uint32_t i = 1; i <= 5; i++)
		add_window(process, &random, i, 100);
	for (unsigned kind = 0; kind < 5; kind++) {
		struct fm_stream_window *window =
		    maker_entry(process, FM_STREAM_WINDOW, 1, (10 + kind) * (uint64_t)MS, sizeof(*window) + 8);

		*window = (struct fm_stream_window){.number = 10 + kind, .references = 8, .all_bytes = 8, .bytes = 8};
		window->ticks = window->period_ns = 100;
		memset(window + 1, kind == 0 ? 0xff : 0, 8); /* no numbers */
		if (kind == 1)
			window->references = UINT32_MAX;
		if (kind == 2)
			window->bytes = UINT32_MAX; /* beyond the entry */
		if (kind == 3)
			window->first_byte = 4; /* without a beginning */
		if (kind == 4)
			window->all_bytes = 24; /* without an end */
	}
	recording = read_parts();
	assert_int_equal(recording->curves_count, 1);
	assert_int_equal(recording->curves[0].windows, 5);
	fm_recording_free(recording);
}

static void few_windows_make_none(void **state)
{
	struct maker_process *process;
	struct fm_recording *recording;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 14);
	maker_begin(&maker);
	process = maker_process(&maker, 1, 0, 0, 0);
	for (uint32_t i = 1; i <= 3; i++)
		add_window(process, &random, i, 100);
	recording = read_parts();
	assert_int_equal(recording->curves_count, 0);
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(windows_and_watches_make_a_curve),
	    cmocka_unit_test(windows_alone_leave_large_sizes_open),
	    cmocka_unit_test(damaged_windows_are_left_out),
	    cmocka_unit_test(few_windows_make_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
