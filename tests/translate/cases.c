/* Hard cases, one by one: what a compiler, the C library and the kernel do to code that runs from a cache. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "translate/x86_64/instruction.h"
#include "check.h"

extern char **environ;

static struct fm_translator *translator;

static uint64_t left(enum fm_translate_reason reason)
{
	return fm_translator_counts(translator)->left[reason];
}

/* The function's result from the cache, which it must not have left on its own. */
static uint64_t translated(uint64_t (*function)(uint64_t), uint64_t argument)
{
	uint64_t asked = left(FM_LEFT_ASKED), result;

	fm_translator_enter(translator);
	result = function(argument);
	fm_translator_leave();
	assert_int_equal(left(FM_LEFT_ASKED), asked + 1);
	return result;
}

static int set_up(void **unused)
{
	(void)unused;
	return fm_translator_create(NULL, &translator);
}

static int tear_down(void **unused)
{
	(void)unused;
	fm_translator_destroy(translator);
	translator = NULL;
	return 0;
}

static uint64_t __attribute__((noinline)) fibonacci(uint64_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int compare_words(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

static uint64_t sorted(uint64_t seed)
{
	static uint64_t words[1000];
	uint64_t sum = 0;

	for (unsigned i = 0; i < 1000; i++)
		words[i] = seed = seed * 6364136223846793005u + 1442695040888963407u;
	qsort(words, 1000, sizeof(words[0]), compare_words);
	for (unsigned i = 0; i < 1000; i++)
		sum = sum * 31 + words[i];
	return sum;
}

static jmp_buf environment;
static volatile bool jumping = true;
static void __attribute__((noinline)) dive(uint64_t depth)
{
	if (depth)
		dive(depth - 1);
	else if (jumping)
		longjmp(environment, 42);
	__asm__ volatile("");
}

static uint64_t jumps(uint64_t depth)
{
	volatile uint64_t count = 0;

	for (volatile unsigned i = 0; i < 10; i++) {
		int value = setjmp(environment);

		if (!value)
			dive(depth);
		count += (uint64_t)value;
	}
	return count;
}

static __thread uint64_t own = 5;
static uint64_t uses_thread_pointer(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		own = own * 3 + i;
	return own;
}

/* a function reads its caller's frame through the return address that is on the stack: it is the original one */
static uint64_t __attribute__((noinline)) return_address(uint64_t unused)
{
	(void)unused;
	return (uint64_t)__builtin_return_address(0);
}

static uint64_t sees_return_address(uint64_t n)
{
	uint64_t address = return_address(n);

	return address >= (uint64_t)sees_return_address && address < (uint64_t)sees_return_address + 200;
}

/* leaf code with its variables below the stack pointer, over calls of nothing, indirect jumps and branches */
static uint64_t red_zone(uint64_t n)
{
	uint64_t result;

	__asm__ volatile("movq $0, -8(%%rsp)\n"
	                 "movq $1, -128(%%rsp)\n"
	                 "1: movq -128(%%rsp), %%rax\n"
	                 "addq %%rax, -8(%%rsp)\n"
	                 "incq -128(%%rsp)\n"
	                 "lea 2f(%%rip), %%rdx\n"
	                 "jmp *%%rdx\n"
	                 "2: dec %1\n"
	                 "jnz 1b\n"
	                 "movq -8(%%rsp), %0\n"
	                 : "=&r"(result), "+&r"(n)
	                 :
	                 : "rax", "rdx", "memory", "cc");
	return result;
}

static uint64_t flags_across_blocks(uint64_t n)
{
	uint64_t low = n, high = 0;

	/* carry goes through a jump, an indirect jump and a return */
	__asm__ volatile("mov %%rsp, %%r8\n"
	                 "sub $256, %%rsp\n"
	                 "add %0, %0\n"
	                 "jmp 1f\n"
	                 "ud2\n"
	                 "1: adc %1, %1\n"
	                 "lea 2f(%%rip), %%rdx\n"
	                 "jmp *%%rdx\n"
	                 "ud2\n"
	                 "2: adc %0, %0\n"
	                 "lea 3f(%%rip), %%rdx\n"
	                 "push %%rdx\n"
	                 "ret\n"
	                 "3: adc %1, %1\n"
	                 "pushfq\n"
	                 "pop %%rdx\n"
	                 "lahf\n"
	                 "and $0xd5, %%edx\n"
	                 "movzx %%ah, %%eax\n"
	                 "xor %%rdx, %%rax\n"
	                 "and $0xd5, %%eax\n" /* lahf and pushf agree */
	                 "add %%rax, %1\n"
	                 "mov %%r8, %%rsp\n"
	                 : "+&r"(low), "+&r"(high)
	                 :
	                 : "rax", "rdx", "r8", "memory", "cc");
	return low ^ high << 1;
}

static uint64_t misaligned_stack(uint64_t n)
{
	uint64_t result;

	__asm__ volatile("mov %%rsp, %%r8\n"
	                 "lea -259(%%rsp), %%rsp\n"
	                 "call 1f\n"
	                 "jmp 2f\n"
	                 "1: push %1\n"
	                 "pop %0\n"
	                 "ret $5\n"
	                 "2: sub %%rsp, %%r8\n"
	                 "add %%r8, %0\n"
	                 "lea (%%rsp, %%r8), %%rsp\n"
	                 : "=&r"(result)
	                 : "r"(n)
	                 : "r8", "memory", "cc");
	return result;
}

static uint64_t copies(uint64_t n)
{
	static char from[5000], to[5000];
	uint64_t sum = 0, count = n;
	void *destination = to;
	const void *source = from;

	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (char)(i * 7 + n);
	__asm__ volatile("rep movsb" : "+c"(count), "+D"(destination), "+S"(source) : : "memory");
	for (unsigned i = 0; i < sizeof(to); i++)
		sum = sum * 31 + (unsigned char)to[i];
	return sum + count;
}

static uint64_t twice(uint64_t n)
{
	return 2 * n;
}
static uint64_t thrice(uint64_t n)
{
	return 3 * n;
}
static uint64_t (*volatile table[])(uint64_t) = {twice, thrice, fibonacci, twice};
static uint64_t through_table(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += table[i & 3](i & 7);
	return sum;
}

static uint64_t many_system_calls(uint64_t n)
{
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t result, rcx, r11;

		__asm__ volatile("mov $39, %%eax\n"
		                 "syscall\n"
		                 "1: lea 1b(%%rip), %%rdx\n"
		                 "sub %%rdx, %%rcx\n" /* the processor leaves its own next address */
		                 : "=&a"(result), "=&c"(rcx), "=&r"(r11)
		                 :
		                 : "rdx", "r11", "memory", "cc");
		wrong += rcx != 0 || result != (uint64_t)getpid();
	}
	return wrong;
}

static const struct {
	const char *name;
	uint64_t (*function)(uint64_t);
	uint64_t argument;
} plain[] = {
    {"recursion", fibonacci, 15},
    {"callbacks", sorted, 7},
    {"longjmp", jumps, 20},
    {"thread pointer", uses_thread_pointer, 100},
    {"return address", sees_return_address, 0},
    {"red zone", red_zone, 1000},
    {"flags across blocks", flags_across_blocks, 0xf123456789abcdef},
    {"misaligned stack", misaligned_stack, 99},
    {"rep movs", copies, 4321},
    {"table of functions", through_table, 1000},
    {"system calls", many_system_calls, 100},
};

static void plain_cases(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		uint64_t native, cached;

		own = 5;
		native = plain[i].function(plain[i].argument);
		for (unsigned again = 0; again < 3; again++) {
			own = 5;
			cached = translated(plain[i].function, plain[i].argument);
			if (cached != native)
				fail_msg("%s: %lx, natively %lx", plain[i].name, cached, native);
		}
	}
}

static void *thread_body(void *argument)
{
	return (void *)(fibonacci(12) + (uint64_t)argument);
}

static uint64_t makes_threads(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		pthread_t thread;
		void *result = NULL;

		if (pthread_create(&thread, NULL, thread_body, (void *)i))
			return 0;
		pthread_join(thread, &result);
		sum += (uint64_t)result;
	}
	return sum;
}

static void threads_start_natively(void **unused)
{
	(void)unused;
	assert_int_equal(translated(makes_threads, 20), 20 * 144 + 190);
}

static uint64_t makes_processes(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		char *const arguments[] = {"true", NULL};
		int status = 0;
		pid_t child = fork();

		if (!child)
			_exit((int)(fibonacci(10) + i));
		waitpid(child, &status, 0);
		sum += (uint64_t)WEXITSTATUS(status);
		if (posix_spawnp(&child, "true", NULL, NULL, arguments, environ))
			return 0;
		waitpid(child, &status, 0);
		sum += status ? 1000 : 0;
	}
	return sum;
}

static void forks_and_spawns(void **unused)
{
	(void)unused;
	assert_int_equal(translated(makes_processes, 5), 5 * 55 + 10);
}

/* Every 100 microseconds the thread leaves at whatever instruction it is at, and enters again there. */
static volatile unsigned ticks, retried;
static void on_tick(int signal_number, siginfo_t *information, void *context)
{
	int saved = errno;

	(void)signal_number;
	(void)information;
	ticks++;
	if (!fm_translator_holds(translator, (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP])) {
		errno = saved;
		return;
	}
	if (fm_translator_settle(translator, context))
		retried++;
	else if (ticks & 1)
		fm_translator_flush(translator);
	fm_translator_enter_context(translator, context);
	errno = saved;
}

static uint64_t works_until_ticks(uint64_t wanted)
{
	uint64_t sum = 0;
	struct timespec short_time = {0, 200000};

	for (unsigned i = 0; ticks < wanted && i < 1000000; i++) {
		sum |= fibonacci(10) ^ 55;
		sum |= sorted(i % 4) ^ sorted(i % 4);
		sum |= red_zone(100) ^ 5050;
		sum |= jumps(5) ^ 420;
		sum |= many_system_calls(2);
		if (i % 50 == 0) /* interrupted in a system call */
			nanosleep(&short_time, NULL);
	}
	return sum;
}

static void leaves_anywhere(void **unused)
{
	struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART}, before;
	struct itimerval timer = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};

	(void)unused;
	sigaction(SIGALRM, &action, &before);
	ticks = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	assert_int_equal(translated(works_until_ticks, 2000), 0);
	setitimer(ITIMER_REAL, &none, NULL);
	sigaction(SIGALRM, &before, NULL);
	printf("%u ticks, %u between two states, entered %lu times\n", ticks, retried,
	       fm_translator_counts(translator)->entered);
	assert_true(fm_translator_counts(translator)->entered > 100);
}

/* A fault of the program's own, with registers that the cache may have borrowed. */
static volatile uint64_t fault_pc, fault_rbx, fault_rcx, fault_r11;
static void on_fault(int signal_number, siginfo_t *information, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal_number;
	(void)information;
	if (fm_translator_settle(translator, context))
		return;
	fault_pc = (uint64_t)registers[REG_RIP];
	fault_rbx = (uint64_t)registers[REG_RBX];
	fault_rcx = (uint64_t)registers[REG_RCX];
	fault_r11 = (uint64_t)registers[REG_R11];
	registers[REG_RAX] = 7;
	registers[REG_RIP] += 3; /* the instruction that faults */
	fm_translator_enter_context(translator, context);
}

extern const char faulting_load[];
static uint64_t __attribute__((noinline)) faults(uint64_t address)
{
	uint64_t result;

	__asm__ volatile("mov $11, %%rbx\n"
	                 "mov $12, %%rcx\n"
	                 "mov $13, %%r11\n"
	                 "push %%rbx\n"
	                 "pop %%rbx\n"
	                 ".globl faulting_load\n"
	                 "faulting_load: mov (%1), %%rax\n"
	                 "mov %%rax, %0\n"
	                 : "=r"(result)
	                 : "D"(address)
	                 : "rax", "rbx", "rcx", "r11", "memory");
	return result;
}

static enum fm_translate_choice choose_all(void *context, const struct fm_translate_site *site)
{
	(void)context;
	(void)site;
	return FM_TRANSLATE_LOGGED;
}

static void faults_are_the_programs(void **unused)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
	struct fm_translate_client client = {.choose = choose_all};
	struct fm_translate_options options = {.client = &client};

	(void)unused;
	sigaction(SIGSEGV, &action, &before);
	for (unsigned logged = 0; logged < 2; logged++) {
		if (logged) {
			tear_down(NULL);
			assert_int_equal(fm_translator_create(&options, &translator), 0);
		}
		fault_pc = 0;
		assert_int_equal(translated(faults, 8), 7);
		assert_int_equal(fault_pc, (uint64_t)faulting_load);
		assert_int_equal(fault_rbx, 11);
		assert_int_equal(fault_rcx, 12);
		assert_int_equal(fault_r11, 13);
	}
	sigaction(SIGSEGV, &before, NULL);
}

/* Code that changes: mapped again, and written to. */
static uint8_t *page;
static uint64_t changes_code(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		if (mprotect(page, 4096, PROT_READ | PROT_WRITE))
			return 0;
		page[0] = 0xb8; /* mov $i, %eax; ret */
		page[1] = (uint8_t)i;
		page[2] = page[3] = page[4] = 0;
		page[5] = 0xc3;
		if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
			return 0;
		sum = sum * 3 + ((uint64_t(*)(void))page)();
	}
	return sum;
}

static uint64_t calls_page(uint64_t unused)
{
	(void)unused;
	return ((uint64_t(*)(void))page)();
}

static void changed_code(void **unused)
{
	struct fm_translate_options options = {.generated_code = true};
	uint64_t native;

	(void)unused;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	native = changes_code(20);
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	assert_int_equal(translated(changes_code, 20), native);
	assert_true(fm_translator_counts(translator)->flushed >= 19);
	tear_down(NULL);
	/* not trusted: left to the processor */
	assert_int_equal(fm_translator_create(NULL, &translator), 0);
	fm_translator_enter(translator);
	assert_int_equal(calls_page(0), 19);
	assert_int_equal(left(FM_LEFT_GENERATED), 1);
	mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	fm_translator_flush(translator);
	fm_translator_enter(translator);
	assert_int_equal(calls_page(0), 19);
	assert_int_equal(left(FM_LEFT_WRITABLE), 1);
	munmap(page, 4096);
}

/* The log has what was referenced, in order, with sizes and kinds. */
static struct {
	uint64_t address;
	uint64_t pc;
	uint16_t size;
	uint8_t kind;
} seen[100000];
static size_t seen_count;
static void on_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	(void)context;
	for (size_t i = 0; i < count && seen_count < sizeof(seen) / sizeof(seen[0]); i++) {
		const struct fm_translate_site *site = fm_translator_site(translator, entries[i].site);

		seen[seen_count].address = entries[i].address;
		seen[seen_count].pc = site ? site->pc : 0;
		seen[seen_count].size = site ? site->size : 0;
		seen[seen_count++].kind = site ? site->kind : 0;
	}
}

static uint32_t numbers[1000];
extern const char summing_load[], summing_store[], string_store[];
static uint64_t __attribute__((noinline)) sums(uint64_t n)
{
	uint64_t at = 0, destination = (uint64_t)numbers, count = 17;

	__asm__ volatile("1: summing_load: movl (%2, %0, 4), %%eax\n"
	                 "inc %%eax\n"
	                 "summing_store: movl %%eax, (%2, %0, 4)\n"
	                 "inc %0\n"
	                 "cmp %1, %0\n"
	                 "jb 1b\n"
	                 : "+&r"(at)
	                 : "r"(n), "r"(numbers)
	                 : "rax", "memory", "cc");
	__asm__ volatile("string_store: rep stosl" : "+D"(destination), "+c"(count) : "a"(0) : "memory");
	return at;
}

static void logged_references(void **unused)
{
	struct fm_translate_client client = {.choose = choose_all, .on_log = on_log};
	struct fm_translate_options options = {.client = &client, .log_entries = 300};
	size_t at = 0;

	(void)unused;
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	seen_count = 0;
	assert_int_equal(translated(sums, 1000), 1000);
	for (unsigned i = 0; i < 1000; i++) {
		while (at < seen_count && seen[at].pc != (uint64_t)summing_load)
			at++;
		assert_true(at + 1 < seen_count);
		assert_int_equal(seen[at].address, (uint64_t)&numbers[i]);
		assert_int_equal(seen[at].kind, FM_TRANSLATE_LOAD);
		assert_int_equal(seen[at].size, 4);
		at++;
		assert_int_equal(seen[at].pc, (uint64_t)summing_store);
		assert_int_equal(seen[at].address, (uint64_t)&numbers[i]);
		assert_int_equal(seen[at].kind, FM_TRANSLATE_STORE);
		at++;
	}
	while (at < seen_count && seen[at].pc != (uint64_t)string_store)
		at++;
	assert_true(at + 1 < seen_count);
	assert_int_equal(seen[at].address, (uint64_t)numbers);
	assert_int_equal(seen[at].kind, FM_TRANSLATE_STORE | FM_TRANSLATE_REPEATED);
	assert_int_equal(seen[at + 1].address, 17);
}

static enum fm_translate_choice choose_followed(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return site->pc == (uint64_t)summing_load || site->pc == (uint64_t)summing_store ||
	               site->pc == (uint64_t)string_store
	           ? FM_TRANSLATE_FILTERED
	           : FM_TRANSLATE_IGNORE;
}

/* An entry for the load and one for the store of each line that is followed, or two if it is time to log it again; none
   of any other; string instructions always. */
static void followed_lines(void **unused)
{
	struct fm_translate_client client = {.choose = choose_followed, .on_log = on_log};
	struct fm_translate_options options = {
	    .client = &client, .log_entries = 3000, .filter = {0x9e3779b1u & ~127u, 1u << 30, 256}};
	size_t at = 0, loads, stores;

	(void)unused;
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	seen_count = 0;
	assert_int_equal(translated(sums, 1000), 1000);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t address = (uint64_t)&numbers[i];

		if ((i && address / 64 == (uint64_t)&numbers[i - 1] / 64) ||
		    !fm_translate_is_followed(&options.filter, address))
			continue;
		loads = stores = 0;
		for (;
		     at < seen_count && seen[at].address / 64 == address / 64 && seen[at].pc != (uint64_t)string_store;
		     at++) {
			loads += seen[at].pc == (uint64_t)summing_load;
			stores += seen[at].pc == (uint64_t)summing_store;
		}
		assert_in_range(loads, 1, 2);
		assert_in_range(stores, 1, 2);
	}
	assert_true(at > 4 && at + 2 == seen_count);
	assert_int_equal(seen[at].pc, (uint64_t)string_store);
	assert_int_equal(seen[at].address, (uint64_t)numbers);
	assert_int_equal(seen[at + 1].address, 17);
	assert_int_equal(fm_translator_counts(translator)->dropped, 0);
}

/* String instructions that fault in the middle. */
enum { STRING_PAGE = 4096, STRING_PAGES = 4, STRING_BYTES = STRING_PAGE * STRING_PAGES };
struct string_registers {
	uint64_t count, source, destination;
};
static uint8_t *string_from, *string_to;
static struct string_registers string_given, string_left, string_fault;
static uint64_t string_fault_pc;

#define STRING(name, before, code, after)                                                   \
	extern const char name##_at[];                                                      \
	static uint64_t __attribute__((noinline)) name(uint64_t value)                      \
	{                                                                                   \
		struct string_registers now = string_given;                                 \
                                                                                            \
		__asm__ volatile(before "\n" #name "_at: " code "\n" after                  \
		                 : "+c"(now.count), "+S"(now.source), "+D"(now.destination) \
		                 : "a"(value)                                               \
		                 : "memory", "cc");                                         \
		string_left = now;                                                          \
		return value;                                                               \
	}
STRING(fill_bytes, "", "rep stosb", "")
STRING(fill_words, "", "rep stosq", "")
STRING(copy_bytes, "", "rep movsb", "")
STRING(copy_longs, "", "rep movsl", "")
STRING(copy_back, "std", "rep movsb", "cld")
STRING(compare_bytes, "", "repe cmpsb", "")
STRING(find_byte, "", "repne scasb", "")

/* What the log is to say, one operand after the other. */
static const struct {
	const char *name;
	uint64_t (*run)(uint64_t);
	const char *at;
	unsigned size, operands;
	bool back;     /* from the end to the beginning */
	bool ends;     /* it finds what it looks for, in the last page */
	bool overlaps; /* source and destination do */
} strings[] = {
    {"rep stosb", fill_bytes, fill_bytes_at, 1, 1, false, false, false},
    {"rep stosq", fill_words, fill_words_at, 8, 1, false, false, false},
    {"rep movsb", copy_bytes, copy_bytes_at, 1, 2, false, false, false},
    {"rep movsb, overlapping", copy_bytes, copy_bytes_at, 1, 2, false, false, true},
    {"rep movsl", copy_longs, copy_longs_at, 4, 2, false, false, false},
    {"rep movsb, backwards", copy_back, copy_back_at, 1, 2, true, false, false},
    {"repe cmpsb", compare_bytes, compare_bytes_at, 1, 2, false, true, false},
    {"repne scasb", find_byte, find_byte_at, 1, 1, false, true, false},
};

static void on_string_fault(int signal_number, siginfo_t *information, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal_number;
	(void)information;
	if (fm_translator_settle(translator, context))
		return;
	string_fault_pc = (uint64_t)registers[REG_RIP];
	string_fault = (struct string_registers){(uint64_t)registers[REG_RCX], (uint64_t)registers[REG_RSI],
	                                         (uint64_t)registers[REG_RDI]};
	mprotect(string_to, STRING_BYTES, PROT_READ | PROT_WRITE);
	fm_translator_enter_context(translator, context);
}

static void fill_strings(bool same)
{
	for (unsigned i = 0; i < STRING_BYTES; i++) {
		string_from[i] = (uint8_t)(i % 251 + 2);
		string_to[i] = same ? string_from[i] : (uint8_t)(i % 3 + 3);
	}
}

static uint64_t string_choice;
static const char *string_site;
static enum fm_translate_choice choose_string(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return site->pc == (uint64_t)string_site ? (enum fm_translate_choice)string_choice : FM_TRANSLATE_IGNORE;
}

static uint32_t number_any_piece(void *context, const struct fm_translate_piece *piece)
{
	(void)context;
	(void)piece;
	return 5;
}

/* Entries of the instruction: for each time it began or went on, those of all operands. */
static void check_string_log(unsigned index, uint64_t elements, uint64_t done)
{
	const uint64_t starts[2] = {strings[index].operands == 2 ? string_given.source : string_given.destination,
	                            string_given.destination};
	size_t at = 0;

	for (unsigned round = 0; round < (done ? 2 : 1); round++)
		for (unsigned operand = 0; operand < strings[index].operands; operand++) {
			uint64_t moved = round ? done * strings[index].size : 0, address;
			bool found = false;

			while (at < seen_count && seen[at].pc != (uint64_t)strings[index].at)
				at++;
			assert_true(at + 1 < seen_count);
			/* which of the two is told first is the decoder's business */
			for (unsigned k = 0; k < 2 && !found; k++) {
				address = strings[index].back ? starts[k] - moved : starts[k] + moved;
				found = seen[at].address == address;
			}
			assert_true(found);
			assert_true(seen[at].kind & FM_TRANSLATE_REPEATED);
			assert_int_equal(seen[at + 1].address, !done ? elements : round ? elements - done : done);
			at += 2;
		}
	for (; at < seen_count; at++)
		assert_true(seen[at].pc != (uint64_t)strings[index].at);
}

/* It faults at its first element, in the middle, or never; `elements` may be none. */
static void try_string(unsigned index, uint64_t elements, unsigned faulting_page)
{
	static uint8_t expected[STRING_BYTES];
	const unsigned size = strings[index].size, away = strings[index].overlaps ? 64 : 0;
	const uint64_t first = strings[index].back ? STRING_BYTES - 7 : 72;
	struct string_registers native;
	uint64_t done;

	string_given = (struct string_registers){
	    elements,
	    (uint64_t)(away ? string_to + first - away : string_from + first),
	    (uint64_t)string_to + first,
	};
	fill_strings(strings[index].run == compare_bytes);
	if (strings[index].ends)
		string_to[STRING_BYTES - 100] = 1;
	strings[index].run(1);
	native = string_left;
	memcpy(expected, string_to, STRING_BYTES);

	fill_strings(strings[index].run == compare_bytes);
	if (strings[index].ends)
		string_to[STRING_BYTES - 100] = 1;
	string_fault_pc = seen_count = 0;
	if (faulting_page < STRING_PAGES)
		mprotect(string_to + (size_t)faulting_page * STRING_PAGE, STRING_PAGE, PROT_NONE);
	assert_int_equal(translated(strings[index].run, 1), 1);
	mprotect(string_to, STRING_BYTES, PROT_READ | PROT_WRITE);

	assert_memory_equal(string_to, expected, STRING_BYTES);
	assert_memory_equal(&string_left, &native, sizeof(native));
	done = string_fault_pc ? elements - string_fault.count : 0;
	if (string_fault_pc) {
		uint64_t moved = strings[index].back ? -(done * size) : done * size;

		assert_int_equal(string_fault_pc, (uint64_t)strings[index].at);
		assert_int_equal(string_fault.destination, string_given.destination + moved);
		if (strings[index].operands == 2)
			assert_int_equal(string_fault.source, string_given.source + moved);
	}
	assert_int_equal(string_fault_pc != 0, elements && faulting_page < STRING_PAGES);
	check_string_log(index, elements, done);
}

/* The program goes on as if nothing had been, and the log has what was done before the fault, and the rest. */
static void strings_that_fault(void **unused)
{
	struct fm_translate_client client = {.choose = choose_string, .on_log = on_log};
	struct fm_translate_options ways[] = {
	    {.client = &client, .log_entries = 300},
	    {.client = &client, .log_entries = 300, .log_pieces = true},
	    {.client = &client, .log_entries = 300, .count_pieces = true},
	    {.client = &client, .log_entries = 3000, .filter = {0x9e3779b1u & ~127u, 1u << 30, 256}},
	    {.client = &client,
	     .log_entries = 3000,
	     .count_pieces = true,
	     .filter = {0x9e3779b1u & ~127u, 1u << 30, 256}},
	};
	struct sigaction action = {.sa_sigaction = on_string_fault, .sa_flags = SA_SIGINFO}, before;

	(void)unused;
	client.number_piece = number_any_piece;
	string_from = mmap(NULL, STRING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	string_to = mmap(NULL, STRING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(string_from != MAP_FAILED && string_to != MAP_FAILED);
	sigaction(SIGSEGV, &action, &before);
	for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
		for (unsigned i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
			uint64_t most = (STRING_BYTES - 80) / strings[i].size;

			string_site = strings[i].at;
			string_choice = ways[way].filter.limit ? FM_TRANSLATE_FILTERED : FM_TRANSLATE_LOGGED;
			tear_down(NULL);
			assert_int_equal(fm_translator_create(&ways[way], &translator), 0);
			try_string(i, most, STRING_PAGES);
			try_string(i, most - 3, 1);
			try_string(i, most, 2);
			/* nothing of it was done, and nothing is logged twice */
			try_string(i, most, strings[i].back ? STRING_PAGES - 1 : 0);
			if (!ways[way].filter.limit) /* there it is not logged at all */
				try_string(i, 0, 0);
		}
	sigaction(SIGSEGV, &before, NULL);
	munmap(string_from, STRING_BYTES);
	munmap(string_to, STRING_BYTES);
}

/* Fields of structures, with flags that are alive and with flags that are not; more than two with the same base. */
enum { STRUCTURE = 40, STRUCTURES = 1500 };
static uint8_t structures[STRUCTURE * STRUCTURES + 64];
extern const char fields_begin[], fields_end[];
static uint64_t __attribute__((noinline)) fields(uint64_t n)
{
	uint64_t sum = 0;

	__asm__ volatile("fields_begin: 1:\n"
	                 "movq (%%rax), %%r8\n"
	                 "movq 8(%%rax), %%r9\n"
	                 "movq %%r9, 24(%%rax)\n"
	                 "addq 16(%%rax), %%r8\n"
	                 "movq 8(%%rax), %%r10\n"
	                 "adcq 32(%%rax), %%r9\n"
	                 "lea (%%rax), %%rax\n" /* others, for the translator, while the carry is alive */
	                 "movq (%%rax), %%r10\n"
	                 "movq 32(%%rax), %%r11\n"
	                 "movq 16(%%rax), %%rcx\n"
	                 "lea 4(%%rax), %%rdx\n"
	                 "movq %%r8, (%%rdx)\n"
	                 "movq 8(%%rdx), %%r8\n"
	                 "movq 12(%%rdx), %%rcx\n"
	                 "adcq %%r9, %0\n"
	                 "lea 40(%%rax), %%rax\n"
	                 "dec %1\n"
	                 "jnz 1b\n"
	                 "fields_end:\n"
	                 : "+&r"(sum), "+&r"(n)
	                 : "a"(structures)
	                 : "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	return sum;
}

static enum fm_translate_choice choose_fields(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return site->pc >= (uint64_t)fields_begin && site->pc < (uint64_t)fields_end ? FM_TRANSLATE_FILTERED
	                                                                             : FM_TRANSLATE_IGNORE;
}

static void fill_structures(void)
{
	uint64_t random = 1;

	for (unsigned i = 0; i < sizeof(structures); i++)
		structures[i] = (uint8_t)((random = random * 6364136223846793005u + 1442695040888963407u) >> 56);
}

static bool was_seen(uint64_t address, bool store)
{
	for (size_t i = 0; i < seen_count; i++)
		if (seen[i].address / 64 == address / 64 && (!store || (seen[i].kind & FM_TRANSLATE_STORE)))
			return true;
	return false;
}

static void followed_fields(void **unused)
{
	static const struct {
		uint8_t offset;
		bool store;
	} accesses[] = {{0, false}, {8, false}, {16, false}, {24, true}, {32, false}, {4, true}, {12, false}};
	struct fm_translate_client client = {.choose = choose_fields, .on_log = on_log};
	struct fm_translate_options options = {
	    .client = &client, .log_entries = 10000, .filter = {0x9e3779b1u & ~127u, 1u << 30, 256}};
	uint64_t sum;

	(void)unused;
	fill_structures();
	sum = fields(STRUCTURES);
	fill_structures();
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	seen_count = 0;
	assert_int_equal(translated(fields, STRUCTURES), sum);
	assert_int_equal(fm_translator_counts(translator)->dropped, 0);
	for (unsigned i = 0; i < STRUCTURES; i++)
		for (unsigned k = 0; k < sizeof(accesses) / sizeof(accesses[0]); k++) {
			uint64_t address = (uint64_t)structures + i * STRUCTURE + accesses[k].offset;

			if (fm_translate_is_followed(&options.filter, address))
				assert_true(was_seen(address, accesses[k].store));
		}
	for (size_t i = 0; i < seen_count; i++)
		assert_true(fm_translate_is_followed(&options.filter, seen[i].address));
	/* a quarter of the lines, a load and a store of each, and some once more */
	assert_in_range(seen_count, sizeof(structures) / 64 / 8, sizeof(structures) / 64);
}

/* A line that one instruction uses all the time is logged again after some others, not more often. */
extern const char hot_load[], cold_load[];
static uint64_t __attribute__((noinline)) hot_and_cold(uint64_t n)
{
	uint64_t at = (uint64_t)structures & ~(uint64_t)63, hot = (uint64_t)numbers;

	__asm__ volatile("1: hot_load: movq (%2), %%rax\n"
	                 "cold_load: movq 64(%0), %%rax\n"
	                 "add $64, %0\n"
	                 "dec %1\n"
	                 "jnz 1b\n"
	                 : "+&r"(at), "+&r"(n)
	                 : "r"(hot)
	                 : "rax", "memory", "cc");
	return at;
}

static enum fm_translate_choice choose_hot(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return site->pc == (uint64_t)hot_load || site->pc == (uint64_t)cold_load ? FM_TRANSLATE_FILTERED
	                                                                         : FM_TRANSLATE_IGNORE;
}

static void hot_lines_are_logged_again(void **unused)
{
	enum { COUNT = STRUCTURE * STRUCTURES / 64 };
	struct fm_translate_client client = {.choose = choose_hot, .on_log = on_log};
	struct fm_translate_options options = {
	    .client = &client, .log_entries = 10000, .filter = {0x9e3779b1u & ~127u, 0xffffffff, 0}};
	size_t hot = 0;

	(void)unused;
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	seen_count = 0;
	translated(hot_and_cold, COUNT);
	for (size_t i = 0; i < seen_count; i++)
		hot += seen[i].pc == (uint64_t)hot_load;
	assert_int_equal(seen_count - hot, COUNT);
	assert_in_range(hot, COUNT / 12, COUNT / 9);
}

/* Copies of 0 … 20 words, from one place to another further on. */
enum { SHORT_COPIES = 400, SHORT_MOST = 21, SHORT_STEP = 104 };
static uint64_t __attribute__((noinline)) copies_little(uint64_t n)
{
	uint64_t all = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t count = i % SHORT_MOST, left = count;
		uint8_t *from = structures + SHORT_STEP * i, *to = from + 8 * SHORT_MOST;

		__asm__ volatile("short_copy: rep movsq" : "+c"(left), "+S"(from), "+D"(to) : : "memory");
		all += count - left;
	}
	return all;
}

extern const char short_copy[];
static enum fm_translate_choice choose_short(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return site->pc == (uint64_t)short_copy ? FM_TRANSLATE_FILTERED : FM_TRANSLATE_IGNORE;
}

static const struct fm_translate_filter short_filter = {0x9e3779b1u & ~127u, 1u << 27, 256};

/* With room for so many entries. */
static void copy_little(size_t entries)
{
	struct fm_translate_client client = {.choose = choose_short, .on_log = on_log};
	struct fm_translate_options options = {.client = &client, .log_entries = entries, .filter = short_filter};

	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	seen_count = 0;
	translated(copies_little, SHORT_COPIES);
}

/* A short string instruction is logged if it touches a line that is followed, else counted; one of no element neither;
   a longer one is logged in any case. */
static void short_strings_are_counted(void **unused)
{
	const struct fm_translate_counts *counts;
	uint64_t times[2] = {0}, elements[2] = {0};
	size_t at = 0;

	(void)unused;
	copy_little(10000);
	for (uint64_t i = 0; i < SHORT_COPIES; i++)
		for (unsigned operand = 0; operand < 2; operand++) {
			unsigned store = !operand; /* what it stores to is its first operand */
			uint64_t count = i % SHORT_MOST,
			         address = (uint64_t)structures + SHORT_STEP * i + (store ? 8 * SHORT_MOST : 0);
			bool touches = false;

			for (uint64_t k = 0; k < 8 * count; k++)
				touches |= fm_translate_is_followed(&short_filter, address + k);
			if (at < seen_count && seen[at].address == address &&
			    !(seen[at].kind & FM_TRANSLATE_STORE) == !store) {
				assert_int_equal(seen[at + 1].address, count);
				at += 2;
			} else {
				assert_true(count <= FM_TRANSLATE_SHORT && !touches);
				times[store] += count > 0;
				elements[store] += count;
			}
		}
	assert_int_equal(at, seen_count);
	/* one pair of lines in 32 is followed, and more than sixteen words are longer than short: few are logged */
	assert_true(times[0] > SHORT_COPIES / 2);
	counts = fm_translator_counts(translator);
	for (unsigned store = 0; store < 2; store++) {
		assert_int_equal(counts->not_logged[fm_translate_short_kind(8, store)].times, times[store]);
		assert_int_equal(counts->not_logged[fm_translate_short_kind(8, store)].elements, elements[store]);
	}
}

/* … and if there is no room for it, it is counted apart. */
static void strings_without_room_are_counted(void **unused)
{
	const struct fm_translate_counts *counts;
	uint64_t elements[2] = {0}, all = 0;

	(void)unused;
	copy_little(40);
	for (uint64_t i = 0; i < SHORT_COPIES; i++)
		all += i % SHORT_MOST;
	for (size_t at = 0; at < seen_count; at += 2)
		elements[!!(seen[at].kind & FM_TRANSLATE_STORE)] += seen[at + 1].address;
	counts = fm_translator_counts(translator);
	for (unsigned store = 0; store < 2; store++) {
		const struct fm_translate_short *kind = &counts->not_logged[fm_translate_short_kind(8, store)],
		                                *lost = kind + FM_TRANSLATE_SHORT_KINDS;

		assert_true(lost->times > 0 && lost->elements > lost->times);
		assert_int_equal(elements[store] + kind->elements + lost->elements, all);
	}
}

/* A log that nobody empties drops what comes too late, and the program does not notice. */
static void followed_lines_are_dropped(void **unused)
{
	struct fm_translate_client client = {.choose = choose_followed, .on_log = on_log};
	struct fm_translate_options options = {
	    .client = &client, .log_entries = 10, .filter = {0x9e3779b1u & ~127u, 0xffffffff, 0}};

	(void)unused;
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	seen_count = 0;
	assert_int_equal(translated(sums, 1000), 1000);
	assert_true(seen_count >= 10 && seen_count <= 12);
	assert_true(fm_translator_counts(translator)->dropped > 100);
}

static bool refuse(void *context, uint64_t number)
{
	(void)context;
	return number != SYS_getppid;
}

static void hook_of_system_calls(void **unused)
{
	struct fm_translate_client client = {.on_system_call = refuse};
	struct fm_translate_options options = {.client = &client};

	(void)unused;
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	assert_int_equal(translated(many_system_calls, 10), 0);
	fm_translator_enter(translator);
	assert_int_equal(syscall(SYS_getppid), getppid());
	assert_int_equal(left(FM_LEFT_SYSTEM_CALL), 1);
}

/* Fuel is never exceeded, and says how much is left to the piece of code where it ended. */
static void fuel_ends(void **unused)
{
	struct fm_translate_options options = {.with_fuel = true};

	(void)unused;
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	for (uint64_t fuel = 1; fuel < 3000; fuel += 37) {
		uint64_t before = left(FM_LEFT_FUEL);

		fm_translator_set_fuel(translator, fuel);
		fm_translator_enter(translator);
		assert_int_equal(red_zone(1000), 500500); /* 10 instructions each */
		assert_int_equal(left(FM_LEFT_FUEL), before + 1);
		assert_true(translator->slots->fuel >= 0 && translator->slots->fuel < MOST_INSTRUCTIONS);
	}
}

/* Every instruction of a piece has run as often as the piece began. */
static struct fm_translate_piece pieces[10000];
static uint32_t piece_count;
static uint32_t number_piece(void *context, const struct fm_translate_piece *piece)
{
	(void)context;
	if (piece_count == sizeof(pieces) / sizeof(pieces[0]))
		return FM_TRANSLATE_NO_PIECE;
	pieces[piece_count] = *piece;
	return piece_count++;
}

static uint64_t times(const char *instruction)
{
	const uint64_t *counters = fm_translator_counters(translator);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < piece_count; i++)
		if ((uint64_t)instruction >= pieces[i].pc && (uint64_t)instruction < pieces[i].pc + pieces[i].bytes)
			sum += counters[i];
	return sum;
}

extern const char turn_begins[], turn_odd[], turn_carry[], turn_even[], turn_third[], turn_ends[], turn_self[];
static uint64_t __attribute__((noinline)) turns(uint64_t n)
{
	uint64_t i = 0, sum = 0, inner, flags;

	/* flags that live across branches, pieces that change none, a branch to its own piece */
	__asm__ volatile("turn_begins: lea 1(%0), %0\n"
	                 "test $1, %0\n"
	                 "jz turn_even\n"
	                 "turn_odd: lea 2(%1), %1\n"
	                 "jz turn_third\n"
	                 "stc\n"
	                 "jnc turn_third\n"
	                 "turn_carry: adc %0, %1\n"
	                 "jmp 1f\n"
	                 "1: adc $0, %1\n"
	                 "turn_even: jnz turn_ends\n"
	                 "jz turn_third\n"
	                 "ud2\n"
	                 "turn_third: lea (%1, %1, 2), %1\n"
	                 "turn_ends: mov $10, %2\n"
	                 "add %0, %1\n"
	                 "turn_self: lea -1(%2), %2\n"
	                 "rcl $1, %1\n"
	                 "lea (%2), %%ecx\n"
	                 "jrcxz 2f\n"
	                 "jmp turn_self\n"
	                 "2: pushfq\n"
	                 "pop %3\n"
	                 "xor %3, %1\n"
	                 "cmp %4, %0\n"
	                 "jb turn_begins\n"
	                 : "+&r"(i), "+&r"(sum), "=&r"(inner), "=&r"(flags)
	                 : "r"(n)
	                 : "rcx", "memory", "cc");
	return sum;
}

static void counted_pieces(void **unused)
{
	struct fm_translate_client client = {.number_piece = number_piece};
	struct fm_translate_options options = {.client = &client, .count_pieces = true};

	(void)unused;
	assert_null(fm_translator_counters(translator));
	tear_down(NULL);
	piece_count = 0;
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	for (unsigned again = 1; again < 4; again++) {
		assert_int_equal(translated(turns, 1000), turns(1000));
		assert_int_equal(times(turn_begins), 1000 * again);
		assert_int_equal(times(turn_odd), 500 * again);
		assert_int_equal(times(turn_carry), 500 * again);
		assert_int_equal(times(turn_ends), 1000 * again);
		assert_int_equal(times(turn_self), 10000 * again);
		assert_true(times(turn_third) >= 500 * again && times(turn_third) <= 1000 * again);
	}
	memset(fm_translator_counters(translator), 0, piece_count * sizeof(uint64_t));
	fm_translator_flush(translator);
	assert_int_equal(translated(fibonacci, 15), 610);
	assert_true(times((const char *)fibonacci) > 0); /* how often depends on the compiler */
	assert_int_equal(times(turn_begins), 0);
}

extern const char loop_begins[];
/* A loop of one piece, of n passes; the flags of its last pass live on. */
static __attribute__((noinline)) uint64_t loop(uint64_t n)
{
	uint64_t sum = 1, flags;

	__asm__ volatile("loop_begins: lea 3(%0, %0, 4), %0\n"
	                 "add %1, %0\n"
	                 "sub $1, %1\n"
	                 "jnz loop_begins\n"
	                 "pushfq\n"
	                 "pop %2\n"
	                 "xor %2, %0\n"
	                 : "+&r"(sum), "+&r"(n), "=&r"(flags)
	                 :
	                 : "memory", "cc");
	return sum;
}

static void copied_loops_are_counted(void **unused)
{
	struct fm_translate_client client = {.number_piece = number_piece};
	struct fm_translate_options options = {.client = &client, .count_pieces = true};

	(void)unused;
	for (options.loop_copies = 0; options.loop_copies < 10; options.loop_copies += 3) {
		uint64_t all = 0;

		tear_down(NULL);
		piece_count = 0;
		assert_int_equal(fm_translator_create(&options, &translator), 0);
		for (uint64_t n = 1; n < 40; n++) {
			assert_int_equal(translated(loop, n), loop(n));
			all += n;
			assert_int_equal(times(loop_begins), all);
		}
	}
}

/* Visits of a piece: their number is exact, or late by some passes of a copied loop. */
static uint32_t number_loop(void *context, const struct fm_translate_piece *piece)
{
	(void)context;
	return piece->pc == (uint64_t)loop_begins ? 0 : FM_TRANSLATE_NO_PIECE;
}
static uint64_t visit_times[16];
static unsigned visits_seen;
static bool count_visit(void *context)
{
	(void)context;
	visits_seen++;
	return false;
}

static void visits_are_counted(void **unused)
{
	struct fm_translate_client client = {.number_piece = number_loop, .on_visit = count_visit};
	struct fm_translate_options options = {.client = &client, .visits = true};

	(void)unused;
	for (options.loop_copies = 0; options.loop_copies < 10; options.loop_copies += 3) {
		unsigned late = options.loop_copies;

		for (unsigned until = 1; until < 60; until++) {
			tear_down(NULL);
			assert_int_equal(fm_translator_create(&options, &translator), 0);
			/* three readings of the clock: at `until`, and twice 10 later. The first pass is in a piece
			   that begins earlier */
			memset(visit_times, 0, sizeof(visit_times));
			visits_seen = 0;
			fm_translator_set_visits(translator, until, 10, visit_times, 3);
			assert_int_equal(translated(loop, until + 20), loop(until + 20));
			assert_true(late || !visits_seen);
			assert_true(late || (visit_times[1] && !visit_times[2]));
			fm_translator_set_visits(translator, until, 10, visit_times, 3);
			assert_int_equal(translated(loop, until + 21 + 3 * late), loop(until + 21 + 3 * late));
			assert_int_equal(visits_seen, 1);
			assert_true(visit_times[0] < visit_times[1] && visit_times[1] < visit_times[2]);
		}
	}
}

/* Masked stores: exactly the bytes that they overwrite are kept. */
static uint8_t masked_memory[256] __attribute__((aligned(64)));
static __attribute__((target("avx512bw"), noinline)) uint64_t masked_stores(uint64_t mask)
{
	__asm__ volatile("kmovq %0, %%k1\n"
	                 "vpternlogd $255, %%zmm16, %%zmm16, %%zmm16\n"
	                 "vmovdqu8 %%zmm16, (%1) %{%%k1%}\n"
	                 "vmovdqu32 %%zmm16, 96(%1) %{%%k1%}\n"
	                 :
	                 : "r"(mask), "r"(masked_memory + 3)
	                 : "memory", "k1", "xmm16");
	return mask;
}

static uint64_t kept_bytes;
static void keep_masked(void *context, const struct fm_translate_entry *entries, size_t count)
{
	uint64_t at = 0;

	(void)context;
	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = entries[i].site & ~(uint64_t)FM_TRANSLATE_OLD_ENTRY;

		if (!(entries[i].site & FM_TRANSLATE_OLD_ENTRY)) {
			at = entries[i].address;
			continue;
		}
		if (at >= (uint64_t)masked_memory && at < (uint64_t)masked_memory + sizeof(masked_memory)) {
			memcpy((void *)at, &entries[i].address, bytes);
			kept_bytes += bytes;
		}
		at += bytes;
	}
}
static uint32_t number_any(void *context, const struct fm_translate_site *site)
{
	(void)context;
	(void)site;
	return 5;
}

static void masked_stores_are_kept(void **unused)
{
	static const uint64_t masks[] = {0, 1, 0xff, 0xffff, ~(uint64_t)0, 0x7fffffff, 0xf0f0, 0x8000000000000001};
	struct fm_translate_client client = {.choose = choose_all, .number_site = number_any, .on_log = keep_masked};
	struct fm_translate_options options = {.client = &client, .undo = true};
	uint8_t before[sizeof(masked_memory)];

	(void)unused;
	if (!__builtin_cpu_supports("avx512bw"))
		skip();
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	for (unsigned i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		for (unsigned k = 0; k < sizeof(before); k++)
			before[k] = masked_memory[k] = (uint8_t)(7 * k + i);
		kept_bytes = 0;
		translated(masked_stores, masks[i]);
		/* each bit of the first, and 16 bits of the second */
		assert_int_equal(kept_bytes,
		                 __builtin_popcountll(masks[i]) + 4 * __builtin_popcountll(masks[i] & 0xffff));
		assert_memory_equal(masked_memory, before, sizeof(before));
	}
	assert_int_equal(fm_translator_counts(translator)->left[FM_LEFT_IRREVERSIBLE], 0);
	/* too scattered for the log */
	fm_translator_enter(translator);
	masked_stores(0x5555);
	assert_int_equal(fm_translator_counts(translator)->left[FM_LEFT_IRREVERSIBLE], 1);
}

/* From one translator to the other and back. */
static struct fm_translator *other;
static bool in_other;
static uint64_t hand_overs, told[FM_LEFT_REASONS];
static void hand_over(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers)
{
	(void)context;
	(void)pc;
	(void)registers;
	told[reason]++;
	if (reason != FM_LEFT_FUEL)
		return;
	hand_overs++;
	fm_translator_set_fuel(in_other ? translator : other, 64 + hand_overs % 50);
	fm_translator_hand_over(in_other ? other : translator, in_other ? translator : other);
	in_other = !in_other;
}

static bool hand_over_full(void *context)
{
	hand_over(context, FM_LEFT_FUEL, 0, NULL);
	return false;
}

static void hands_over(void **unused)
{
	struct fm_translate_client by_fuel = {.on_leave = hand_over},
	                           by_log = {.choose = choose_all, .on_full = hand_over_full};
	struct fm_translate_options options[] = {{.client = &by_fuel, .with_fuel = true},
	                                         {.client = &by_log, .log_entries = 50}};

	(void)unused;
	for (unsigned way = 0; way < 2; way++) {
		tear_down(NULL);
		assert_int_equal(fm_translator_create(&options[way], &translator), 0);
		assert_int_equal(fm_translator_create(&options[way], &other), 0);
		for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
			uint64_t native, cached;

			own = 5;
			native = plain[i].function(plain[i].argument);
			own = 5;
			in_other = false;
			fm_translator_set_fuel(translator, 100);
			fm_translator_enter(translator);
			cached = plain[i].function(plain[i].argument);
			fm_translator_leave();
			if (cached != native)
				fail_msg("%s: %lx, natively %lx", plain[i].name, cached, native);
		}
		printf("%lu times handed over\n", hand_overs);
		assert_true(hand_overs > 1000);
		assert_true(fm_translator_counts(other)->entered > 500);
		assert_true(fm_translator_counts(translator)->left[FM_LEFT_FUEL] > 500);
		assert_int_equal(fm_translator_counts(translator)->left[FM_LEFT_ASKED] +
		                     fm_translator_counts(other)->left[FM_LEFT_ASKED],
		                 sizeof(plain) / sizeof(plain[0]));
		hand_overs = 0;
		fm_translator_destroy(other);
	}
}

/* To one that cannot translate what comes next. */
static void hands_over_in_vain(void **unused)
{
	static const uint8_t loop[] = {0xb8, 0xe8, 3, 0, 0, 0xff, 0xc8, 0x75, 0xfc, 0xb8, 42, 0, 0, 0, 0xc3};
	struct fm_translate_client client = {.on_leave = hand_over};
	struct fm_translate_options options = {.client = &client, .with_fuel = true, .generated_code = true};
	uint64_t fuel = told[FM_LEFT_FUEL], generated = told[FM_LEFT_GENERATED];

	(void)unused;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, loop, sizeof(loop));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	options.generated_code = false;
	assert_int_equal(fm_translator_create(&options, &other), 0);
	in_other = false;
	fm_translator_set_fuel(translator, 500);
	fm_translator_enter(translator);
	assert_int_equal(calls_page(0), 42);
	assert_int_equal(told[FM_LEFT_FUEL], fuel + 1);
	assert_int_equal(told[FM_LEFT_GENERATED], generated + 1);
	assert_int_equal(fm_translator_counts(other)->left[FM_LEFT_GENERATED], 1);
	fm_translator_destroy(other);
	munmap(page, 4096);
}

/* What is not copied, and how it is counted. */
static const struct {
	const char *name, *bytes;
	size_t length;
	enum fm_translate_reason reason;
} unsupported[] = {
    {"int3", "\xcc", 1, FM_LEFT_INTERRUPT},
    {"int $0x80", "\xcd\x80", 2, FM_LEFT_INTERRUPT},
    {"icebp", "\xf1", 1, FM_LEFT_INTERRUPT},
    {"ud2", "\x0f\x0b", 2, FM_LEFT_INTERRUPT},
    {"ud1", "\x0f\xb9\xc0", 3, FM_LEFT_INTERRUPT},
    {"xbegin", "\xc7\xf8\0\0\0\0", 6, FM_LEFT_TRANSACTION},
    {"far jump", "\x48\xff\x28", 3, FM_LEFT_FAR},
    {"far call", "\xff\x18", 2, FM_LEFT_FAR},
    {"far return", "\xcb", 1, FM_LEFT_FAR},
    {"iretq", "\x48\xcf", 2, FM_LEFT_FAR},
    {"sysenter", "\x0f\x34", 2, FM_LEFT_FAR},
    {"mov %eax, %gs", "\x8e\xe8", 2, FM_LEFT_FAR},
    {"pop %fs", "\x0f\xa1", 2, FM_LEFT_FAR},
    {"hlt", "\xf4", 1, FM_LEFT_PRIVILEGED},
    {"cli", "\xfa", 1, FM_LEFT_PRIVILEGED},
    {"in", "\xec", 1, FM_LEFT_PRIVILEGED},
    {"rep outsb", "\xf3\x6e", 2, FM_LEFT_PRIVILEGED},
    {"mov %rax, %cr3", "\x0f\x22\xd8", 3, FM_LEFT_PRIVILEGED},
    {"wrmsr", "\x0f\x30", 2, FM_LEFT_PRIVILEGED},
    {"sysret", "\x48\x0f\x07", 3, FM_LEFT_PRIVILEGED},
    {"16-bit jump", "\x66\xe9\0\0\0\0", 6, FM_LEFT_WIDTH},
    {"16-bit return", "\x66\xc3", 2, FM_LEFT_WIDTH},
    {"eip-relative", "\x67\x8b\x05\0\0\0\0", 7, FM_LEFT_ENCODING},
    {"no instruction", "\x06", 1, FM_LEFT_UNDECODED},
    {"end of the mapping", "\x48\x8b", 2, FM_LEFT_UNDECODED},
};

static const struct {
	const char *name, *bytes;
	size_t length;
	enum instruction_class class;
} supported[] = {
    {"rdtsc", "\x0f\x31", 2, CLASS_COPY},
    {"cpuid", "\x0f\xa2", 2, CLASS_COPY},
    {"xgetbv", "\x0f\x01\xd0", 3, CLASS_COPY},
    {"rdfsbase", "\xf3\x48\x0f\xae\xc0", 5, CLASS_COPY},
    {"popf", "\x9d", 1, CLASS_COPY},
    {"xsave", "\x48\x0f\xae\x26", 4, CLASS_COPY},
    {"endbr64", "\xf3\x0f\x1e\xfa", 4, CLASS_COPY},
    {"xtest", "\x0f\x01\xd6", 3, CLASS_COPY},
    {"gs operand", "\x65\x48\x8b\x04\x25\0\0\0\0", 9, CLASS_COPY},
    {"AVX-512", "\x62\xf1\x7c\x48\x58\xc1", 6, CLASS_COPY},
    {"call of __tls_get_addr", "\x66\x66\x48\xe8\0\0\0\0", 8, CLASS_CALL},
    {"notrack jump", "\x3e\xff\xe0", 3, CLASS_INDIRECT_JUMP},
    {"bnd return", "\xf2\xc3", 2, CLASS_RETURN},
    {"rep return", "\xf3\xc3", 2, CLASS_RETURN},
    {"syscall", "\x0f\x05", 2, CLASS_SYSTEM_CALL},
};

static void listed_instructions(void **unused)
{
	ZydisDecoder decoder;
	struct instruction instruction;

	(void)unused;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (unsigned i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++) {
		fm_translate_decode(&decoder, (uint64_t)unsupported[i].bytes, unsupported[i].length, &instruction);
		if (instruction.class != CLASS_LEAVE || instruction.reason != unsupported[i].reason)
			fail_msg("%s: class %u, %s", unsupported[i].name, instruction.class,
			         fm_translate_reason_text(instruction.reason));
	}
	for (unsigned i = 0; i < sizeof(supported) / sizeof(supported[0]); i++) {
		fm_translate_decode(&decoder, (uint64_t)supported[i].bytes, supported[i].length, &instruction);
		if (instruction.class != supported[i].class)
			fail_msg("%s: class %u, %s", supported[i].name, instruction.class,
			         fm_translate_reason_text(instruction.reason));
	}
}

static volatile uint64_t trap_pc;
static void on_trap(int signal_number, siginfo_t *information, void *context)
{
	(void)signal_number;
	(void)information;
	trap_pc = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

extern const char after_breakpoint[];
static void __attribute__((noinline)) breakpoints_are_native(void **unused)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, before;

	(void)unused;
	sigaction(SIGTRAP, &action, &before);
	fm_translator_enter(translator);
	__asm__ volatile("int3\nafter_breakpoint:\n");
	assert_int_equal(trap_pc, (uint64_t)after_breakpoint);
	assert_int_equal(left(FM_LEFT_INTERRUPT), 1);
	sigaction(SIGTRAP, &before, NULL);
}

/* A small cache is thrown away again and again. */
static void small_cache(void **unused)
{
	struct fm_translate_options options = {.code_size = 64 << 10};

	(void)unused;
	tear_down(NULL);
	assert_int_equal(fm_translator_create(&options, &translator), 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(translated(sorted, 7), sorted(7));
		assert_int_equal(translated(makes_processes, 1), 55);
		assert_int_equal(translated(through_table, 100), through_table(100));
		assert_int_equal(translated(makes_threads, 2), 2 * 144 + 1);
	}
	assert_true(fm_translator_counts(translator)->flushed > 0);
}

static void bad_options(void **unused)
{
	struct fm_translate_options small = {.code_size = 100}, large = {.code_size = (size_t)1 << 40},
	                            entries = {.log_entries = 10000000};
	struct fm_translate_client client = {.number_piece = number_piece};
	struct fm_translate_options counting = {.count_pieces = true},
	                            logging = {.client = &client, .log_pieces = true};
	struct fm_translator *none = NULL;

	(void)unused;
	assert_int_equal(fm_translator_create(&counting, &none), -EINVAL);
	assert_int_equal(fm_translator_create(&logging, &none), -EINVAL);
	assert_int_equal(fm_translator_create(&small, &none), -EINVAL);
	assert_int_equal(fm_translator_create(&large, &none), -EINVAL);
	assert_int_equal(fm_translator_create(&entries, &none), -EINVAL);
	assert_null(none);
	fm_translator_destroy(NULL);
	for (unsigned reason = 0; reason <= FM_LEFT_REASONS; reason++)
		assert_true(strlen(fm_translate_reason_text(reason)) > 5);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(plain_cases),
	    CASE(threads_start_natively),
	    CASE(forks_and_spawns),
	    CASE(leaves_anywhere),
	    CASE(faults_are_the_programs),
	    CASE(changed_code),
	    CASE(logged_references),
	    CASE(hook_of_system_calls),
	    CASE(fuel_ends),
	    CASE(listed_instructions),
	    CASE(breakpoints_are_native),
	    CASE(small_cache),
	    CASE(bad_options),
	    CASE(counted_pieces),
	    CASE(copied_loops_are_counted),
	    CASE(visits_are_counted),
	    CASE(masked_stores_are_kept),
	    CASE(hands_over),
	    CASE(hands_over_in_vain),
	    CASE(followed_lines),
	    CASE(followed_fields),
	    CASE(hot_lines_are_logged_again),
	    CASE(strings_that_fault),
	    CASE(short_strings_are_counted),
	    CASE(strings_without_room_are_counted),
	    CASE(followed_lines_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
