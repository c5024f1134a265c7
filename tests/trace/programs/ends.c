/* Programs that end, change or limit themselves in unusual ways: ends HOW. Each prints a line first. */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long sum;

static void *spin(void *unused)
{
	for (;;)
		sum++;
	return unused;
}

static void *sleep_long(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void work(void)
{
	for (int i = 0; i < 3000000; i++)
		sum += (unsigned long)i;
}

static void *exit_here(void *unused)
{
	exit(6);
	return unused;
}

static void start(void *(*routine)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, routine, NULL))
		exit(99);
}

/* Everything is allowed but what only somebody else would do. */
static void limit(void)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 3, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 2, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_settime, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		exit(98);
}

static void on_usr1(int number)
{
	(void)number;
	sum++;
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "";

	printf("%s\n", how);
	fflush(stdout);
	if (!strcmp(how, "_exit"))
		_exit(3);
	if (!strcmp(how, "quick_exit"))
		quick_exit(4);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "killed")) {
		for (int i = 0; i < 20; i++)
			work();
		raise(SIGKILL);
	}
	if (!strcmp(how, "spinning")) {
		start(spin);
		start(sleep_long);
		work();
		exit(5);
	}
	if (!strcmp(how, "elsewhere")) {
		start(exit_here);
		sleep_long(NULL);
	}
	if (!strcmp(how, "without_main")) {
		start(exit_here);
		pthread_exit(NULL);
	}
	if (!strcmp(how, "limited")) {
		signal(SIGUSR1, on_usr1);
		start(spin);
		start(sleep_long);
		work();
		limit();
		raise(SIGUSR1);
		work();
		return 7;
	}
	if (!strcmp(how, "executed")) {
		execl("/nonexistent", "nothing", (char *)NULL);
		execv("/nonexistent", arguments);
		work();
		execlp("sh", "sh", "-c", "echo executed; exit 8", (char *)NULL);
	}
	if (!strcmp(how, "unloaded")) {
		for (int i = 0; i < 20; i++) {
			void *library = dlopen("libm.so.6", RTLD_NOW);
			double (*function)(double) = library ? (double (*)(double))dlsym(library, "cbrt") : NULL;

			if (function)
				printf("%.3f\n", function(i));
			if (library)
				dlclose(library);
		}
		return 9;
	}
	if (!strcmp(how, "by_vfork")) {
		for (int i = 0; i < 20; i++) {
			pid_t child = vfork();

			if (!child) {
				if (i % 2)
					execl("/bin/true", "true", (char *)NULL);
				_exit(0);
			}
			waitpid(child, NULL, 0);
			work();
		}
		return 10;
	}
	if (!strcmp(how, "masked")) {
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		for (int i = 0; i < 10; i++)
			work();
		return 11;
	}
	return 1;
}
