/* A program that forbids itself all system calls but the few that it makes: filtered WAY, where WAY is prctl or
   syscall. Afterwards it maps memory, makes a thread, uses its heap and ends in the usual way. Whoever makes another
   call in it ends it by SIGSYS. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 300 << 10, ROUNDS = 300, CANNOT = 99 };

static void forbid(const char *way)
{
	/* of malloc, of threads, of the end; neither open nor read nor ioctl nor mincore nor getpid */
	static const unsigned allowed[] = {SYS_brk,          SYS_mmap,   SYS_munmap,          SYS_mprotect,
	                                   SYS_futex,        SYS_clone,  SYS_rt_sigprocmask,  SYS_rseq,
	                                   SYS_write,        SYS_exit,   SYS_set_robust_list, SYS_exit_group,
	                                   SYS_madvise,      SYS_clone3, SYS_newfstatat,      SYS_getrandom,
	                                   SYS_rt_sigaction, SYS_fstat};
	struct sock_filter filter[3 + 2 * sizeof(allowed) / sizeof(allowed[0])];
	struct sock_fprog program = {0, filter};
	long r;

	filter[program.len++] =
	    (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		filter[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (!strcmp(way, "prctl"))
		r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	else
		r = syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	if (r)
		_exit(CANNOT);
}

/* Each page becomes the program's own. */
static void fill(char *memory)
{
	for (size_t at = 0; at < BYTES; at += 64)
		*(volatile uint64_t *)(void *)(memory + at) = 0;
}

static uint64_t work(const char *memory)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ROUNDS; i++)
		for (size_t at = 0; at < BYTES; at += 64)
			sum += *(const volatile uint64_t *)(const void *)(memory + at);
	return sum;
}

static void *in_thread(void *memory)
{
	return (void *)(uintptr_t)work(memory);
}

int main(int count, char **words)
{
	char *before = malloc(BYTES), *after, *mapped;
	pthread_t thread;
	void *result = NULL;
	uint64_t sum;
	char text[32];

	if (count != 2 || !before)
		return 2;
	fill(before);
	sum = work(before);
	forbid(words[1]);
	mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	after = malloc(BYTES);
	if (mapped == MAP_FAILED || !after || pthread_create(&thread, NULL, in_thread, mapped))
		return 1;
	fill(after);
	pthread_join(thread, &result);
	sum += work(after) + work(before) + (uint64_t)(uintptr_t)result;
	/* without asking what standard output is */
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)sum);
	return write(STDOUT_FILENO, text, strlen(text)) < 0;
}
