/* Preloaded into unmodified programs: runs their first thread wholly in the code cache, from before main().
   TRANSLATE_MODE    plain (default), log (every reference is logged), fuel, tick (every millisecond the thread leaves
   where it happens to be and enters again, and every other time all translations are thrown away), none (only loaded,
   for comparison) TRANSLATE_SIZE    KiB of the cache TRANSLATE_REPORT  file that gets counts and reasons, one "name
   value" per line, at exit */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "translate/translate.h"

static struct fm_translator *translator;
static uint64_t logged, checksum, refuelled, ticks, between;

static enum fm_translate_choice choose_all(void *context, const struct fm_translate_site *site)
{
	(void)context;
	(void)site;
	return FM_TRANSLATE_LOGGED;
}

static void on_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	(void)context;
	logged += count;
	for (size_t i = 0; i < count; i += 64)
		checksum ^= entries[i].address;
}

static uint64_t on_fuel(void *context)
{
	(void)context;
	refuelled++;
	return 1000000;
}

static void on_tick(int number, siginfo_t *information, void *context)
{
	int saved = errno;

	(void)number;
	(void)information;
	ticks++;
	if (fm_translator_holds(translator, (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP])) {
		if (fm_translator_settle(translator, context)) {
			between++;
		} else {
			if (ticks & 1)
				fm_translator_flush(translator);
			fm_translator_enter_context(translator, context);
		}
	}
	errno = saved;
}

static void begin_ticks(void)
{
	struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX};
	struct itimerspec interval = {{0, 1000000}, {0, 1000000}};
	timer_t timer;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	sigaction(SIGRTMAX, &action, NULL);
	if (!timer_create(CLOCK_MONOTONIC, &event, &timer))
		timer_settime(timer, 0, &interval, NULL);
}

static void __attribute__((constructor)) begin(void)
{
	const char *mode = getenv("TRANSLATE_MODE"), *size = getenv("TRANSLATE_SIZE");
	struct fm_translate_client client = {.on_fuel = on_fuel};
	struct fm_translate_options options = {.client = &client};

	if (mode && !strcmp(mode, "none"))
		return;
	if (mode && !strcmp(mode, "log")) {
		client.choose = choose_all;
		client.on_log = on_log;
	}
	options.with_fuel = mode && !strcmp(mode, "fuel");
	if (size)
		options.code_size = (size_t)atol(size) << 10;
	if (fm_translator_create(&options, &translator))
		return;
	if (mode && !strcmp(mode, "tick"))
		begin_ticks();
	fm_translator_enter(translator);
}

static void __attribute__((destructor)) end(void)
{
	const char *name = getenv("TRANSLATE_REPORT");
	const struct fm_translate_counts *counts;
	int file;

	if (!translator || !name)
		return;
	counts = fm_translator_counts(translator);
	file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (file < 0)
		return;
	dprintf(file,
	        "pid %d\nblocks %lu\ninstructions %lu\nentered %lu\nchained %lu\nlooked_up %lu\nflushed "
	        "%lu\nsystem_calls %lu\n"
	        "unlogged %lu\nlogged %lu\nrefuelled %lu\n"
	        "ticks %lu\nbetween %lu\n",
	        getpid(), counts->blocks, counts->instructions, counts->entered, counts->chained, counts->looked_up,
	        counts->flushed, counts->system_calls, counts->unlogged, logged, refuelled, ticks, between);
	for (unsigned reason = 0; reason < FM_LEFT_REASONS; reason++)
		if (counts->left[reason])
			dprintf(file, "left %lu times %s\n", counts->left[reason], fm_translate_reason_text(reason));
	dprintf(file, "end\n");
	close(file);
}
