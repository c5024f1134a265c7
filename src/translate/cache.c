/* The memory of a translator. */
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "translate/internal.h"

enum {
	STACK_SIZE = 128 << 10,
	TABLE_SIZE = sizeof(uint64_t) << INDEX_BITS,
	SLOTS_SIZE = 4096,
	COUNTERS_SIZE = FM_TRANSLATE_PIECES * sizeof(uint64_t),
	SMALLEST_CODE = 64 << 10,
	LARGEST_CODE = 512 << 20,
	MOST_ENTRIES = 1000000,
	/* more than one block can log beyond the end */
	LOG_SLACK = MOST_INSTRUCTIONS * (MOST_REFERENCES * (2 + MOST_OLD) + 1) * sizeof(struct fm_translate_entry),
	LOG_FRAME = 16 << 20,
};

_Static_assert(sizeof(struct slots) <= SLOTS_SIZE, "the slots have a page");
_Static_assert(FM_LEFT_REASONS < 255, "reasons are kept in a byte");

/* System calls that the translator must see: those that make threads and those that change mappings. */
static const uint16_t special_calls[] = {
#if defined(SYS_vfork)
    SYS_vfork,
#endif
    SYS_clone,  SYS_clone3,   SYS_prctl,  SYS_seccomp,       SYS_mmap,
    SYS_munmap, SYS_mprotect, SYS_mremap, SYS_pkey_mprotect, SYS_shmat};

static size_t whole_pages(size_t size)
{
	return (size + 4095) & ~(size_t)4095;
}

static size_t size_of_translator(void)
{
	return whole_pages(sizeof(struct fm_translator)) + whole_pages(fm_translate_work_size);
}

static size_t sites_for(size_t code_size)
{
	return code_size / 32 + 2 * MOST_INSTRUCTIONS * MOST_REFERENCES;
}

/* A place from which operands relative to instructions around `near_to` can be reached, if there is one. */
static uint8_t *map_region(uint64_t near_to, size_t size)
{
	const uint64_t step = 32 << 20, furthest = 1800u << 20, heap = 1100u << 20;
	int protection = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	uint64_t base = near_to & ~(uint64_t)(TABLE_SIZE - 1), wanted;
	uint8_t *region;

	/* below first: above a program grows its heap */
	for (uint64_t distance = size + step; distance < furthest && base > distance + (64 << 10); distance += step) {
		wanted = (base - distance) & ~(uint64_t)(TABLE_SIZE - 1);
		region = mmap((void *)wanted, size, protection, flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (region == (uint8_t *)wanted)
			return region;
		if (region != MAP_FAILED)
			munmap(region, size);
	}
	for (uint64_t distance = heap; distance < furthest; distance += step) {
		wanted = base + distance;
		region = mmap((void *)wanted, size, protection, flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (region == (uint8_t *)wanted)
			return region;
		if (region != MAP_FAILED)
			munmap(region, size);
	}
	region = mmap(NULL, size + TABLE_SIZE, protection, flags, -1, 0);
	if (region == MAP_FAILED)
		return NULL;
	wanted = ((uint64_t)region + TABLE_SIZE - 1) & ~(uint64_t)(TABLE_SIZE - 1);
	if (wanted != (uint64_t)region)
		munmap(region, wanted - (uint64_t)region);
	if (wanted + size != (uint64_t)region + size + TABLE_SIZE)
		munmap((void *)(wanted + size), (uint64_t)region + TABLE_SIZE - wanted);
	return (uint8_t *)wanted;
}

/* The log ends at a multiple of 16 MiB and fits below it, so that byte 3 of its addresses tells the end. */
static int map_log(struct fm_translator *translator, size_t entries)
{
	size_t size = whole_pages(entries * sizeof(struct fm_translate_entry)), slack = whole_pages(LOG_SLACK);
	uint8_t *reserved =
	    mmap(NULL, 2 * LOG_FRAME + slack + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *end;

	if (reserved == MAP_FAILED)
		return -errno;
	translator->log_mapping = reserved;
	translator->log_mapping_size = 2 * LOG_FRAME + slack + 4096;
	end = (uint8_t *)(((uintptr_t)reserved + 2 * LOG_FRAME) & ~(uintptr_t)(LOG_FRAME - 1));
	if (mprotect(end - size, size + slack, PROT_READ | PROT_WRITE))
		return -errno;
	translator->log = (struct fm_translate_entry *)end - entries;
	translator->log_limit = (struct fm_translate_entry *)end;
	translator->log_frame = (uint8_t)((uintptr_t)(end - 1) >> 24);
	translator->slots->filter_stop = (uint64_t)end;
	translator->slots->filter_table = (uint64_t)translator->slots->filter_lines;
	translator->slots->filter_left = FILTER_ENTRIES;
	return 0;
}

static void keep_from_children(const struct fm_translator *translator)
{
	madvise(translator->region, translator->region_size, MADV_DONTFORK);
	madvise(translator->tables, translator->tables_size, MADV_DONTFORK);
	if (translator->log_mapping)
		madvise(translator->log_mapping, translator->log_mapping_size, MADV_DONTFORK);
	madvise((void *)translator, size_of_translator(), MADV_DONTFORK);
}

static void lay_out_tables(struct fm_translator *translator, uint8_t *at)
{
	translator->blocks = (struct block *)at;
	at += whole_pages(translator->most_blocks * sizeof(struct block));
	translator->lookup = (struct lookup_entry *)at;
	at += whole_pages((translator->lookup_mask + 1) * sizeof(struct lookup_entry));
	translator->exits = (struct exit_record *)at;
	at += whole_pages(translator->most_exits * sizeof(struct exit_record));
	translator->places = (struct place *)at;
	at += whole_pages(translator->most_places * sizeof(struct place));
	translator->sites = (struct fm_translate_site *)at;
	at += whole_pages(translator->most_sites * sizeof(struct fm_translate_site));
	translator->tables_size = (size_t)(at - (uint8_t *)translator->tables);
}

static int map_tables(struct fm_translator *translator, size_t code_size)
{
	/* a translated instruction takes 4 bytes or more, a block 64, an exit 17; and one block always fits */
	translator->most_blocks = (uint32_t)(code_size / 64);
	translator->lookup_mask = 1;
	while (translator->lookup_mask < 2 * translator->most_blocks)
		translator->lookup_mask *= 2;
	translator->lookup_mask--;
	translator->most_exits = (uint32_t)(code_size / 32 + 2 * MOST_PENDING);
	translator->most_places = (uint32_t)(code_size / 4 + MOST_BLOCK_CODE);
	translator->most_sites = (uint32_t)sites_for(code_size);
	lay_out_tables(translator, NULL);
	translator->tables = mmap(NULL, translator->tables_size, PROT_READ | PROT_WRITE,
	                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (translator->tables == MAP_FAILED) {
		translator->tables = NULL;
		return -errno;
	}
	lay_out_tables(translator, translator->tables);
	return 0;
}

static int lay_out(struct fm_translator *translator, const struct fm_translate_options *options, size_t code_size)
{
	uint64_t near_to = options->near_to ? (uint64_t)options->near_to : getauxval(AT_PHDR);
	size_t vector_size;
	uint8_t *at;
	int error = fm_translate_check(options->filter.limit != 0, &translator->vector_mask, &vector_size);

	if (error)
		return error;
	translator->vector_size = vector_size;
	translator->region_size =
	    TABLE_SIZE + SLOTS_SIZE + whole_pages(vector_size) + 4096 + STACK_SIZE + whole_pages(code_size) +
	    (options->count_pieces ? COUNTERS_SIZE : 0) +
	    (options->filter.limit ? whole_pages(sites_for(code_size) * sizeof(struct filter_record)) : 0);
	translator->region = at = map_region(near_to, translator->region_size);
	if (!at)
		return -ENOMEM;
	translator->table = (uint64_t *)at;
	at += TABLE_SIZE;
	translator->slots = (struct slots *)at;
	at += SLOTS_SIZE;
	translator->vector_state = translator->own_vector_state = at;
	at += whole_pages(vector_size);
	if (mprotect(at, 4096, PROT_NONE)) /* the stack's guard */
		return -errno;
	translator->stack_start = at + 4096;
	at += 4096 + STACK_SIZE;
	translator->stack_end = at;
	translator->code = at;
	translator->code_end = at + whole_pages(code_size);
	if (options->count_pieces)
		translator->counters = (uint64_t *)translator->code_end;
	translator->filter_records =
	    (struct filter_record *)(translator->code_end + (options->count_pieces ? COUNTERS_SIZE : 0));
	translator->slots->stack = (uint64_t)translator->stack_end - 64;
	translator->slots->gate = (uint64_t)fm_translate_gate;
	translator->slots->light_gate = (uint64_t)fm_translate_light_gate;
	translator->slots->self = (uint64_t)translator;
	for (unsigned i = 0; i < sizeof(special_calls) / sizeof(special_calls[0]); i++)
		translator->slots->special_calls[special_calls[i] & 255] = 1;
	error = fm_translate_prepare(translator);
	return error ? error : map_tables(translator, code_size);
}

static void fill_table(struct fm_translator *translator)
{
	for (size_t i = 0; i < (size_t)1 << INDEX_BITS; i++)
		translator->table[i] = (uint64_t)translator->missing_code;
}

/* The tables are large and often nearly empty: a few blocks are taken out one by one. Every run of used entries is
   cleared from some entry to its end, so nothing of a block is left behind an entry that was cleared before. */
static void empty(struct fm_translator *translator)
{
	if (translator->block_count > translator->most_blocks / 16) {
		memset(translator->lookup, 0, (translator->lookup_mask + 1) * sizeof(struct lookup_entry));
		fill_table(translator);
	} else {
		for (uint32_t i = 0; i < translator->block_count; i++) {
			uint64_t pc = translator->blocks[i].pc;

			for (uint32_t at = lookup_start(translator, pc); translator->lookup[at].block;
			     at = (at + 1) & translator->lookup_mask)
				translator->lookup[at] = (struct lookup_entry){0, 0};
			translator->table[pc & ((1u << INDEX_BITS) - 1)] = (uint64_t)translator->missing_code;
		}
	}
	translator->code_at = translator->code_start;
	translator->stubs_at = translator->code_end;
	translator->block_count = translator->exit_count = translator->place_count = translator->site_count = 0;
	for (unsigned i = 0; i < translator->ranges.count; i++)
		translator->ranges.list[i].used = false;
	translator->generation++;
}

int fm_translator_create(const struct fm_translate_options *options, struct fm_translator **ret_translator)
{
	static const struct fm_translate_options defaults;
	struct fm_translator *translator;
	size_t code_size, entries;
	int error;

	if (!options)
		options = &defaults;
	code_size = options->code_size ? options->code_size : 16 << 20;
	entries = options->log_entries ? options->log_entries : 65536;
	if (code_size < SMALLEST_CODE || code_size > LARGEST_CODE || entries > MOST_ENTRIES)
		return -EINVAL;
	if ((options->count_pieces || options->log_pieces || options->visits) &&
	    (!options->client || !options->client->number_piece))
		return -EINVAL;
	if ((options->undo && (!options->client || !options->client->choose || options->filter.limit)) ||
	    (options->visits && (options->count_pieces || options->log_pieces)))
		return -EINVAL;
	if (options->log_pieces && !options->client->choose)
		return -EINVAL;
	translator = mmap(NULL, size_of_translator(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (translator == MAP_FAILED)
		return -errno;
	translator->work = (struct work *)(void *)((uint8_t *)translator + whole_pages(sizeof(*translator)));
	if (options->client)
		translator->client = *options->client;
	translator->with_fuel = options->with_fuel;
	translator->loop_copies = options->loop_copies;
	translator->generated_code = options->generated_code;
	translator->count_pieces = options->count_pieces;
	translator->log_pieces = options->log_pieces;
	translator->undo = options->undo;
	translator->visits = options->visits;
	translator->filter = options->filter;
	error = lay_out(translator, options, code_size);
	if (!error && translator->client.choose)
		error = map_log(translator, entries);
	if (error) {
		fm_translator_destroy(translator);
		return error;
	}
	if (options->not_inherited)
		keep_from_children(translator);
	fill_table(translator);
	empty(translator);
	translator->generation = 0;
	fm_translate_deliver_log(translator);
	*ret_translator = translator;
	return 0;
}

void fm_translator_destroy(struct fm_translator *translator)
{
	if (!translator)
		return;
	if (translator->region)
		munmap(translator->region, translator->region_size);
	if (translator->tables)
		munmap(translator->tables, translator->tables_size);
	if (translator->log_mapping)
		munmap(translator->log_mapping, translator->log_mapping_size);
	munmap(translator, size_of_translator());
}

uint32_t fm_translate_find(const struct fm_translator *translator, uint64_t pc)
{
	uint32_t at = lookup_start(translator, pc);

	for (; translator->lookup[at].block; at = (at + 1) & translator->lookup_mask)
		if (translator->lookup[at].pc == pc)
			return translator->lookup[at].block;
	return 0;
}

void fm_translate_insert(struct fm_translator *translator, uint64_t pc, uint32_t block)
{
	uint32_t at = lookup_start(translator, pc);

	while (translator->lookup[at].block)
		at = (at + 1) & translator->lookup_mask;
	translator->lookup[at] = (struct lookup_entry){pc, block};
}

bool fm_translate_has_room(const struct fm_translator *translator)
{
	return translator->stubs_at - translator->code_at >= MOST_BLOCK_CODE &&
	       translator->most_blocks - translator->block_count >= 2 &&
	       translator->most_exits - translator->exit_count >= MOST_PENDING &&
	       translator->most_places - translator->place_count >= MOST_BLOCK_CODE / 16 &&
	       translator->most_sites - translator->site_count >= MOST_INSTRUCTIONS * MOST_REFERENCES;
}

void fm_translate_deliver_log(struct fm_translator *translator)
{
	struct fm_translate_entry *end = (struct fm_translate_entry *)translator->slots->log_end;

	if (!translator->client.choose)
		return;
	if (translator->client.on_log && translator->log_from && end > translator->log_from)
		translator->client.on_log(translator->client.context, translator->log_from,
		                          (size_t)(end - translator->log_from));
	translator->log_from = translator->log;
	translator->slots->log_end = (uint64_t)translator->log;
	translator->slots->filter_generation += FILTER_GENERATION;
	translator->counts.dropped = translator->slots->filter_dropped;
	memcpy(translator->counts.not_logged, translator->slots->filter_short, sizeof(translator->counts.not_logged));
}

void fm_translator_set_room(struct fm_translator *translator, size_t entries)
{
	size_t most = (size_t)(translator->log_limit - translator->log);

	if (!translator->client.choose)
		return;
	fm_translate_deliver_log(translator);
	translator->log_from = translator->log_limit - (entries < most ? entries : most);
	translator->slots->log_end = (uint64_t)translator->log_from;
}

size_t fm_translator_logged(const struct fm_translator *translator)
{
	return translator->client.choose
	           ? (translator->slots->log_end - (uint64_t)translator->log_from) / sizeof(struct fm_translate_entry)
	           : 0;
}

void fm_translator_set_fuel(struct fm_translator *translator, uint64_t instructions)
{
	translator->slots->fuel = instructions > INT64_MAX ? INT64_MAX : (int64_t)instructions;
}

uint64_t *fm_translator_counters(struct fm_translator *translator)
{
	return translator->counters;
}

void fm_translator_flush(struct fm_translator *translator)
{
	fm_translate_deliver_log(translator);
	empty(translator);
	translator->ranges.count = 0;
	translator->counts.flushed++;
}

void fm_translator_set_countdown(struct fm_translator *translator, uint64_t references)
{
	translator->slots->countdown = references > INT64_MAX ? INT64_MAX : (int64_t)references;
}

void fm_translator_set_visits(struct fm_translator *translator, uint64_t until, uint64_t apart, uint64_t *ret_times,
                              unsigned count)
{
	struct slots *slots = translator->slots;

	slots->visits = (int64_t)until - 1;
	slots->visits_next = (int64_t)apart - 1;
	slots->times_at = (uint64_t)ret_times;
	slots->times_left = (int64_t)count - 1;
}

size_t fm_translator_vectors_size(const struct fm_translator *translator)
{
	return translator->vector_size + 64;
}

void fm_translator_rewind(struct fm_translator *translator, const struct fm_translate_state *state)
{
	translator->rewound = state;
}

bool fm_translator_covers(const struct fm_translator *translator, uint64_t start, uint64_t end)
{
	unsigned count = __atomic_load_n(&translator->ranges.count, __ATOMIC_RELAXED);

	for (unsigned i = 0; i < count && i < MOST_RANGES; i++)
		if (translator->ranges.list[i].start < end && translator->ranges.list[i].end > start)
			return true;
	return false;
}

const struct fm_translate_site *fm_translator_site(const struct fm_translator *translator, uint64_t site)
{
	return site < translator->site_count ? &translator->sites[site] : NULL;
}

const struct fm_translate_counts *fm_translator_counts(const struct fm_translator *translator)
{
	return &translator->counts;
}

const char *fm_translate_reason_text(enum fm_translate_reason reason)
{
	static const char *const texts[] = {
#define REASON(name, text) [FM_LEFT_##name] = text,
#include "translate/reasons.def"
#undef REASON
	};

	return (unsigned)reason < FM_LEFT_REASONS ? texts[reason] : "for an unknown reason";
}

bool fm_translator_holds(const struct fm_translator *translator, uint64_t address)
{
	return address >= (uint64_t)translator->code && address < (uint64_t)translator->code_end;
}
