#include "trust/wording.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fm_say(struct fm_judgement *judgement, const char *format, ...)
{
	size_t used = strlen(judgement->reason);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(judgement->reason + used, sizeof(judgement->reason) - used, format, arguments);
	va_end(arguments);
}

static void add_term(struct fm_judgement *judgement, bool is_atom, unsigned index, double coefficient)
{
	if (judgement->term_count < FM_TERMS_MAX)
		judgement->terms[judgement->term_count++] = (struct fm_term){is_atom, index, coefficient};
}

/* More or less for some atoms than the term of their quantity says. */
static void add_atoms(struct fm_judgement *judgement, uint64_t atoms, double coefficient)
{
	for (; atoms; atoms &= atoms - 1)
		add_term(judgement, true, (unsigned)__builtin_ctzll(atoms), coefficient);
}

void fm_word_accesses(const struct fm_quantities *all, uint64_t atoms, char *buffer, size_t size)
{
	size_t used = 0;

	*buffer = '\0';
	for (uint64_t set = atoms; set && used < size; set &= set - 1) {
		const char *words = all->atoms[__builtin_ctzll(set)].access;
		bool before = false;

		for (uint64_t earlier = atoms; earlier != set; earlier &= earlier - 1)
			before |= !strcmp(words, all->atoms[__builtin_ctzll(earlier)].access);
		if (!before)
			used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", words);
	}
}

static void say_flaw(const struct fm_quantities *all, const struct fm_story *story, unsigned index,
                     struct fm_judgement *judgement)
{
	const struct fm_flaw *flaw = &story->flaws[index];
	const char *and_so = index ? "; and " : " ";
	char words[160];

	switch (flaw->class) {
	case FM_CLASS_overlapping:
		add_term(judgement, false, (unsigned)flaw->other, flaw->size);
		fm_say(judgement, "%sand %.3g for each of the %s as well", index ? "; " : ", ", flaw->size,
		       all->quantities[flaw->other].words);
		break;
	case FM_CLASS_uneven:
		fm_word_accesses(all, flaw->atoms, words, sizeof(words));
		if (flaw->other >= 0) {
			add_atoms(judgement, flaw->atoms, flaw->size);
			fm_say(judgement, " (of these %.3g for each of the %s)", flaw->size + story->flaws[0].size,
			       words);
		} else {
			add_atoms(judgement, flaw->atoms, story->factor * (flaw->size - 1));
			fm_say(judgement, "%sbut %.4g for each of the %s", index ? "; " : ", ",
			       story->factor * flaw->size, words);
		}
		break;
	case FM_CLASS_blind:
		fm_judge_unseen_words(all, flaw->atoms, words, sizeof(words));
		fm_say(judgement, "%sbut not %s", index ? "; " : ", ", words);
		break;
	case FM_CLASS_saturating:
		fm_say(judgement, "%sup to a maximum of %.4g million per second", and_so, flaw->size / 1e6);
		break;
	case FM_CLASS_conditional:
		fm_say(judgement, "%sbut %.0f %% %s if %s", index ? "; " : ", ", fabs(flaw->size) * 100,
		       flaw->size > 0 ? "too few" : "too many", fm_condition_words(flaw->condition));
		break;
	case FM_CLASS_leaking:
		fm_say(judgement, "%sand %.0f %% of the work of another core", index ? "; " : ", ", flaw->size * 100);
		break;
	case FM_CLASS_offset:
		fm_say(judgement, "%sand %.4g more in every run", index ? "; " : ", ", flaw->size);
		break;
	case FM_CLASS_indicator:
		fm_say(judgement, "%sto the power of %.2f", and_so, flaw->size);
		break;
	default:
		break;
	}
}

/* The formula of the quantity from the event, for flaws that need no other event; for overlapping ones others are
   needed. */
static void say_formula(const char *name, const struct fm_story *story, struct fm_judgement *judgement)
{
	const struct fm_flaw *flaw = &story->flaws[0];
	char *formula = judgement->formula;
	size_t size = sizeof(judgement->formula);

	if (!story->flaw_count && story->plus < 0)
		snprintf(formula, size, story->factor == 1 ? "%s" : "%s / %.4g", name, story->factor);
	else if (story->flaw_count == 1 && flaw->class == FM_CLASS_conditional && story->factor == 1)
		snprintf(formula, size, "%s / %.4g when %s", name, 1 - flaw->size, fm_condition_words(flaw->condition));
	else if (story->flaw_count == 1 && flaw->class == FM_CLASS_offset && story->factor == 1)
		snprintf(formula, size, "%s - %.4g for every run", name, flaw->size);
}

void fm_word_story(const struct fm_matrix *matrix, unsigned event, const struct fm_story *story,
                   struct fm_judgement *judgement)
{
	const struct fm_quantities *all = &matrix->quantities;
	const struct fm_quantity *quantity = &all->quantities[story->quantity];
	const char *scope = judgement->socket ? ", of the whole socket" : "";
	bool power = false;

	judgement->class = fm_story_class(story);
	judgement->quantity = (int)story->quantity;
	judgement->factor = story->factor;
	judgement->other = story->plus;
	judgement->flaw_count = story->flaw_count;
	memcpy(judgement->flaws, story->flaws, sizeof(judgement->flaws));
	for (unsigned i = 0; i < story->flaw_count; i++) {
		judgement->unseen |= story->flaws[i].class == FM_CLASS_blind ? story->flaws[i].atoms : 0;
		power |= story->flaws[i].class == FM_CLASS_indicator;
		if (story->flaws[i].class == FM_CLASS_overlapping)
			judgement->other = story->flaws[i].other;
	}
	if (story->flaw_count)
		judgement->size = story->flaws[0].size;
	add_term(judgement, false, story->quantity, story->factor);
	if (power)
		fm_say(judgement, "grows with the %s", quantity->words);
	else if (!story->flaw_count && story->factor == 1)
		fm_say(judgement, "one for each of the %s", quantity->words);
	else if (story->factor != 1)
		fm_say(judgement, "%.4g for each of the %s", story->factor, quantity->words);
	else
		fm_say(judgement, "counts the %s", quantity->words);
	if (story->plus >= 0) {
		add_term(judgement, false, (unsigned)story->plus, story->factor);
		fm_say(judgement, " and of the %s alike", all->quantities[story->plus].words);
	}
	fm_say(judgement, "%s", scope);
	for (unsigned i = 0; i < story->flaw_count; i++)
		say_flaw(all, story, i, judgement);
	say_formula(matrix->events[event].name, story, judgement);
}

static void say_missing(const struct fm_matrix *matrix, struct fm_judgement *judgement)
{
	const struct fm_quantities *all = &matrix->quantities;
	uint64_t missing = judgement->socket ? matrix->missing_socket : matrix->missing;
	unsigned said = 0;

	/* of an explanation its missing parts; otherwise its possible meanings */
	if (judgement->class != FM_CLASS_unexplained) {
		uint64_t concerned = 0;

		if (judgement->quantity >= 0)
			concerned |= all->quantities[judgement->quantity].atoms;
		if (judgement->other >= 0)
			concerned |= all->quantities[judgement->other].atoms;
		missing &= concerned;
	}
	for (; missing; missing &= missing - 1, said++)
		fm_say(judgement, "%s%s%s",
		       said                                       ? ", "
		       : judgement->class == FM_CLASS_unexplained ? "; candidates that are not in the file: "
		                                                  : ". Not in the file, and excluded: ",
		       judgement->socket ? "socket." : "true.", all->atoms[__builtin_ctzll(missing)].name);
}

void fm_word_remarks(const struct fm_matrix *matrix, struct fm_judgement *judgement)
{
	if (judgement->alternative >= 0)
		fm_say(judgement, ". These runs cannot distinguish this from %.4g for each of the %s",
		       judgement->alternative_factor, matrix->quantities.quantities[judgement->alternative].words);
	if (judgement->floor_runs && judgement->floor_most >= 1)
		fm_say(judgement, ". Floor: about %.0f, at most %.0f, in runs with nothing to count", judgement->floor,
		       judgement->floor_most);
	say_missing(matrix, judgement);
}
