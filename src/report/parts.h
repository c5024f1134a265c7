/* What the text of stat is put together from. */
#ifndef FATHOM_REPORT_PARTS_H
#define FATHOM_REPORT_PARTS_H

#include <jansson.h>

#include "report/writer.h"

/* What the engine counted: levels, cycles, threads, regions, functions, lines, variables, processes, shared lines. */
void fm_exact_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);

/* What has to be said beside it: what was not seen, not followed, lost. */
void fm_exact_print_remarks(const struct fm_analysis *analysis, FILE *output);

/* Levels, utilisation, cycles, patterns, regions, threads. */
void fm_picture_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);

/* One line of a time series. */
void fm_picture_print_moment(const struct fm_judged *moment, FILE *output);

/* Levels and cycles over simulated time, as strips. */
void fm_series_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);

/* Events by name, and the metrics of a group. */
void fm_events_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);
void fm_events_print_moment(const struct fm_recording *recording, size_t first, const char *separator, FILE *output);
void fm_metrics_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);

/* Sampled references, in each format. */
void fm_samples_print_text(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
void fm_samples_print_json(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
void fm_samples_print_separated(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);

/* Findings, folded regions, streams, working sets: parts of the text and of the JSON. */
void fm_fold_print_findings(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
void fm_fold_print_regions(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
struct json_t;
void fm_json_set_served(struct json_t *object, const struct fm_samples *samples, const struct fm_served *served);
void fm_fold_set_json(struct json_t *root, const struct fm_fold *fold, size_t most);

/* Two recordings. */
void fm_comparison_print_text(const struct fm_comparison *comparison, const struct fm_writer_options *options,
                              FILE *output);
void fm_comparison_print_json(const struct fm_comparison *comparison, const struct fm_writer_options *options,
                              FILE *output);

/* "71.0 ±1.2"; "0–3.1" where the interval is lopsided; "n/a". Returns text. */
const char *fm_interval_text(char *text, size_t size, const struct fm_figure *figure, double scale);

/* What `stat --json` prints. A new reference. */
json_t *fm_stat_json(const struct fm_analysis *analysis, const struct fm_writer_options *options);

/* What was observed, in words: the program, the processes, the whole machine. */
const char *fm_observed_words(const struct fm_recording *recording);

/* The last part of a path. */
const char *fm_file_name(const char *path);

#endif
