#include "trust/planting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double between(struct fm_random *random, double low, double high)
{
	return low + (high - low) * fm_random_uniform(random);
}

static double truth(const struct fm_matrix *bare, unsigned run, uint64_t atoms, bool socket)
{
	const struct fm_run *row = &bare->runs[run];
	double sum = 0;

	if (atoms & ~(socket ? row->known_socket : row->known))
		return NAN;
	for (; atoms; atoms &= atoms - 1)
		sum += (socket ? row->socket : row->own)[__builtin_ctzll(atoms)];
	return sum;
}

static uint64_t atoms_of(const struct fm_matrix *bare, unsigned quantity)
{
	return bare->quantities.quantities[quantity].atoms;
}

/* Runs that have some of it, on one core and on several. */
static void occurrences(const struct fm_matrix *bare, uint64_t atoms, bool socket, unsigned *ret_single,
                        unsigned *ret_several)
{
	*ret_single = *ret_several = 0;
	for (unsigned r = 0; r < bare->run_count; r++)
		if (truth(bare, r, atoms, socket) > 0)
			++*(bare->runs[r].cores > 1 ? ret_several : ret_single);
}

/* A quantity that occurs in enough runs, or in enough on one core and on several. */
static unsigned pick(const struct fm_matrix *bare, struct fm_random *random, bool socket, bool in_both)
{
	for (;;) {
		unsigned q = (unsigned)fm_random_below(random, bare->quantities.quantity_count), single, several;

		if (bare->quantities.quantities[q].shared && !socket)
			continue;
		occurrences(bare, atoms_of(bare, q), socket, &single, &several);
		if (in_both ? single >= 5 && several >= 5 : single + several >= 8)
			return q;
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double content(const struct fm_matrix *bare, const struct plant *plant, unsigned run)
{
	uint64_t atoms = atoms_of(bare, plant->quantity);
	double value = truth(bare, run, atoms, plant->socket), seen = value, added = 0;

	for (unsigned i = 0; i < plant->count; i++) {
		const struct planted *flaw = &plant->flaws[i];

		if (flaw->class == FM_CLASS_overlapping || flaw->class == FM_CLASS_sum)
			added += flaw->size * truth(bare, run, atoms_of(bare, flaw->other), plant->socket);
		else if (flaw->class == FM_CLASS_blind)
			seen -= truth(bare, run, flaw->atoms, plant->socket);
		else if (flaw->class == FM_CLASS_uneven)
			seen += (flaw->size - 1) * truth(bare, run, flaw->atoms, plant->socket);
		else if (flaw->class == FM_CLASS_leaking && bare->runs[run].cores > 1)
			added += flaw->size * (truth(bare, run, atoms, true) - value) / (bare->runs[run].cores - 1);
	}
	return plant->factor * (seen + added);
}

/* The order of flaws is that of struct fm_story: content, power, loss, maximal rate, constant. Here all that a maximal
   rate acts on. */
static double before_cap(const struct fm_matrix *bare, const struct plant *plant, unsigned run)
{
	double value = content(bare, plant, run);

	for (unsigned i = 0; i < plant->count; i++)
		if (plant->flaws[i].class == FM_CLASS_indicator && value > 0)
			value = pow(plant->middle, 1 - plant->flaws[i].size) * pow(value, plant->flaws[i].size);
	for (unsigned i = 0; i < plant->count; i++)
		if (plant->flaws[i].class == FM_CLASS_conditional && bare->runs[run].cores > 1)
			value *= 1 - plant->flaws[i].size;
	return value;
}

/* Peak rate and median of the counts: sizes of caps and constants refer to them. */
static double median(const struct fm_matrix *bare, const struct plant *plant,
                     double (*value)(const struct fm_matrix *, const struct plant *, unsigned), double *ret_peak)
{
	double *counts = calloc(bare->run_count, sizeof(*counts)), middle;
	unsigned n = 0;

	*ret_peak = 0;
	for (unsigned r = 0; r < bare->run_count; r++) {
		double counted = value(bare, plant, r);

		if (!(counted > 0))
			continue;
		counts[n++] = counted;
		*ret_peak = fmax(*ret_peak, counted / bare->runs[r].seconds);
	}
	qsort(counts, n, sizeof(*counts), ascending);
	middle = n ? counts[n / 2] : 1;
	free(counts);
	return middle;
}

static void survey(const struct fm_matrix *bare, struct plant *plant)
{
	plant->middle = median(bare, plant, content, &plant->peak);
	plant->median = median(bare, plant, before_cap, &plant->peak);
}

/* The atoms of a quantity that are read in order, at random, for ownership, or wide; 0 when it has none, or no
   others. */
static uint64_t part(const struct fm_matrix *bare, unsigned quantity, unsigned which, bool socket)
{
	static const enum fm_cause causes[] = {FM_CAUSE_ORDER, FM_CAUSE_OWNERSHIP, FM_CAUSE_RANDOM};
	const struct fm_quantities *all = &bare->quantities;
	uint64_t atoms = atoms_of(bare, quantity), part = 0;
	unsigned single, several, rest_single, rest_several;

	for (unsigned place = 0; place < all->place_count; place++)
		if (which < 3)
			part |= 1ull << all->lines[place][causes[which]];
	if (which == 3)
		part = 1ull << all->loads[2] | 1ull << all->stores[2] | 1ull << all->loads[3] | 1ull << all->stores[3];
	part &= atoms;
	/* what never occurs is not missed */
	for (unsigned i = 0; i < all->atom_count; i++) {
		occurrences(bare, 1ull << i, socket, &single, &several);
		if (!(single + several))
			part &= ~(1ull << i);
	}
	occurrences(bare, part, socket, &single, &several);
	occurrences(bare, atoms & ~part, socket, &rest_single, &rest_several);
	return part && part != atoms && single + several >= 3 && rest_single + rest_several >= 3 ? part : 0;
}

/* Quantities with nothing in common that are known in the same runs: of both there is some in these. */
static bool can_overlap(const struct fm_matrix *bare, unsigned a, unsigned b, bool socket)
{
	uint64_t first = atoms_of(bare, a), second = atoms_of(bare, b);
	unsigned with_first = 0, with_second = 0;

	for (unsigned r = 0; r < bare->run_count; r++)
		if (isfinite(truth(bare, r, first | second, socket))) {
			with_first += truth(bare, r, first, socket) > 0;
			with_second += truth(bare, r, second, socket) > 0;
		}
	return !(first & second) && with_first >= 5 && with_second >= 5;
}

/* Is what is added a tenth of the count or more in some runs, and the quantity itself more than that in others? */
static bool matters(const struct fm_matrix *bare, const struct plant *plant, const struct planted *flaw)
{
	unsigned much = 0, little = 0;

	for (unsigned r = 0; r < bare->run_count; r++) {
		double own = truth(bare, r, atoms_of(bare, plant->quantity), plant->socket),
		       added = flaw->size * truth(bare, r, atoms_of(bare, flaw->other), plant->socket);

		much += added > 0.1 * own && added > 0;
		little += own > added;
	}
	return much >= 5 && little >= 5;
}

static bool choose(const struct fm_matrix *bare, struct fm_random *random, struct plant *plant, struct planted *flaw)
{
	unsigned single, several;

	switch (flaw->class) {
	case FM_CLASS_proportional:
		plant->factor = flaw->size = exp(between(random, log(0.25), log(4)));
		return fabs(flaw->size - 1) > 0.1;
	case FM_CLASS_sum:
	case FM_CLASS_overlapping:
		flaw->size = flaw->class == FM_CLASS_sum ? 1 : between(random, 0.2, 0.95);
		flaw->other = pick(bare, random, plant->socket, false);
		for (unsigned q = 0; q < bare->quantities.quantity_count; q++)
			if (atoms_of(bare, q) == (atoms_of(bare, plant->quantity) | atoms_of(bare, flaw->other)))
				return false; /* that sum has a name */
		return can_overlap(bare, plant->quantity, flaw->other, plant->socket) && matters(bare, plant, flaw);
	case FM_CLASS_blind:
	case FM_CLASS_uneven:
		flaw->size = between(random, 1.3, 4);
		flaw->atoms = part(bare, plant->quantity, (unsigned)fm_random_below(random, 4), plant->socket);
		return flaw->atoms != 0;
	case FM_CLASS_saturating:
		flaw->size = between(random, 0.3, 0.8);
		return true;
	case FM_CLASS_conditional:
		flaw->size = between(random, 0.1, 0.4);
		flaw->condition = FM_CONDITION_threads;
		return true;
	case FM_CLASS_leaking:
		flaw->size = between(random, 0.1, 0.5);
		return !plant->socket;
	case FM_CLASS_offset:
		flaw->size = between(random, 0.05, 0.5);
		return true;
	case FM_CLASS_indicator:
		flaw->size = between(random, 0.5, 0.8);
		return true;
	case FM_CLASS_noisy:
		/* with another flaw, whose size is to be found within 10 %, less of it; the noise itself needs runs */
		flaw->size = between(random, 0.1, plant->count > 1 ? 0.15 : 0.4);
		occurrences(bare, atoms_of(bare, plant->quantity), plant->socket, &single, &several);
		return single + several >= 20;
	default:
		flaw->size = exp(between(random, 3, log(1e7)));
		return true;
	}
}

/* Some runs reach the maximal rate, others do not: a cap that acts on all of them, as on cycles, is a factor. */
static bool can_saturate(const struct fm_matrix *bare, const struct plant *plant, double share)
{
	unsigned capped = 0, uncapped = 0;

	for (unsigned r = 0; r < bare->run_count; r++) {
		double rate = before_cap(bare, plant, r) / bare->runs[r].seconds;

		capped += rate > share * plant->peak;
		uncapped += rate > 0 && rate < share * plant->peak;
	}
	return capped >= 3 && uncapped >= 5 && strcmp(bare->quantities.quantities[plant->quantity].name, "cycles") != 0;
}

void plant_truthful(const struct fm_matrix *bare, struct fm_random *random, struct plant *ret_plant)
{
	*ret_plant = (struct plant){.factor = 1, .socket = fm_random_below(random, 4) == 0};
	ret_plant->quantity = pick(bare, random, ret_plant->socket, false);
	survey(bare, ret_plant);
	ret_plant->floor = ret_plant->median * pow(10, between(random, -4, -2.5));
}

void plant_flaws(const struct fm_matrix *bare, struct fm_random *random, unsigned count, struct plant *ret_plant)
{
	static const enum fm_class kinds[] = {FM_CLASS_proportional, FM_CLASS_sum,     FM_CLASS_uneven,
	                                      FM_CLASS_overlapping,  FM_CLASS_blind,   FM_CLASS_saturating,
	                                      FM_CLASS_conditional,  FM_CLASS_leaking, FM_CLASS_offset,
	                                      FM_CLASS_indicator,    FM_CLASS_noisy,   FM_CLASS_dead};
	unsigned kind_count = sizeof(kinds) / sizeof(kinds[0]) - (count > 1); /* what is dead has no other flaw */
	struct plant *plant = ret_plant;
	bool ready;

	do {
		bool in_both = false;

		*plant = (struct plant){.factor = 1, .count = count, .socket = fm_random_below(random, 4) == 0};
		for (unsigned i = 0; i < count; i++) {
			plant->flaws[i].class = kinds[fm_random_below(random, kind_count)];
			in_both |=
			    plant->flaws[i].class == FM_CLASS_conditional || plant->flaws[i].class == FM_CLASS_leaking;
		}
		plant->quantity = pick(bare, random, plant->socket, in_both);
		ready = count < 2 || plant->flaws[0].class != plant->flaws[1].class;
		/* a sum is one quantity for the other flaw: too many to choose from */
		for (unsigned i = 0; i < count; i++) {
			ready &= choose(bare, random, plant, &plant->flaws[i]);
			ready &= count < 2 || (plant->flaws[i].class != FM_CLASS_sum);
		}
		/* the same part cannot be both missed and counted differently; a factor of a power is any number */
		if (count > 1 && plant->flaws[0].atoms & plant->flaws[1].atoms)
			ready = false;
		for (unsigned i = 0; i < count; i++)
			if (count > 1 && plant->flaws[i].class == FM_CLASS_indicator &&
			    plant->flaws[!i].class == FM_CLASS_proportional)
				ready = false;
		survey(bare, plant);
		for (unsigned i = 0; i < count; i++)
			ready &= plant->flaws[i].class != FM_CLASS_saturating ||
			         can_saturate(bare, plant, plant->flaws[i].size);
	} while (!ready);
	for (unsigned i = 0; i < count; i++) {
		if (plant->flaws[i].class == FM_CLASS_saturating)
			plant->flaws[i].size *= plant->peak;
		if (plant->flaws[i].class == FM_CLASS_offset)
			plant->flaws[i].size *= plant->median;
	}
	plant->floor = plant->median * pow(10, between(random, -4, -2.5));
}

/* What the event counts in a run; NaN where even the truth is not known. */
static double flawed(const struct fm_matrix *bare, const struct plant *plant, unsigned run)
{
	double value = before_cap(bare, plant, run);

	for (unsigned i = 0; i < plant->count; i++)
		if (plant->flaws[i].class == FM_CLASS_dead && isfinite(value))
			value = plant->flaws[i].size;
	for (unsigned i = 0; i < plant->count; i++)
		if (plant->flaws[i].class == FM_CLASS_saturating && isfinite(value))
			value = fmin(value, plant->flaws[i].size * bare->runs[run].seconds);
	for (unsigned i = 0; i < plant->count; i++)
		if (plant->flaws[i].class == FM_CLASS_offset)
			value += plant->flaws[i].size;
	return value;
}

void plant_count(struct fm_matrix *matrix, const struct plant *plant, double noise, struct fm_random *random)
{
	unsigned index = matrix->event_count;
	double own = 0;
	char name[32];

	for (unsigned i = 0; i < plant->count; i++)
		if (plant->flaws[i].class == FM_CLASS_noisy)
			own = plant->flaws[i].size;
	snprintf(name, sizeof(name), "EVENT_%u", index);
	if (!fm_matrix_add_event(matrix, name, plant->socket))
		abort();
	for (unsigned r = 0; r < matrix->run_count; r++)
		for (unsigned k = 0; k < matrix->repeats; k++) {
			double value = flawed(matrix, plant, r);

			value *= fmax(0, 1 + own * fm_random_normal(random)) * (1 + noise * fm_random_normal(random));
			/* the tool, always; other work, now and then much of it */
			value += plant->floor * (0.2 - log(1 - fm_random_uniform(random)));
			fm_matrix_counts(matrix, index, r)[k] = round(value);
		}
}

static bool is_near(double found, double planted)
{
	return fabs(found - planted) <= 0.1 * fabs(planted);
}

/* The same quantity, or one that is the same in all runs where both are known. */
static bool is_same(const struct fm_matrix *bare, bool socket, int found, unsigned planted)
{
	unsigned both = 0;

	if (found == (int)planted)
		return true;
	for (unsigned r = 0; found >= 0 && r < bare->run_count; r++) {
		double a = truth(bare, r, atoms_of(bare, (unsigned)found), socket),
		       b = truth(bare, r, atoms_of(bare, planted), socket);

		if (!isfinite(a) || !isfinite(b))
			continue;
		if (fabs(a - b) > 0.005 * fmax(a, b))
			return false;
		both += a > 0;
	}
	return both > 0;
}

static bool flaw_is_found(const struct fm_matrix *bare, const struct plant *plant, const struct planted *flaw,
                          const struct fm_judgement *judgement)
{
	if (flaw->class == FM_CLASS_noisy)
		return judgement->class == FM_CLASS_noisy && is_near(judgement->size, flaw->size);
	if (flaw->class == FM_CLASS_dead)
		return judgement->class == FM_CLASS_dead;
	if (flaw->class == FM_CLASS_proportional)
		return is_near(judgement->factor, flaw->size);
	if (flaw->class == FM_CLASS_sum)
		return judgement->class == FM_CLASS_sum && is_same(bare, plant->socket, judgement->other, flaw->other);
	for (unsigned i = 0; i < judgement->flaw_count; i++) {
		const struct fm_flaw *found = &judgement->flaws[i];
		char missed[160], planted[160];

		if (found->class != flaw->class)
			continue;
		fm_judge_unseen_words(&bare->quantities, found->atoms, missed, sizeof(missed));
		fm_judge_unseen_words(&bare->quantities, flaw->atoms, planted, sizeof(planted));
		switch (flaw->class) {
		case FM_CLASS_blind:
			return !strcmp(missed, planted);
		case FM_CLASS_uneven:
			/* with two kinds, either is the exception */
			if (!strcmp(missed, planted))
				return is_near(found->size, flaw->size);
			return is_near(found->size, 1 / flaw->size) &&
			       is_near(judgement->factor, plant->factor * flaw->size);
		case FM_CLASS_overlapping:
			return is_near(found->size, plant->factor * flaw->size) &&
			       is_same(bare, plant->socket, found->other, flaw->other);
		case FM_CLASS_conditional:
			return is_near(found->size, flaw->size) && found->condition == flaw->condition;
		default:
			return is_near(found->size, flaw->size);
		}
	}
	return false;
}

bool plant_is_found(const struct fm_matrix *bare, const struct plant *plant, const struct fm_judgement *judgement)
{
	bool found = true, dead = false, free_factor = false, other_swapped;

	if (!plant->count)
		return judgement->class == FM_CLASS_exact &&
		       is_same(bare, plant->socket, judgement->quantity, plant->quantity);
	for (unsigned i = 0; i < plant->count; i++) {
		found &= flaw_is_found(bare, plant, &plant->flaws[i], judgement);
		dead |= plant->flaws[i].class == FM_CLASS_dead;
		/* of a power any; of two factors either */
		free_factor |= plant->flaws[i].class == FM_CLASS_indicator || plant->flaws[i].class == FM_CLASS_uneven;
	}
	if (dead)
		return found;
	/* a sum names both, in either order */
	other_swapped = plant->flaws[0].class == FM_CLASS_sum &&
	                is_same(bare, plant->socket, judgement->quantity, plant->flaws[0].other) &&
	                is_same(bare, plant->socket, judgement->other, plant->quantity) &&
	                judgement->class == FM_CLASS_sum;
	if (other_swapped)
		return is_near(judgement->factor, plant->factor);
	/* of two quantities with a factor each, either is the first */
	if (judgement->flaw_count == 1 && judgement->flaws[0].class == FM_CLASS_overlapping)
		for (unsigned i = 0; i < plant->count; i++)
			if (plant->flaws[i].class == FM_CLASS_overlapping &&
			    (plant->count == 1 || plant->flaws[!i].class == FM_CLASS_proportional) &&
			    is_same(bare, plant->socket, judgement->quantity, plant->flaws[i].other) &&
			    is_same(bare, plant->socket, judgement->other, plant->quantity))
				return is_near(judgement->factor, plant->factor * plant->flaws[i].size) &&
				       is_near(judgement->flaws[0].size, plant->factor);
	/* nothing else may be said to be wrong */
	for (unsigned i = 0; i < judgement->flaw_count; i++) {
		bool planted = false;

		for (unsigned k = 0; k < plant->count; k++)
			planted |= plant->flaws[k].class == judgement->flaws[i].class;
		found &= planted;
	}
	return found && is_same(bare, plant->socket, judgement->quantity, plant->quantity) &&
	       (free_factor || is_near(judgement->factor, plant->factor));
}

void plant_describe(const struct fm_matrix *bare, const struct plant *plant, char *buffer, size_t size)
{
	const struct fm_quantities *all = &bare->quantities;
	size_t used = (size_t)snprintf(buffer, size, "%s%s x %.3g", all->quantities[plant->quantity].name,
	                               plant->socket ? " (socket)" : "", plant->factor);

	for (unsigned i = 0; i < plant->count && used < size; i++) {
		char words[160];

		fm_judge_unseen_words(all, plant->flaws[i].atoms, words, sizeof(words));
		used += (size_t)snprintf(
		    buffer + used, size - used, ", %s %.4g%s%s%s", fm_class_name(plant->flaws[i].class),
		    plant->flaws[i].size, *words ? " of " : "", words,
		    plant->flaws[i].class == FM_CLASS_overlapping || plant->flaws[i].class == FM_CLASS_sum
		        ? all->quantities[plant->flaws[i].other].name
		        : "");
	}
}
