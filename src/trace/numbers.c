#include "trace/numbers.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
	HASH_BITS = 21, /* twice as many as there are sites, or pieces */
	STEP = 4096,    /* as many are reserved at a time */
	KNOWN_BITS = 12,
	KNOWN_SHIFT = 20,
};
_Static_assert(1 << HASH_BITS >= 2 * FM_TRACE_SITES && 1 << HASH_BITS >= 2 * FM_TRACE_PIECES, "tables stay half empty");
_Static_assert((int)FM_TRACE_PIECES <= (int)FM_TRANSLATE_PIECES && (int)FM_TRACE_SITES <= (int)FM_TRACE_NUMBER,
               "numbers fit");

/* Of this library. */
extern const char __ehdr_start[] HIDDEN;
extern const char _etext[] HIDDEN;

static uint32_t *sites, *pieces; /* number + 1, by hash */
static uint32_t sites_reserved, pieces_reserved;
static uint32_t lock;
static uint64_t known[1 << KNOWN_BITS]; /* megabytes in which code was seen */

static void take_lock(void)
{
	for (unsigned i = 1; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); i++)
		if (i % 64)
			fm_pause();
		else
			fm_system_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

static void release_lock(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

int fm_numbers_open(void)
{
	const size_t size = sizeof(uint32_t) << HASH_BITS;
	const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	sites = fm_map(size, flags, -1);
	pieces = fm_map(size, flags, -1);
	return sites && pieces ? 0 : -ENOMEM;
}

/* Somebody may have held the lock. What was not in the tables yet gets another number. */
void fm_numbers_forked(void)
{
	lock = 0;
	sites_reserved = fm_head()->site_count;
	pieces_reserved = fm_head()->piece_count;
}

static bool is_own(uint64_t pc)
{
	return pc >= (uint64_t)__ehdr_start && pc < (uint64_t)_etext;
}

static uint32_t hash_of(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15u >> (64 - HASH_BITS));
}

void fm_numbers_remapped(void)
{
	memset(known, 0, sizeof(known));
	__atomic_fetch_add(&fm_head()->mappings, 1, __ATOMIC_RELEASE);
}

/* Libraries that are loaded later are noticed when their code is first reached. The caller has the lock. */
static void note_code(uint64_t pc)
{
	uint64_t megabyte = pc >> KNOWN_SHIFT;
	uint64_t *entry = &known[megabyte * 0x9e3779b97f4a7c15u >> (64 - KNOWN_BITS)];

	if (*entry != megabyte) {
		*entry = megabyte;
		__atomic_fetch_add(&fm_head()->mappings, 1, __ATOMIC_RELEASE);
	}
}

/* Makes room for one more; the caller has the lock. */
static bool has_room(const void *table, size_t size, uint32_t count, uint32_t most, uint32_t *reserved)
{
	uint32_t step = most - count < STEP ? most - count : STEP;

	if (count < *reserved)
		return true;
	if (!step || fm_file_reserve((const uint8_t *)table + count * size, step * size))
		return false;
	fm_file_touch((const uint8_t *)table + count * size, step * size);
	*reserved = count + step;
	return true;
}

static bool is_site(uint32_t number, const struct fm_translate_site *site)
{
	const struct fm_trace_site *there = &fm_file->sites[number];

	return there->pc == site->pc && there->operand == site->operand && there->size == site->size &&
	       there->kind == site->kind;
}

static uint32_t add_site(const struct fm_translate_site *site)
{
	struct fm_trace_head *head = fm_head();
	uint32_t number = head->site_count;

	if (!has_room(fm_file->sites, sizeof(fm_file->sites[0]), number, FM_TRACE_SITES, &sites_reserved)) {
		fm_add(&head->lost_sites, 1);
		return FM_NO_NUMBER;
	}
	fm_file->sites[number] = (struct fm_trace_site){site->pc, site->size, site->kind, site->operand, 1};
	__atomic_store_n(&head->site_count, number + 1, __ATOMIC_RELEASE);
	note_code(site->pc);
	return number;
}

static bool is_piece(uint32_t number, const struct fm_translate_piece *piece)
{
	const struct fm_trace_piece *there = &fm_file->pieces[number];

	return there->pc == piece->pc && there->instructions == piece->instructions && there->bytes == piece->bytes;
}

static uint32_t add_piece(const struct fm_translate_piece *piece)
{
	struct fm_trace_head *head = fm_head();
	uint32_t number = head->piece_count;

	if (!has_room(fm_file->pieces, sizeof(fm_file->pieces[0]), number, FM_TRACE_PIECES, &pieces_reserved)) {
		fm_add(&head->lost_pieces, 1);
		return FM_NO_NUMBER;
	}
	fm_file->pieces[number] = (struct fm_trace_piece){.pc = piece->pc,
	                                                  .bytes = piece->bytes,
	                                                  .instructions = piece->instructions,
	                                                  .end = piece->end,
	                                                  .loads = piece->loads,
	                                                  .stores = piece->stores,
	                                                  .load_bytes = piece->load_bytes,
	                                                  .store_bytes = piece->store_bytes,
	                                                  .ready = 1};
	__atomic_store_n(&head->piece_count, number + 1, __ATOMIC_RELEASE);
	note_code(piece->pc);
	return number;
}

/* One search for both: without the lock, and, if nothing is found, again with it, to add. */
#define FIND(table, is, key)                                                                    \
	for (at = hash_of(key); (found = __atomic_load_n(&(table)[at], __ATOMIC_ACQUIRE)) != 0; \
	     at = (at + 1) & ((1u << HASH_BITS) - 1))                                           \
		if (is(found - 1, wanted))                                                      \
			break;

#define NUMBER(table, is, add, key)                                           \
	uint32_t at, found, number = FM_NO_NUMBER;                            \
                                                                              \
	FIND(table, is, key)                                                  \
	if (found)                                                            \
		return found - 1;                                             \
	take_lock();                                                          \
	FIND(table, is, key)                                                  \
	if (found)                                                            \
		number = found - 1;                                           \
	else                                                                  \
		number = add(wanted);                                         \
	if (!found && number != FM_NO_NUMBER)                                 \
		__atomic_store_n(&(table)[at], number + 1, __ATOMIC_RELEASE); \
	release_lock();                                                       \
	return number;

uint32_t fm_number_site(const struct fm_translate_site *wanted)
{
	if (is_own(wanted->pc) || !fm_is_alive())
		return FM_NO_NUMBER;
	NUMBER(sites, is_site, add_site, wanted->pc ^ (uint64_t)wanted->operand << 56)
}

uint32_t fm_number_piece(const struct fm_translate_piece *wanted)
{
	if (is_own(wanted->pc) || !fm_is_alive())
		return FM_NO_NUMBER;
	NUMBER(pieces, is_piece, add_piece, wanted->pc ^ (uint64_t)wanted->instructions << 48)
}

uint32_t fm_number_name(const char *name)
{
	struct fm_trace_head *head = fm_head();
	uint32_t number;

	take_lock();
	for (number = 0; number < head->name_count && number < FM_TRACE_NAMES; number++)
		if (!strncmp(head->names[number], name, FM_TRACE_NAME - 1))
			break;
	if (number < FM_TRACE_NAMES && number == head->name_count) {
		for (unsigned i = 0; i < FM_TRACE_NAME - 1 && name[i]; i++)
			head->names[number][i] = name[i];
		__atomic_store_n(&head->name_count, number + 1, __ATOMIC_RELEASE);
	}
	release_lock();
	return number < FM_TRACE_NAMES ? number : FM_NO_NUMBER;
}
