/* The processor gives the program fewer ways of a cache, and less bandwidth: the kernel's resctrl
   (interference/resctrl.h). Nothing runs beside the program. */
#include "interference/resctrl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profile/peak.h"
#include "profile/profile.h"
#include "squeeze/backend.h"
#include "squeeze/live_recording.h"
#include "squeeze/tuning.h"
#include "streams/streams.h"

enum { BANDWIDTH_AMOUNTS = 10, EIGHTHS = 8 /* of GB/s */ };

struct state {
	struct fm_resctrl *resctrl;
	enum fm_resctrl_cache cache;
	bool refused; /* the last change */
};

static const char *const level_names[FM_RESCTRL_CACHES] = {"L2", "L3"};

static int probe(const struct fm_squeeze_wishes *wishes, struct fm_error *why)
{
	struct fm_resctrl_facts facts;
	int r;

	if (wishes->observation.machine)
		return fm_error_set(why, ENOTSUP, "resctrl uses this machine: omit --machine");
	r = fm_resctrl_probe(&facts, why);
	if (r == -EBUSY)
		why->code = ENOTSUP;
	return r ? -why->code : 0;
}

/* The cache that is asked for, or the last one whose ways can be taken. */
static int choose_cache(const struct fm_squeeze_wishes *wishes, struct fm_squeeze_session *session,
                        const struct fm_resctrl_facts *facts, enum fm_resctrl_cache *ret_cache, struct fm_error *error)
{
	for (unsigned i = FM_RESCTRL_CACHES; i-- > 0;) {
		if (wishes->level && strcasecmp(wishes->level, level_names[i]) != 0)
			continue;
		if (facts->caches[i].available) {
			*ret_cache = i;
			return 0;
		}
		if (wishes->level)
			return fm_error_set(error, EINVAL, "--level: the ways of %s cannot be limited here",
			                    level_names[i]);
	}
	if (wishes->level)
		return fm_error_set(error, EINVAL, "--level is L2 or L3, not \"%s\"", wishes->level);
	*ret_cache = FM_RESCTRL_L3;
	snprintf(session->capacity.why_not, sizeof(session->capacity.why_not),
	         "this processor limits bandwidth, not the ways of a cache");
	return 0;
}

static double cache_bytes(enum fm_resctrl_cache cache)
{
	struct fm_topology *topology = calloc(1, sizeof(*topology));
	struct fm_error ignored;
	double bytes = 0;

	if (topology && !fm_topology_read(topology, &ignored))
		for (unsigned i = 0; i < topology->cache_count; i++)
			if (topology->caches[i].level == (cache == FM_RESCTRL_L2 ? 2 : 3))
				bytes = (double)topology->caches[i].bytes;
	free(topology);
	return bytes;
}

/* The highest measured bandwidth of memory; 0: not measured. */
static double memory_gbs(void)
{
	struct fm_machine *machine = NULL;
	struct fm_error ignored;
	double most = 0;
	char *path = NULL;

	if (!fm_profile_default_path(&path, &ignored) && !fm_profile_load(path, &machine, &ignored)) {
		struct fm_figure any = fm_figure_unavailable("any mixture");
		struct fm_peak peak = fm_peak_find(machine, "memory", machine->cpus.count, &any);

		most = peak.gbs.available ? peak.gbs.value : 0;
		fm_machine_free(machine);
	}
	free(path);
	return most;
}

static void set_capacity(struct fm_squeeze_axis *axis, const struct fm_resctrl_ways *cache, double bytes)
{
	if (*axis->why_not)
		return;
	if (!(bytes > 0)) {
		snprintf(axis->why_not, sizeof(axis->why_not), "the machine does not report the size of this cache");
		return;
	}
	for (unsigned i = cache->least; i <= cache->ways && axis->count < FM_DESIGN_POINTS; i++)
		axis->amounts[axis->count++] = bytes * i / cache->ways;
	axis->least = axis->amounts[0];
	axis->full = bytes;
}

/* GB/s in the unit of the kernel. */
static uint64_t amount_of(const struct fm_resctrl_bandwidth *bandwidth, double gbs, double full)
{
	return (uint64_t)llround(bandwidth->unit == FM_RESCTRL_PERCENT     ? 100 * gbs / full
	                         : bandwidth->unit == FM_RESCTRL_MEGABYTES ? 1000 * gbs
	                                                                   : EIGHTHS * gbs);
}

static double gbs_of(const struct fm_resctrl_bandwidth *bandwidth, double amount, double full)
{
	return bandwidth->unit == FM_RESCTRL_PERCENT     ? full * amount / 100
	       : bandwidth->unit == FM_RESCTRL_MEGABYTES ? amount / 1000
	                                                 : amount / EIGHTHS;
}

static void set_bandwidth(struct fm_squeeze_axis *axis, const struct fm_resctrl_bandwidth *bandwidth, double full)
{
	double least;

	if (!bandwidth->available || !(full > 0)) {
		snprintf(axis->why_not, sizeof(axis->why_not), "%s",
		         bandwidth->available ? "the bandwidth has not been measured: run 'fathom machine'"
		                              : "this processor does not limit bandwidth");
		return;
	}
	least = fmax(gbs_of(bandwidth, (double)bandwidth->least, full), full / BANDWIDTH_AMOUNTS);
	for (unsigned i = 1; i <= BANDWIDTH_AMOUNTS; i++) {
		double gbs = full * i / BANDWIDTH_AMOUNTS;

		if (gbs >= least * (1 - 1e-9))
			axis->amounts[axis->count++] = gbs;
	}
	axis->least = axis->amounts[0];
	axis->full = full;
}

static int ready(void *context, pid_t process, struct fm_error *error)
{
	const struct state *state = context;

	return fm_resctrl_add(state->resctrl, process, error);
}

static int set_limit(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
                     struct fm_error *error)
{
	const struct fm_recorded_squeeze *how = &session->recording->squeezes[0];
	struct state *state = session->state;
	const struct fm_resctrl_facts *facts = fm_resctrl_facts(state->resctrl);
	struct fm_resctrl_limit limit = {.cache = state->cache}, done;

	if (role == FM_SQUEEZE_LESS && bytes < how->bytes)
		limit.ways = (unsigned)lround(bytes / how->bytes * facts->caches[state->cache].ways);
	if (role == FM_SQUEEZE_LESS && gbs < how->gbs)
		limit.bandwidth = amount_of(&facts->bandwidth, gbs, how->gbs);
	return fm_resctrl_limit(state->resctrl, &limit, &done, error);
}

/* A limit that was refused was not there. */
static bool toggle(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs)
{
	struct state *state = session->state;
	bool was_right = !state->refused;
	struct fm_error ignored;

	state->refused = set_limit(session, role, bytes, gbs, &ignored) != 0;
	return was_right;
}

static int run(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
               struct fm_error *error)
{
	const struct fm_live_run live = {.context = session->state, .ready = ready};
	int r = set_limit(session, role, bytes, gbs, error);

	if (r) {
		error->code = ECANCELED; /* no lower limit is possible: the results are kept */
		return -ECANCELED;
	}
	return fm_live_step(session, role, bytes, gbs, &live, error);
}

static void describe(const struct fm_squeeze_session *session, const struct fm_resctrl_facts *facts,
                     struct fm_recorded_squeeze *how)
{
	static const char *const units[] = {"percent as set in the processor; the remaining bandwidth is not verified",
	                                    "MB/s, enforced by the kernel", "eighths of GB/s"};
	const struct state *state = session->state;
	const struct fm_resctrl_ways *cache = &facts->caches[state->cache];
	size_t used = 0;

	if (cache->available)
		used = (size_t)snprintf(
		    how->calibration, sizeof(how->calibration),
		    "not needed: %u ways of %s%s; the program gets some of them, shared with other programs",
		    cache->ways, how->level, cache->split ? " for code and for data" : "");
	if (facts->bandwidth.available && used < sizeof(how->calibration))
		snprintf(how->calibration + used, sizeof(how->calibration) - used, "%sbandwidth in %s",
		         used ? "; " : "", units[facts->bandwidth.unit]);
}

static int begin(struct fm_squeeze_session *session, struct fm_error *error)
{
	struct fm_recorded_squeeze how = {.noticeable = NOTICEABLE_LIVE};
	struct state *state = calloc(1, sizeof(*state));
	const struct fm_resctrl_facts *facts;
	int r;

	if (!state)
		return fm_error_set(error, ENOMEM, "out of memory");
	session->state = state;
	r = fm_resctrl_begin(&state->resctrl, error);
	if (r) {
		if (error->code == EBUSY)
			error->code = ENOTSUP;
		return -error->code;
	}
	facts = fm_resctrl_facts(state->resctrl);
	r = choose_cache(session->wishes, session, facts, &state->cache, error);
	if (r)
		return r;
	set_capacity(&session->capacity, &facts->caches[state->cache], cache_bytes(state->cache));
	set_bandwidth(&session->bandwidth, &facts->bandwidth, memory_gbs());
	if (*session->capacity.why_not && *session->bandwidth.why_not)
		return fm_error_set(error, ENOTSUP, "resctrl can limit nothing here: %s; %s", session->capacity.why_not,
		                    session->bandwidth.why_not);
	how.cache = state->cache == FM_RESCTRL_L2 ? 1 : 2;
	how.bytes = session->capacity.full;
	how.gbs = session->bandwidth.full;
	how.near_ns = how.beyond_ns = fm_figure_unavailable("no latency is measured with limited ways");
	snprintf(how.level, sizeof(how.level), "%s", level_names[state->cache]);
	describe(session, facts, &how);
	r = fm_live_record(session, &how, error);
	if (!r)
		r = run(session, FM_SQUEEZE_WHOLE, how.bytes, how.gbs, error);
	return r ? fm_live_give_up(session, r) : 0;
}

static void end(struct fm_squeeze_session *session)
{
	const struct fm_observation *wanted = &session->wishes->observation;
	struct state *state = session->state;
	struct fm_error error;

	if (!state)
		return;
	if (state->resctrl && fm_resctrl_end(state->resctrl, &error) && wanted->remark)
		wanted->remark(wanted->context, error.message);
	free(state);
	session->state = NULL;
}

const struct fm_squeeze_backend fm_squeeze_resctrl = {
    .name = "resctrl",
    .takes = "ways of a cache and bandwidth, by the processor",
    .live = true,
    .takes_both = true,
    .rare = true,
    .probe = probe,
    .begin = begin,
    .run = run,
    .toggle = toggle,
    .end = end,
};
