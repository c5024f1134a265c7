/* Two processes accounted for by one: each has its own caches, places, variables and results. */
#include "check.h"

#include <stdio.h>
#include <unistd.h>

#include "engine/account/account.h"
#include "engine/account/objects.h"
#include "engine/account/places.h"

enum { LINE = 64, LINES = 512, FITS = 64 };

static const char machine[] = "machine sockets=1 cores=1 frequency=2GHz\n"
                              "cache L1 size=8KiB ways=8 latency=4\n"
                              "cache L2 size=64KiB ways=8 latency=12\n"
                              "memory latency=200 remote=300 gbs=10\n"
                              "core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 "
                              "super_queue=16 load_ports=2 store_ports=1 multiply_ports=1 ports=8\n";

static struct fm_account *begin(void)
{
	struct fm_account *account = fm_account_create();
	struct fm_machine_description description;
	struct fm_error error;

	assert_non_null(account);
	fm_room_none(&account->room);
	account->results = fm_room_use(&account->room, NULL);
	assert_non_null(account->results);
	if (fm_description_parse(machine, "test", &description, &error) ||
	    fm_account_begin(account, &description, false, &error))
		fail_msg("%s", error.message);
	/* without a file, results are not claimed: every place is one without room */
	assert_false(fm_account_claim_least(account, 1, false));
	return account;
}

static struct fm_engine_side side_of(struct fm_account *account)
{
	struct fm_engine_side side = {.account = account, .core = fm_hierarchy_core(account->hierarchy, 0)};

	assert_non_null(side.core);
	return side;
}

/* A cyclic sweep over more lines than the first cache holds misses it each time, one over fewer lines never again. */
static void two_accounts_do_not_meet(void **state)
{
	struct fm_account *large = begin(), *small = begin();
	struct fm_engine_side sides[2] = {side_of(large), side_of(small)};
	struct fm_result_site *sites[2] = {fm_places_find(large, 0x400000), fm_places_find(small, 0x400000)};

	(void)state;
	assert_ptr_not_equal(sites[0], sites[1]);
	for (unsigned round = 0; round < 4; round++)
		for (unsigned i = 0; i < LINES; i++) {
			fm_account_slowly(&sides[0], sites[0], 0x10000000 + LINE * i, 8, FM_ACCESS_LOAD);
			fm_account_slowly(&sides[1], sites[1], 0x10000000 + LINE * (i % FITS), 8, FM_ACCESS_STORE);
		}
	assert_int_equal(large->results->cores[0].counts.loads, 4 * LINES);
	assert_int_equal(large->results->cores[0].counts.stores, 0);
	assert_int_equal(large->results->cores[0].counts.caches[0].load_misses, 4 * LINES);
	assert_int_equal(large->results->cores[0].counts.memory_reads, LINES);
	assert_int_equal(large->place_nowhere.misses[0], 4 * LINES);
	assert_int_equal(small->results->cores[0].counts.stores, 4 * LINES);
	assert_int_equal(small->results->cores[0].counts.caches[0].store_misses, FITS);
	assert_int_equal(small->place_nowhere.misses[0], FITS);
	/* lines that came into the first cache are the place's */
	assert_int_equal(large->place_nowhere.moved[0], 4 * LINES);
	assert_int_equal(small->place_nowhere.moved[0], FITS);
	fm_account_destroy(large);
	fm_account_destroy(small);
}

static volatile int variable_of_account = 1;

/* Variables of a mapped file belong to the account that knows the file. */
static void variables_belong_to_their_account(void **state)
{
	struct fm_account *account = fm_account_create(), *other = begin();
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/fathom-account-%d", (int)getpid());
	assert_non_null(account);
	assert_true(fm_room_create(&account->room, path, 1, false));
	account->results = fm_room_use(&account->room, NULL);
	assert_non_null(account->results);
	fm_places_note_module(account, (uint64_t)(uintptr_t)&variable_of_account);
	unlink(path);
	assert_int_equal(account->results->module_count, 1);
	assert_true(fm_objects_at(account, (uint64_t)(uintptr_t)&variable_of_account) > 0);
	assert_string_equal(account->results->objects[0].name, "variable_of_account");
	assert_int_equal(fm_objects_at(other, (uint64_t)(uintptr_t)&variable_of_account), 0);
	assert_int_equal(other->results->module_count, 0);
	fm_account_destroy(account);
	fm_account_destroy(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_accounts_do_not_meet),
	    cmocka_unit_test(variables_belong_to_their_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
