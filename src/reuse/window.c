#include "reuse/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_references(struct fm_window *window)
{
	free(window->survivors);
	free(window->next);
	free(window->distances);
	free(window->marks);
}

static int make_room(struct fm_window *window, uint32_t count)
{
	size_t size = 1024;

	while (size < 2 * (size_t)count)
		size *= 2;
	if (size > window->places_size) {
		uint32_t *places = realloc(window->places, size * sizeof(*places));

		if (!places)
			return -ENOMEM;
		window->places = places;
		window->places_size = size;
	}
	if (count > window->room) {
		uint32_t *survivors = malloc(count * sizeof(*survivors));
		uint32_t *next = malloc(count * sizeof(*next));
		uint32_t *distances = malloc(count * sizeof(*distances));
		uint64_t *marks = malloc((count / 64 + 1) * sizeof(*marks));

		if (!survivors || !next || !distances || !marks) {
			free(survivors);
			free(next);
			free(distances);
			free(marks);
			return -ENOMEM;
		}
		free_references(window);
		window->survivors = survivors;
		window->next = next;
		window->distances = distances;
		window->marks = marks;
		window->room = count;
	}
	memset(window->places, 0, window->places_size * sizeof(*window->places));
	memset(window->marks, 0, (count / 64 + 1) * sizeof(*window->marks));
	return 0;
}

static uint32_t *find(const struct fm_window *window, const uint64_t *lines, uint64_t line)
{
	size_t mask = window->places_size - 1;
	size_t i = (line * 0x9e3779b97f4a7c15u >> 32) & mask;

	while (window->places[i] && lines[window->places[i] - 1] != line)
		i = (i + 1) & mask;
	return &window->places[i];
}

/* Marks in first+1 … end-1. */
static uint32_t marks_between(const uint64_t *marks, uint32_t first, uint32_t end)
{
	uint32_t word = (first + 1) / 64, last = end / 64, count = 0;
	uint64_t bits = marks[word] & UINT64_MAX << (first + 1) % 64;

	for (; word < last; bits = marks[++word])
		count += (uint32_t)__builtin_popcountll(bits);
	return count + (uint32_t)__builtin_popcountll(bits & ((1ull << end % 64) - 1));
}

static inline void flip(uint64_t *marks, uint32_t position)
{
	marks[position / 64] ^= 1ull << position % 64;
}

static double weight_of(const struct fm_window *window)
{
	return window->weight > 0 ? window->weight : 1;
}

static int add_used(struct fm_times *times, struct fm_cells *list, struct fm_times_cell *cells, unsigned bins,
                    uint32_t cluster)
{
	unsigned used = 0;

	for (unsigned bin = 0; bin < bins; bin++)
		if (cells[bin].samples_in || cells[bin].samples_out) {
			cells[used] = cells[bin];
			cells[used].bin = bin;
			cells[used++].cluster = cluster;
		}
	return fm_times_add_cells(times, list, cells, used);
}

/* The distances of references that are old enough at the window's end. */
static int add_distances(const struct fm_window *window, const uint8_t *member, const uint8_t *written,
                         uint32_t cluster, struct fm_times *times)
{
	unsigned bins = fm_time_bin(window->count + 1) + 1;
	struct fm_times_cell *cells = calloc(bins, sizeof(*cells));
	double weight = weight_of(window);
	int status;

	if (!cells)
		return -ENOMEM;
	for (uint32_t i = 0; i < window->count && window->count - 1 - i >= window->horizon; i++) {
		struct fm_times_cell *cell = &cells[fm_time_bin(window->distances[i] + 1)];
		uint32_t next = window->next[i];

		if (member && !member[i])
			continue;
		cell->samples_out++;
		if (next) {
			cell->reused += weight;
			cell->written += written && written[next] ? weight : 0;
		} else {
			cell->censored += weight;
		}
	}
	status = add_used(times, &times->by_distance, cells, bins, cluster);
	free(cells);
	return status;
}

int fm_window_add(struct fm_window *window, const uint64_t *lines, const uint8_t *written, uint32_t count,
                  uint32_t horizon, uint32_t cluster, struct fm_times *times)
{
	unsigned bins = fm_time_bin(count) + 1;
	struct fm_times_cell *cells;
	double weight = weight_of(window);
	uint32_t different = 0;
	int status;

	window->survivor_count = 0;
	window->count = 0;
	if (!count)
		return 0;
	if (count > 1u << 28)
		return -EINVAL;
	status = make_room(window, count);
	if (status)
		return status;
	cells = calloc(bins, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	window->count = count;
	window->horizon = horizon;
	/* from the end, so that the table holds the next touch */
	for (uint32_t i = count; i-- > 0;) {
		uint32_t *place = find(window, lines, lines[i]);
		uint32_t age = count - 1 - i;
		struct fm_times_cell *cell;

		if (*place) {
			uint32_t next = *place - 1;

			cell = &cells[fm_time_bin(next - i)];
			cell->reused += weight;
			cell->written += written && written[next] ? weight : 0;
			window->next[i] = next;
			window->distances[i] = marks_between(window->marks, i, next);
			flip(window->marks, next);
		} else {
			cell = &cells[fm_time_bin(age)];
			cell->censored += weight;
			window->next[i] = 0;
			window->distances[i] = different++;
			if (age >= horizon)
				window->survivors[window->survivor_count++] = i;
		}
		cell->samples_out++;
		flip(window->marks, i);
		*place = i + 1;
	}
	cells[0].entered = weight * count;
	cells[0].samples_in = (int32_t)count;
	status = add_used(times, &times->by_time, cells, bins, cluster);
	free(cells);
	return status ? status : add_distances(window, NULL, written, cluster, times);
}

int fm_window_add_part(const struct fm_window *window, const uint8_t *member, const uint8_t *written, uint32_t cluster,
                       struct fm_times *part)
{
	return add_distances(window, member, written, cluster, part);
}

unsigned fm_window_choose(const struct fm_window *window, struct fm_random *random, unsigned wanted,
                          struct fm_window_choice *ret_choices)
{
	unsigned chosen = 0;
	uint32_t left = window->survivor_count;

	if (wanted > left)
		wanted = left;
	/* Knuth's selection would look at every survivor; few are wanted, so draw until they differ */
	while (chosen < wanted) {
		uint32_t position = window->survivors[fm_random_below(random, window->survivor_count)];
		bool taken = false;

		for (unsigned i = 0; i < chosen; i++)
			taken |= ret_choices[i].position == position;
		if (taken)
			continue;
		ret_choices[chosen++] =
		    (struct fm_window_choice){.position = position,
		                              .age = window->count - 1 - position,
		                              .distance = window->distances[position],
		                              .weight = weight_of(window) * window->survivor_count / wanted};
	}
	return chosen;
}

uint32_t fm_window_term(struct fm_random *random, unsigned slot)
{
	double mean = exp2(2.0 * slot), term;

	if (slot == 0)
		return 1;
	term = 1 - mean * log(fm_random_uniform(random));
	return term < 1e6 ? (uint32_t)term : 1000000;
}

void fm_window_free(struct fm_window *window)
{
	free(window->places);
	free_references(window);
	memset(window, 0, sizeof(*window));
}
