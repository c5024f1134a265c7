/* What exporters write with: numbers, texts of any bytes in each kind of format, fields of Protocol Buffers, lanes. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "export/lanes.h"
#include "export/sink.h"
#include "export/wire.h"

static char *text;
static size_t size;

static struct fm_sink begin(void)
{
	return (struct fm_sink){.file = open_memstream(&text, &size)};
}

static void is(struct fm_sink *sink, const char *expected)
{
	assert_false(sink->failed);
	fclose(sink->file);
	assert_string_equal(text, expected);
	free(text);
	text = NULL;
}

static void numbers(void **state)
{
	struct fm_sink sink = begin();

	(void)state;
	fm_sink_unsigned(&sink, UINT64_MAX);
	fm_sink_byte(&sink, ' ');
	fm_sink_signed(&sink, INT64_MIN);
	fm_sink_byte(&sink, ' ');
	fm_sink_address(&sink, 0);
	fm_sink_byte(&sink, ' ');
	fm_sink_address(&sink, 0x7f00deadbeef);
	fm_sink_byte(&sink, ' ');
	fm_sink_seconds(&sink, 1000000020);
	fm_sink_byte(&sink, ' ');
	fm_sink_real(&sink, 0.1, "-");
	fm_sink_byte(&sink, ' ');
	fm_sink_real(&sink, -3, "-");
	fm_sink_byte(&sink, ' ');
	fm_sink_real(&sink, 1.0 / 3, "-");
	fm_sink_byte(&sink, ' ');
	fm_sink_real(&sink, NAN, "null");
	fm_sink_real(&sink, -INFINITY, "null");
	is(&sink, "18446744073709551615 -9223372036854775808 0x0 0x7f00deadbeef 1.000000020 0.1 -3 0.33333333333333331 "
	          "nullnull");
}

static const char hostile[] = "a\"b\\c\n\t\x1b<x>&\x7f\xff\xc3ü\xe2\x82";

static void texts(void **state)
{
	struct fm_sink sink = begin();

	(void)state;
	fm_sink_json(&sink, hostile);
	is(&sink, "\"a\\\"b\\\\c\\u000a\\u0009\\u001b\\u003cx\\u003e\\u0026\\u007f\\ufffd\\ufffdü\\ufffd\\ufffd\"");
	sink = begin();
	fm_sink_line(&sink, hostile, "?");
	fm_sink_byte(&sink, '|');
	fm_sink_line(&sink, "", "nothing");
	is(&sink, "a\"b\\c   <x>& ??ü??|nothing");
	sink = begin();
	fm_sink_csv(&sink, "plain");
	fm_sink_csv(&sink, "a,\"b\"\nc");
	fm_sink_csv(&sink, "=1+1");
	fm_sink_csv(&sink, "");
	is(&sink, "plain\"a,\"\"b\"\"\nc\"\"'=1+1\"");
}

static void failures_are_kept(void **state)
{
	static const bool yes = true;
	struct fm_sink sink = {.file = fopen("/dev/full", "w")};

	(void)state;
	if (!sink.file)
		skip();
	setvbuf(sink.file, NULL, _IONBF, 0);
	fm_sink_text(&sink, "text");
	fm_sink_unsigned(&sink, 5);
	assert_true(fm_sink_is_over(&sink));
	assert_int_equal(sink.code, ENOSPC);
	fclose(sink.file);
	sink = begin();
	sink.stop = &yes;
	assert_true(fm_sink_is_over(&sink));
	assert_int_equal(sink.code, EINTR);
	fclose(sink.file);
	free(text);
	text = NULL;
}

/* The examples of the encoding's description. */
static void wire(void **state)
{
	struct fm_wire wire = {.used = 0}, outer = {.used = 0};
	static char large[FM_WIRE_ROOM];

	(void)state;
	fm_wire_number(&wire, 1, 150);
	assert_int_equal(wire.used, 3);
	assert_memory_equal(wire.bytes, "\x08\x96\x01", 3);
	fm_wire_message(&outer, 3, &wire);
	assert_int_equal(outer.used, 5);
	assert_memory_equal(outer.bytes, "\x1a\x03\x08\x96\x01", 5);
	outer.used = 0;
	fm_wire_bytes(&outer, 2, "testing", 7);
	assert_memory_equal(outer.bytes, "\x12\x07testing", 9);
	outer.used = 0;
	fm_wire_number(&outer, 1, UINT64_MAX);
	assert_int_equal(outer.used, 11);
	/* what has no room is left out, and the rest stays right */
	fm_wire_bytes(&outer, 2, large, sizeof(large));
	assert_int_equal(outer.used, 11);
}

static void lanes(void **state)
{
	/* of two threads; 1 lies within 0, 2 overlaps with 0, 3 with both */
	static const struct {
		uint32_t thread;
		double began, ended;
		uint8_t lane;
	} rows[] = {{0, 0, 10, 0}, {0, 2, 4, 0}, {0, 5, 15, 1}, {0, 6, 20, 2},
	            {1, 0, 3, 0},  {1, 3, 3, 0}, {0, 20, 30, 0}};
	struct fm_recording *recording = fm_recording_create();
	uint8_t *found;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fm_recorded_instance *instance = fm_recording_add(recording, instances);

		instance->thread = rows[i].thread;
		instance->began = rows[i].began;
		instance->ended = rows[i].ended;
	}
	assert_int_equal(fm_lanes_make(recording, &found), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(found[i], rows[i].lane);
	free(found);
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(texts),
	                                   cmocka_unit_test(failures_are_kept), cmocka_unit_test(wire),
	                                   cmocka_unit_test(lanes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
