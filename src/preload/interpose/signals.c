/* All functions by which a program sets handlers and masks. */
#include "preload/hooks.h"

sighandler_t bsd_signal(int number, sighandler_t handler);

EXPORTED int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict before)
{
	fm_next_find();
	return fm_hook_has_signal(number) ? fm_hook_action(number, action, before)
	                                  : fm_next.sigaction(number, action, before);
}

static sighandler_t set_handler(int number, const struct sigaction *action)
{
	struct sigaction before;

	return sigaction(number, action, &before) ? SIG_ERR : before.sa_handler;
}

EXPORTED sighandler_t signal(int number, sighandler_t handler)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	fm_next_find();
	if (!fm_hook_has_signal(number))
		return fm_next.signal(number, handler);
	sigaddset(&action.sa_mask, number);
	return set_handler(number, &action);
}

EXPORTED sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

EXPORTED sighandler_t ssignal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

/* signal() of System V, which some standards ask for: a handler serves once. */
EXPORTED sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	return set_handler(number,
	                   &(struct sigaction){.sa_handler = handler, .sa_flags = (int)SA_RESETHAND | SA_NODEFER});
}

EXPORTED sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return __sysv_signal(number, handler);
}

EXPORTED int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
	fm_next_find();
	return fm_hook_mask(fm_next.sigprocmask, how, set, before);
}

EXPORTED int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
	fm_next_find();
	return fm_hook_mask(fm_next.pthread_sigmask, how, set, before);
}
