/* Callgrind's profile format, for KCachegrind and callgrind_annotate: costs by source line; for samples also calls with
 * inclusive costs. Samples do not show the number of calls: "calls" counts samples that came through the call. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "export/exporter.h"

enum { COSTS_MAX = 24, DEEPEST = 256 };

struct costs {
	uint64_t of[COSTS_MAX];
};

/* A source line, or an instruction without one. */
struct row {
	const char *module, *file, *function;
	int64_t line;
	uint32_t owner; /* number of its function */
};

struct profile {
	const struct fm_exported *exported;
	struct fm_sink *sink;
	unsigned events;
	struct row *rows;
	struct costs *self; /* of each row */
	size_t row_count;
	uint32_t *by_owner; /* rows of function f are by_owner[first[f]] … */
	size_t *first;
	struct fm_names owners;  /* functions: module and name */
	uint32_t *example;       /* a row of each; its file is that of the function */
	struct fm_names arcs;    /* {row of the call, function called} */
	struct costs *arc_costs; /* inclusive */
	size_t arc_room;
	uint32_t *arc_order; /* by calling row */
	/* names that have been written: later their number is enough */
	struct fm_names files, functions, modules;
	struct costs total;
};

struct arc {
	uint32_t row, callee;
};

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void add_costs(struct costs *to, const struct costs *from)
{
	for (unsigned i = 0; i < COSTS_MAX; i++)
		to->of[i] = add(to->of[i], from->of[i]);
}

static bool is_zero(const struct costs *costs)
{
	for (unsigned i = 0; i < COSTS_MAX; i++)
		if (costs->of[i])
			return false;
	return true;
}

/* Cost types */

static void name_event(struct profile *profile, const char *name, const char *words)
{
	fm_sink_text(profile->sink, "event: ");
	fm_sink_text(profile->sink, name);
	fm_sink_text(profile->sink, " : ");
	fm_sink_text(profile->sink, words);
	fm_sink_byte(profile->sink, '\n');
	profile->events++;
}

static void write_level_word(struct profile *profile, unsigned level, bool words)
{
	const char *name = fm_exported_level_name(profile->exported, level);

	fm_sink_text(profile->sink, words ? "from " : "From_");
	for (; *name; name++)
		fm_sink_byte(profile->sink, (*name >= '0' && *name <= '9') || (*name >= 'A' && *name <= 'Z') ||
		                                    (*name >= 'a' && *name <= 'z')
		                                ? *name
		                                : '_');
}

static void name_sampled(struct profile *profile)
{
	unsigned levels = fm_exported_levels(profile->exported);
	bool references = profile->exported->references;

	name_event(profile, references ? "References" : "Time_ns",
	           references ? "References represented by the samples"
	                      : "Processor time represented by the samples, ns");
	name_event(profile, "Samples", "Sampled references");
	name_event(profile, "Loads", "Sampled loads");
	name_event(profile, "Stores", "Sampled stores");
	name_event(profile, "Cost",
	           references ? "Simulated cycles of the samples" : "Ticks that the timed samples took");
	name_event(profile, "Timed", "Timed samples");
	for (unsigned i = 0; i <= levels; i++, profile->events++) {
		fm_sink_text(profile->sink, "event: ");
		write_level_word(profile, i, false);
		fm_sink_text(profile->sink, references ? " : References " : " : Processor time of references, ns, ");
		write_level_word(profile, i, true);
		fm_sink_byte(profile->sink, '\n');
	}
	fm_sink_text(profile->sink, references ? "events: References" : "events: Time_ns");
	fm_sink_text(profile->sink, " Samples Loads Stores Cost Timed");
	for (unsigned i = 0; i <= levels; i++) {
		fm_sink_byte(profile->sink, ' ');
		write_level_word(profile, i, false);
	}
	fm_sink_byte(profile->sink, '\n');
}

static unsigned caches_of(const struct fm_recording *recording)
{
	return recording->has_machine && recording->machine.cache_count ? recording->machine.cache_count
	                                                                : FM_SIMULATED_CACHES_MAX;
}

static void name_counted(struct profile *profile)
{
	unsigned caches = caches_of(profile->exported->recording);
	char name[24], words[80];

	name_event(profile, "Loads", "Loads");
	name_event(profile, "Stores", "Stores");
	for (unsigned i = 1; i <= caches; i++) {
		snprintf(name, sizeof(name), "Misses_%u", i);
		snprintf(words, sizeof(words), "Misses of cache %u", i);
		name_event(profile, name, words);
	}
	for (unsigned i = 1; i <= caches; i++) {
		snprintf(name, sizeof(name), "Lines_%u", i);
		snprintf(words, sizeof(words), "Lines moved into cache %u", i);
		name_event(profile, name, words);
	}
	fm_sink_text(profile->sink, "events: Loads Stores");
	for (unsigned i = 1; i <= 2 * caches; i++) {
		fm_sink_text(profile->sink, i <= caches ? " Misses_" : " Lines_");
		fm_sink_unsigned(profile->sink, i <= caches ? i : i - caches);
	}
	fm_sink_byte(profile->sink, '\n');
}

/* Rows */

static int own_rows(struct profile *profile)
{
	int r = 0;

	profile->example = calloc(profile->row_count + 1, sizeof(*profile->example));
	profile->by_owner = calloc(profile->row_count + 1, sizeof(*profile->by_owner));
	if (!profile->example || !profile->by_owner)
		return -ENOMEM;
	for (size_t i = 0; !r && i < profile->row_count; i++) {
		struct row *row = &profile->rows[i];
		char key[FM_FUNCTION + 96];
		size_t known = profile->owners.count;

		snprintf(key, sizeof(key), "%s\1%s", row->module, row->function);
		r = fm_names_find(&profile->owners, key, &row->owner);
		if (!r && profile->owners.count > known)
			profile->example[row->owner] = (uint32_t)i;
	}
	profile->first = calloc(profile->owners.count + 3, sizeof(*profile->first));
	if (!profile->first)
		return -ENOMEM;
	for (size_t i = 0; i < profile->row_count; i++)
		profile->first[profile->rows[i].owner + 2]++;
	for (size_t i = 2; i < profile->owners.count + 3; i++)
		profile->first[i] += profile->first[i - 1];
	for (size_t i = 0; i < profile->row_count; i++)
		profile->by_owner[profile->first[profile->rows[i].owner + 1]++] = (uint32_t)i;
	return r;
}

static int64_t line_number(int64_t line)
{
	return line > 0 && line < INT32_MAX ? line : 0;
}

static int take_lines(struct profile *profile)
{
	const struct fm_recording *recording = profile->exported->recording;
	unsigned caches = caches_of(recording);

	for (size_t i = 0; i < recording->lines_count; i++) {
		const struct fm_recorded_place *place = &recording->lines[i];
		struct costs *costs = &profile->self[i];

		profile->rows[i] =
		    (struct row){place->module, place->file, place->function, line_number(place->line), 0};
		costs->of[0] = place->loads;
		costs->of[1] = place->stores;
		for (unsigned k = 0; k < caches && k < FM_SIMULATED_CACHES_MAX; k++) {
			costs->of[2 + k] = place->misses[k];
			costs->of[2 + caches + k] = place->moved[k];
		}
	}
	return own_rows(profile);
}

static void costs_of_sample(const struct fm_exported *exported, uint32_t index, struct costs *ret)
{
	const struct fm_recorded_sample *sample = &exported->recording->samples[index];
	uint64_t cost = 0, weight = fm_exported_weight(exported, sample);
	double shares[FM_SERVED_CLASSES];

	memset(ret, 0, sizeof(*ret));
	fm_exported_cost(sample, &cost);
	ret->of[4] = cost;
	ret->of[5] = !(sample->flags & FM_SAMPLE_UNTIMED);
	if (sample->flags & FM_SAMPLE_LEVEL_ONLY)
		return;
	ret->of[0] = weight;
	ret->of[1] = 1;
	ret->of[2] = !(sample->kind & FM_SAMPLE_STORE) || sample->kind & FM_SAMPLE_LOAD;
	ret->of[3] = !!(sample->kind & FM_SAMPLE_STORE);
	if (!fm_exported_shares(exported, index, shares)) {
		ret->of[6] = weight;
		return;
	}
	for (unsigned i = 0; i < fm_exported_levels(exported); i++)
		ret->of[7 + i] = (uint64_t)llround((double)weight * shares[i]);
}

/* Calls */

static int add_arc(struct profile *profile, struct arc arc, const struct costs *costs)
{
	uint32_t number;
	int r = fm_names_find_bytes(&profile->arcs, &arc, sizeof(arc), &number);

	if (!r && number >= profile->arc_room) {
		size_t room = profile->arc_room ? 2 * profile->arc_room : 64;
		struct costs *larger = realloc(profile->arc_costs, room * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		memset(larger + profile->arc_room, 0, (room - profile->arc_room) * sizeof(*larger));
		profile->arc_costs = larger;
		profile->arc_room = room;
	}
	if (!r)
		add_costs(&profile->arc_costs[number], costs);
	return r;
}

/* A call that also occurs further out in the stack already has these samples. */
static bool is_repeated(const struct profile *profile, const struct fm_recording *recording, size_t frame)
{
	int64_t caller = recording->frames[frame].caller;
	uint32_t callee = profile->rows[recording->frames[frame].code].owner,
	         owner = profile->rows[recording->frames[caller].code].owner;

	for (unsigned depth = 0; depth < DEEPEST; depth++) {
		int64_t outer = recording->frames[caller].caller;

		if (outer < 0)
			return false;
		if (profile->rows[recording->frames[caller].code].owner == callee &&
		    profile->rows[recording->frames[outer].code].owner == owner)
			return true;
		caller = outer;
	}
	return false;
}

/* Callers precede callees. In backward order, every frame is therefore complete when it is visited. */
static int add_calls(struct profile *profile, struct costs *inclusive)
{
	const struct fm_recording *recording = profile->exported->recording;
	int r = 0;

	for (size_t i = recording->frames_count; !r && i--;) {
		int64_t caller = recording->frames[i].caller;

		if (caller < 0 || is_zero(&inclusive[i]))
			continue;
		add_costs(&inclusive[caller], &inclusive[i]);
		if (!is_repeated(profile, recording, i))
			r = add_arc(profile,
			            (struct arc){recording->frames[caller].code,
			                         profile->rows[recording->frames[i].code].owner},
			            &inclusive[i]);
	}
	return r;
}

static int take_samples(struct profile *profile)
{
	const struct fm_exported *exported = profile->exported;
	const struct fm_recording *recording = exported->recording;
	struct costs *inclusive = calloc(recording->frames_count + 1, sizeof(*inclusive)), costs;
	int r;

	for (size_t i = 0; i < recording->codes_count; i++) {
		const struct fm_recorded_code *code = &recording->codes[i];

		profile->rows[i] =
		    (struct row){code->module, code->file, exported->functions.keys[exported->function_of[i]],
		                 line_number(code->line), 0};
	}
	r = inclusive ? own_rows(profile) : -ENOMEM;
	for (size_t i = 0; !r && i < exported->count; i++) {
		const struct fm_recorded_sample *sample = fm_exported_sample(exported, i);

		costs_of_sample(exported, exported->order[i], &costs);
		add_costs(&profile->self[sample->code], &costs);
		if (sample->frame >= 0)
			add_costs(&inclusive[sample->frame], &costs);
	}
	if (!r)
		r = add_calls(profile, inclusive);
	free(inclusive);
	return r;
}

/* Writing */

/* "fn=(3) name", later "fn=(3)" */
static int write_name(struct profile *profile, const char *key, struct fm_names *names, const char *name)
{
	size_t known = names->count;
	uint32_t number;
	int r = fm_names_find(names, *name ? name : "???", &number);

	if (r)
		return r;
	fm_sink_text(profile->sink, key);
	fm_sink_text(profile->sink, "=(");
	fm_sink_unsigned(profile->sink, number + 1ull);
	fm_sink_byte(profile->sink, ')');
	if (names->count > known) {
		fm_sink_byte(profile->sink, ' ');
		fm_sink_line(profile->sink, name, "???");
	}
	fm_sink_byte(profile->sink, '\n');
	return 0;
}

static void write_costs(struct profile *profile, const struct costs *costs)
{
	unsigned last = profile->events;

	/* zeros at the end may be left out */
	while (last > 1 && !costs->of[last - 1])
		last--;
	for (unsigned i = 0; i < last; i++) {
		fm_sink_byte(profile->sink, ' ');
		fm_sink_unsigned(profile->sink, costs->of[i]);
	}
	fm_sink_byte(profile->sink, '\n');
}

static int write_calls(struct profile *profile, uint32_t row, size_t *next)
{
	int r = 0;

	for (; !r && *next < profile->arcs.count; ++*next) {
		uint32_t number = profile->arc_order[*next];
		const struct row *callee;
		struct arc arc;

		memcpy(&arc, profile->arcs.keys[number], sizeof(arc));
		if (arc.row != row)
			break;
		callee = &profile->rows[profile->example[arc.callee]];
		r = write_name(profile, "cob", &profile->modules, callee->module);
		if (!r)
			r = write_name(profile, "cfi", &profile->files, callee->file);
		if (!r)
			r = write_name(profile, "cfn", &profile->functions, callee->function);
		fm_sink_text(profile->sink, "calls=");
		/* samples for levels only have no count; a call with costs happened */
		fm_sink_unsigned(profile->sink,
		                 profile->arc_costs[number].of[1] ? profile->arc_costs[number].of[1] : 1);
		fm_sink_byte(profile->sink, ' ');
		fm_sink_signed(profile->sink, callee->line);
		fm_sink_byte(profile->sink, '\n');
		fm_sink_signed(profile->sink, profile->rows[row].line);
		write_costs(profile, &profile->arc_costs[number]);
	}
	return r;
}

/* Index of the first call of each row. */
static int by_row(const void *first, const void *second, void *context)
{
	const struct profile *profile = context;
	uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)second;
	struct arc one, other;

	memcpy(&one, profile->arcs.keys[a], sizeof(one));
	memcpy(&other, profile->arcs.keys[b], sizeof(other));
	if (one.row != other.row)
		return one.row < other.row ? -1 : 1;
	return (one.callee > other.callee) - (one.callee < other.callee);
}

static int sort_calls(struct profile *profile, size_t **ret_begin)
{
	size_t *begin = calloc(profile->row_count + 1, sizeof(*begin));
	struct arc arc;

	profile->arc_order = malloc((profile->arcs.count + 1) * sizeof(*profile->arc_order));
	if (!begin || !profile->arc_order) {
		free(begin);
		return -ENOMEM;
	}
	for (size_t i = 0; i < profile->arcs.count; i++)
		profile->arc_order[i] = (uint32_t)i;
	qsort_r(profile->arc_order, profile->arcs.count, sizeof(*profile->arc_order), by_row, profile);
	for (size_t i = profile->arcs.count; i--;) {
		memcpy(&arc, profile->arcs.keys[profile->arc_order[i]], sizeof(arc));
		begin[arc.row] = i + 1;
	}
	*ret_begin = begin;
	return 0;
}

static int write_function(struct profile *profile, size_t owner, const size_t *begin)
{
	const struct row *example = &profile->rows[profile->example[owner]];
	const char *file = example->file;
	bool any = false;
	int r = 0;

	for (size_t k = profile->first[owner]; !r && k < profile->first[owner + 1]; k++) {
		uint32_t number = profile->by_owner[k];
		const struct row *row = &profile->rows[number];
		size_t next = begin[number] - 1;

		if (is_zero(&profile->self[number]) && !begin[number])
			continue;
		if (!any) {
			fm_sink_byte(profile->sink, '\n');
			r = write_name(profile, "ob", &profile->modules, example->module);
			if (!r)
				r = write_name(profile, "fl", &profile->files, example->file);
			if (!r)
				r = write_name(profile, "fn", &profile->functions, example->function);
			any = true;
		}
		/* inlined code comes from another file */
		if (!r && strcmp(file, row->file) != 0) {
			r = write_name(profile, "fi", &profile->files, row->file);
			file = row->file;
		}
		fm_sink_signed(profile->sink, row->line);
		write_costs(profile, &profile->self[number]);
		add_costs(&profile->total, &profile->self[number]);
		if (!r && begin[number])
			r = write_calls(profile, number, &next);
	}
	return r;
}

static void write_header(struct profile *profile)
{
	const struct fm_recording *recording = profile->exported->recording;
	struct fm_sink *sink = profile->sink;

	fm_sink_text(sink, "# callgrind format\nversion: 1\ncreator: fathom " FM_VERSION "\npid: ");
	fm_sink_unsigned(sink, recording->sampled_processes_count ? recording->sampled_processes[0].process : 0);
	fm_sink_text(sink, "\ncmd: ");
	fm_sink_line(sink, recording->run.program, "???");
	fm_sink_text(sink, "\npart: 1\ndesc: Fathom: ");
	fm_sink_text(sink, profile->exported->has & FM_EXPORT_SAMPLES
	                       ? "sampled references; calls are samples that came through them"
	                       : "loads, stores and misses on a simulated machine");
	fm_sink_text(sink, "\npositions: line\n");
	if (profile->exported->has & FM_EXPORT_SAMPLES)
		name_sampled(profile);
	else
		name_counted(profile);
}

static int write(const struct fm_exported *exported, struct fm_sink *sink, struct fm_error *error)
{
	bool sampled = exported->has & FM_EXPORT_SAMPLES;
	struct profile profile = {.exported = exported, .sink = sink};
	size_t *begin = NULL;
	int r;

	profile.row_count = sampled ? exported->recording->codes_count : exported->recording->lines_count;
	profile.rows = calloc(profile.row_count + 1, sizeof(*profile.rows));
	profile.self = calloc(profile.row_count + 1, sizeof(*profile.self));
	r = profile.rows && profile.self ? 0 : -ENOMEM;
	if (!r)
		r = sampled ? take_samples(&profile) : take_lines(&profile);
	if (!r)
		r = sort_calls(&profile, &begin);
	if (!r)
		write_header(&profile);
	for (size_t i = 0; !r && i < profile.owners.count && !fm_sink_is_over(sink); i++)
		r = write_function(&profile, i, begin);
	if (!r) {
		fm_sink_text(sink, "\ntotals:");
		write_costs(&profile, &profile.total);
	}
	free(profile.rows);
	free(profile.self);
	free(profile.by_owner);
	free(profile.first);
	free(profile.example);
	free(profile.arc_costs);
	free(profile.arc_order);
	free(begin);
	fm_names_free(&profile.owners);
	fm_names_free(&profile.arcs);
	fm_names_free(&profile.files);
	fm_names_free(&profile.functions);
	fm_names_free(&profile.modules);
	return r ? fm_error_set(error, -r, "out of memory") : 0;
}

const struct fm_exporter fm_exporter_callgrind = {
    .name = "callgrind",
    .suffixes = {".callgrind", NULL},
    .opens = "kcachegrind or callgrind_annotate",
    .words = "costs by function, line and call, for KCachegrind and callgrind_annotate",
    .can = FM_EXPORT_SAMPLES | FM_EXPORT_LINES,
    .write = write,
};
