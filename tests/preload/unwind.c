/* Call stacks against those of the compiler's own unwinder (libgcc), from all kinds of places; and registers, stacks
   and tables full of nonsense, which must do no harm. */
#include "check.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "preload/unwind.h"
#include "preload/x86_64/start.h"

enum { MOST = 256, HANDLERS = 20000 };

struct stack {
	unsigned count;
	uint64_t addresses[MOST];
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *data)
{
	struct stack *stack = data;

	if (stack->count == MOST)
		return _URC_END_OF_STACK;
	stack->addresses[stack->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* Of the library that is loaded and unloaded. */
typedef void library_function(void (*call)(void *), void *data, int depth);

/* How often the caller's stack was compared, and how often it was not the same. */
static _Atomic unsigned long compared, different;

static void show(const char *what, const uint64_t *addresses, unsigned count)
{
	fprintf(stderr, "%s:", what);
	for (unsigned i = 0; i < count; i++) {
		Dl_info info;

		fprintf(stderr, " %lx", addresses[i]);
		if (dladdr((void *)addresses[i], &info) && info.dli_sname)
			fprintf(stderr, "(%s+%ld)", info.dli_sname, (long)(addresses[i] - (uint64_t)info.dli_saddr));
	}
	fprintf(stderr, "\n");
}

static bool same(const struct stack *mine, const struct stack *theirs, unsigned from)
{
	unsigned count = theirs->count;

	while (count > from && theirs->addresses[count - 1] == 0)
		count--;
	count -= from;
	/* theirs may be cut off */
	if (theirs->count == MOST && mine->count > count)
		return memcmp(mine->addresses, theirs->addresses + from, count * sizeof(uint64_t)) == 0;
	return mine->count == count && memcmp(mine->addresses, theirs->addresses + from, count * sizeof(uint64_t)) == 0;
}

__attribute__((noinline)) static void compare(void *unused)
{
	struct stack mine, theirs = {0};
	int before = errno;

	(void)unused;
	mine.count = fm_unwind_here(mine.addresses, MOST, 0);
	assert_int_equal(errno, before);
	_Unwind_Backtrace(add_frame, &theirs);
	compared++;
	if (mine.count < 2 || !same(&mine, &theirs, 1)) {
		different++;
		show("fathom", mine.addresses, mine.count);
		show("libgcc", theirs.addresses + 1, theirs.count - 1);
	}
}

static void all_same(unsigned long least)
{
	assert_true(compared >= least);
	assert_int_equal(different, 0);
	compared = 0;
}

/* Frames that end a function with something to do after the call, so that none of them is a jump. */

static void nest(void (*call)(void *), void *data, int depth, unsigned shape);

/* libgcc believes gcc's rows at the end of functions that align their stack, which are wrong, and may crash. */
static bool without_aligned;

__attribute__((noinline)) static void nest_plain(void (*call)(void *), void *data, int depth, unsigned shape)
{
	volatile int rest = depth;

	nest(call, data, rest - 1, shape);
	rest = 0;
}

__attribute__((noinline)) static void nest_large(void (*call)(void *), void *data, int depth, unsigned shape)
{
	volatile char room[9000];

	room[0] = room[8999] = (char)depth;
	nest(call, data, depth - 1, shape);
	room[1] = room[0];
}

__attribute__((noinline)) static void nest_alloca(void (*call)(void *), void *data, int depth, unsigned shape)
{
	volatile char *room = alloca((size_t)(depth % 5 + 1) * 40);

	room[0] = (char)depth;
	nest(call, data, depth - 1, shape);
	room[1] = room[0];
}

__attribute__((noinline)) static void nest_aligned(void (*call)(void *), void *data, int depth, unsigned shape)
{
	volatile char wide[128] __attribute__((aligned(64)));
	volatile char *room = alloca((size_t)(depth % 5 + 1) * 40);

	wide[0] = room[0] = (char)depth;
	nest(call, data, depth - 1, shape);
	wide[1] = room[0];
	__asm__ volatile("" : : "r"(wide));
}

__attribute__((noinline)) static long nest_busy(void (*call)(void *), void *data, int depth, unsigned shape, long a,
                                                long b, long c, long d)
{
	long before = a * b + c * d;

	/* many values live across the call: all registers that functions keep are saved */
	nest(call, data, depth - 1, shape);
	return before + a + (b ^ c) + d * depth + shape;
}

__attribute__((noinline)) static void nest(void (*call)(void *), void *data, int depth, unsigned shape)
{
	volatile int done = 0;

	if (depth <= 0) {
		call(data);
		done = 1;
		return;
	}
	shape = shape * 1103515245 + 12345;
	switch (shape >> 16 & (without_aligned ? 3 : 7)) {
	case 0:
		nest_plain(call, data, depth, shape);
		break;
	case 1:
		nest_large(call, data, depth, shape);
		break;
	case 2:
	case 3:
		nest_alloca(call, data, depth, shape);
		break;
	case 4:
	case 5:
		nest_aligned(call, data, depth, shape);
		break;
	default:
		done = (int)nest_busy(call, data, depth, shape, depth, shape, depth + 1, depth ^ 5);
	}
	__asm__ volatile("" : : "r"(done));
}

static void test_depths(void **state)
{
	(void)state;
	for (int depth = 0; depth < 90; depth++)
		for (unsigned shape = 1; shape < 12; shape++)
			nest(compare, NULL, depth, shape);
	all_same(900);
}

static void test_limits(void **state)
{
	uint64_t all[MOST], some[MOST];
	unsigned count = fm_unwind_here(all, MOST, 0);

	(void)state;
	assert_true(count > 3);
	assert_int_equal(fm_unwind_here(some, 2, 0), 2);
	assert_memory_equal(some, all, 2 * sizeof(uint64_t));
	assert_int_equal(fm_unwind_here(some, MOST, 2), count - 2);
	assert_memory_equal(some, all + 2, (count - 2) * sizeof(uint64_t));
	assert_int_equal(fm_unwind_here(some, MOST, 1000), 0);
	assert_int_equal(fm_unwind_here(some, 0, 0), 0);
}

static int compare_items(const void *a, const void *b)
{
	compare(NULL);
	return *(const int *)a - *(const int *)b;
}

static void visit(const void *node, VISIT order, int depth)
{
	(void)node;
	(void)order;
	(void)depth;
	compare(NULL);
}

static void test_callbacks(void **state)
{
	int items[64];
	void *tree = NULL;

	(void)state;
	for (int i = 0; i < 64; i++)
		items[i] = i * 37 % 64;
	qsort(items, 64, sizeof(items[0]), compare_items);
	for (int i = 0; i < 64; i++)
		assert_non_null(bsearch(&i, items, 64, sizeof(items[0]), compare_items));
	for (int i = 0; i < 64; i++)
		tsearch(&items[i * 29 % 64], &tree, compare_items);
	twalk(tree, visit);
	for (int i = 0; i < 64; i++)
		tdelete(&items[i], &tree, compare_items);
	all_same(500);
}

/* Signals. */

static void registers_of(const ucontext_t *context, struct fm_unwind_registers *ret_registers)
{
	*ret_registers = fm_unwind_start(context, (uint64_t)context->uc_mcontext.gregs[REG_RIP]);
}

static bool same_in_handler(const ucontext_t *context, struct stack *mine, struct stack *theirs, unsigned *ret_from)
{
	struct fm_unwind_registers registers;
	unsigned from = 1;

	registers_of(context, &registers);
	mine->count = fm_unwind(&registers, mine->addresses, MOST);
	theirs->count = 0;
	_Unwind_Backtrace(add_frame, theirs);
	while (from < theirs->count && theirs->addresses[from] != registers.pc)
		from++;
	*ret_from = from;
	return from < theirs->count && same(mine, theirs, from);
}

static void on_raise(int number, siginfo_t *info, void *context)
{
	struct stack mine, theirs;
	unsigned from;

	(void)number;
	(void)info;
	compared++;
	if (!same_in_handler(context, &mine, &theirs, &from)) {
		different++;
		show("fathom", mine.addresses, mine.count);
		show("libgcc", theirs.addresses + from, theirs.count - from);
	}
	/* from inside the handler, out of it */
	compare(NULL);
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART | flags};

	assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void raise_signal(void *unused)
{
	(void)unused;
	raise(SIGUSR1);
}

static void raise_both(void *unused)
{
	(void)unused;
	raise(SIGUSR2);
}

static void on_raise_again(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	nest(raise_signal, NULL, 5, 3);
}

static void test_signals(void **state)
{
	(void)state;
	handle(SIGUSR1, on_raise, 0);
	handle(SIGUSR2, on_raise_again, 0);
	for (int depth = 0; depth < 30; depth++) {
		nest(raise_signal, NULL, depth, (unsigned)depth);
		nest(raise_both, NULL, depth, (unsigned)depth);
	}
	all_same(60);
}

static void test_alternate_stack(void **state)
{
	stack_t stack = {.ss_size = 65536}, before;

	(void)state;
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(stack.ss_sp, MAP_FAILED);
	assert_int_equal(sigaltstack(&stack, &before), 0);
	handle(SIGUSR1, on_raise, SA_ONSTACK);
	handle(SIGUSR2, on_raise_again, SA_ONSTACK);
	for (int depth = 0; depth < 30; depth++) {
		nest(raise_signal, NULL, depth, (unsigned)depth);
		nest(raise_both, NULL, depth, (unsigned)depth);
	}
	sigaltstack(&before, NULL);
	munmap(stack.ss_sp, stack.ss_size);
	all_same(60);
}

static volatile unsigned long timed, timed_different, timed_frames;
static struct stack last_mine, last_theirs;
static timer_t timer;

static void arm(void)
{
	static unsigned random = 1;
	struct itimerspec when = {0};

	random = random * 1103515245 + 12345;
	when.it_value.tv_nsec = 5000 + (random >> 8) % 60000;
	timer_settime(timer, 0, &when, NULL);
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	static struct stack mine, theirs;
	int before = errno;
	unsigned from;

	(void)number;
	(void)info;
	if (!same_in_handler(context, &mine, &theirs, &from)) {
		timed_different++;
		last_mine = mine;
		last_theirs = theirs;
	}
	timed++;
	timed_frames += mine.count;
	if (timed < HANDLERS)
		arm();
	errno = before;
}

static int order(const void *a, const void *b)
{
	volatile char *room = alloca((size_t)(*(const int *)a & 63) + 1);

	room[0] = 1;
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Some of everything: a data base, sorting, text, regular expressions, the allocator, the clock. */
static void work(sqlite3 *data, unsigned round)
{
	static const char *const statements[] = {
	    "delete from t",
	    ("with recursive c(x) as (select 1 union all select x + 1 from c where x < 400) "
	     "insert into t select x, (x * 7919) % 1009, 'text ' || x from c"),
	    "select count(*), sum(a.x * b.y) from t a join t b on a.y = b.x where a.s like '%1%'",
	    "select s, y from t order by y, s desc",
	};
	int items[512];
	char text[256];
	regex_t expression;
	struct timespec now;
	volatile double sum = 0;

	for (unsigned i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		sqlite3_exec(data, statements[i], NULL, NULL, NULL);
	for (int i = 0; i < 512; i++)
		items[i] = (int)((unsigned)i * 7919 * round % 1009);
	qsort(items, 512, sizeof(items[0]), order);
	assert_int_equal(regcomp(&expression, "([a-z]+) ([0-9]*)(x|y)?$", REG_EXTENDED), 0);
	for (int i = 0; i < 100; i++) {
		char *copy;

		snprintf(text, sizeof(text), "text %d %g %s", i, i / 7.0, "more of it");
		regexec(&expression, text, 0, NULL, 0);
		copy = strdup(text);
		sum += strtod(strchr(copy, ' ') + 1, NULL) + pow(i, 1.5) + (double)strlen(copy);
		free(copy);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	regfree(&expression);
	assert_true(sum > 0);
}

static void rounds(void *data)
{
	for (unsigned i = 1; timed < HANDLERS; i++)
		work(data, i);
}

static void test_anywhere(void **state)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	sqlite3 *data;

	(void)state;
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	assert_int_equal(sqlite3_open(":memory:", &data), SQLITE_OK);
	assert_int_equal(sqlite3_exec(data, "create table t(x, y, s)", NULL, NULL, NULL), SQLITE_OK);
	handle(SIGUSR1, on_timer, 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	arm();
	nest(rounds, data, 10, 7);
	timer_delete(timer);
	sqlite3_close(data);
	printf("%lu handlers, %lu frames, %lu stacks differ from libgcc's\n", timed, timed_frames, timed_different);
	if (timed_different) {
		show("fathom", last_mine.addresses, last_mine.count);
		show("libgcc", last_theirs.addresses, last_theirs.count);
	}
	assert_true(timed >= HANDLERS && timed_frames > 10 * timed);
	assert_true(timed_different * 1000 < timed);
}

/* Every instruction, one by one: beginnings and ends of functions, stubs of the linker, the loader that binds them. */

static volatile unsigned long steps, steps_different, steps_lost;
static struct stack outside;

static void on_step(int number, siginfo_t *info, void *context)
{
	static struct stack mine, theirs;
	unsigned from;

	(void)number;
	(void)info;
	steps++;
	if (without_aligned) {
		if (!same_in_handler(context, &mine, &theirs, &from)) {
			steps_different++;
			last_mine = mine;
			last_theirs = theirs;
		}
	} else {
		struct fm_unwind_registers registers;

		registers_of(context, &registers);
		mine.count = fm_unwind(&registers, mine.addresses, MOST);
	}
	/* whatever is going on inside, the callers of step_through do not change */
	if (mine.count < outside.count || memcmp(&mine.addresses[mine.count - outside.count], outside.addresses,
	                                         outside.count * sizeof(uint64_t)) != 0) {
		steps_lost++;
		last_mine = mine;
		last_theirs = outside;
	}
}

/* The trap flag becomes `flag` (0x100 or 0). With rows for its own instructions too. */
__attribute__((naked, noinline)) static void set_stepping(__attribute__((unused)) uint64_t flag)
{
	__asm__("pushfq\n\t"
	        ".cfi_adjust_cfa_offset 8\n\t"
	        "andq $~0x100, (%rsp)\n\t"
	        "orq %rdi, (%rsp)\n\t"
	        "popfq\n\t"
	        ".cfi_adjust_cfa_offset -8\n\t"
	        "ret");
}

__attribute__((noinline)) static void step_through(void *data)
{
	library_function *function = (library_function *)dlsym(data, "unwind_library_plain");
	sqlite3 *database = NULL;
	int items[12];
	char text[64];

	sqlite3_open(":memory:", &database);
	outside.count = fm_unwind_here(outside.addresses, MOST, 0);
	for (int i = 0; i < 12; i++)
		items[i] = i * 5 % 12;
	without_aligned = true;
	set_stepping(0x100);
	qsort(items, 12, sizeof(items[0]), order);
	snprintf(text, sizeof(text), "%d %s", items[3], "text");
	if (vfork() == 0)
		_exit(0);
	nest((void (*)(void *))free, NULL, 20, 5);
	strtod("1.5e3", NULL);
	set_stepping(0);
	without_aligned = false;
	set_stepping(0x100);
	nest((void (*)(void *))free, NULL, 30, 5);
	function((void (*)(void *))free, NULL, 6);
	sqlite3_exec(database, "create table t(x)", NULL, NULL, NULL);
	set_stepping(0);
	sqlite3_close(database);
}

static void test_every_instruction(void **state)
{
	void *library = dlopen(LIBRARY, RTLD_LAZY);

	(void)state;
	assert_non_null(library);
	fm_unwind_forget();
	handle(SIGTRAP, on_step, 0);
	nest(step_through, library, 6, 9);
	dlclose(library);
	fm_unwind_forget();
	printf("%lu instructions, %lu stacks differ from libgcc's, %lu lost their way\n", steps, steps_different,
	       steps_lost);
	if (steps_different + steps_lost) {
		show("fathom", last_mine.addresses, last_mine.count);
		show("expected", last_theirs.addresses, last_theirs.count);
	}
	assert_true(steps > 5000 && outside.count > 6);
	assert_int_equal(steps_different, 0);
	assert_int_equal(steps_lost, 0);
}

/* Threads. */

static void *in_thread(void *data)
{
	for (int depth = 0; depth < 40; depth++)
		for (unsigned shape = 1; shape < 5; shape++)
			nest(compare, data, depth, shape * (unsigned)(uintptr_t)data);
	return NULL;
}

static void *forget_often(void *data)
{
	for (int i = 0; i < 40000; i++)
		fm_unwind_forget();
	return data;
}

static void test_threads(void **state)
{
	pthread_t threads[6], forgetting;

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (uintptr_t i = 0; i < 6; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, in_thread, (void *)(i + 1)), 0);
		for (unsigned i = 0; i < 6; i++)
			pthread_join(threads[i], NULL);
		all_same(6 * 160);
	}
#ifndef FATHOM_WITHOUT_FIND_OBJECT
	/* the list of modules is incomplete for a moment while it is made again, so stacks may be cut off then */
	assert_int_equal(pthread_create(&forgetting, NULL, forget_often, NULL), 0);
	for (uintptr_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, in_thread, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	pthread_join(forgetting, NULL);
	all_same(3 * 160);
#else
	(void)forgetting;
	(void)forget_often;
#endif
}

/* A coroutine on a stack of its own, with nothing readable before and behind it. */

static ucontext_t main_context, coroutine;

static void coroutine_start(void)
{
	for (int depth = 0; depth < 6; depth++)
		nest(compare, NULL, depth, 40503);
}

static void test_coroutines(void **state)
{
	size_t size = 96 * 1024, guard = 4096;
	char *memory = mmap(NULL, size + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + guard, size, PROT_READ | PROT_WRITE), 0);
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = memory + guard;
	coroutine.uc_stack.ss_size = size;
	coroutine.uc_link = &main_context;
	makecontext(&coroutine, coroutine_start, 0);
	swapcontext(&main_context, &coroutine);
	munmap(memory, size + 2 * guard);
	all_same(6);
}

static void *coroutines_in_thread(void *data)
{
	test_coroutines(data);
	in_thread((void *)3);
	return NULL;
}

/* A thread on memory that the program gave it, with nothing before and behind it. */
static void test_given_stack(void **state)
{
	size_t size = 1 << 20, guard = 4096;
	char *memory = mmap(NULL, size + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + guard, size, PROT_READ | PROT_WRITE), 0);
	pthread_attr_init(&attributes);
	assert_int_equal(pthread_attr_setstack(&attributes, memory + guard, size), 0);
	assert_int_equal(pthread_create(&thread, &attributes, coroutines_in_thread, state), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	munmap(memory, size + 2 * guard);
	all_same(160);
}

/* A library that is loaded and unloaded. */

static void test_library(void **state)
{
	uint64_t addresses[MOST];
	struct fm_unwind_registers registers = {0};

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		void *library = dlopen(LIBRARY, RTLD_LAZY);
		library_function *function;

		assert_non_null(library);
		fm_unwind_forget();
		function = (library_function *)dlsym(library, "unwind_library_plain");
		assert_non_null(function);
		for (int depth = 0; depth < 30; depth++)
			function(compare, NULL, depth);
		all_same(30);
		registers.pc = (uint64_t)function;
		addresses[20] = (uint64_t)test_library + 1;
		registers.sp = (uint64_t)&addresses[20];
		assert_true(fm_unwind(&registers, addresses, 3) >= 2);
		assert_int_equal(addresses[1], (uint64_t)test_library + 1);
		dlclose(library);
		assert_null(dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD));
		fm_unwind_forget();
		assert_int_equal(fm_unwind(&registers, addresses, 3), 1);
	}
}

/* What the program has in vector registers survives a walk, also one that has to look into the tables. */
static void test_vector_registers(void **state)
{
	uint64_t addresses[MOST], before[32], after[32];
	unsigned count;

	(void)state;
	for (unsigned i = 0; i < 32; i++)
		before[i] = i * 0x0123456789abcdefull;
	for (unsigned round = 0; round < 2; round++) {
		if (round == 0)
			fm_unwind_forget();
		__asm__ volatile("movq %[before], %%r12\n\t"
		                 "movq %[after], %%r13\n\t"
		                 ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
		                 "movups 16 * \\i(%%r12), %%xmm\\i\n\t"
		                 ".endr\n\t"
		                 "xorl %%edx, %%edx\n\t"
		                 "call *%%rcx\n\t"
		                 ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
		                 "movups %%xmm\\i, 16 * \\i(%%r13)\n\t"
		                 ".endr"
		                 : "=a"(count)
		                 : "D"(addresses), "S"(MOST),
		                   "c"(fm_unwind_here), [before] "r"(before), [after] "r"(after)
		                 : "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "memory", "cc", "xmm0", "xmm1",
		                   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
		                   "xmm12", "xmm13", "xmm14", "xmm15");
		assert_true(count > 3);
		assert_memory_equal(before, after, sizeof(before));
	}
}

/* Nonsense. */

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

struct places {
	uint64_t code[16], code_size[16];
	unsigned count;
};

static int add_code(struct dl_phdr_info *info, size_t size, void *data)
{
	struct places *places = data;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum && places->count < 16; i++) {
		if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X))
			continue;
		places->code[places->count] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		places->code_size[places->count++] = info->dlpi_phdr[i].p_memsz;
	}
	return 0;
}

static uint64_t random_code(const struct places *places)
{
	unsigned i = (unsigned)(random_number() % places->count);

	return places->code[i] + random_number() % places->code_size[i];
}

/* An address in or at the edges of memory, or none at all. */
static uint64_t random_address(const struct places *places, const uint64_t *garbage, size_t words)
{
	uint64_t local;

	switch (random_number() % 8) {
	case 0:
		return random_number();
	case 1:
		return random_number() >> 17;
	case 2:
		return random_code(places) & ~7ull;
	case 3:
		return (uint64_t)&local + (random_number() % 65536 & ~7ull);
	case 4:
		return (uint64_t)(garbage + words) - random_number() % 300;
	case 5:
		return (uint64_t)&local - (random_number() % (64 << 20) & ~7ull);
	default:
		return (uint64_t)(garbage + random_number() % words);
	}
}

static void walk_nonsense(unsigned calls)
{
	enum { WORDS = 8192 };
	size_t size = WORDS * sizeof(uint64_t);
	struct places places = {0};
	uint64_t addresses[32], *garbage;
	unsigned long frames = 0;
	char *memory = mmap(NULL, size + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	mprotect(memory, 4096, PROT_NONE);
	mprotect(memory + 4096 + size, 4096, PROT_NONE);
	garbage = (uint64_t *)(memory + 4096);
	dl_iterate_phdr(add_code, &places);
	for (unsigned i = 0; i < WORDS; i++)
		garbage[i] = random_number() % 2 ? random_code(&places) : random_address(&places, garbage, WORDS);
	for (unsigned i = 0; i < calls; i++) {
		struct fm_unwind_registers registers;
		uint64_t *fields = &registers.pc;

		for (unsigned j = 0; j < sizeof(registers) / sizeof(uint64_t); j++)
			fields[j] = random_address(&places, garbage, WORDS);
		if (random_number() % 8)
			registers.pc = random_code(&places);
		frames += fm_unwind(&registers, addresses, 32);
	}
	printf("%lu frames of nonsense\n", frames);
	assert_true(frames > calls);
	munmap(memory, size + 8192);
}

static void *nonsense_in_thread(void *data)
{
	walk_nonsense(300000);
	return data;
}

static void test_nonsense(void **state)
{
	pthread_t thread;

	(void)state;
	walk_nonsense(1000000);
	assert_int_equal(pthread_create(&thread, NULL, nonsense_in_thread, NULL), 0);
	pthread_join(thread, NULL);
}

/* Tables of the library, with bytes changed where they lie. */

struct table {
	const void *inside;
	uint64_t start, size, code, code_size;
};

static int find_table(struct dl_phdr_info *info, size_t size, void *data)
{
	struct table *table = data;
	uint64_t header = 0;
	bool found = false;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_GNU_EH_FRAME)
			header = start;
		if (segment->p_type == PT_LOAD && (uint64_t)table->inside - start < segment->p_memsz) {
			found = true;
			table->code = start;
			table->code_size = segment->p_memsz;
		}
	}
	if (!found)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && header - start < segment->p_memsz) {
			table->start = header;
			table->size = start + segment->p_memsz - header;
		}
	}
	return 1;
}

static void test_broken_tables(void **state)
{
	void *library = dlopen(LIBRARY, RTLD_LAZY);
	struct table table = {0};
	uint64_t garbage[256], addresses[8], page;
	unsigned long frames = 0, calls = 0;
	unsigned char whole[8192];

	(void)state;
	assert_non_null(library);
	table.inside = dlsym(library, "unwind_library_plain");
	dl_iterate_phdr(find_table, &table);
	assert_true(table.size > 64 && table.size <= sizeof(whole));
	page = table.start & -4096ull;
	assert_int_equal(mprotect((void *)page, table.start + table.size - page, PROT_READ | PROT_WRITE), 0);
	memcpy(whole, (void *)table.start, table.size);
	for (unsigned i = 0; i < 256; i++)
		garbage[i] = i % 3 ? table.code + random_number() % table.code_size : (uint64_t)&garbage[i * 7 % 256];
	for (unsigned round = 0; round < 30000; round++) {
		unsigned changes = 1 + (unsigned)(random_number() % 6);
		uint64_t near = random_number() % table.size;

		for (unsigned i = 0; i < changes; i++) {
			uint64_t at = random_number() % 2 ? near + random_number() % 32 : random_number();

			((unsigned char *)table.start)[at % table.size] = (unsigned char)random_number();
		}
		fm_unwind_forget();
		for (unsigned i = 0; i < 16; i++) {
			struct fm_unwind_registers registers = {
			    .pc = table.code + random_number() % table.code_size,
			    .sp = (uint64_t)&garbage[random_number() % 200],
			    .bp = (uint64_t)&garbage[random_number() % 256],
			    .r10 = (uint64_t)&garbage[random_number() % 256],
			};

			frames += fm_unwind(&registers, addresses, 8);
			calls++;
		}
		memcpy((void *)table.start, whole, table.size);
	}
	printf("%lu walks by broken tables, %lu frames\n", calls, frames);
	assert_true(frames > calls);
	dlclose(library);
	fm_unwind_forget();
}

/* Not an assertion: others may be using the machine. */
static void measure_here(void *unused)
{
	enum { TIMES = 20000 };
	uint64_t addresses[MOST];
	struct timespec start, end;
	unsigned long frames = 0;

	(void)unused;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned i = 0; i < TIMES; i++)
		frames += fm_unwind_here(addresses, MOST, 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%lu frames a walk, %.1f ns a frame\n", frames / TIMES,
	       ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / (double)frames);
}

static void test_cost(void **state)
{
	(void)state;
	nest(measure_here, NULL, 0, 5);
	nest(measure_here, NULL, 20, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_depths),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_callbacks),
	    cmocka_unit_test(test_signals),
	    cmocka_unit_test(test_alternate_stack),
	    cmocka_unit_test(test_anywhere),
	    cmocka_unit_test(test_every_instruction),
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_coroutines),
	    cmocka_unit_test(test_given_stack),
	    cmocka_unit_test(test_library),
	    cmocka_unit_test(test_vector_registers),
	    cmocka_unit_test(test_nonsense),
	    cmocka_unit_test(test_broken_tables),
	    cmocka_unit_test(test_cost),
	};

	if (fm_unwind_open())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
