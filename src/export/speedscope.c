/* speedscope (https://www.speedscope.app): one sampled profile per thread. The weight of a sample is its processor
 * time, or with the engine its references. */
#include <errno.h>
#include <stdlib.h>

#include "base/version.h"
#include "export/exporter.h"

enum { DEEPEST = 256 };

/* Samples with a weight by thread, each thread's in the order of time. */
static int sort_by_thread(const struct fm_exported *exported, uint32_t **ret_list, size_t **ret_first)
{
	size_t threads = exported->recording->sampled_threads_count;
	uint32_t *list = malloc((exported->count + 1) * sizeof(*list));
	size_t *first = calloc(threads + 3, sizeof(*first));

	if (!list || !first) {
		free(list);
		free(first);
		return -ENOMEM;
	}
	for (size_t i = 0; i < exported->count; i++)
		first[fm_exported_sample(exported, i)->thread + 2] += !fm_exported_is_level_only(exported, i);
	for (size_t i = 2; i < threads + 3; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < exported->count; i++)
		if (!fm_exported_is_level_only(exported, i))
			list[first[fm_exported_sample(exported, i)->thread + 1]++] = exported->order[i];
	*ret_list = list;
	*ret_first = first;
	return 0;
}

static void write_frames(const struct fm_exported *exported, struct fm_sink *sink)
{
	const struct fm_recording *recording = exported->recording;

	/* a frame for each code, followed by frames for inlined functions */
	for (size_t i = 0; i < 2 * recording->codes_count; i++) {
		bool inlined = i >= recording->codes_count;
		size_t index = inlined ? i - recording->codes_count : i;
		const struct fm_recorded_code *code = &recording->codes[index];

		fm_sink_text(sink, i ? ",\n{\"name\":" : "\n{\"name\":");
		fm_sink_json(sink, inlined && *code->inlined ? code->inlined
		                                             : exported->functions.keys[exported->function_of[index]]);
		/* the line is that of the innermost function */
		if (*code->file && code->line > 0 && (inlined || !*code->inlined)) {
			fm_sink_text(sink, ",\"file\":");
			fm_sink_json(sink, code->file);
			fm_sink_text(sink, ",\"line\":");
			fm_sink_signed(sink, code->line);
		} else if (*code->module) {
			fm_sink_text(sink, ",\"file\":");
			fm_sink_json(sink, code->module);
		}
		fm_sink_byte(sink, '}');
	}
}

/* Outermost first. */
static void write_stack(const struct fm_recording *recording, const struct fm_recorded_sample *sample,
                        struct fm_sink *sink)
{
	uint32_t codes[DEEPEST];
	unsigned depth = 0;
	int64_t frame = sample->frame < 0 ? -1 : recording->frames[sample->frame].caller;

	codes[depth++] = sample->code;
	for (; frame >= 0 && depth < DEEPEST; frame = recording->frames[frame].caller)
		codes[depth++] = recording->frames[frame].code;
	fm_sink_byte(sink, '[');
	for (unsigned i = depth; i--;) {
		fm_sink_unsigned(sink, codes[i]);
		if (*recording->codes[codes[i]].inlined) {
			fm_sink_byte(sink, ',');
			fm_sink_unsigned(sink, codes[i] + recording->codes_count);
		}
		if (i)
			fm_sink_byte(sink, ',');
	}
	fm_sink_byte(sink, ']');
}

static void write_weight(const struct fm_exported *exported, uint64_t weight, struct fm_sink *sink)
{
	if (exported->references)
		fm_sink_unsigned(sink, weight);
	else
		fm_sink_seconds(sink, weight);
}

static void write_profile(const struct fm_exported *exported, size_t thread, const uint32_t *list, size_t count,
                          struct fm_sink *sink)
{
	const struct fm_recording *recording = exported->recording;
	const struct fm_recorded_sampled_thread *row = &recording->sampled_threads[thread];
	char name[48];
	uint64_t sum = 0;

	snprintf(name, sizeof(name), "%s (%u)", *row->name ? row->name : "thread", row->thread);
	fm_sink_text(sink, "{\"type\":\"sampled\",\"name\":");
	fm_sink_json(sink, name);
	fm_sink_text(sink, exported->references ? ",\"unit\":\"none\"" : ",\"unit\":\"seconds\"");
	fm_sink_text(sink, ",\"samples\":[");
	for (size_t i = 0; i < count && !fm_sink_is_over(sink); i++) {
		if (i)
			fm_sink_text(sink, ",\n");
		write_stack(recording, &recording->samples[list[i]], sink);
	}
	fm_sink_text(sink, "],\n\"weights\":[");
	for (size_t i = 0; i < count && !fm_sink_is_over(sink); i++) {
		uint64_t weight = fm_exported_weight(exported, &recording->samples[list[i]]);

		if (i)
			fm_sink_byte(sink, ',');
		sum = sum + weight < sum ? UINT64_MAX : sum + weight;
		write_weight(exported, weight, sink);
	}
	fm_sink_text(sink, "],\n\"startValue\":0,\"endValue\":");
	write_weight(exported, sum, sink);
	fm_sink_byte(sink, '}');
}

static int write(const struct fm_exported *exported, struct fm_sink *sink, struct fm_error *error)
{
	const struct fm_recording *recording = exported->recording;
	uint32_t *list;
	size_t *first;
	bool any = false;

	if (sort_by_thread(exported, &list, &first))
		return fm_error_set(error, ENOMEM, "out of memory");
	fm_sink_text(
	    sink,
	    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"fathom " FM_VERSION
	    "\",\n\"name\":");
	fm_sink_json(sink, recording->run.program);
	fm_sink_text(sink, ",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
	write_frames(exported, sink);
	fm_sink_text(sink, "]},\n\"profiles\":[");
	for (size_t i = 0; i < recording->sampled_threads_count; i++) {
		if (first[i] == first[i + 1])
			continue;
		fm_sink_text(sink, any ? ",\n" : "\n");
		write_profile(exported, i, list + first[i], first[i + 1] - first[i], sink);
		any = true;
	}
	fm_sink_text(sink, "]}\n");
	free(list);
	free(first);
	return 0;
}

const struct fm_exporter fm_exporter_speedscope = {
    .name = "speedscope",
    .suffixes = {".speedscope.json", NULL},
    .opens = "https://www.speedscope.app",
    .words = "call stacks of samples over time, for speedscope",
    .can = FM_EXPORT_SAMPLES,
    .write = write,
};
