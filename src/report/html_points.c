#include "report/html_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "samples/samples.h"

enum {
	OTHER_LANE = FM_HTML_LANES_MAX, /* of all objects without one */
	LANES = FM_HTML_LANES_MAX + 1,
	NO_LINE = 0xffff,
	COST_STEPS = 254,
	COST_OCTAVES = 16, /* costs up to 65536 cycles are distinguished */
	WEIGHT_STEPS = 16, /* per octave */
};

struct extent {
	uint64_t low, high;
	bool seen;
};

struct fm_html_points {
	size_t total, offered, count, room;
	double begin, end, most_weight;
	struct extent extents[LANES];
	struct fm_html_point *points;
};

static unsigned lane_of(uint32_t object)
{
	return object < FM_HTML_LANES_MAX ? object : OTHER_LANE;
}

struct fm_html_points *fm_html_points_create(size_t total, size_t most, double begin, double end)
{
	struct fm_html_points *points = calloc(1, sizeof(*points));

	if (!points)
		return NULL;
	points->total = total;
	points->begin = begin;
	points->end = end > begin ? end : begin + 1;
	points->room = (total < most ? total : most) + 1;
	points->points = malloc(points->room * sizeof(*points->points));
	if (!points->points) {
		free(points);
		return NULL;
	}
	return points;
}

void fm_html_points_free(struct fm_html_points *points)
{
	if (!points)
		return;
	free(points->points);
	free(points);
}

void fm_html_points_extend(struct fm_html_points *points, uint32_t object, uint64_t address)
{
	struct extent *extent = &points->extents[lane_of(object)];

	extent->low = extent->seen && extent->low < address ? extent->low : address;
	extent->high = extent->seen && extent->high > address ? extent->high : address;
	extent->seen = true;
}

/* Point i is taken if i * room / total passes a whole number, which spaces points evenly. */
bool fm_html_points_wants(struct fm_html_points *points)
{
	size_t at = points->offered++;
	double step = (double)(points->room - 1) / (double)(points->total ? points->total : 1);

	if (points->count + 1 >= points->room)
		return false;
	return step >= 1 || floor((double)(at + 1) * step) > floor((double)at * step);
}

void fm_html_points_add(struct fm_html_points *points, const struct fm_html_point *point)
{
	if (points->count + 1 > points->room)
		return;
	points->points[points->count++] = *point;
	if (point->weight > points->most_weight)
		points->most_weight = point->weight;
}

/* Columns */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static json_t *base64(const uint8_t *bytes, size_t count)
{
	char *text = malloc((count + 2) / 3 * 4 + 1), *place = text;
	json_t *value;

	if (!text)
		return json_null();
	for (size_t i = 0; i < count; i += 3) {
		uint32_t word = (uint32_t)bytes[i] << 16 | (i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0) |
		                (i + 2 < count ? bytes[i + 2] : 0);

		*place++ = digits[word >> 18];
		*place++ = digits[word >> 12 & 63];
		*place++ = digits[word >> 6 & 63];
		*place++ = digits[word & 63];
	}
	for (size_t i = 0; i < (3 - count % 3) % 3; i++)
		place[-1 - (ptrdiff_t)i] = '=';
	value = json_stringn(text, (size_t)(place - text));
	free(text);
	return value ? value : json_null();
}

static uint32_t scaled(double share)
{
	return (uint32_t)(fmin(fmax(share, 0), 1) * 4294967295.0);
}

static uint32_t column_time(const struct fm_html_points *points, const struct fm_html_point *point)
{
	return scaled((point->at - points->begin) / (points->end - points->begin));
}

static uint32_t column_place(const struct fm_html_points *points, const struct fm_html_point *point)
{
	const struct extent *extent = &points->extents[lane_of(point->object)];

	return extent->high > extent->low
	           ? scaled((double)(point->address - extent->low) / (double)(extent->high - extent->low))
	           : 0;
}

static uint32_t column_lane(const struct fm_html_points *points, const struct fm_html_point *point)
{
	(void)points;
	return lane_of(point->object);
}

static uint32_t column_object(const struct fm_html_points *points, const struct fm_html_point *point)
{
	(void)points;
	return point->object < NO_LINE ? point->object : NO_LINE;
}

static uint32_t column_line(const struct fm_html_points *points, const struct fm_html_point *point)
{
	(void)points;
	return point->line < NO_LINE ? point->line : NO_LINE;
}

static uint32_t column_thread(const struct fm_html_points *points, const struct fm_html_point *point)
{
	(void)points;
	return point->thread < NO_LINE ? point->thread : NO_LINE;
}

/* Logarithmic; 0: not known. */
static uint32_t column_cost(const struct fm_html_points *points, const struct fm_html_point *point)
{
	(void)points;
	if (!(point->cost >= 0))
		return 0;
	return 1 + (uint32_t)fmin(COST_STEPS, round(log2(fmax(point->cost, 1)) / COST_OCTAVES * COST_STEPS));
}

static uint32_t column_flags(const struct fm_html_points *points, const struct fm_html_point *point)
{
	(void)points;
	return (uint32_t)point->load | (uint32_t)point->store << 1 | (uint32_t)point->reference << 2 |
	       (point->level & 15) << 3;
}

static uint32_t column_weight(const struct fm_html_points *points, const struct fm_html_point *point)
{
	if (!(point->weight > 0) || !(points->most_weight > 0))
		return 255;
	return (uint32_t)fmin(254, round(WEIGHT_STEPS * log2(points->most_weight / point->weight)));
}

static const struct {
	const char *name;
	unsigned bytes;
	uint32_t (*value)(const struct fm_html_points *points, const struct fm_html_point *point);
} columns[] = {
    {"time", 4, column_time},     {"place", 4, column_place}, {"lane", 1, column_lane},
    {"object", 2, column_object}, {"line", 2, column_line},   {"thread", 2, column_thread},
    {"cost", 1, column_cost},     {"flags", 1, column_flags}, {"weight", 1, column_weight},
};

static json_t *column_json(const struct fm_html_points *points, size_t column)
{
	unsigned width = columns[column].bytes;
	uint8_t *bytes = calloc(points->count + 1, width);
	json_t *text;

	for (size_t i = 0; bytes && i < points->count; i++) {
		uint32_t value = columns[column].value(points, &points->points[i]);

		for (unsigned k = 0; k < width; k++)
			bytes[i * width + k] = (uint8_t)(value >> 8 * k);
	}
	text = bytes ? base64(bytes, points->count * width) : json_null();
	free(bytes);
	return text;
}

static int by_time(const void *first, const void *second)
{
	const struct fm_html_point *a = first, *b = second;

	return (a->at > b->at) - (a->at < b->at);
}

void fm_html_points_finish(struct fm_html_points *points, json_t *timeline)
{
	json_t *object = json_object(), *lanes = json_array();

	if (points->count)
		qsort(points->points, points->count, sizeof(*points->points), by_time);
	json_object_set_new(object, "count", json_integer((json_int_t)points->count));
	json_object_set_new(object, "total", json_integer((json_int_t)points->total));
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		json_object_set_new(object, columns[i].name, column_json(points, i));
	for (unsigned i = 0; i < LANES; i++)
		if (points->extents[i].seen)
			json_array_append_new(lanes, json_pack("{s:i, s:i, s:f, s:f}", "lane", (int)i, "object",
			                                       i == OTHER_LANE ? -1 : (int)i, "low",
			                                       (double)points->extents[i].low, "high",
			                                       (double)points->extents[i].high));
	json_object_set_new(timeline, "points", object);
	json_object_set_new(timeline, "lanes", lanes);
}
