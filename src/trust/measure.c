#include "trust/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "counters/counting.h"
#include "measure/buffer.h"
#include "measure/team.h"
#include "trust/product.h"

enum { PASSES_MAX = 1024, PER_PASS_MAX = 8, SETTLE_NS = 2000000, SAVE_NS = 3000000 };

/* Events that are counted together. */
struct pass {
	unsigned events[PER_PASS_MAX];
	unsigned count;
};

struct member {
	struct fm_buffer local, remote;
	struct fm_kernel_arguments arguments, warm, rest;
	fm_kernel_function function;
};

struct measurement {
	const struct fm_machine_description *machine;
	const struct fm_plan *plan;
	const struct fm_measure_options *options;
	struct fm_team *team;
	struct fm_team_time *times;
	struct member *members;
	unsigned member_count;
	struct pass *passes;
	unsigned pass_count;
	struct fm_matrix *matrix;
	double *seconds; /* shortest, by run */
	unsigned *timed; /* their number */
	/* of the run under way */
	const struct fm_plan_entry *entry;
	struct fm_event under_way[PER_PASS_MAX];
	unsigned under_way_count;
	struct fm_counting *counting;
	struct fm_error counting_error;
	int counting_result;
	double elapsed;
	volatile bool others_done;
	struct fm_product product;
};

void fm_measure_adapt(const struct fm_cpu_list *cpus, struct fm_machine_description *machine)
{
	unsigned here = 0, elsewhere = 0;

	for (unsigned i = 0; i < cpus->count; i++)
		if (fm_topology_node_of(cpus->cpu[i]) == fm_topology_node_of(cpus->cpu[0]))
			here++;
		else
			elsewhere++;
	machine->cores = here ? here : 1;
	machine->sockets = elsewhere ? 2 : 1;
	for (unsigned i = 0; i < machine->cache_count; i++) {
		/* here every CPU is a core */
		if (machine->caches[i].shared_by > 1)
			machine->caches[i].shared_by *= fm_description_threads(machine);
		if (machine->caches[i].shared_by > machine->cores || machine->cores % machine->caches[i].shared_by)
			machine->caches[i].shared_by = machine->cores;
	}
	machine->threads = 1;
}

/* CPUs of the first one's node come first. */
static void sort_cpus(const struct fm_cpu_list *cpus, struct fm_cpu_list *ret_sorted)
{
	ret_sorted->count = 0;
	for (int elsewhere = 0; elsewhere < 2; elsewhere++)
		for (unsigned i = 0; i < cpus->count; i++)
			if ((fm_topology_node_of(cpus->cpu[i]) != fm_topology_node_of(cpus->cpu[0])) == elsewhere)
				ret_sorted->cpu[ret_sorted->count++] = cpus->cpu[i];
}

/* Counters */

/* On the first member's thread, which is counted. */
static void open_counters(void *context, unsigned index)
{
	struct measurement *measurement = context;
	const struct fm_target target = {.task = 0};

	if (index)
		return;
	measurement->counting_result = fm_counting_open(measurement->under_way, measurement->under_way_count, &target,
	                                                &measurement->counting, &measurement->counting_error);
}

/* Some work of its own: an event that shares its counter shows in the times. */
static void try_counters(void *context, unsigned index)
{
	struct measurement *measurement = context;
	uint64_t until = fm_clock_now() + SETTLE_NS;
	volatile unsigned work = 0;

	if (index || !measurement->counting)
		return;
	fm_counting_start(measurement->counting);
	while (fm_clock_now() < until)
		work++;
	fm_counting_stop(measurement->counting);
}

static int choose(struct measurement *measurement, const unsigned *events, unsigned count)
{
	measurement->under_way_count = count;
	for (unsigned i = 0; i < count; i++)
		measurement->under_way[i] = measurement->options->events[events[i]];
	fm_team_run(measurement->team, NULL, 1, NULL, open_counters, measurement, measurement->times);
	return measurement->counting_result;
}

static void release(struct measurement *measurement)
{
	if (measurement->counting)
		fm_counting_close(measurement->counting);
	measurement->counting = NULL;
}

/* Do these events fit on the counters at one time? */
static bool fits(struct measurement *measurement, const unsigned *events, unsigned count)
{
	struct fm_count counts[PER_PASS_MAX];
	bool all = true;

	if (choose(measurement, events, count)) {
		release(measurement);
		return false;
	}
	fm_team_run(measurement->team, NULL, 1, NULL, try_counters, measurement, measurement->times);
	fm_counting_read(measurement->counting, counts);
	for (unsigned i = 0; i < count; i++)
		all &= counts[i].running == counts[i].enabled;
	release(measurement);
	return all;
}

static int pack(struct measurement *measurement, struct fm_error *error)
{
	struct pass *pass = NULL;
	unsigned refused = 0;

	measurement->passes = calloc(measurement->options->event_count + 1, sizeof(*measurement->passes));
	if (!measurement->passes)
		return fm_error_set(error, ENOMEM, "no memory for the passes");
	for (unsigned i = 0; i < measurement->options->event_count; i++) {
		if (!fits(measurement, &i, 1)) {
			refused++; /* it stays uncounted */
			continue;
		}
		if (pass && pass->count < PER_PASS_MAX) {
			pass->events[pass->count] = i;
			if (fits(measurement, pass->events, pass->count + 1)) {
				pass->count++;
				continue;
			}
		}
		pass = &measurement->passes[measurement->pass_count++];
		pass->events[pass->count++] = i;
	}
	if (!measurement->pass_count) {
		fm_error_set(error, ENOTSUP, "none of the %u events can be counted here: %.300s", refused,
		             measurement->counting_error.message);
		return -ENOTSUP;
	}
	return 0;
}

/* Runs */

static const struct fm_buffer *buffer_of(const struct measurement *measurement, const struct member *member)
{
	return measurement->entry->run.remote ? &member->remote : &member->local;
}

static void set_streams(struct measurement *measurement, struct member *member)
{
	const struct fm_plan_entry *entry = measurement->entry;
	const struct fm_buffer *buffer = buffer_of(measurement, member);
	uint64_t stream = entry->bytes / entry->kernel->streams, blocks = stream / FM_BLOCK_BYTES;

	member->function = fm_stream_functions[entry->kernel - fm_streams][entry->isa];
	member->arguments =
	    (struct fm_kernel_arguments){.scalar = 1, .passes = entry->blocks / blocks, .count = blocks};
	for (unsigned i = 0; i < entry->kernel->streams; i++)
		member->arguments.stream[i] = buffer->memory + i * stream;
	member->warm = member->rest = member->arguments;
	member->warm.passes = 1;
	member->rest.passes = 1;
	member->rest.count = entry->blocks % blocks;
}

/* The same order of lines as the simulated one. */
static void link_chase(struct measurement *measurement, struct member *member)
{
	const struct fm_plan_entry *entry = measurement->entry;
	const struct fm_buffer *buffer = buffer_of(measurement, member);
	unsigned line = measurement->machine->line_bytes;
	uint64_t pairs = entry->bytes / line / 2;
	uint32_t *order = fm_plan_order(pairs);
	bool both = entry->run.kind == FM_RUN_chase;

	member->arguments = (struct fm_kernel_arguments){.count = entry->blocks};
	if (!order || !pairs) {
		member->arguments.count = 0;
		free(order);
		return;
	}
	for (uint64_t i = 0; i < pairs; i++) {
		char *here = buffer->memory + 2ull * order[i] * line,
		     *next = buffer->memory + 2ull * order[(i + 1) % pairs] * line;

		*(void **)here = both ? here + line : next;
		if (both)
			*(void **)(here + line) = next;
	}
	member->arguments.chain[0] = buffer->memory + 2ull * order[0] * line;
	member->function = entry->run.kind == FM_RUN_latency_independent
	                       ? fm_kernel_chase_independent[FM_MULTIPLICATIONS]
	                   : entry->run.kind == FM_RUN_latency_dependent ? fm_kernel_chase_dependent[FM_MULTIPLICATIONS]
	                                                                 : fm_kernel_chase;
	member->warm = member->arguments;
	member->warm.count = (both ? 2 * pairs : pairs) / 16 * 16;
	member->rest.count = 0;
	free(order);
}

static void prepare(void *context, unsigned index)
{
	struct measurement *measurement = context;
	struct member *member = &measurement->members[index];
	const struct fm_plan_entry *entry = measurement->entry;

	switch (entry->run.kind) {
	case FM_RUN_handover:
		member->function = index ? fm_kernel_produce : fm_kernel_consume;
		member->arguments = (struct fm_kernel_arguments){.count = entry->run.step, .passes = FM_HANDOVER_STEPS};
		member->arguments.stream[0] = measurement->members[0].local.memory + 4096;
		member->arguments.stream[1] = measurement->members[0].local.memory;
		member->rest.count = 0;
		if (!index)
			memset(measurement->members[0].local.memory, 0, 4096);
		return;
	case FM_RUN_triangle:
		return;
	case FM_RUN_watch:
		measurement->others_done = false;
		if (!index)
			return;
		/* fall through */
	case FM_RUN_stream:
		set_streams(measurement, member);
		break;
	default:
		link_chase(measurement, member);
	}
	if (member->warm.count)
		member->function(&member->warm);
}

static void run_kernel(struct member *member)
{
	if (member->arguments.passes || !member->arguments.stream[0])
		member->function(&member->arguments);
	if (member->rest.count)
		member->function(&member->rest);
}

static void work(void *context, unsigned index)
{
	struct measurement *measurement = context;
	struct member *member = &measurement->members[index];
	const struct fm_plan_entry *entry = measurement->entry;
	bool counted = entry->run.kind == FM_RUN_triangle ? index == entry->run.thread : !index;
	uint64_t begin;

	if (!counted) {
		if (entry->run.kind == FM_RUN_triangle)
			fm_product_run(&measurement->product, index);
		else
			run_kernel(member);
		measurement->others_done = true;
		return;
	}
	fm_counting_start(measurement->counting);
	begin = fm_clock_now();
	if (entry->run.kind == FM_RUN_watch) {
		struct fm_kernel_arguments adds = {.count = 4096};

		while (!measurement->others_done)
			fm_kernel_adds(&adds);
	} else if (entry->run.kind == FM_RUN_triangle) {
		fm_product_run(&measurement->product, index);
	} else {
		run_kernel(member);
	}
	measurement->elapsed = (double)(fm_clock_now() - begin) * 1e-9;
	fm_counting_stop(measurement->counting);
}

/* The runs of the plan that are possible here. */
static bool is_possible(const struct measurement *measurement, const struct fm_plan_entry *entry)
{
	if (entry->run.smt || (entry->run.kind == FM_RUN_triangle && !measurement->product.matrix))
		return false;
	/* a handover to the other socket takes its first CPU */
	if (entry->run.kind == FM_RUN_handover && entry->run.remote)
		return measurement->member_count > measurement->machine->cores;
	return entry->run.cores <= measurement->member_count && (entry->kernel == NULL || fm_isa_available(entry->isa));
}

static void count_run(struct measurement *measurement, unsigned run, const struct pass *pass, unsigned repeat)
{
	const struct fm_plan_entry *entry = &measurement->plan->entries[run];
	struct fm_count before[PER_PASS_MAX], after[PER_PASS_MAX], difference;
	unsigned who[FM_CPUS_MAX];

	measurement->entry = entry;
	for (unsigned i = 0; i < entry->run.cores; i++)
		who[i] = i;
	if (entry->run.kind == FM_RUN_handover && entry->run.remote)
		who[1] = measurement->machine->cores;
	/* of the triangular product the counted thread is the first member's, whichever half it has */
	if (entry->run.kind == FM_RUN_triangle && entry->run.thread) {
		who[0] = 1;
		who[1] = 0;
	}
	fm_counting_read(measurement->counting, before);
	fm_team_run(measurement->team, who, entry->run.cores, prepare, work, measurement, measurement->times);
	fm_counting_read(measurement->counting, after);
	for (unsigned i = 0; i < pass->count; i++) {
		fm_count_difference(&measurement->under_way[i], &after[i], &before[i], &difference);
		/* counts of a shared counter are never extrapolated */
		if (difference.running == difference.enabled && difference.running > 0)
			fm_matrix_counts(measurement->matrix, pass->events[i], run)[repeat] =
			    (double)difference.value * measurement->under_way[i].scale;
	}
	/* disturbance only adds time */
	if (!measurement->timed[run]++ || measurement->elapsed < measurement->seconds[run])
		measurement->seconds[run] = measurement->elapsed;
}

/* State */

static void save_state(struct measurement *measurement)
{
	char path[4200];
	FILE *output;

	if (!measurement->options->state)
		return;
	for (unsigned r = 0; r < measurement->matrix->run_count; r++)
		measurement->matrix->runs[r].seconds = measurement->timed[r] ? measurement->seconds[r] : 1;
	snprintf(path, sizeof(path), "%s.new", measurement->options->state);
	unlink(path);
	output = fopen(path, "wxe");
	if (!output)
		return;
	if (fm_matrix_write(measurement->matrix, output) | fclose(output) || rename(path, measurement->options->state))
		unlink(path);
}

/* Counts of an earlier attempt at the same, as far as it came. */
static void load_state(struct measurement *measurement)
{
	struct fm_matrix *old, *matrix = measurement->matrix;
	struct fm_error ignored;

	if (!measurement->options->state || access(measurement->options->state, R_OK) ||
	    fm_matrix_read(measurement->options->state, &old, &ignored))
		return;
	if (old->run_count == matrix->run_count && old->event_count == matrix->event_count &&
	    old->repeats <= matrix->repeats) {
		bool same = true;

		for (unsigned i = 0; i < matrix->run_count; i++)
			same &= !strcmp(old->runs[i].name, matrix->runs[i].name);
		for (unsigned i = 0; i < matrix->event_count; i++)
			same &= !strcmp(old->events[i].name, matrix->events[i].name);
		for (unsigned e = 0; same && e < matrix->event_count; e++)
			for (unsigned r = 0; r < matrix->run_count; r++)
				memcpy(fm_matrix_counts(matrix, e, r), fm_matrix_counts(old, e, r),
				       old->repeats * sizeof(double));
		for (unsigned r = 0; same && r < matrix->run_count; r++)
			if (old->runs[r].seconds > 0 && old->runs[r].seconds != 1) {
				measurement->seconds[r] = old->runs[r].seconds;
				measurement->timed[r] = 1;
			}
	}
	fm_matrix_free(old);
}

static bool is_done(const struct measurement *measurement, unsigned run, const struct pass *pass, unsigned repeat)
{
	for (unsigned i = 0; i < pass->count; i++)
		if (!isfinite(fm_matrix_counts(measurement->matrix, pass->events[i], run)[repeat]))
			return false;
	return true;
}

/* All */

static int allocate(struct measurement *measurement, struct fm_error *error)
{
	uint64_t available = fm_memory_available(), wanted = 0;

	for (unsigned i = 0; i < measurement->member_count; i++)
		for (int remote = 0; remote < 2; remote++) {
			struct member *member = &measurement->members[i];
			uint64_t bytes = 0;
			int node = (int)fm_topology_node_of(measurement->options->cpus.cpu[0]), r;

			for (unsigned k = 0; k < measurement->plan->count; k++) {
				const struct fm_plan_entry *entry = &measurement->plan->entries[k];

				if (entry->run.remote == remote && (i < entry->run.cores || !i) &&
				    entry->bytes > bytes && entry->run.kind != FM_RUN_triangle)
					bytes = entry->bytes;
			}
			if (!bytes || (remote && measurement->machine->sockets < 2))
				continue;
			bytes += 1 << 16;
			wanted += bytes;
			if (wanted > available / 2)
				return fm_error_set(
				    error, ENOMEM,
				    "the data sets take more than half of the free memory: fewer CPUs (-C) need less");
			/* the other node is where the first CPU of another node is */
			if (remote)
				node = (int)fm_topology_node_of(
				    measurement->options->cpus.cpu[measurement->machine->cores]);
			r = fm_buffer_allocate(bytes, FM_PAGES_HUGE, measurement->machine->sockets > 1 ? node : -1,
			                       remote ? &member->remote : &member->local, error);
			if (r)
				return r;
		}
	/* the matrix is large; where there is no room for it, there is no such table */
	if (available / 2 > wanted + 8ull * measurement->plan->rows * measurement->plan->rows &&
	    measurement->member_count > 1)
		fm_product_create(measurement->plan->rows, &measurement->product);
	return 0;
}

static int create_matrix(struct measurement *measurement)
{
	const struct fm_plan *plan = measurement->plan;

	if (fm_matrix_create(&plan->quantities, measurement->options->repeats, &measurement->matrix))
		return -ENOMEM;
	snprintf(measurement->matrix->machine, sizeof(measurement->matrix->machine), "%s", measurement->machine->name);
	snprintf(measurement->matrix->origin, sizeof(measurement->matrix->origin), "measured");
	for (unsigned i = 0; i < plan->count; i++) {
		struct fm_run *run = fm_matrix_add_run(measurement->matrix);

		if (!run)
			return -ENOMEM;
		*run = plan->entries[i].run;
		run->known &= ~(1ull << plan->quantities.cycles);
		run->known_socket &= ~(1ull << plan->quantities.cycles);
	}
	for (unsigned i = 0; i < measurement->options->event_count; i++)
		if (!fm_matrix_add_event(measurement->matrix, measurement->options->events[i].name,
		                         measurement->options->events[i].cpu >= 0))
			return -ENOMEM;
	return 0;
}

static int run_passes(struct measurement *measurement, struct fm_error *error)
{
	const struct fm_measure_options *options = measurement->options;
	unsigned count = measurement->plan->count, total = options->repeats * measurement->pass_count * count, done = 0,
	         worked = 0;
	unsigned *order = malloc((count ? count : 1) * sizeof(*order));
	uint64_t began = fm_clock_now(), saved = began;
	struct fm_random random;
	int r = 0;

	if (!order)
		return fm_error_set(error, ENOMEM, "no memory for the order of the runs");
	fm_random_seed(&random, options->seed);
	for (unsigned i = 0; i < count; i++)
		order[i] = i;
	for (unsigned repeat = 0; !r && repeat < options->repeats; repeat++)
		for (unsigned p = 0; !r && p < measurement->pass_count; p++) {
			const struct pass *pass = &measurement->passes[p];

			r = choose(measurement, pass->events, pass->count);
			if (r) {
				/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): fm_measure_matrix() frees the passes */
				*error = measurement->counting_error;
				break;
			}
			for (unsigned i = count; i > 1; i--) {
				unsigned j = (unsigned)fm_random_below(&random, i), swap = order[i - 1];

				order[i - 1] = order[j];
				order[j] = swap;
			}
			for (unsigned i = 0; i < count; i++, done++) {
				double seconds = (double)(fm_clock_now() - began) * 1e-9;

				if (fm_watcher_stops(&options->watcher)) {
					r = fm_error_set(error, EINTR,
					                 options->state
					                     ? "interrupted; the results so far are kept, and the same "
					                       "command continues from there"
					                     : "interrupted");
					break;
				}
				if (!is_possible(measurement, &measurement->plan->entries[order[i]]) ||
				    is_done(measurement, order[i], pass, repeat))
					continue;
				count_run(measurement, order[i], pass, repeat);
				worked++;
				fm_watcher_tell(&options->watcher, "counting", (double)done / total,
				                seconds / worked * (total - done));
				if (fm_clock_now() - saved > SAVE_NS * 1000ull) {
					save_state(measurement);
					saved = fm_clock_now();
				}
			}
			release(measurement);
		}
	if (r)
		save_state(measurement);
	free(order);
	return r;
}

/* Runs that were not possible are left out; the others get their times. */
static void finish(struct measurement *measurement)
{
	const struct fm_quantities *all = &measurement->plan->quantities;

	for (unsigned r = 0; r < measurement->matrix->run_count; r++) {
		struct fm_run *run = &measurement->matrix->runs[r];

		if (!measurement->timed[r]) {
			run->seconds = 1;
			run->known = run->known_socket = 0;
			continue;
		}
		run->seconds = measurement->seconds[r];
		if (measurement->options->frequency_ghz > 0) {
			run->own[all->cycles] = run->seconds * measurement->options->frequency_ghz * 1e9;
			run->socket[all->cycles] = run->cores * run->own[all->cycles];
			run->known |= 1ull << all->cycles;
			run->known_socket |= 1ull << all->cycles;
		}
	}
	if (measurement->options->state)
		unlink(measurement->options->state);
}

int fm_measure_matrix(const struct fm_machine_description *machine, const struct fm_plan *plan,
                      const struct fm_measure_options *options, struct fm_matrix **ret_matrix, struct fm_error *error)
{
	struct fm_measure_options sorted = *options;
	struct measurement measurement = {.machine = machine, .plan = plan, .options = &sorted};
	int r = fm_kernels_check(error);

	if (r)
		return r;
	sort_cpus(&options->cpus, &sorted.cpus);
	measurement.member_count = sorted.cpus.count;
	measurement.members = calloc(sorted.cpus.count + 1, sizeof(*measurement.members));
	measurement.times = calloc(sorted.cpus.count + 1, sizeof(*measurement.times));
	measurement.seconds = calloc(plan->count + 1, sizeof(*measurement.seconds));
	measurement.timed = calloc(plan->count + 1, sizeof(*measurement.timed));
	if (!measurement.members || !measurement.times || !measurement.seconds || !measurement.timed ||
	    create_matrix(&measurement))
		r = fm_error_set(error, ENOMEM, "no memory for the matrix");
	else
		r = fm_team_create(&sorted.cpus, &measurement.team, error);
	if (!r)
		r = pack(&measurement, error);
	if (!r)
		r = allocate(&measurement, error);
	if (!r) {
		load_state(&measurement);
		r = run_passes(&measurement, error);
	}
	release(&measurement);
	if (!r)
		finish(&measurement);
	if (measurement.team)
		fm_team_destroy(measurement.team);
	for (unsigned i = 0; measurement.members && i < measurement.member_count; i++) {
		fm_buffer_free(&measurement.members[i].local);
		fm_buffer_free(&measurement.members[i].remote);
	}
	fm_product_free(&measurement.product);
	free(measurement.members);
	free(measurement.times);
	free(measurement.seconds);
	free(measurement.timed);
	free(measurement.passes);
	if (r)
		fm_matrix_free(measurement.matrix);
	else
		*ret_matrix = measurement.matrix;
	return r;
}
