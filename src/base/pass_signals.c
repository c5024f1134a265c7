#include "base/pass_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PASSED = 6, SIGNALS = 65, PATIENCE_STEPS = 40, STEP_NS = 500000 };
static const int passed[PASSED] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2};
static struct sigaction own[PASSED];
static volatile pid_t receiver;
static volatile sig_atomic_t asked;

/* A process in the same process group that only counts signals: those that it receives, too, were sent to the group.
   The counts are in shared memory. */
static struct {
	pid_t process;
	volatile uint32_t *seen; /* by signal */
	uint32_t known[SIGNALS]; /* of these, those that the handler has met */
} witness;

static void __attribute__((noreturn)) be_witness(const sigset_t *set, pid_t tool)
{
	int number;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "fathom-signals");
	if (getppid() != tool)
		_exit(0);
	/* pipes of the tool end with it, not with us */
	close_range(0, ~0U, 0);
	for (;;)
		if (!sigwait(set, &number))
			__atomic_fetch_add(&witness.seen[number], 1, __ATOMIC_SEQ_CST);
}

static void begin_witness(void)
{
	pid_t tool = getpid();
	sigset_t set, before;

	memset(witness.known, 0, sizeof(witness.known));
	if (!witness.seen) {
		void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		witness.seen = shared == MAP_FAILED ? NULL : shared;
	}
	if (!witness.seen)
		return;
	memset((void *)witness.seen, 0, SIGNALS * sizeof(uint32_t));
	sigemptyset(&set);
	for (unsigned i = 0; i < PASSED; i++)
		sigaddset(&set, passed[i]);
	/* blocked from its first moment on */
	sigprocmask(SIG_BLOCK, &set, &before);
	witness.process = fork();
	if (!witness.process)
		be_witness(&set, tool);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (witness.process < 0)
		witness.process = 0;
}

static void end_witness(void)
{
	if (witness.process <= 0)
		return;
	kill(witness.process, SIGKILL);
	while (waitpid(witness.process, NULL, 0) < 0 && errno == EINTR)
		;
	witness.process = 0;
}

/* Whether the group got it. The witness may need a moment to say so. */
static bool reached_group(int number)
{
	const struct timespec step = {0, STEP_NS};

	for (unsigned i = 0; witness.process > 0 && i < PATIENCE_STEPS; i++) {
		if (__atomic_load_n(&witness.seen[number], __ATOMIC_SEQ_CST) != witness.known[number]) {
			witness.known[number]++;
			return true;
		}
		nanosleep(&step, NULL);
	}
	return false;
}

static void pass_on(int number, siginfo_t *information, void *context)
{
	int problem = errno;
	pid_t process = receiver;

	asked = number;
	/* for callers that repeat the program */
	for (unsigned i = 0; i < PASSED; i++)
		if (passed[i] == number && own[i].sa_flags & SA_SIGINFO)
			own[i].sa_sigaction(number, information, context);
	if (process > 0 && information->si_code != SI_KERNEL && !reached_group(number))
		kill(process, number);
	errno = problem;
}

void fm_pass_signals_to(pid_t process)
{
	struct sigaction pass = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};
	bool passing = receiver > 0;

	if (process > 0 && !passing) {
		asked = 0;
		receiver = process;
		begin_witness();
		sigfillset(&pass.sa_mask);
		for (unsigned i = 0; i < PASSED; i++)
			sigaction(passed[i], &pass, &own[i]);
	} else if (process <= 0 && passing) {
		for (unsigned i = 0; i < PASSED; i++)
			sigaction(passed[i], &own[i], NULL);
		receiver = 0;
		end_witness();
	} else {
		receiver = process;
	}
}

int fm_pass_signals_asked(void)
{
	return asked;
}
