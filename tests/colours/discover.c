/* Colours found by timing a simulated cache whose index is known: what is found must be the truth, or be refused. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "colours/discover.h"
#include "colours/hash.h"

enum { FIRST_SETS = 64, FIRST, SECOND, BEYOND, FRAMES = 1 << 20, POOL_AT = 1 << 20 };
static const double cycles_of[] = {[FIRST] = 4, [SECOND] = 14, [BEYOND] = 50};

struct cache {
	unsigned sets, ways;
	uint32_t *lines; /* of each set, the last used one first; 0: none */
	unsigned loose;  /* one of so many that were not used for longest makes room; 0: the last one */
	struct fm_random random;
};

struct simulated {
	struct cache first, second;
	unsigned hashed_bits; /* of the offset, from bit 9 on */
	double noise, spikes; /* of a time; how often something else happens */
	double behind;        /* cycles from behind the cache; 0: as usual */
	unsigned page_count;
	uint32_t *frames;
	struct fm_random random;
};

static bool touch(struct cache *cache, unsigned set, uint32_t line)
{
	uint32_t *lines = cache->lines + (size_t)set * cache->ways;
	unsigned at = 0;
	bool hit;

	while (at < cache->ways - 1 && lines[at] != line)
		at++;
	hit = lines[at] == line;
	if (!hit && cache->loose && lines[at])
		at -= (unsigned)fm_random_below(&cache->random, cache->loose);
	memmove(lines + 1, lines, at * sizeof(*lines));
	lines[0] = line;
	return hit;
}

static unsigned parity(uint32_t value)
{
	return (unsigned)__builtin_popcount(value) & 1;
}

/* The truth: which part of the sets the page has. */
static unsigned colour_of(const struct simulated *machine, uint32_t frame)
{
	return (frame ^ frame >> 9) % (machine->second.sets / FM_PAGE_LINES);
}

static uint32_t frame_of(const struct simulated *machine, const char *address)
{
	size_t page = (size_t)(address - (char *)POOL_AT) / FM_PAGE_BYTES;

	assert_true(page < machine->page_count);
	return machine->frames[page];
}

static unsigned load_line(struct simulated *machine, const char *address)
{
	uint32_t frame = frame_of(machine, address), line = (uint32_t)((size_t)address / FM_LINE_BYTES % FM_PAGE_LINES),
	         name = frame * FM_PAGE_LINES + line + 1, folded = 0;

	if (touch(&machine->first, line, name))
		return FIRST;
	for (unsigned bit = 0; bit < machine->hashed_bits; bit++)
		folded |= parity(frame & (0x11111u << bit | 0x400u << bit)) << (3 + bit);
	return touch(&machine->second, colour_of(machine, frame) * FM_PAGE_LINES + (line ^ folded), name) ? SECOND
	                                                                                                  : BEYOND;
}

static double cost_of(const struct simulated *machine, unsigned place)
{
	return place == BEYOND && machine->behind > 0 ? machine->behind : cycles_of[place];
}

static double disturbed(struct simulated *machine, double cycles)
{
	cycles *= 1 + machine->noise * fabs(fm_random_normal(&machine->random));
	return fm_random_uniform(&machine->random) < machine->spikes ? cycles + 20000 : cycles;
}

static double chase(void *context, char *const *lines, unsigned count, unsigned steps)
{
	struct simulated *machine = context;
	double cycles = 0;
	unsigned at = 0;

	/* the truth does not depend on how long one looks */
	if (steps > count)
		steps = count;
	for (unsigned i = 0; i < count; i++)
		load_line(machine, lines[i]);
	for (unsigned i = 0; i < steps; i++) {
		cycles += cost_of(machine, load_line(machine, lines[at]));
		at = at + 1 < count ? at + 1 : 0;
	}
	return (cycles / steps) * 0.3 * (1 + machine->noise * fabs(fm_random_normal(&machine->random)));
}

static uint32_t reload(void *context, const struct fm_colours_lines *lines, char *target, char *const *pages,
                       unsigned count, unsigned passes)
{
	struct simulated *machine = context;
	double cycles = 30;

	for (unsigned i = 0; i < lines->count; i++)
		load_line(machine, target + lines->offsets[i]);
	for (unsigned pass = 0; pass < passes; pass++)
		for (unsigned i = 0; i < lines->count; i++)
			for (unsigned k = 0; k < count; k++)
				load_line(machine, pages[k] + lines->offsets[i]);
	for (unsigned i = 0; i < lines->count; i++)
		cycles += cost_of(machine, load_line(machine, target + lines->offsets[i]));
	return (uint32_t)disturbed(machine, cycles);
}

struct wanted {
	unsigned first_ways, ways, sets, hashed_bits;
	double noise, spikes, behind;
	unsigned loose;
};

struct scene {
	struct simulated machine;
	struct fm_colours *colours;
	char **pages;
	unsigned count;
};

static void set_up(struct scene *scene, const struct wanted *wanted, uint64_t seed)
{
	struct simulated *machine = &scene->machine;

	*machine = (struct simulated){.first = {.sets = FIRST_SETS, .ways = wanted->first_ways},
	                              .second = {.sets = wanted->sets, .ways = wanted->ways, .loose = wanted->loose},
	                              .hashed_bits = wanted->hashed_bits,
	                              .noise = wanted->noise,
	                              .spikes = wanted->spikes,
	                              .behind = wanted->behind};
	fm_random_seed(&machine->random, seed);
	fm_random_seed(&machine->second.random, seed + 2);
	machine->first.lines = calloc((size_t)FIRST_SETS * wanted->first_ways, sizeof(uint32_t));
	machine->second.lines = calloc((size_t)wanted->sets * wanted->ways, sizeof(uint32_t));
	scene->colours = calloc(1, sizeof(*scene->colours));
	assert_non_null(scene->colours);
	*scene->colours = (struct fm_colours){
	    .geometry = {wanted->first_ways, wanted->first_ways * 4096, wanted->ways, wanted->sets, wanted->sets / 64},
	    .probe = {.context = machine, .chase = chase, .reload = reload}};
	fm_random_seed(&scene->colours->random, seed + 1);
	scene->count = 16384;
	machine->page_count = scene->count;
	machine->frames = calloc(scene->count, sizeof(uint32_t));
	scene->pages = calloc(scene->count, sizeof(*scene->pages));
	assert_true(machine->first.lines && machine->second.lines && machine->frames && scene->pages);
	for (unsigned i = 0; i < scene->count; i++) {
		machine->frames[i] = (uint32_t)fm_random_below(&machine->random, FRAMES);
		scene->pages[i] = (char *)POOL_AT + (size_t)i * FM_PAGE_BYTES;
	}
}

static void tear_down(struct scene *scene)
{
	free(scene->machine.first.lines);
	free(scene->machine.second.lines);
	free(scene->machine.frames);
	free(scene->colours);
	free(scene->pages);
}

static int discover(struct scene *scene, struct fm_error *error)
{
	struct fm_colours_found found;
	unsigned wanted = fm_colours_pages_wanted(&scene->colours->geometry);

	return fm_colours_discover(scene->colours, scene->pages, wanted < scene->count ? wanted : scene->count, &found,
	                           error);
}

/* Every set has one colour, each colour has one set, and other pages get theirs. */
static void check_truth(struct scene *scene)
{
	struct fm_colours *colours = scene->colours;
	int true_colour[FM_COLOURS_MOST], seen[FM_COLOURS_MOST] = {0};
	unsigned wrong = 0;

	for (unsigned i = 0; i < colours->count; i++) {
		true_colour[i] = (int)colour_of(&scene->machine, frame_of(&scene->machine, colours->sets[i].pages[0]));
		assert_false(seen[true_colour[i]]++);
		for (unsigned k = 1; k < colours->sets[i].count; k++)
			assert_int_equal(
			    colour_of(&scene->machine, frame_of(&scene->machine, colours->sets[i].pages[k])),
			    true_colour[i]);
	}
	for (unsigned i = 0; i < 100; i++) {
		char *page = scene->pages[scene->count - 1 - i];
		int found = fm_colours_find(colours, page, i % colours->count, colours->count);

		wrong +=
		    found < 0 || true_colour[found] != (int)colour_of(&scene->machine, frame_of(&scene->machine, page));
	}
	assert_true(wrong <= 1);
	assert_true(fm_colours_disagreement(colours, scene->pages + scene->count - 100, 100) <= 0.01);
}

static void finds(const struct wanted *wanted, uint64_t space)
{
	struct fm_error error;
	struct scene scene;

	/* a minute, for what is done with fewer sets too; the other builds look for these */
	if (SANITIZED && wanted->sets > 1024)
		return;
	set_up(&scene, wanted, 42);
	if (discover(&scene, &error))
		fail_msg("%s", error.message);
	assert_true(scene.colours->hash == space);
	check_truth(&scene);
	tear_down(&scene);
}

/* Spans of lines 8, 16 and 32: address bits 9, 10 and 11. */
#define PLAIN 0x1ull
#define TWO_BITS 0x01010101ull
#define THREE_BITS 0x0101010101010101ull

static void plain_20_ways_16_colours(void **state)
{
	(void)state;
	finds(&(struct wanted){12, 20, 1024, 0, 0.03, 0.002, 0, 0}, PLAIN);
}

static void plain_8_ways_32_colours(void **state)
{
	(void)state;
	finds(&(struct wanted){8, 8, 2048, 0, 0.03, 0.002, 0, 0}, PLAIN);
}

static void hashed_8_ways_32_colours(void **state)
{
	(void)state;
	finds(&(struct wanted){8, 8, 2048, 3, 0.03, 0.002, 0, 0}, THREE_BITS);
}

static void hashed_8_ways_16_colours(void **state)
{
	(void)state;
	finds(&(struct wanted){8, 8, 1024, 2, 0.1, 0.01, 0, 0}, TWO_BITS);
}

/* Some processors do not drive out what was used longest ago: as many lines as there are ways are not enough then. */
static void loose_16_ways_32_colours(void **state)
{
	(void)state;
	finds(&(struct wanted){12, 16, 2048, 0, 0.03, 0.002, 0, 8}, PLAIN);
	finds(&(struct wanted){12, 16, 2048, 0, 0.03, 0.002, 0, 4}, PLAIN);
}

static void loose_and_hashed(void **state)
{
	(void)state;
	finds(&(struct wanted){8, 8, 1024, 2, 0.03, 0.002, 0, 2}, TWO_BITS);
}

/* What was found before may be of another machine: it is believed if it is true here. */
static void a_wrong_hash_is_noticed(void **state)
{
	static const struct {
		unsigned bits;
		uint64_t hash;
		bool true_here;
	} cases[] = {{0, PLAIN, true},       {0, 0x3, false},       {0, TWO_BITS, false},
	             {2, TWO_BITS, true},    {2, PLAIN, false},     {2, 0x101, false},
	             {2, THREE_BITS, false}, {3, THREE_BITS, true}, {3, TWO_BITS, false}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_error error;
		struct scene scene;
		int r;

		set_up(&scene, &(struct wanted){8, 8, 1024, cases[i].bits, 0.03, 0.002, 0, 0}, 42 + i);
		scene.colours->hash = cases[i].hash;
		r = fm_colours_check_hash(scene.colours, scene.pages, fm_colours_pages_wanted(&scene.colours->geometry),
		                          &error);
		assert_int_equal(r, cases[i].true_here ? 0 : -ENOTSUP);
		tear_down(&scene);
	}
}

static void refuses(const struct wanted *wanted, const struct fm_colours_geometry *claimed)
{
	struct fm_error error;
	struct scene scene;
	int r;

	set_up(&scene, wanted, 7);
	if (claimed)
		scene.colours->geometry = *claimed;
	r = discover(&scene, &error);
	if (r != -ENOTSUP)
		fail_msg("a cache of %u ways and %u sets was taken for one of %u ways and %u sets", wanted->ways,
		         wanted->sets, scene.colours->geometry.ways, scene.colours->geometry.sets);
	assert_true(strlen(error.message) > 20);
	tear_down(&scene);
}

/* What the machine says of its cache need not be true: hypervisors describe others than there are. */
static void wrong_geometry_is_refused(void **state)
{
	static const struct wanted truth = {8, 8, 1024, 2, 0.02, 0, 0, 0};
	static const struct fm_colours_geometry claims[] = {
	    {8, 32768, 16, 1024, 16}, {8, 32768, 4, 1024, 16}, {8, 32768, 8, 2048, 32}, {8, 32768, 8, 512, 8}};

	(void)state;
	for (unsigned i = 0; i < sizeof(claims) / sizeof(*claims); i++)
		refuses(&truth, &claims[i]);
}

static void impossible_geometry_is_refused(void **state)
{
	static const struct fm_colours_geometry claims[] = {{8, 32768, 0, 1024, 16},     {8, 32768, 8, 64, 1},
	                                                    {8, 32768, 8, 100000, 1562}, {8, 32768, 200, 1024, 16},
	                                                    {0, 0, 8, 1024, 16},         {8, 32768, 8, 768, 12}};
	struct fm_error error;

	(void)state;
	for (unsigned i = 0; i < sizeof(claims) / sizeof(*claims); i++)
		assert_int_equal(fm_colours_geometry_check(&claims[i], &error), -ENOTSUP);
}

/* No difference in time, nothing to find. */
static void flat_memory_is_refused(void **state)
{
	(void)state;
	refuses(&(struct wanted){8, 8, 1024, 0, 0.05, 0, 14, 0}, NULL);
}

static void noise_beyond_use_is_refused(void **state)
{
	(void)state;
	refuses(&(struct wanted){8, 8, 1024, 0, 3, 0.2, 0, 0}, NULL);
}

/* Pages that the host moves elsewhere are noticed; too many of them, and the whole is found again. */
static void drift_is_noticed(void **state)
{
	struct fm_error error;
	struct scene scene;
	struct fm_colours_set *set;

	(void)state;
	set_up(&scene, &(struct wanted){8, 8, 1024, 0, 0.02, 0, 0, 0}, 11);
	assert_int_equal(discover(&scene, &error), 0);
	set = &scene.colours->sets[3];
	assert_true(fm_colours_recheck(scene.colours));
	for (unsigned i = 0; i < 1 + set->count / 2; i++) {
		char *moved = set->pages[0];
		unsigned before = set->count;

		scene.machine.frames[(moved - (char *)POOL_AT) / FM_PAGE_BYTES] ^= 1;
		if (set->count > scene.colours->geometry.ways + 2) {
			assert_true(fm_colours_recheck(scene.colours));
			assert_int_equal(set->count, before - 1);
		} else {
			assert_false(fm_colours_recheck(scene.colours));
			break;
		}
	}
	tear_down(&scene);
}

/* A chase over what k colours should hold is fast, over twice that slow; with pages of any colour both are the same. */
static void shares_are_what_they_should_be(void **state)
{
	struct fm_colours *colours;
	struct fm_error error;
	struct scene scene;
	char *chosen[128], **lines = calloc(128 * FM_PAGE_LINES, sizeof(*lines));
	unsigned count = 0, k = 4;
	double within, beyond, any;

	(void)state;
	assert_non_null(lines);
	set_up(&scene, &(struct wanted){8, 8, 1024, 2, 0.02, 0, 0, 0}, 5);
	assert_int_equal(discover(&scene, &error), 0);
	colours = scene.colours;
	for (unsigned per = 0, i = scene.count; count < 48 && i-- > 0; per = count % k)
		if (fm_colours_is(colours, per, scene.pages[i], true))
			chosen[count++] = scene.pages[i];
	assert_int_equal(count, 48);
	within = fm_colours_chase(colours, chosen, 24, lines);
	beyond = fm_colours_chase(colours, chosen, 48, lines);
	any = fm_colours_chase(colours, scene.pages, 48, lines);
	assert_true(within < 0.6 * beyond);
	assert_true(any < 0.7 * beyond);
	free(lines);
	tear_down(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain_20_ways_16_colours),       cmocka_unit_test(plain_8_ways_32_colours),
	    cmocka_unit_test(hashed_8_ways_32_colours),       cmocka_unit_test(hashed_8_ways_16_colours),
	    cmocka_unit_test(loose_16_ways_32_colours),       cmocka_unit_test(loose_and_hashed),
	    cmocka_unit_test(a_wrong_hash_is_noticed),        cmocka_unit_test(wrong_geometry_is_refused),
	    cmocka_unit_test(impossible_geometry_is_refused), cmocka_unit_test(flat_memory_is_refused),
	    cmocka_unit_test(noise_beyond_use_is_refused),    cmocka_unit_test(drift_is_noticed),
	    cmocka_unit_test(shares_are_what_they_should_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
