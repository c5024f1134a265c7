#include "fold/findings.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fold/parts.h"
#include "fold/thresholds.h"

enum { LINE = 64, GROUP_MAX = 8 };

const char *fm_fold_finding_name(enum fm_fold_finding_kind kind)
{
	static const char *const names[FM_FINDING_COUNT] = {
#define FINDING(identifier, name, title) [FM_FINDING_##identifier] = (name),
#include "fold/findings.def"
#undef FINDING
	};

	return names[kind];
}

struct view {
	struct fm_fold *fold;
	const struct fm_samples *samples;
	double good;    /* cycles of a reference that is served well; 0: not known */
	bool *reported; /* of each stream: it is part of a finding */
};

static void say(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list list;

	va_start(list, format);
	vsnprintf(text + length, size - length, format, list);
	va_end(list);
	fm_text_complete(text);
}

static struct fm_figure share_in_mode(const struct view *view, const struct fm_stream *stream)
{
	const struct fm_fold_mode *mode = fm_fold_mode_of(view->fold, stream->region, stream->mode);
	double whole = view->samples->whole.seconds;

	return fm_figure_scaled(&stream->served.share, whole > 0 ? mode->served.seconds / whole : 0, "");
}

/* The share of a stream in all references of the recording: of all modes of its region. */
static struct fm_figure share_of(const struct view *view, const struct fm_stream *stream)
{
	const struct fm_fold *fold = view->fold;
	struct fm_figure share = share_in_mode(view, stream);

	for (size_t i = 0; i < fold->stream_count; i++) {
		const struct fm_stream *other = &fold->streams[i];
		struct fm_figure more;

		if (other->region != stream->region || other->mode == stream->mode || other->object != stream->object ||
		    other->line != stream->line)
			continue;
		more = share_in_mode(view, other);
		share.value += more.value;
		share.low += more.low;
		share.high = fmin(share.high + more.high, 1);
	}
	return share;
}

/* The cost of a hit: that of streams in order, or of the first cache. */
static double find_good(const struct view *view)
{
	const struct fm_served_model *model = view->samples->model;
	double first =
	    model->simulated
	        ? (view->samples->recording->has_machine ? view->samples->recording->machine.caches[0].latency : 4)
	        : model->cost_ns[FM_UNMIX_DRAWS][0] * model->cycles_per_ns;

	if (*model->why || *model->cost_why)
		return 0;
	return fmax(first, 1);
}

/* The routine that a line belongs to; NULL: it is not known. */
static const struct fm_served *routine_of(const struct view *view, int64_t line)
{
	const struct fm_samples *samples = view->samples;

	for (size_t i = 0; line >= 0 && i < samples->routine_count; i++)
		if (!strcmp(samples->routines[i].function, samples->lines[line].function) &&
		    !strcmp(samples->routines[i].module, samples->lines[line].module))
			return &samples->routines[i].self;
	return NULL;
}

/* In a loop all references wait for those that miss. The time of a routine is therefore divided by the cost of its
   references above a hit. A hit takes at least a cycle, shared by those that overlap. */
static double time_saved(double share, double excess, double routine_share, double routine_excess)
{
	double own = share * excess, all = routine_share * (1 + routine_excess);

	routine_share = fmax(routine_share, share);
	return own > 0 ? routine_share * own / fmax(all, routine_share + own) : 0;
}

/* The gain if a share of references had the cost of a hit: a share of the time, or of the simulated costs. It is an
   upper bound, since the program may have overlapped some of the cost. `part`: the share of that gain. */
static struct fm_figure worth(const struct view *view, const struct fm_figure *share, const struct fm_figure *cost,
                              double part, int64_t line)
{
	const struct fm_figure *whole = &view->samples->whole.mean_cost_cycles;
	const struct fm_served *routine = routine_of(view, line);
	double value, low, high;

	if (!share->available || !cost->available || !(view->good > 0))
		return fm_figure_unavailable("costs are unknown");
	if (view->samples->model->simulated) {
		value = share->value * (cost->value - view->good) / whole->value;
		low = share->low * (cost->low - view->good) / whole->high;
		high = share->high * (cost->high - view->good) / fmax(whole->low, 1e-9);
	} else {
		double all = routine ? routine->share.value : share->value;
		double rest = routine && routine->mean_cost_cycles.available
		                  ? fmax(routine->mean_cost_cycles.value - view->good, 0)
		                  : 0;

		value = time_saved(share->value, cost->value - view->good, all, rest);
		low = time_saved(share->low, cost->low - view->good, all, rest);
		high = time_saved(share->high, cost->high - view->good, all, rest);
	}
	return fm_figure_make(part * fmax(value, 0), part * fmax(low, 0), fmin(part * fmax(high, 0), 1), "",
	                      FM_ORIGIN_modelled, view->samples->model->backend, cost->trials);
}

static struct fm_fold_finding *add(struct view *view, enum fm_fold_finding_kind kind, double confidence)
{
	static const char *const titles[FM_FINDING_COUNT] = {
#define FINDING(identifier, name, title) [FM_FINDING_##identifier] = (title),
#include "fold/findings.def"
#undef FINDING
	};
	struct fm_fold_finding *finding =
	    fm_recording_grow((void **)&view->fold->findings, &view->fold->finding_count, sizeof(*finding));

	if (finding) {
		finding->kind = kind;
		finding->confidence = confidence;
		finding->object = finding->line = finding->region = FM_FOLD_NONE;
		finding->worth = fm_figure_unavailable("it is not known");
		snprintf(finding->title, sizeof(finding->title), "%s", titles[kind]);
	}
	return finding;
}

static void point_at(struct fm_fold_finding *finding, const struct fm_stream *stream)
{
	finding->object = stream->object;
	finding->line = stream->line;
	finding->region = stream->region;
}

static const char *object_name(const struct view *view, const struct fm_stream *stream)
{
	return view->samples->objects[stream->object].name;
}

static const char *place_name(const struct view *view, int64_t index, char *text, size_t size)
{
	const struct fm_sampled_line *line = &view->samples->lines[index];
	const char *slash = strrchr(line->file, '/');

	if (line->line)
		snprintf(text, size, "%s:%lld", slash ? slash + 1 : line->file, (long long)line->line);
	else
		snprintf(text, size, "%s [%s]", line->function, line->module);
	return text;
}

static void say_cost(const struct view *view, const struct fm_served *served, struct fm_fold_finding *finding)
{
	const struct fm_served_model *model = view->samples->model;

	if (served->mean_cost_cycles.available)
		say(finding->evidence, sizeof(finding->evidence),
		    "; mean cost %.0f cycles (%.0f–%.0f; well served: %.0f)", served->mean_cost_cycles.value,
		    served->mean_cost_cycles.low, served->mean_cost_cycles.high, view->good);
	for (unsigned i = 0; !*model->why && i + 1 < model->classes; i++)
		if (i && served->levels[i].available && served->levels[i].value >= FM_LEVEL_NAMED &&
		    served->levels[i].high - served->levels[i].low <= FM_FINDING_WIDEST)
			say(finding->evidence, sizeof(finding->evidence), ", %.0f %% from %s",
			    100 * served->levels[i].value, model->class_names[i]);
}

static bool is_costly(const struct view *view, const struct fm_served *served, double times)
{
	return view->good > 0 && served->mean_cost_cycles.available &&
	       served->mean_cost_cycles.low > times * view->good;
}

/* Arrays of the same length with random accesses to their elements, by one function at the same time */

static bool same_function(const struct view *view, const struct fm_stream *a, const struct fm_stream *b)
{
	return a->region == b->region && a->mode == b->mode && a->phase == b->phase &&
	       !strcmp(view->samples->lines[a->line].function, view->samples->lines[b->line].function);
}

static bool same_elements(const struct view *view, const struct fm_stream *a, const struct fm_stream *b)
{
	double first = (double)view->samples->objects[a->object].bytes,
	       second = (double)view->samples->objects[b->object].bytes;

	return a->object != b->object && first > 0 && fabs(first - second) <= FM_SAME_BYTES * first &&
	       fabs(a->served.share.value - b->served.share.value) <=
	           FM_SAME_TIME * fmax(a->served.share.value, b->served.share.value);
}

static bool is_scattered_read(const struct view *view, const struct fm_stream *stream)
{
	return stream->direction == FM_DIRECTION_RANDOM && stream->load && !stream->field_count &&
	       is_costly(view, &stream->served, FM_FINDING_COST);
}

static int find_fields_apart(struct view *view, size_t first)
{
	struct fm_fold *fold = view->fold;
	const struct fm_stream *lead = &fold->streams[first];
	size_t members[GROUP_MAX], count = 0;
	struct fm_figure sum;
	struct fm_fold_finding *finding;
	char place[120];

	if (!is_scattered_read(view, lead))
		return 0;
	members[count++] = first;
	for (size_t i = first + 1; i < fold->stream_count && count < GROUP_MAX; i++) {
		bool other = !view->reported[i] && is_scattered_read(view, &fold->streams[i]) &&
		             same_function(view, lead, &fold->streams[i]) &&
		             same_elements(view, lead, &fold->streams[i]);

		for (size_t k = 0; k < count; k++)
			other &= fold->streams[members[k]].object != fold->streams[i].object;
		if (other)
			members[count++] = i;
	}
	sum = share_of(view, lead);
	for (size_t k = 1; k < count; k++) {
		struct fm_figure more = share_of(view, &fold->streams[members[k]]);

		sum.value += more.value;
		sum.low += more.low;
		sum.high += more.high;
	}
	if (count < 2 || sum.value < FM_FINDING_SHARE)
		return 0;
	finding = add(view, FM_FINDING_FIELDS_APART, count > 2 ? FM_FINDING_SURE : FM_FINDING_LIKELY);
	if (!finding)
		return -ENOMEM;
	point_at(finding, lead);
	for (size_t k = 0; k < count; k++) {
		view->reported[members[k]] = true;
		say(finding->evidence, sizeof(finding->evidence), "%s%s", k ? ", " : "",
		    object_name(view, &fold->streams[members[k]]));
	}
	say(finding->evidence, sizeof(finding->evidence),
	    ": arrays of the same size, read at random and together by %s (%s); %.0f %% of all references",
	    view->samples->lines[lead->line].function, place_name(view, lead->line, place, sizeof(place)),
	    100 * sum.value);
	say_cost(view, &lead->served, finding);
	say(finding->advice, sizeof(finding->advice),
	    "store the fields of one element together (one array of structs): one cache line per element instead of "
	    "%zu",
	    count);
	finding->worth =
	    worth(view, &sum, &lead->served.mean_cost_cycles, (double)(count - 1) / (double)count, lead->line);
	return 0;
}

/* Single streams */

static int find_random(struct view *view, const struct fm_stream *stream)
{
	struct fm_figure share = share_of(view, stream);
	struct fm_fold_finding *finding;
	char place[120];

	if (stream->direction != FM_DIRECTION_RANDOM || share.value < FM_FINDING_SHARE ||
	    !is_costly(view, &stream->served, FM_FINDING_COST))
		return 0;
	finding = add(view, FM_FINDING_RANDOM, stream->confidence);
	if (!finding)
		return -ENOMEM;
	point_at(finding, stream);
	say(finding->evidence, sizeof(finding->evidence), "%s is %s at random in %s; %.0f %% of all references",
	    object_name(view, stream), stream->store ? "used" : "read",
	    place_name(view, stream->line, place, sizeof(place)), 100 * share.value);
	say_cost(view, &stream->served, finding);
	say(finding->advice, sizeof(finding->advice),
	    "access it in address order: sort the indices, or work on blocks that fit into a cache. If the order is "
	    "fixed, prefetch some elements ahead");
	finding->worth = worth(view, &share, &stream->served.mean_cost_cycles, 1, stream->line);
	return 0;
}

static int find_cold_fields(struct view *view, const struct fm_stream *stream)
{
	struct fm_figure share = share_of(view, stream);
	double stride = stream->stride_bytes.value, used = 0, before, after;
	struct fm_fold_finding *finding;
	char place[120];

	for (unsigned i = 0; i < stream->field_count; i++)
		used += stream->fields[i].bytes;
	/* at random each element is a line of its own, whether its other fields are beside it or not */
	if (stream->direction == FM_DIRECTION_RANDOM || !stream->field_count || !stream->stride_bytes.available ||
	    used > FM_COLD_USED * stride || share.value < FM_FINDING_SHARE ||
	    !is_costly(view, &stream->served, FM_COLD_COST))
		return 0;
	finding = add(view, FM_FINDING_COLD_FIELDS, stream->confidence > 0 ? stream->confidence : FM_FINDING_POSSIBLE);
	if (!finding)
		return -ENOMEM;
	point_at(finding, stream);
	before = fmin(1, stride / LINE);
	after = fmin(used / LINE, before);
	say(finding->evidence, sizeof(finding->evidence), "%s uses %.0f of each %.0f bytes of %s (offsets",
	    place_name(view, stream->line, place, sizeof(place)), used, stride, object_name(view, stream));
	for (unsigned i = 0; i < stream->field_count && i < 8; i++)
		say(finding->evidence, sizeof(finding->evidence), " %u",
		    stream->fields[i].offset - stream->fields[0].offset);
	say(finding->evidence, sizeof(finding->evidence), "): %.0f %% of all references", 100 * share.value);
	say_cost(view, &stream->served, finding);
	say(finding->advice, sizeof(finding->advice), "%s",
	    stride >= FM_LONG_STRIDE && stream->field_count == 1
	        ? "traverse it along its rows (exchange the loops), or store it transposed"
	        : "move the fields used here into a separate array");
	finding->worth = worth(view, &share, &stream->served.mean_cost_cycles, 1 - after / before, stream->line);
	return 0;
}

static int find_backwards(struct view *view, size_t which)
{
	struct fm_fold *fold = view->fold;
	const struct fm_stream *stores = &fold->streams[which];

	for (size_t i = 0; i < fold->stream_count; i++) {
		const struct fm_stream *loads = &fold->streams[i];
		struct fm_fold_finding *finding;
		char place[120];

		if (loads->region != stores->region || loads->mode != stores->mode || loads->phase != stores->phase ||
		    loads->object == stores->object || !loads->load || loads->store || !loads->falling ||
		    loads->together != stores->together || !same_function(view, loads, stores))
			continue;
		finding = add(view, FM_FINDING_BACKWARDS, fmin(loads->confidence, stores->confidence));
		if (!finding)
			return -ENOMEM;
		point_at(finding, stores);
		say(finding->evidence, sizeof(finding->evidence),
		    "%s is copied from high to low addresses, in %s and in %s together",
		    view->samples->lines[stores->line].function, object_name(view, loads), object_name(view, stores));
		say(finding->advice, sizeof(finding->advice),
		    "if the source has an upward loop here (%s), the compiler or the library reversed it: -fno-builtin "
		    "or "
		    "another implementation of memcpy shows whether that matters",
		    place_name(view, stores->line, place, sizeof(place)));
		finding->worth = fm_figure_unavailable("caches serve both directions alike on most machines");
		return 0;
	}
	return 0;
}

/* Many small allocations */

/* The line that most of an object's references come from; FM_FOLD_NONE: there is none. -ENOMEM. */
static int find_line(const struct fm_samples *samples, size_t object, int64_t *ret_line)
{
	const struct fm_recording *recording = samples->recording;
	double *weights = calloc(samples->line_count + 1, sizeof(*weights)), most = 0;

	if (!weights)
		return -ENOMEM;
	*ret_line = FM_FOLD_NONE;
	for (size_t i = 0; i < recording->samples_count; i++) {
		const struct fm_recorded_sample *sample = &recording->samples[i];
		uint32_t line = samples->line_of[sample->code];

		if (line == UINT32_MAX || (samples->left && !samples->left[i]) ||
		    samples->object_of[fm_samples_memory(samples, sample)] != object)
			continue;
		weights[line] += sample->weight > 0 ? sample->weight : 1e-9;
		if (weights[line] > most) {
			most = weights[line];
			*ret_line = line;
		}
	}
	free(weights);
	return 0;
}

static int find_scattered(struct view *view)
{
	const struct fm_samples *samples = view->samples;
	const struct fm_recording *recording = samples->recording;
	struct range {
		uint64_t lowest, highest, count;
		uint32_t process;
	} *ranges = calloc(samples->object_count + 1, sizeof(*ranges));
	int r = ranges ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < recording->samples_count; i++) {
		const struct fm_recorded_sample *sample = &recording->samples[i];
		uint32_t object =
		    sample->memory < 0 ? UINT32_MAX : samples->object_of[fm_samples_memory(samples, sample)];
		struct range *range;

		if (object == UINT32_MAX || (samples->left && !samples->left[i]))
			continue;
		range = &ranges[object];
		if (!range->count)
			range->process = sample->process;
		if (range->process != sample->process)
			continue;
		if (!range->count++ || sample->address < range->lowest)
			range->lowest = sample->address;
		if (sample->address > range->highest)
			range->highest = sample->address;
	}
	for (size_t i = 0; !r && i < samples->object_count; i++) {
		const struct fm_sampled_object *object = &samples->objects[i];
		double span = (double)(ranges[i].highest - ranges[i].lowest);
		struct fm_fold_finding *finding;
		char size[40], around[40];

		if ((object->kind != FM_MEMORY_POOL && object->kind != FM_MEMORY_HEAP) ||
		    object->count < FM_SCATTERED_COUNT || object->served.share.value < 2 * FM_FINDING_SHARE ||
		    ranges[i].count < 8 || span < FM_SCATTERED_BYTES || object->pattern.pattern == FM_PATTERN_ADVANCES)
			continue;
		/* lines that were fetched ahead in time cost little when they are looked at */
		finding =
		    add(view, FM_FINDING_SCATTERED,
		        is_costly(view, &object->served, FM_SCATTERED_COST) ? FM_FINDING_SURE : FM_FINDING_POSSIBLE);
		if (!finding) {
			r = -ENOMEM;
			break;
		}
		finding->object = (int64_t)i;
		r = find_line(samples, i, &finding->line);
		say(finding->evidence, sizeof(finding->evidence), "%.0f allocations of %s", object->count,
		    object->name);
		if (object->kind == FM_MEMORY_POOL && object->bytes)
			say(finding->evidence, sizeof(finding->evidence), ", %s in all, spread over %s",
			    fm_text_bytes(size, sizeof(size), (double)object->bytes),
			    fm_text_bytes(around, sizeof(around), span));
		else
			say(finding->evidence, sizeof(finding->evidence), " of up to %s each, spread over %s",
			    fm_text_bytes(size, sizeof(size), (double)object->bytes),
			    fm_text_bytes(around, sizeof(around), span));
		say(finding->evidence, sizeof(finding->evidence), ": %.0f %% of all references",
		    100 * object->served.share.value);
		say_cost(view, &object->served, finding);
		say(finding->advice, sizeof(finding->advice), "allocate them as one block, in order of use");
		finding->worth = worth(view, &object->served.share, &object->served.mean_cost_cycles, 1, finding->line);
	}
	free(ranges);
	return r;
}

static int by_worth(const void *first, const void *second)
{
	const struct fm_fold_finding *a = first, *b = second;
	double worth_a = a->worth.available ? a->worth.value : -1, worth_b = b->worth.available ? b->worth.value : -1;

	if (worth_a != worth_b)
		return worth_a > worth_b ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/* A stream of a region within another, or of another mode, was reported with that one already. */
static bool is_reported(const struct fm_fold *fold, size_t which)
{
	for (size_t i = 0; i < which; i++)
		if (fold->streams[i].object == fold->streams[which].object &&
		    fold->streams[i].line == fold->streams[which].line &&
		    (fold->streams[i].region != fold->streams[which].region ||
		     fold->streams[i].mode != fold->streams[which].mode))
			return true;
	return false;
}

int fm_fold_findings(struct fm_fold *fold)
{
	struct view view = {.fold = fold, .samples = fold->samples};
	int r = 0;

	view.good = find_good(&view);
	view.reported = calloc(fold->stream_count + 1, sizeof(*view.reported));
	if (!view.reported)
		return -ENOMEM;
	for (size_t i = 0; i < fold->stream_count; i++)
		view.reported[i] = is_reported(fold, i);
	for (size_t i = 0; !r && i < fold->stream_count; i++)
		if (!view.reported[i])
			r = find_fields_apart(&view, i);
	for (size_t i = 0; !r && i < fold->stream_count; i++) {
		const struct fm_stream *stream = &fold->streams[i];

		if (view.reported[i])
			continue;
		r = find_random(&view, stream);
		if (!r)
			r = find_cold_fields(&view, stream);
		if (!r && stream->store && !stream->load && stream->falling && stream->together)
			r = find_backwards(&view, i);
	}
	if (!r)
		r = find_scattered(&view);
	if (!r && fold->finding_count)
		qsort(fold->findings, fold->finding_count, sizeof(*fold->findings), by_worth);
	free(view.reported);
	return r;
}
