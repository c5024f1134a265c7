/* Parts of the writers. */
#ifndef FATHOM_REPORT_PARTS_H
#define FATHOM_REPORT_PARTS_H

#include <jansson.h>

#include "report/writer.h"

/* Prints counts of the engine: levels, cycles, threads, regions, functions, lines, variables, processes, shared
   lines. */
void fm_exact_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);

/* Prints remarks: parts of the run not observed, not followed, or lost. */
void fm_exact_print_remarks(const struct fm_analysis *analysis, FILE *output);

/* Prints levels, utilisation, cycles, patterns, regions, threads. */
void fm_picture_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);

/* Prints one line of a time series. */
void fm_picture_print_moment(const struct fm_judged *moment, FILE *output);

/* Prints levels and cycles over simulated time, as strips. */
void fm_series_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);

/* Prints events by name, and the metrics of a group. */
void fm_events_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);
void fm_events_print_moment(const struct fm_recording *recording, size_t first, const char *separator, FILE *output);
void fm_metrics_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);

/* Print sampled references, in each format. */
void fm_samples_print_text(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
void fm_samples_print_json(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
void fm_samples_print_separated(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);

/* For -x: the heads are separated by blanks in `names`. One line: place, name, and the members of a figure. */
#define fm_separated_figures "place quantity value low high unit origin why"
void fm_separated_head(FILE *output, const char *separator, const char *names);
void fm_separated_figure(FILE *output, const char *separator, int digits, const char *place, const char *name,
                         const struct fm_figure *figure);

/* Findings, folded regions, streams and working sets, as text and JSON. */
void fm_fold_print_findings(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
void fm_fold_print_regions(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
struct json_t;
void fm_json_set_served(struct json_t *object, const struct fm_samples *samples, const struct fm_served *served);
void fm_fold_set_json(struct json_t *root, const struct fm_fold *fold, size_t most);

/* Print the comparison of two recordings. */
void fm_runs_print_text(const struct fm_runs *runs, const struct fm_writer_options *options, FILE *output);
void fm_runs_print_json(const struct fm_runs *runs, const struct fm_writer_options *options, FILE *output);
void fm_comparison_print_text(const struct fm_comparison *comparison, const struct fm_writer_options *options,
                              FILE *output);
void fm_comparison_print_json(const struct fm_comparison *comparison, const struct fm_writer_options *options,
                              FILE *output);

/* Writes "71.0 ±1.2"; "0–3.1" if the interval is lopsided; "n/a". Returns `text`. */
const char *fm_interval_text(char *text, size_t size, const struct fm_figure *figure, double scale);

/* The output of `stat --json`: a new reference. */
json_t *fm_stat_json(const struct fm_analysis *analysis, const struct fm_writer_options *options);

/* Words for the observed program, its processes, or "the whole machine". */
const char *fm_observed_words(const struct fm_recording *recording);

/* The last part of a path. */
const char *fm_file_name(const char *path);

#endif
