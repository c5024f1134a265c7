/* Counters of each CPU, changed by restartable sequences: none is lost when the thread is moved in the middle of one.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/rseq.h>

enum { THREADS = 4, ROUNDS = 40000, MOST_CPUS = 1024, STRIDE = 8 };

static uint64_t counters[MOST_CPUS * STRIDE] __attribute__((aligned(64)));

/* The loop makes the time between load and store long enough for a switch. */
static void add(void)
{
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);

	for (;;) {
		uint32_t cpu = *(volatile uint32_t *)&area->cpu_id_start;

		__asm__ goto(".pushsection __rseq_cs, \"aw\"\n"
		             ".balign 32\n"
		             "3: .long 0, 0\n"
		             ".quad 1f, 2f - 1f, 4f\n"
		             ".popsection\n"
		             "lea 3b(%%rip), %%rax\n"
		             "mov %%rax, 8(%0)\n"
		             "1: cmpl %1, 4(%0)\n"
		             "jnz %l[again]\n"
		             "mov (%2), %%rdx\n"
		             "mov $2000, %%ecx\n"
		             "5: dec %%ecx\n"
		             "jnz 5b\n"
		             "inc %%rdx\n"
		             "mov %%rdx, (%2)\n"
		             "2:\n"
		             ".pushsection __rseq_failure, \"ax\"\n"
		             ".byte 0x0f, 0xb9, 0x3d\n"
		             ".long 0x53053053\n"
		             "4: jmp %l[again]\n"
		             ".popsection"
		             :
		             : "r"(area), "r"(cpu), "r"(&counters[(size_t)cpu % MOST_CPUS * STRIDE])
		             : "rax", "rcx", "rdx", "memory", "cc"
		             : again);
		return;
	again:;
	}
}

static void *run(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		add();
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;

	if (!__rseq_size) {
		printf("no restartable sequences\n");
		return 0;
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < MOST_CPUS; i++)
		sum += counters[i * STRIDE];
	printf("%lu of %d\n", (unsigned long)sum, THREADS * ROUNDS);
	return 0;
}
