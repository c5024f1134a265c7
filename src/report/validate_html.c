#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/validate_text.h"

static void put(FILE *output, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", output);
			break;
		case '>':
			fputs("&gt;", output);
			break;
		case '&':
			fputs("&amp;", output);
			break;
		case '"':
			fputs("&quot;", output);
			break;
		default:
			fputc(*text, output);
		}
}

static void cell(FILE *output, const char *text)
{
	fputs("<td>", output);
	put(output, text);
	fputs("</td>", output);
}

static void number(FILE *output, const char *format, double value) __attribute__((format(printf, 2, 0)));
static void number(FILE *output, const char *format, double value)
{
	char text[64];

	snprintf(text, sizeof(text), format, value);
	fputs("<td class=n>", output);
	put(output, text);
	fputs("</td>", output);
}

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 "
    "1rem;color:#222;background:#fff}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%}td,th{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:left;"
    "vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:.9em}"
    "summary{cursor:pointer}.tag{border-radius:.3rem;padding:0 .4rem;color:#fff;background:#777;white-space:nowrap}"
    ".exact,.proportional{background:#2a7a3a}.overlapping,.offset,.conditional{background:#a86a00}"
    ".blind,.saturating,.leaking,.indicator,.unexplained{background:#a8322a}.noisy,.dead,.uncounted{background:#666}"
    ".stall{background:#3a5fa8}svg{max-width:100%;height:auto}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th{border-color:#444}svg text{fill:#ccc}}";

static void put_resources(const struct fm_validation *validation, FILE *output, bool socket)
{
	char text[640];

	fprintf(
	    output,
	    "<h2>Resources of %s</h2><table><tr><th>resource<th>access<th class=n>GB/s<th class=n>million transfers/s"
	    "<th class=n>million events/s<th class=n>error<th>best indicator</tr>\n",
	    socket ? "a socket" : "one core");
	for (unsigned i = 0; i < validation->resource_count; i++) {
		const struct fm_resource *resource = &validation->resources[i];

		if (resource->socket != socket)
			continue;
		fputs("<tr>", output);
		cell(output, resource->name);
		cell(output, resource->write ? "write" : "read");
		number(output, "%.1f", resource->bandwidth_gbs);
		number(output, "%.0f", resource->transfers / 1e6);
		if (resource->indicator.count) {
			number(output, "%.0f", resource->maximal_events / 1e6);
			number(output, "%.1f %%", 100 * resource->indicator.error);
		} else {
			fputs("<td class=n>n/a<td class=n>n/a", output);
		}
		fm_indicator_text(validation->matrix, &resource->indicator, text, sizeof(text));
		if (!fm_indicator_holds(&resource->indicator)) {
			size_t used = strlen(text);

			used += (size_t)snprintf(text + used, sizeof(text) - used, ": no metric, ");
			if (used < sizeof(text))
				fm_indicator_limits(validation->matrix, &resource->indicator, text + used,
				                    sizeof(text) - used);
		}
		cell(output, text);
		fputs("</tr>\n", output);
	}
	fputs("</table>\n", output);
}

static void put_cycles(const struct fm_validation *validation, FILE *output)
{
	struct fm_cycle_formula formulas[FM_CYCLE_FORMULAS];
	unsigned count = fm_metrics_cycles(validation, formulas);

	if (!count)
		return;
	fputs("<h2>Cycles</h2><table>\n", output);
	for (unsigned i = 0; i < count; i++) {
		fputs("<tr>", output);
		cell(output, formulas[i].name);
		fputs("<td><code>", output);
		put(output, formulas[i].formula);
		fputs("</code></td></tr>\n", output);
	}
	fputs("</table>\n", output);
}

/* Error bars: one row per kernel, grouped by level. */
static void put_errors(const struct fm_validation *validation, FILE *output)
{
	enum { ROW = 20, LEFT = 230, WIDE = 700 };
	struct fm_error_cell cells[FM_CELLS_MAX];
	unsigned count = fm_table_errors(validation, cells);
	double scale = 0.02;

	if (!count)
		return;
	for (unsigned i = 0; i < count; i++)
		scale = fmax(scale, fmax(fabs(cells[i].least), fabs(cells[i].most)));
	fprintf(output,
	        "<h2>Error of the best indicators for lines in and out of each level, &minus;%.1f %% to +%.1f %%</h2>\n"
	        "<svg viewBox='0 0 %d %u' font-size='12' role='img' aria-label='errors by kernel and level'>\n"
	        "<line x1='%d' x2='%d' y1='0' y2='%u' stroke='#999'/>\n",
	        100 * scale, 100 * scale, LEFT + WIDE, (count + 1) * ROW, LEFT + WIDE / 2, LEFT + WIDE / 2,
	        (count + 1) * ROW);
	for (unsigned i = 0; i < count; i++) {
		double middle = LEFT + WIDE / 2.0, half = WIDE / 2.0 - 8, y = (i + 1) * ROW;

		fprintf(output, "<text x='4' y='%.0f'>", y + 4);
		put(output, cells[i].level);
		fputs("</text><text x='80' y='", output);
		fprintf(output, "%.0f'>", y + 4);
		put(output, cells[i].kernel);
		fprintf(output,
		        "</text><line x1='%.1f' x2='%.1f' y1='%.0f' y2='%.0f' stroke='#3a5fa8' stroke-width='3'/>"
		        "<circle cx='%.1f' cy='%.0f' r='4' fill='#a8322a'><title>%+.2f %% (%+.2f … "
		        "%+.2f)</title></circle>\n",
		        middle + cells[i].least / scale * half, middle + cells[i].most / scale * half + 0.5, y, y,
		        middle + cells[i].mean / scale * half, y, 100 * cells[i].mean, 100 * cells[i].least,
		        100 * cells[i].most);
	}
	fputs("</svg>\n", output);
}

/* Counts over true values, both logarithmic; the line shows correct counts. */
static void put_scatter(const struct fm_validation *validation, unsigned event, FILE *output)
{
	enum { SIZE = 300, EDGE = 34 };
	const struct fm_matrix *matrix = validation->matrix;
	const struct fm_judgement *judgement = &validation->judgements[event];
	double low = INFINITY, high = 0;

	if (judgement->quantity < 0)
		return;
	for (unsigned r = 0; r < matrix->run_count; r++) {
		double truth = fm_run_quantity(matrix, r, (unsigned)judgement->quantity, judgement->socket),
		       mean = fm_matrix_mean(matrix, event, r);

		if (truth > 0 && mean > 0) {
			low = fmin(low, fmin(truth * judgement->factor, mean));
			high = fmax(high, fmax(truth * judgement->factor, mean));
		}
	}
	if (!(high > low))
		return;
	low = log(low) - 0.1;
	high = log(high) + 0.1;
	fprintf(
	    output,
	    "<svg viewBox='0 0 %d %d' width='%d' font-size='11'><rect x='%d' y='4' width='%d' height='%d' fill='none' "
	    "stroke='#999'/><line x1='%d' y1='%d' x2='%d' y2='4' stroke='#999' stroke-dasharray='4'/>"
	    "<text x='%d' y='%d'>true &rarr;</text><text x='2' y='14'>counted</text>\n",
	    SIZE + EDGE + 8, SIZE + EDGE, SIZE + EDGE + 8, EDGE, SIZE, SIZE, EDGE, SIZE + 4, EDGE + SIZE, EDGE,
	    SIZE + 20);
	for (unsigned r = 0; r < matrix->run_count; r++) {
		double truth = fm_run_quantity(matrix, r, (unsigned)judgement->quantity, judgement->socket),
		       mean = fm_matrix_mean(matrix, event, r);

		if (!(truth > 0) || !(mean > 0))
			continue;
		fprintf(output, "<circle cx='%.1f' cy='%.1f' r='2.5' fill='#3a5fa8' fill-opacity='.5'><title>",
		        EDGE + (log(truth * judgement->factor) - low) / (high - low) * SIZE,
		        4 + SIZE - (log(mean) - low) / (high - low) * SIZE);
		put(output, matrix->runs[r].name);
		fprintf(output, ": %.0f, counted %.0f</title></circle>\n", truth, mean);
	}
	fputs("</svg>\n", output);
}

static void put_events(const struct fm_validation *validation, FILE *output)
{
	const struct fm_matrix *matrix = validation->matrix;

	fputs("<h2>Events</h2><table><tr><th>event<th>class<th>counted quantity</tr>\n", output);
	for (unsigned class = 0; class < FM_CLASS_COUNT; class ++)
		for (unsigned i = 0; i < matrix->event_count; i++) {
			const struct fm_judgement *judgement = &validation->judgements[i];

			if (judgement->class != class)
				continue;
			fputs("<tr><td><code>", output);
			put(output, matrix->events[i].name);
			fprintf(output, "</code><td><span class='tag %s'>%s</span><td><details><summary>",
			        fm_class_name(judgement->class), fm_class_name(judgement->class));
			put(output, judgement->reason);
			fputs("</summary>", output);
			if (*judgement->formula) {
				fputs("<p>Corrected: <code>", output);
				put(output, judgement->formula);
				fputs("</code></p>", output);
			}
			if (judgement->error_runs)
				fprintf(output, "<p>Error: mean %+.2f %%, range %+.2f … %+.2f %%, %u runs.</p>",
				        100 * judgement->error_mean, 100 * judgement->error_min,
				        100 * judgement->error_max, judgement->error_runs);
			put_scatter(validation, i, output);
			fputs("</details></td></tr>\n", output);
		}
	fputs("</table>\n", output);
}

int fm_validation_to_html(const struct fm_validation *validation, FILE *output)
{
	const struct fm_matrix *matrix = validation->matrix;

	fprintf(output, "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
	                "content='width=device-width,initial-scale=1'><title>Events of ");
	put(output, matrix->machine);
	fprintf(output, "</title><style>%s</style>\n<h1>Which events of ", style);
	put(output, matrix->machine);
	fprintf(output, " count correctly</h1><p>%u events in %u runs of known kernels, ", matrix->event_count,
	        matrix->run_count);
	put(output, matrix->origin);
	fprintf(output, ", %u repetition%s.</p>\n", matrix->repeats, matrix->repeats == 1 ? "" : "s");
	put_resources(validation, output, false);
	put_resources(validation, output, true);
	put_cycles(validation, output);
	put_errors(validation, output);
	put_events(validation, output);
	fputs("</html>\n", output);
	return ferror(output) ? -EIO : 0;
}
