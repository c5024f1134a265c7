/* Parts of the page of `report --html`. Each function returns a new reference to JSON for the page's scripts (web/);
 * docs/decisions/html.md has the format. */
#ifndef FATHOM_REPORT_HTML_PARTS_H
#define FATHOM_REPORT_HTML_PARTS_H

#include <jansson.h>

#include "report/writer.h"

/* [value, low, high], or the reason why the figure is not available. */
json_t *fm_html_figure(const struct fm_figure *figure);

/* A number with five digits. */
json_t *fm_html_number(double value);

/* Levels, latency curves, bandwidth of the measured machine; null if the recording has no profile. */
json_t *fm_html_machine(const struct fm_recording *recording);

/* Validated events and formulas of that machine; null: not validated. */
json_t *fm_html_trust(const struct fm_recording *recording);

/* A table of the recording by its name in recording/tables.def, as an array of objects; null if it is empty or does not
 * exist. */
json_t *fm_html_table(const struct fm_recording *recording, const char *name);

/* The tables of sampled references are members of `root`. */
void fm_html_set_tables(json_t *root, const struct fm_samples *samples, size_t most);

/* Cost of a sample, in cycles above a hit; negative: unknown. */
double fm_html_cost(const struct fm_samples *samples, const struct fm_recorded_sample *sample);

/* The whole run as points in time. */
json_t *fm_html_whole_run(const struct fm_samples *samples);

/* Findings, streams and working sets are members of `root`; each folded region becomes a timeline. */
void fm_html_set_folded(json_t *root, json_t *timelines, const struct fm_fold *fold);

/* Shares, levels and costs. */
json_t *fm_html_served(const struct fm_samples *samples, const struct fm_served *served);

/* Excerpts of readable source files around hot lines. */
struct fm_html_source_line {
	const char *file;
	int64_t line;
};
json_t *fm_html_sources(const struct fm_html_source_line *lines, size_t count, const char *recorded);

#endif
