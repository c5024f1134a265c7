/* What the text of stat is put together from. */
#ifndef FATHOM_REPORT_PARTS_H
#define FATHOM_REPORT_PARTS_H

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
void fm_samples_print_text(const struct fm_samples *samples, const struct fm_writer_options *options, FILE *output);
void fm_samples_print_json(const struct fm_samples *samples, const struct fm_writer_options *options, FILE *output);
void fm_samples_print_separated(const struct fm_samples *samples, const struct fm_writer_options *options,
                                FILE *output);

/* What was observed, in words: the program, the processes, the whole machine. */
const char *fm_observed_words(const struct fm_recording *recording);

/* The last part of a path. */
const char *fm_file_name(const char *path);

#endif
