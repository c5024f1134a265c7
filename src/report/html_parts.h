/* What the page of `report --html` is put together from. Each returns a new reference to JSON that the page's scripts
   (web/) read; docs/decisions/html.md has the format. */
#ifndef FATHOM_REPORT_HTML_PARTS_H
#define FATHOM_REPORT_HTML_PARTS_H

#include <jansson.h>

#include "report/writer.h"

/* [value, low, high], or a text: why it is not available. */
json_t *fm_html_figure(const struct fm_figure *figure);

/* The text, or null when it is empty. */
json_t *fm_html_text(const char *text);

/* Levels, latency curves, bandwidth of the machine that was measured; null when the recording has no profile. */
json_t *fm_html_machine(const struct fm_recording *recording);

/* Events and formulas that validation trusts on that machine; null: nobody validated. */
json_t *fm_html_trust(const struct fm_recording *recording);

/* A table of the recording as it is, by its name in recording/tables.def: an array of objects; null when there is no
   such table or it is empty. For what the page shows without knowing more about it. */
json_t *fm_html_table(const struct fm_recording *recording, const char *name);

/* The tables of sampled references are members of `root`. */
void fm_html_set_tables(json_t *root, const struct fm_samples *samples, size_t most);

/* What a sample cost, in cycles above a hit; negative: not known. */
double fm_html_cost(const struct fm_samples *samples, const struct fm_recorded_sample *sample);

/* The whole run as points in time. */
json_t *fm_html_whole_run(const struct fm_samples *samples);

/* Findings, streams and working sets are members of `root`; each folded region becomes a timeline. */
void fm_html_set_folded(json_t *root, json_t *timelines, const struct fm_fold *fold);

/* Shares, levels and costs. */
json_t *fm_html_served(const struct fm_samples *samples, const struct fm_served *served);

/* Source files of hot lines, as far as they can be read here: pieces around these lines. */
struct fm_html_source_line {
	const char *file;
	int64_t line;
};
json_t *fm_html_sources(const struct fm_html_source_line *lines, size_t count, const char *recorded);

#endif
