/* Routines, alone and with their callees, and source lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/parts.h"

struct numbered {
	uint32_t *of_code; /* number of each code's routine or line */
	uint32_t *example; /* a code of each number */
	size_t count;
};

/* As stat has them: a function that was inlined counts for the one that it is in, lines name it. */
static void routine_key(const struct fm_recorded_code *code, char *key, size_t size)
{
	snprintf(key, size, "%s\1%s", code->function, code->module);
}

static void line_key(const struct fm_recorded_code *code, char *key, size_t size)
{
	if (code->line)
		snprintf(key, size, "%s\1%lld\1%s\1%s", code->file, (long long)code->line, code->module,
		         *code->inlined ? code->inlined : code->function);
	else
		snprintf(key, size, "\1%s\1%s", code->function, code->module);
}

static int number_codes(const struct fm_recording *recording,
                        void (*make_key)(const struct fm_recorded_code *code, char *key, size_t size),
                        struct numbered *ret)
{
	struct fm_names names = {0};
	struct numbered numbered = {calloc(recording->codes_count + 1, sizeof(uint32_t)),
	                            calloc(recording->codes_count + 1, sizeof(uint32_t)), 0};
	int r = numbered.of_code && numbered.example ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < recording->codes_count; i++) {
		char key[1024];

		make_key(&recording->codes[i], key, sizeof(key));
		r = fm_names_find(&names, key, &numbered.of_code[i]);
		if (!r && numbered.of_code[i] == numbered.count)
			numbered.example[numbered.count++] = (uint32_t)i;
	}
	fm_names_free(&names);
	*ret = numbered;
	return r;
}

static void numbered_free(struct numbered *numbered)
{
	free(numbered->of_code);
	free(numbered->example);
}

/* Chosen samples by frame: those of frame f are list[begin[f]] … list[begin[f + 1] - 1]. The last frame is for samples
   without one. */
static int sort_by_frame(const struct fm_chosen *chosen, uint32_t **ret_list, size_t **ret_begin)
{
	size_t frames = chosen->recording->frames_count;
	uint32_t *list = malloc((chosen->count + 1) * sizeof(*list));
	size_t *begin = calloc(frames + 3, sizeof(*begin));

	if (!list || !begin) {
		free(list);
		free(begin);
		return -ENOMEM;
	}
	for (size_t i = 0; i < chosen->count; i++) {
		int64_t frame = fm_chosen_sample(chosen, i)->frame;

		begin[(frame < 0 ? frames : (size_t)frame) + 2]++;
	}
	for (size_t i = 2; i < frames + 3; i++)
		begin[i] += begin[i - 1];
	for (size_t i = 0; i < chosen->count; i++) {
		int64_t frame = fm_chosen_sample(chosen, i)->frame;

		list[begin[(frame < 0 ? frames : (size_t)frame) + 1]++] = (uint32_t)i;
	}
	*ret_list = list;
	*ret_begin = begin;
	return 0;
}

/* Each routine of a call stack once. `mark` holds the last turn of each routine. */
static void add_stack(const struct fm_recording *recording, const struct numbered *routines, int64_t frame,
                      const struct fm_served_sum *sum, struct fm_served_sum *inclusive, uint32_t *mark, uint32_t turn)
{
	for (unsigned depth = 0; frame >= 0 && depth < FM_STACK_MAX; depth++) {
		uint32_t routine = routines->of_code[recording->frames[frame].code];

		if (mark[routine] != turn) {
			mark[routine] = turn;
			fm_served_merge(&inclusive[routine], sum);
		}
		frame = recording->frames[frame].caller;
	}
}

static int sum_inclusive(const struct fm_chosen *chosen, const struct numbered *routines,
                         struct fm_served_sum *inclusive)
{
	const struct fm_recording *recording = chosen->recording;
	uint32_t *mark = calloc(routines->count + 1, sizeof(*mark)), *list = NULL;
	size_t *begin = NULL;
	int r = mark ? sort_by_frame(chosen, &list, &begin) : -ENOMEM;

	for (size_t frame = 0; !r && frame < recording->frames_count; frame++) {
		struct fm_served_sum sum = {0};

		if (begin[frame] == begin[frame + 1])
			continue;
		for (size_t k = begin[frame]; k < begin[frame + 1]; k++)
			fm_served_add(chosen->model, &sum, fm_chosen_sample(chosen, list[k]), chosen->bins[list[k]],
			              fm_chosen_weight(chosen, list[k]));
		add_stack(recording, routines, (int64_t)frame, &sum, inclusive, mark, (uint32_t)frame + 1);
	}
	/* without a stack there is only the place itself */
	for (size_t k = r ? 0 : begin[recording->frames_count]; !r && k < begin[recording->frames_count + 1]; k++) {
		const struct fm_recorded_sample *sample = fm_chosen_sample(chosen, list[k]);

		fm_served_add(chosen->model, &inclusive[routines->of_code[sample->code]], sample, chosen->bins[list[k]],
		              fm_chosen_weight(chosen, list[k]));
	}
	free(mark);
	free(list);
	free(begin);
	return r;
}

/* Routines without own samples come last, by their callees. */
static int by_self(const void *first, const void *second)
{
	const struct fm_sampled_routine *a = first, *b = second;

	if (a->self.seconds != b->self.seconds)
		return a->self.seconds > b->self.seconds ? -1 : 1;
	if (a->inclusive.seconds != b->inclusive.seconds)
		return a->inclusive.seconds > b->inclusive.seconds ? -1 : 1;
	return strcmp(a->function, b->function);
}

static int add_routines(struct fm_samples *samples, const struct fm_chosen *chosen, const struct numbered *routines,
                        const struct fm_served_sum *self, const struct fm_served_sum *inclusive)
{
	uint32_t *order = fm_samples_order(self, routines->count);

	samples->routines = calloc(routines->count + 1, sizeof(*samples->routines));
	if (!order || !samples->routines) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < routines->count; i++) {
		const struct fm_recorded_code *code = &samples->recording->codes[routines->example[order[i]]];
		struct fm_sampled_routine *routine = &samples->routines[samples->routine_count];
		bool detailed = samples->routine_count < FM_DETAILED_MAX;

		if (!inclusive[order[i]].count && !self[order[i]].count)
			continue;
		samples->routine_count++;
		snprintf(routine->function, sizeof(routine->function), "%s", *code->function ? code->function : "?");
		snprintf(routine->module, sizeof(routine->module), "%s", code->module);
		fm_served_compute(samples->model, &self[order[i]], &chosen->whole, detailed, &routine->self);
		if (inclusive[order[i]].count == self[order[i]].count)
			routine->inclusive = routine->self;
		else
			fm_served_compute(samples->model, &inclusive[order[i]], &chosen->whole, detailed,
			                  &routine->inclusive);
	}
	if (samples->routine_count)
		qsort(samples->routines, samples->routine_count, sizeof(*samples->routines), by_self);
	free(order);
	return 0;
}

/* The object with the most references by a line. */
static int find_objects(const struct fm_chosen *chosen, const struct numbered *lines, int64_t *objects)
{
	struct fm_names names = {0};
	double *weights = calloc(chosen->count + 1, sizeof(*weights)), *most = calloc(lines->count + 1, sizeof(*most));
	int r = weights && most ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < chosen->count; i++) {
		uint32_t key[2] = {lines->of_code[fm_chosen_sample(chosen, i)->code], chosen->object[i]}, number;

		r = fm_names_find_bytes(&names, key, sizeof(key), &number);
		if (r)
			break;
		weights[number] += fm_chosen_weight(chosen, i);
		if (weights[number] > most[key[0]]) {
			most[key[0]] = weights[number];
			objects[key[0]] = key[1];
		}
	}
	fm_names_free(&names);
	free(weights);
	free(most);
	return r;
}

static int add_lines(struct fm_samples *samples, struct fm_chosen *chosen, const struct numbered *lines,
                     const struct fm_served_sum *sums)
{
	uint32_t *order = fm_samples_order(sums, lines->count);
	int64_t *objects = calloc(lines->count + 1, sizeof(*objects));
	uint32_t *place = calloc(lines->count + 1, sizeof(*place));
	int r = -ENOMEM;

	samples->lines = calloc(lines->count + 1, sizeof(*samples->lines));
	if (order && objects && place && samples->lines)
		r = find_objects(chosen, lines, objects);
	for (size_t i = 0; !r && i < lines->count && sums[order[i]].count; i++) {
		const struct fm_recorded_code *code = &samples->recording->codes[lines->example[order[i]]];
		struct fm_sampled_line *line = &samples->lines[samples->line_count++];

		place[order[i]] = (uint32_t)i;
		if (code->line) {
			snprintf(line->file, sizeof(line->file), "%s", code->file);
			line->line = code->line;
			snprintf(line->inlined, sizeof(line->inlined), "%s", code->inlined);
			snprintf(line->chain, sizeof(line->chain), "%s", code->chain);
		}
		snprintf(line->function, sizeof(line->function), "%s", *code->function ? code->function : "?");
		snprintf(line->module, sizeof(line->module), "%s", code->module);
		line->object = objects[order[i]];
		fm_served_compute(samples->model, &sums[order[i]], &chosen->whole, i < FM_DETAILED_MAX, &line->served);
	}
	for (size_t i = 0; !r && i < chosen->count; i++)
		chosen->line[i] = place[lines->of_code[fm_chosen_sample(chosen, i)->code]];
	free(order);
	free(objects);
	free(place);
	return r;
}

int fm_samples_code(struct fm_samples *samples, struct fm_chosen *chosen)
{
	struct numbered routines = {0}, lines = {0};
	struct fm_served_sum *self = NULL, *inclusive = NULL, *by_line = NULL;
	int r = number_codes(samples->recording, routine_key, &routines);

	if (!r)
		r = number_codes(samples->recording, line_key, &lines);
	if (r)
		goto out;
	self = calloc(routines.count + 1, sizeof(*self));
	inclusive = calloc(routines.count + 1, sizeof(*inclusive));
	by_line = calloc(lines.count + 1, sizeof(*by_line));
	r = self && inclusive && by_line ? 0 : -ENOMEM;
	for (size_t i = 0; !r && i < chosen->count; i++) {
		const struct fm_recorded_sample *sample = fm_chosen_sample(chosen, i);

		fm_served_add(chosen->model, &self[routines.of_code[sample->code]], sample, chosen->bins[i],
		              fm_chosen_weight(chosen, i));
		fm_served_add(chosen->model, &by_line[lines.of_code[sample->code]], sample, chosen->bins[i],
		              fm_chosen_weight(chosen, i));
	}
	if (!r)
		r = sum_inclusive(chosen, &routines, inclusive);
	if (!r)
		r = add_routines(samples, chosen, &routines, self, inclusive);
	if (!r)
		r = add_lines(samples, chosen, &lines, by_line);
out:
	numbered_free(&routines);
	numbered_free(&lines);
	free(self);
	free(inclusive);
	free(by_line);
	return r;
}
