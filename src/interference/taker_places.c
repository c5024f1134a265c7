#include "interference/taker_places.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "interference/tuning.h"

static double busy_share(const struct fm_busy *busy, unsigned cpu)
{
	for (unsigned i = 0; i < busy->count; i++)
		if (busy->cpus[i].cpu == cpu)
			return busy->cpus[i].share;
	return 0;
}

static const struct fm_cpu_place *place_of(const struct fm_cpu_place *places, unsigned count, unsigned cpu)
{
	for (unsigned i = 0; i < count; i++)
		if (places[i].cpu == cpu)
			return &places[i];
	return NULL;
}

/* True on a core of the program or of a taker: hardware threads of a core share its private caches. */
static bool is_beside(const struct fm_cpu_place *places, unsigned count, const struct fm_cpu_list *program,
                      const struct fm_taker_places *takers, unsigned core)
{
	for (unsigned i = 0; i < program->count; i++) {
		const struct fm_cpu_place *place = place_of(places, count, program->cpu[i]);

		if (place && place->core == core)
			return true;
	}
	for (unsigned i = 0; i < takers->count; i++)
		if (place_of(places, count, takers->cpu[i])->core == core)
			return true;
	return false;
}

/* The quietest CPU that may be taken; NULL: there is none. */
static const struct fm_cpu_place *next_place(const struct fm_cpu_place *places, unsigned count,
                                             const struct fm_busy *busy, const struct fm_taker_places *takers,
                                             const struct fm_cpu_place *home, bool same_cache)
{
	const struct fm_cpu_place *best = NULL;

	for (unsigned i = 0; i < count; i++) {
		const struct fm_cpu_place *place = &places[i];

		if (is_beside(places, count, &takers->program, takers, place->core) ||
		    (same_cache ? place->cache != home->cache : place->node != home->node))
			continue;
		if (!best || busy_share(busy, place->cpu) < busy_share(busy, best->cpu))
			best = place;
	}
	return best;
}

int fm_taker_places_choose(const struct fm_cpu_place *places, unsigned count, const struct fm_busy *busy,
                           const struct fm_cpu_list *program, unsigned wanted, struct fm_taker_places *ret_places,
                           struct fm_error *error)
{
	struct fm_taker_places *chosen = calloc(1, sizeof(*chosen));
	const struct fm_cpu_place *home, *place;
	char text[128];
	int status = 0;

	if (!chosen)
		return fm_error_set(error, ENOMEM, "out of memory");
	chosen->program = *program;
	if (!program->count && count)
		chosen->program = (struct fm_cpu_list){1, {places[fm_cpu_places_quietest(places, count, busy)].cpu}};
	home = chosen->program.count ? place_of(places, count, chosen->program.cpu[0]) : NULL;
	if (!home) {
		free(chosen);
		return fm_error_set(error, EINVAL, "the program is pinned to CPUs that this process may not use");
	}
	chosen->shares_cache = next_place(places, count, busy, chosen, home, true) != NULL;
	while (chosen->count < wanted &&
	       (place = next_place(places, count, busy, chosen, home, chosen->shares_cache))) {
		bool is_busy = busy_share(busy, place->cpu) > PLACE_BUSY;

		/* they come by how busy they are: as long as there are quiet ones, busy ones are left alone */
		if (is_busy && chosen->count)
			break;
		chosen->cpu[chosen->count++] = place->cpu;
		if (is_busy) {
			snprintf(chosen->remark, sizeof(chosen->remark),
			         "CPU %u is in use by others (%.0f %% of the time)", place->cpu,
			         100 * busy_share(busy, place->cpu));
			break;
		}
	}
	if (!chosen->count)
		status = fm_error_set(error, ENOTSUP,
		                      "interference needs a second core, but this process may use only CPU %s: allow "
		                      "more CPUs (taskset, -C, the container's CPUs), or use a simulated machine "
		                      "(--machine NAME)",
		                      fm_cpu_list_text(text, sizeof(text), &chosen->program));
	else
		*ret_places = *chosen;
	free(chosen);
	return status;
}

/* Who runs on that CPU now, besides us. */
static bool name_user(const char *process, unsigned cpu, char *name, size_t size)
{
	char path[64], line[1024], state;
	const char *open_bracket, *close_bracket;
	int processor = -1, fields = 0;

	if ((pid_t)strtol(process, NULL, 10) == getpid())
		return false;
	snprintf(path, sizeof(path), "/proc/%.16s/stat", process);
	if (fm_text_read_line(path, line, sizeof(line)))
		return false;
	open_bracket = strchr(line, '(');
	close_bracket = strrchr(line, ')');
	if (!open_bracket || !close_bracket || sscanf(close_bracket + 1, " %c", &state) != 1 || state != 'R')
		return false;
	/* the state is the 3rd field, the CPU the 39th */
	for (const char *at = close_bracket + 1; *at; at++)
		if (*at == ' ' && ++fields == 39 - 2) {
			processor = (int)strtol(at + 1, NULL, 10);
			break;
		}
	if (processor != (int)cpu)
		return false;
	snprintf(name, size, "%.*s, process %.16s", (int)(close_bracket - open_bracket - 1), open_bracket + 1, process);
	return fm_text_is_clean(name);
}

static void add_name(struct fm_taker_places *places)
{
	DIR *folder = opendir("/proc");
	size_t used = strlen(places->remark);
	char name[96];

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !name_user(entry->d_name, places->cpu[0], name, sizeof(name)))
			continue;
		snprintf(places->remark + used, sizeof(places->remark) - used, ": %s", name);
		break;
	}
	if (folder)
		closedir(folder);
}

int fm_taker_places_find(const struct fm_cpu_list *program, unsigned wanted, double seconds,
                         struct fm_taker_places *ret_places, struct fm_error *error)
{
	struct fm_busy *busy = calloc(1, sizeof(*busy));
	struct fm_cpu_list allowed;
	struct fm_cpu_place *places;
	int status = fm_cpu_list_allowed(&allowed, error);

	if (status) {
		free(busy);
		return status;
	}
	places = calloc(allowed.count, sizeof(*places));
	if (!busy || !places) {
		free(busy);
		free(places);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	fm_cpu_places_read(&allowed, places);
	/* an unknown CPU counts as quiet */
	fm_busy_measure(seconds, busy);
	status = fm_taker_places_choose(places, allowed.count, busy, program, wanted, ret_places, error);
	if (!status && *ret_places->remark)
		add_name(ret_places);
	free(busy);
	free(places);
	return status;
}
