#include "measure/string_stores.h"

#include <math.h>

#include "measure/tuning.h"

enum {
	SHORT_BYTES = 64 << 10, /* a long memset for a program, a short one for a cache */
};

static double to_share(double value)
{
	return fmin(1, fmax(0, value));
}

struct fm_figure fm_string_allocates(const struct fm_figure *string, const struct fm_figure *plain,
                                     const struct fm_figure *nontemporal)
{
	double read, value, below, above;
	unsigned trials;

	if (!string->available || !plain->available || !nontemporal->available)
		return fm_figure_unavailable("the times were too unsteady");
	trials = string->trials < plain->trials ? string->trials : plain->trials;
	trials = nontemporal->trials < trials ? nontemporal->trials : trials;
	read = plain->value - nontemporal->value;
	if (read < STRING_LEAST_SAVING * plain->value || nontemporal->high >= plain->low) {
		/* Nothing shows what reading costs. An instruction that beats plain stores saves something all the
		   same, and there is nothing else to save. */
		if (string->high < (1 - STRING_LEAST_SAVING) * plain->low)
			return fm_figure_make(0, 0, 0.5, "", FM_ORIGIN_modelled, "kernels", trials);
		return fm_figure_unavailable("plain and non-temporal stores do not differ clearly in time");
	}
	value = (string->value - nontemporal->value) / read;
	/* the three times are independent; what each of them adds to the share on either side */
	below = hypot(hypot((string->value - string->low) / read, value * (plain->high - plain->value) / read),
	              (1 - value) * (nontemporal->high - nontemporal->value) / read);
	above = hypot(hypot((string->high - string->value) / read, value * (plain->value - plain->low) / read),
	              (1 - value) * (nontemporal->value - nontemporal->low) / read);
	value = to_share(value);
	below = fmax(below, STRING_LEAST_ERROR);
	above = fmax(above, STRING_LEAST_ERROR);
	if (value - below < 0.5 && value + above > 0.5 &&
	    to_share(value + above) - to_share(value - below) > STRING_WIDEST)
		return fm_figure_unavailable("inconclusive: between %.2f and %.2f of the lines",
		                             to_share(value - below), to_share(value + above));
	return fm_figure_make(value, to_share(value - below), to_share(value + above), "", FM_ORIGIN_modelled,
	                      "kernels", trials);
}

/* Timings in memory, in this order. */
enum { PLAIN, NONTEMPORAL, SHORT_STRING, LONG_STRING, WAYS };

static const struct {
	enum fm_stream_kernel_index plain, nontemporal;
	enum fm_string_kernel_index string;
} operations[] = {
    {FM_STREAM_store, FM_STREAM_store_nt, FM_STRING_rep_stos},
    {FM_STREAM_copy, FM_STREAM_copy_nt, FM_STRING_rep_movs},
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static struct fm_figure cost_of(const struct fm_bandwidth *point)
{
	return fm_figure_inverted(&point->gbs, 1, "ns/B");
}

int fm_string_stores_measure(struct fm_machine_session *session, size_t memory_bytes, unsigned memory_level,
                             size_t cache_bytes, unsigned cache_level, double seconds,
                             struct fm_string_stores *ret_stores, struct fm_error *error)
{
	struct fm_string_stores stores = {.short_bytes = SHORT_BYTES};
	struct fm_figure *shares[OPERATIONS][2] = {{&stores.clear_allocates, &stores.clear_long_allocates},
	                                           {&stores.copy_allocates, &stores.copy_long_allocates}};
	int status;

	for (unsigned i = 0; i < OPERATIONS; i++) {
		const struct fm_stream_kernel *string = &fm_strings[operations[i].string];
		struct fm_bandwidth point = {.level = memory_level,
		                             .isa = fm_isa_widest(),
		                             .threads = 1,
		                             .bytes = memory_bytes * string->streams,
		                             .streaming = true};

		for (unsigned way = 0; way < WAYS; way++) {
			point.kernel = way == NONTEMPORAL ? operations[i].nontemporal : operations[i].plain;
			point.string = way >= SHORT_STRING ? string : NULL;
			point.piece = way == SHORT_STRING ? SHORT_BYTES : 0;
			point.chunked = way != LONG_STRING;
			stores.points[stores.point_count++] = point;
		}
	}
	for (unsigned i = 0; i < OPERATIONS && cache_bytes; i++) {
		struct fm_bandwidth point = {.level = cache_level,
		                             .kernel = operations[i].plain,
		                             .isa = fm_isa_widest(),
		                             .threads = 1,
		                             .bytes = cache_bytes};

		stores.points[stores.point_count++] = point;
		point.string = &fm_strings[operations[i].string];
		stores.points[stores.point_count++] = point;
	}
	status = fm_bandwidth_measure(session, stores.points, stores.point_count, seconds, error);
	if (status)
		return status;
	/* a third of a stream is walked untimed, the rest is one instruction */
	stores.long_bytes = memory_bytes - memory_bytes / 3;
	for (unsigned i = 0; i < OPERATIONS; i++) {
		const struct fm_bandwidth *points = &stores.points[i * WAYS];
		struct fm_figure plain = cost_of(&points[PLAIN]), nontemporal = cost_of(&points[NONTEMPORAL]);

		for (unsigned j = 0; j < 2; j++) {
			struct fm_figure string = cost_of(&points[SHORT_STRING + j]);

			*shares[i][j] = fm_string_allocates(&string, &plain, &nontemporal);
		}
	}
	*ret_stores = stores;
	return 0;
}
