#include "trust/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/random.h"
#include "trust/feed.h"

enum {
	LINES_PER_BLOCK = FM_BLOCK_BYTES / FM_LINE_BYTES,
	ELEMENTS_PER_BLOCK = FM_BLOCK_BYTES / 8,
	HANDOVER_MOST = 1024
};

struct builder {
	const struct fm_machine_description *machine;
	const struct fm_plan_options *options;
	struct fm_plan *plan;
	unsigned capacity;
	bool failed;
};

static struct fm_plan_entry *add(struct builder *builder)
{
	struct fm_plan *plan = builder->plan;

	if (!fm_array_grow(plan->entries, plan->count, builder->capacity)) {
		builder->failed = true;
		return NULL;
	}
	memset(&plan->entries[plan->count], 0, sizeof(*plan->entries));
	return &plan->entries[plan->count++];
}

static const char *level_name(const struct builder *builder, unsigned level)
{
	return level < builder->machine->cache_count ? builder->machine->caches[level].name : "memory";
}

/* Bytes of one core, all of them in that level and none above: half of the level, or of its share of it; twice the last
   cache for memory. 0 if that is too little to exceed the level above. */
static uint64_t data_bytes(const struct builder *builder, unsigned level, unsigned cores)
{
	const struct fm_machine_description *machine = builder->machine;
	const struct fm_cache_description *last = &machine->caches[machine->cache_count - 1];
	uint64_t bytes, above = level ? fm_cache_available(&machine->caches[level - 1]) : 0;

	if (level < machine->cache_count)
		bytes = fm_cache_available(&machine->caches[level]) / machine->caches[level].shared_by / 2;
	else
		bytes = 2 * last->bytes *
		        (last->shared_by > 1 ? (machine->cores + last->shared_by - 1) / last->shared_by : 1) /
		        (last->shared_by > 1 ? cores : 1);
	if (level && level == machine->cache_count && last->shared_by > 1 && machine->cache_count > 1)
		above = fm_cache_available(&machine->caches[machine->cache_count - 2]);
	return bytes >= 2 * above ? bytes : 0;
}

/* Runs differ in length, which separates proportional events from others. */
static uint64_t length(const struct builder *builder, unsigned lines)
{
	static const unsigned factors[] = {1, 3, 2, 8, 1, 5, 2};
	unsigned factor = factors[builder->plan->count % (sizeof(factors) / sizeof(factors[0]))];

	return (uint64_t)lines * factor;
}

static uint64_t all_atoms(const struct fm_plan *plan)
{
	return (1ull << plan->quantities.atom_count) - 1;
}

/* All but the lines that caches and memory deliver. */
static uint64_t without_lines(const struct fm_plan *plan)
{
	uint64_t atoms = all_atoms(plan);

	for (unsigned place = 0; place < plan->quantities.place_count; place++)
		for (unsigned cause = 0; cause < FM_CAUSE_COUNT; cause++)
			atoms &= ~(1ull << plan->quantities.lines[place][cause]);
	return atoms;
}

static void add_lines(const struct fm_quantities *all, double *atoms, unsigned level, bool remote, double order,
                      double random, double ownership, double written)
{
	unsigned place = level - 1 + remote;

	if (!level)
		return;
	atoms[all->lines[place][FM_CAUSE_ORDER]] += order;
	atoms[all->lines[place][FM_CAUSE_RANDOM]] += random;
	atoms[all->lines[place][FM_CAUSE_OWNERSHIP]] += ownership;
	atoms[all->lines[place][FM_CAUSE_WRITTEN]] += written;
}

/* The work of one core. Streams start at lines, so that no access touches two. */
static void stream_truth(const struct fm_plan *plan, const struct fm_plan_entry *entry, double *atoms)
{
	const struct fm_quantities *all = &plan->quantities;
	const struct fm_stream_kernel *kernel = entry->kernel;
	bool nontemporal = kernel->stores && strstr(kernel->name, "_nt");
	double elements = (double)entry->blocks * ELEMENTS_PER_BLOCK, lines = (double)entry->blocks * LINES_PER_BLOCK;
	unsigned bytes = fm_isa_bytes(entry->isa), width = fm_width_index(bytes), lanes = bytes / 8;
	/* arithmetic is fused where the instruction set has that */
	bool fused = entry->isa >= FM_ISA_avx2;
	double stored = nontemporal ? 0 : lines * kernel->stored_bytes / 8;

	atoms[all->loads[width]] += elements / lanes * kernel->loads;
	atoms[all->stores[width]] += elements / lanes * kernel->stores;
	atoms[all->flops] += elements * kernel->flops;
	atoms[all->instructions] += (double)entry->blocks * fm_feed_block_instructions(kernel, entry->isa);
	if (fused)
		atoms[all->vector_calculations] += elements / lanes * (kernel->flops > 0);
	if (nontemporal)
		atoms[all->nontemporal[entry->run.remote]] += lines * kernel->stored_bytes / 8;
	add_lines(all, atoms, entry->level, entry->run.remote, lines * kernel->loaded_bytes / 8, 0,
	          lines * kernel->write_allocate_bytes / 8, stored);
}

static void add_stream(struct builder *builder, const struct fm_stream_kernel *kernel, enum fm_isa isa, unsigned level,
                       unsigned cores, bool remote)
{
	unsigned unit = builder->options->unit ? builder->options->unit : 4096;
	struct fm_plan_entry *entry;
	uint64_t bytes = data_bytes(builder, level, cores);

	/* non-temporal stores go to memory wherever their lines were */
	if (bytes < (uint64_t)kernel->streams * FM_BLOCK_BYTES ||
	    (strstr(kernel->name, "_nt") && level < builder->machine->cache_count))
		return;
	entry = add(builder);
	if (!entry)
		return;
	/* non-temporal stores do not fill the caches */
	if (strstr(kernel->name, "_nt"))
		bytes *= kernel->streams;
	entry->kernel = kernel;
	entry->isa = isa;
	entry->level = level;
	entry->bytes =
	    bytes - bytes % ((uint64_t)kernel->streams * FM_BLOCK_BYTES); /* NOLINT: no kernel has 0 streams */
	/* all cores together do more than one, but not in proportion: it is simulated, and takes its time */
	entry->blocks = length(builder, unit) / LINES_PER_BLOCK / (cores > 4 ? 4 : cores);
	entry->run = (struct fm_run){.kind = FM_RUN_stream, .cores = cores, .remote = remote};
	snprintf(entry->run.kernel, sizeof(entry->run.kernel), "%s", kernel->name);
	snprintf(entry->run.isa, sizeof(entry->run.isa), "%s", fm_isa_name(isa));
	snprintf(entry->run.level, sizeof(entry->run.level), "%s", level_name(builder, level));
	snprintf(entry->run.name, sizeof(entry->run.name), "%s/%s/%s/%u%s", kernel->name, fm_isa_name(isa),
	         entry->run.level, cores, remote ? "/remote" : "");
	entry->run.known = entry->run.known_socket = all_atoms(builder->plan);
	stream_truth(builder->plan, entry, entry->run.own);
	for (unsigned i = 0; i < builder->plan->quantities.atom_count; i++)
		entry->run.socket[i] = cores * entry->run.own[i];
}

/* A core that computes while the others stream: its counters should count nothing of theirs. */
static void add_watch(struct builder *builder, const struct fm_stream_kernel *kernel, unsigned level, bool remote)
{
	unsigned first = builder->plan->count;
	enum fm_isa isa = builder->options->isas & 1u << FM_ISA_avx2 ? FM_ISA_avx2 : FM_ISA_scalar;
	struct fm_plan_entry *entry;

	add_stream(builder, kernel, isa, level, builder->machine->cores, remote);
	if (builder->plan->count == first)
		return;
	entry = &builder->plan->entries[first];
	entry->run.kind = FM_RUN_watch;
	/* one core fewer has to fill the caches */
	if (level == builder->machine->cache_count)
		entry->bytes *= 2;
	snprintf(entry->run.name, sizeof(entry->run.name), "watch/%s/%s%s", kernel->name, entry->run.level,
	         remote ? "/remote" : "");
	for (unsigned i = 0; i < builder->plan->quantities.atom_count; i++) {
		entry->run.socket[i] -= entry->run.own[i];
		entry->run.own[i] = 0;
	}
}

/* In a chase the lines of a pair come one after the other, the pairs at random: where a cache fetches pairs, half of
   the lines are fetched that way, and no line twice. For latencies only one line of each pair is used. */
static void add_chase(struct builder *builder, enum fm_run_kind kind, unsigned level, unsigned cores, bool remote)
{
	unsigned unit = builder->options->unit ? builder->options->unit : 4096;
	const struct fm_quantities *all = &builder->plan->quantities;
	uint64_t bytes = data_bytes(builder, level, cores);
	struct fm_plan_entry *entry;

	if (bytes < 2 * builder->machine->line_bytes || !(entry = add(builder)))
		return;
	entry->level = level;
	entry->bytes = bytes / 4096 * 4096;
	if (!entry->bytes)
		entry->bytes = bytes / 128 * 128;
	entry->blocks = length(builder, unit) / 4 / 16 * 16;
	entry->run = (struct fm_run){.kind = kind, .cores = cores, .remote = remote};
	entry->run.step =
	    kind == FM_RUN_latency_independent || kind == FM_RUN_latency_dependent ? FM_MULTIPLICATIONS : 0;
	snprintf(entry->run.kernel, sizeof(entry->run.kernel), "%s", fm_run_kind_name(kind));
	snprintf(entry->run.isa, sizeof(entry->run.isa), "scalar");
	snprintf(entry->run.level, sizeof(entry->run.level), "%s", level_name(builder, level));
	snprintf(entry->run.name, sizeof(entry->run.name), "%s/%s/%u%s", entry->run.kernel, entry->run.level, cores,
	         remote ? "/remote" : "");
	entry->run.known = entry->run.known_socket = all_atoms(builder->plan);
	/* the other lines of the pairs may be prefetched, too */
	if (kind != FM_RUN_chase)
		entry->run.known = entry->run.known_socket = without_lines(builder->plan);
	entry->run.own[all->loads[0]] = (double)entry->blocks;
	add_lines(all, entry->run.own, level, remote, 0, (double)entry->blocks, 0, 0);
	for (unsigned i = 0; i < all->atom_count; i++)
		entry->run.socket[i] = cores * entry->run.own[i];
}

/* The consumer's side: in each step the producer writes the next lines, which the consumer then reads. The truth is the
   consumer's loads; neither the model nor the counts include the flag between them. */
static void add_handover(struct builder *builder, unsigned lines, bool remote, bool smt)
{
	const struct fm_machine_description *machine = builder->machine;
	const struct fm_quantities *all = &builder->plan->quantities;
	unsigned own = machine->cache_count > 1 && machine->caches[machine->cache_count - 1].shared_by > 1
	                   ? machine->cache_count - 2
	                   : machine->cache_count - 1;
	struct fm_plan_entry *entry;

	/* a step has to fit into the producer's own caches, or its lines come from elsewhere */
	if ((uint64_t)lines * machine->line_bytes > fm_cache_available(&machine->caches[own]) / 2 ||
	    !(entry = add(builder)))
		return;
	entry->level = 0;
	entry->blocks = (uint64_t)lines * FM_HANDOVER_STEPS;
	entry->bytes = entry->blocks * builder->machine->line_bytes;
	entry->run = (struct fm_run){.kind = FM_RUN_handover, .cores = 2, .remote = remote, .smt = smt, .step = lines};
	snprintf(entry->run.kernel, sizeof(entry->run.kernel), "consume");
	snprintf(entry->run.isa, sizeof(entry->run.isa), "scalar");
	snprintf(entry->run.level, sizeof(entry->run.level), "core");
	snprintf(entry->run.name, sizeof(entry->run.name), "handover/%u%s%s", lines, remote ? "/remote" : "",
	         smt ? "/smt" : "");
	entry->run.own[all->loads[0]] = (double)entry->blocks;
	entry->run.own[all->transfers[remote]] = (double)entry->blocks;
	/* prefetchers fetch lines before the producer has written them: further transfers are unknown */
	entry->run.known = without_lines(builder->plan);
}

uint32_t *fm_plan_order(uint64_t count)
{
	uint32_t *order = malloc((count ? count : 1) * sizeof(*order));
	struct fm_random random;

	if (!order)
		return NULL;
	fm_random_seed(&random, 1);
	for (uint64_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	for (uint64_t i = count; i > 1; i--) {
		uint64_t j = fm_random_below(&random, i);
		uint32_t swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
	return order;
}

double fm_triangle_elements(unsigned rows, unsigned thread)
{
	/* the first thread has the upper half of the rows: n + (n-1) + … */
	double half = rows / 2.0, upper = half * rows - half * (half - 1) / 2, all = (double)rows * (rows + 1) / 2;

	return thread ? all - upper : upper;
}

/* Two threads, half of the rows each. Only work and elements are known beforehand, and compared. */
static void add_triangle(struct builder *builder, unsigned thread)
{
	const struct fm_quantities *all = &builder->plan->quantities;
	struct fm_plan_entry *entry = add(builder);
	double elements = fm_triangle_elements(builder->plan->rows, thread);

	if (!entry)
		return;
	entry->level = builder->machine->cache_count;
	entry->run = (struct fm_run){.kind = FM_RUN_triangle, .cores = 2, .thread = thread};
	snprintf(entry->run.kernel, sizeof(entry->run.kernel), "triangle");
	snprintf(entry->run.isa, sizeof(entry->run.isa), "avx2");
	snprintf(entry->run.level, sizeof(entry->run.level), "memory");
	snprintf(entry->run.name, sizeof(entry->run.name), "triangle/%u", thread);
	entry->run.own[all->flops] = 2 * elements;
	entry->run.known = 1ull << all->flops | 1ull << all->instructions;
}

int fm_plan_scale_machine(struct fm_machine_description *machine, unsigned factor, struct fm_error *error)
{
	for (unsigned i = 0; i < machine->cache_count; i++) {
		struct fm_cache_description *cache = &machine->caches[i];
		uint64_t set = (uint64_t)cache->ways * machine->line_bytes;

		if (factor < 1 || cache->bytes / factor < 2 * set || (cache->bytes / factor) % set)
			return fm_error_set(error, EINVAL, "%s of %s cannot be made %u times smaller", cache->name,
			                    machine->name, factor);
		cache->bytes /= factor;
		cache->available /= factor;
	}
	return 0;
}

static void build(struct builder *builder)
{
	const struct fm_machine_description *machine = builder->machine;
	unsigned memory = machine->cache_count, widest = 0;
	bool remote = machine->sockets > 1;

	for (unsigned isa = 0; isa < FM_ISA_COUNT; isa++)
		if (builder->options->isas & 1u << isa)
			widest = isa;
	for (unsigned kernel = 0; kernel < FM_STREAM_COUNT; kernel++)
		for (unsigned isa = 0; isa < FM_ISA_COUNT; isa++)
			for (unsigned level = 0; level <= memory + remote; level++)
				for (unsigned all = 0; all < 1u + (machine->cores > 1); all++)
					if (builder->options->isas & 1u << isa &&
					    (!builder->options->small || isa == widest))
						add_stream(builder, &fm_streams[kernel], (enum fm_isa)isa,
						           level > memory ? memory : level, all ? machine->cores : 1,
						           level > memory);
	for (unsigned level = 0; level <= memory + remote; level++) {
		unsigned where = level > memory ? memory : level;

		add_chase(builder, FM_RUN_chase, where, 1, level > memory);
		if (machine->cores > 1)
			add_chase(builder, FM_RUN_chase, where, machine->cores, level > memory);
		add_chase(builder, FM_RUN_latency, where, 1, level > memory);
		add_chase(builder, FM_RUN_latency_independent, where, 1, level > memory);
		add_chase(builder, FM_RUN_latency_dependent, where, 1, level > memory);
	}
	if (machine->cores < 2)
		return;
	for (unsigned level = 0; level <= memory + remote; level++) {
		unsigned where = level > memory ? memory : level;

		add_watch(builder, &fm_streams[FM_STREAM_copy], where, level > memory);
		add_watch(builder, &fm_streams[FM_STREAM_daxpy], where, level > memory);
		if (where == memory)
			add_watch(builder, &fm_streams[FM_STREAM_store_nt], where, level > memory);
	}
	for (unsigned lines = 2; lines <= HANDOVER_MOST; lines *= 2) {
		add_handover(builder, lines, false, false);
		add_handover(builder, lines, false, true);
		if (remote)
			add_handover(builder, lines, true, false);
	}
	for (unsigned thread = 0; thread < 2; thread++)
		add_triangle(builder, thread);
}

int fm_plan_build(const struct fm_machine_description *machine, const struct fm_plan_options *options,
                  struct fm_plan **ret_plan, struct fm_error *error)
{
	struct fm_plan *plan = calloc(1, sizeof(*plan));
	struct builder builder = {.machine = machine, .options = options, .plan = plan};
	char names[FM_SIMULATED_CACHES_MAX][12];

	if (!plan)
		return fm_error_set(error, ENOMEM, "no memory for the plan");
	for (unsigned i = 0; i < machine->cache_count; i++)
		snprintf(names[i], sizeof(names[i]), "%s", machine->caches[i].name);
	plan->rows = options->triangle ? options->triangle : 8192;
	fm_quantities_build(&plan->quantities, machine->cache_count, (const char(*)[12])names, machine->sockets > 1,
	                    machine->line_bytes);
	build(&builder);
	if (builder.failed) {
		fm_plan_free(plan);
		return fm_error_set(error, ENOMEM, "no memory for the plan");
	}
	*ret_plan = plan;
	return 0;
}

void fm_plan_free(struct fm_plan *plan)
{
	if (plan)
		free(plan->entries);
	free(plan);
}
