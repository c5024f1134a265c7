/* One self-contained page: the data of the analysis inside a page made at build time. */
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "json/figure.h"
#include "report/curve.h"
#include "report/html_parts.h"
#include "report/page.h"
#include "report/parts.h"
#include "report/scale.h"
#include "report/squeeze.h"

enum { ROWS = 256, SOURCE_LINES = 256 };

/* Names of functions are arbitrary. The data must not end its element or begin a comment, so '<' is escaped. Other
 * characters are ASCII. */
static int put_escaped(const char *buffer, size_t size, void *context)
{
	FILE *output = context;

	while (size) {
		const char *found = memchr(buffer, '<', size);
		size_t plain = found ? (size_t)(found - buffer) : size;

		fwrite(buffer, 1, plain, output);
		buffer += plain;
		size -= plain;
		if (found) {
			fputs("\\u003c", output);
			buffer++;
			size--;
		}
	}
	return 0;
}

static void put_page(const json_t *root, FILE *output)
{
	fwrite(fm_page_head, 1, fm_page_head_bytes, output);
	json_dump_callback(root, put_escaped, output, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
	fwrite(fm_page_tail, 1, fm_page_tail_bytes, output);
}

static json_t *begin(const struct fm_recording *recording, const char *kind)
{
	json_t *root = json_pack("{s:i, s:s, s:s, s:s, s:o, s:o}", "format", 1, "fathom", FM_VERSION, "kind", kind,
	                         "program", fm_observed_words(recording), "host", fm_json_text(recording->run.host),
	                         "started", fm_json_text(recording->run.started));

	json_object_set_new(root, "machine", fm_html_machine(recording));
	json_object_set_new(root, "trust", fm_html_trust(recording));
	/* runs with less cache or bandwidth, if recorded */
	json_object_set_new(root, "squeeze", fm_html_table(recording, "squeeze_steps"));
	json_object_set_new(root, "curve",
	                    recording->curves_count ? fm_curve_recorded_json(recording, 0) : json_null());
	return root;
}

/* Samples */

static json_t *sampling_json(const struct fm_samples *samples)
{
	const struct fm_recorded_sampling *sampling = &samples->recording->sampling;
	size_t references = fm_recording_references(samples->recording);

	return json_pack("{s:s, s:f, s:f, s:I, s:I, s:o, s:o, s:f, s:b}", "sampler", sampling->sampler, "seconds",
	                 sampling->seconds, "cpu_seconds", sampling->cpu_seconds, "samples", (json_int_t)references,
	                 "level_samples", (json_int_t)(samples->recording->samples_count - references), "overhead",
	                 fm_html_figure(&sampling->overhead), "rate", fm_html_figure(&sampling->rate), "missed",
	                 samples->missed_share, "every", samples->model->every);
}

static json_t *sample_sources(const struct fm_samples *samples)
{
	struct fm_html_source_line lines[SOURCE_LINES];
	size_t count = 0;

	for (size_t i = 0; i < samples->line_count && count < SOURCE_LINES; i++)
		if (samples->lines[i].line > 0)
			lines[count++] = (struct fm_html_source_line){samples->lines[i].file, samples->lines[i].line};
	return fm_html_sources(lines, count, samples->recording->run.started);
}

static void print_samples(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_samples *samples = fold->samples;
	json_t *root = begin(samples->recording, "samples"), *warnings = json_array(), *timelines = json_array();
	size_t most = options->top > ROWS ? options->top : ROWS;

	json_object_set_new(root, "sampling", sampling_json(samples));
	json_object_set_new(root, "filter", fm_json_text(samples->filter));
	for (size_t i = 0; i < samples->warning_count; i++)
		json_array_append_new(warnings, json_string(samples->warnings[i]));
	json_object_set_new(root, "warnings", warnings);
	fm_html_set_tables(root, samples, most);
	fm_html_set_folded(root, timelines, fold);
	json_array_append_new(timelines, fm_html_whole_run(samples));
	json_object_set_new(root, "timelines", timelines);
	json_object_set_new(root, "sources", options->no_source ? json_array() : sample_sources(samples));
	put_page(root, output);
	json_decref(root);
}

/* Stat */

static json_t *stat_sources(const struct fm_analysis *analysis)
{
	struct fm_html_source_line lines[SOURCE_LINES];
	size_t count = 0;

	for (size_t i = 0; i < analysis->line_count && count < SOURCE_LINES; i++)
		if (analysis->lines[i].line > 0)
			lines[count++] = (struct fm_html_source_line){analysis->lines[i].file, analysis->lines[i].line};
	return fm_html_sources(lines, count, analysis->recording->run.started);
}

static json_t *stat_findings(const struct fm_analysis *analysis)
{
	json_t *array = json_array();

	for (unsigned i = 0; analysis->has_picture && i < analysis->whole.finding_count; i++) {
		const struct fm_finding *finding = &analysis->whole.findings[i];
		char where[1200];

		fm_where_text(&analysis->where[i], where, sizeof(where));
		json_array_append_new(array, json_pack("{s:s, s:s, s:f, s:s, s:o, s:o}", "title", finding->name,
		                                       "verdict", fm_verdict_name(finding->verdict), "confidence",
		                                       finding->confidence, "evidence", finding->evidence, "advice",
		                                       fm_json_text(finding->advice ? finding->advice : ""), "where",
		                                       fm_json_text(where)));
	}
	return array;
}

static void print_stat(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	json_t *root = begin(analysis->recording, "stat");
	struct fm_writer_options all = *options;

	all.top = options->top > ROWS ? options->top : ROWS;
	json_object_set_new(root, "stat", fm_stat_json(analysis, &all));
	json_object_set_new(root, "findings", stat_findings(analysis));
	json_object_set_new(root, "sources", options->no_source ? json_array() : stat_sources(analysis));
	put_page(root, output);
	json_decref(root);
}

/* Squeeze */

static void print_squeeze(const struct fm_squeeze *squeeze, const struct fm_writer_options *options, FILE *output)
{
	json_t *root = begin(squeeze->recording, "squeeze");

	(void)options;
	json_object_set_new(root, "squeezed", fm_squeeze_json(squeeze));
	put_page(root, output);
	json_decref(root);
}

static void print_scale(const struct fm_scale *scale, const struct fm_writer_options *options, FILE *output)
{
	json_t *root = begin(scale->recording, "scale");

	(void)options;
	json_object_set_new(root, "scaled", fm_scale_json(scale));
	put_page(root, output);
	json_decref(root);
}

static const char *lacks(void)
{
	return fm_page_lacks;
}

const struct fm_writer fm_writer_html = {.name = "html",
                                         .lacks = lacks,
                                         .stat = print_stat,
                                         .samples = print_samples,
                                         .rates = true,
                                         .squeeze = print_squeeze,
                                         .scale = print_scale};
