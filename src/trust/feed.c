#include "trust/feed.h"

#include <string.h>

/* The instructions of a kernel for one vector of each stream: l load, s store, n non-temporal store, m multiply; M
   multiply, A add and F fused multiply-add with an operand in memory. The letter after an access is its stream. Narrow
   instruction sets have no fused operations. */
static const struct {
	enum fm_stream_kernel_index kernel;
	const char *narrow, *wide;
} bodies[] = {
    {FM_STREAM_load, "lA", "lA"},
    {FM_STREAM_store, "sA", "sA"},
    {FM_STREAM_store_nt, "nA", "nA"},
    {FM_STREAM_copy, "lBsA", "lBsA"},
    {FM_STREAM_copy_nt, "lBnA", "lBnA"},
    {FM_STREAM_update, "lAmsA", "MAsA"},
    {FM_STREAM_daxpy, "lBmAAsA", "lBFAsA"},
    {FM_STREAM_stream_triad, "lBmACsA", "lBFCsA"},
    {FM_STREAM_vector_triad, "lBMCADsA", "lBlCFDsA"},
    {FM_STREAM_sum, "AA", "AA"},
};

enum { POINTER = 0, COUNTER = 1, BASE = 2, VALUE = 30, FLAGS = 48, ROTATING = 16, OTHER = 31, REGISTERS_ROTATING = 8 };
#define REGISTER(index) (1ull << (index))

static const char *body_of(const struct fm_stream_kernel *kernel, enum fm_isa isa)
{
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		if (kernel == &fm_streams[bodies[i].kernel])
			return isa >= FM_ISA_avx2 ? bodies[i].wide : bodies[i].narrow;
	return "";
}

static const struct {
	char letter;
	uint8_t operation;
	bool accesses;
	enum fm_access access;
} operations[] = {
    {'l', FM_OPERATION_none, true, FM_ACCESS_LOAD},
    {'s', FM_OPERATION_none, true, FM_ACCESS_STORE},
    {'n', FM_OPERATION_none, true, FM_ACCESS_STORE_NONTEMPORAL},
    {'m', FM_OPERATION_float_multiply, false, FM_ACCESS_LOAD},
    {'M', FM_OPERATION_float_multiply, true, FM_ACCESS_LOAD},
    {'A', FM_OPERATION_float_add, true, FM_ACCESS_LOAD},
    {'F', FM_OPERATION_float_fused, true, FM_ACCESS_LOAD},
};

static const struct fm_instruction subtract = {
    .reads = REGISTER(COUNTER), .writes = REGISTER(COUNTER) | REGISTER(FLAGS), .operation = FM_OPERATION_simple};
static const struct fm_instruction jump = {.reads = REGISTER(FLAGS), .operation = FM_OPERATION_simple};

static void end_of_loop(struct fm_core_timing *timing)
{
	fm_core_execute(timing, &subtract, NULL, 0);
	fm_core_execute(timing, &jump, NULL, 0);
}

/* One letter of a body, and how many it took. */
static size_t feed_letter(struct fm_core_timing *timing, const char *letter, unsigned data, unsigned bytes,
                          uint64_t offset, const uint64_t *streams)
{
	size_t which = 0;
	struct fm_instruction instruction;
	struct fm_memory_access access;

	while (operations[which].letter != *letter)
		which++;
	instruction = (struct fm_instruction){.operation = operations[which].operation};
	if (operations[which].accesses) {
		unsigned stream = (unsigned)(letter[1] - 'A');

		access = (struct fm_memory_access){streams[stream] + offset, (uint8_t)bytes,
		                                   (uint8_t)operations[which].access, 0};
		instruction.address_reads = instruction.reads = REGISTER(BASE + stream);
	}
	if (operations[which].access == FM_ACCESS_LOAD)
		instruction.writes = REGISTER(data);
	if (*letter != 'l')
		instruction.reads |= REGISTER(data);
	fm_core_execute(timing, &instruction, operations[which].accesses ? &access : NULL, operations[which].accesses);
	return operations[which].accesses ? 2 : 1;
}

void fm_feed_block(struct fm_core_timing *timing, const struct fm_stream_kernel *kernel, enum fm_isa isa,
                   const uint64_t *streams)
{
	const char *body = body_of(kernel, isa);
	unsigned bytes = fm_isa_bytes(isa), index = 0;

	for (unsigned offset = 0; offset < FM_BLOCK_BYTES; offset += bytes, index++)
		for (const char *letter = body; *letter;)
			letter +=
			    feed_letter(timing, letter, ROTATING + index % REGISTERS_ROTATING, bytes, offset, streams);
	for (unsigned stream = 0; stream < kernel->streams; stream++) {
		const struct fm_instruction advance = {.reads = REGISTER(BASE + stream),
		                                       .writes = REGISTER(BASE + stream) | REGISTER(FLAGS),
		                                       .operation = FM_OPERATION_simple};

		fm_core_execute(timing, &advance, NULL, 0);
	}
	end_of_loop(timing);
}

unsigned fm_feed_block_instructions(const struct fm_stream_kernel *kernel, enum fm_isa isa)
{
	unsigned instructions = 0;

	for (const char *letter = body_of(kernel, isa); *letter; instructions++)
		letter += *letter == 'm' ? 1 : 2;
	return FM_BLOCK_BYTES / fm_isa_bytes(isa) * instructions + kernel->streams + 2;
}

void fm_feed_block_untimed(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                           const struct fm_stream_kernel *kernel, const uint64_t *streams)
{
	const char *body = body_of(kernel, FM_ISA_scalar);
	unsigned line = hierarchy->description.line_bytes;

	for (unsigned offset = 0; offset < FM_BLOCK_BYTES; offset += line)
		for (const char *letter = body; *letter; letter += *letter == 'm' ? 1 : 2)
			if (*letter != 'm')
				fm_hierarchy_access(hierarchy, core, streams[letter[1] - 'A'] + offset, 8,
				                    *letter == 's'   ? FM_ACCESS_STORE
				                    : *letter == 'n' ? FM_ACCESS_STORE_NONTEMPORAL
				                                     : FM_ACCESS_LOAD);
}

unsigned fm_feed_chase(struct fm_core_timing *timing, uint64_t address, unsigned multiplications, bool in_chain,
                       uint64_t index)
{
	static const struct fm_instruction follow = {
	    .reads = REGISTER(POINTER), .writes = REGISTER(POINTER), .address_reads = REGISTER(POINTER)};
	struct fm_memory_access access = {address, 8, FM_ACCESS_LOAD, 0};
	unsigned instructions = 1 + multiplications;

	fm_core_execute(timing, &follow, &access, 1);
	for (unsigned i = 0; i < multiplications; i++) {
		unsigned target = in_chain ? POINTER : 8 + i % 8;
		const struct fm_instruction multiply = {.reads = REGISTER(target) | (in_chain ? REGISTER(BASE) : 0),
		                                        .writes = REGISTER(target),
		                                        .operation = FM_OPERATION_multiply};

		fm_core_execute(timing, &multiply, NULL, 0);
	}
	if (multiplications || index % 16 == 15) {
		end_of_loop(timing);
		instructions += 2;
	}
	return instructions;
}

void fm_feed_access(struct fm_core_timing *timing, uint64_t address, unsigned bytes, enum fm_access kind)
{
	static const struct fm_instruction load = {
	    .reads = REGISTER(BASE), .writes = REGISTER(VALUE), .address_reads = REGISTER(BASE)};
	static const struct fm_instruction store = {.reads = REGISTER(BASE) | REGISTER(COUNTER),
	                                            .address_reads = REGISTER(BASE)};
	struct fm_memory_access access = {address, (uint8_t)bytes, (uint8_t)kind, 0};

	fm_core_execute(timing, kind == FM_ACCESS_LOAD ? &load : &store, &access, 1);
}

unsigned fm_feed_adds(struct fm_core_timing *timing)
{
	enum { ADDITIONS = 16 };
	static const struct fm_instruction add = {.reads = REGISTER(POINTER),
	                                          .writes = REGISTER(POINTER) | REGISTER(FLAGS),
	                                          .operation = FM_OPERATION_simple};

	for (unsigned i = 0; i < ADDITIONS; i++)
		fm_core_execute(timing, &add, NULL, 0);
	end_of_loop(timing);
	return ADDITIONS + 2;
}

void fm_feed_product(struct fm_core_timing *timing, uint64_t matrix, uint64_t vector, unsigned accumulator)
{
	static const struct fm_instruction load = {
	    .reads = REGISTER(BASE), .writes = REGISTER(OTHER), .address_reads = REGISTER(BASE)};
	const uint64_t sum = REGISTER(ROTATING + accumulator % REGISTERS_ROTATING);
	const struct fm_instruction fused = {.reads = REGISTER(BASE + 1) | REGISTER(OTHER) | sum,
	                                     .writes = sum,
	                                     .address_reads = REGISTER(BASE + 1),
	                                     .operation = FM_OPERATION_float_fused};
	struct fm_memory_access first = {vector, 32, FM_ACCESS_LOAD, 0}, second = {matrix, 32, FM_ACCESS_LOAD, 0};

	fm_core_execute(timing, &load, &first, 1);
	fm_core_execute(timing, &fused, &second, 1);
}
