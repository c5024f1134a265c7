/* signalfd, timerfd and eventfd in one epoll: 50 of each, no handler. */
#include "counted.h"
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

int main(void)
{
	struct itimerspec every = {{0, 2000000}, {0, 2000000}};
	int poll = epoll_create1(EPOLL_CLOEXEC), files[3], signals = 0, ticks = 0, events = 0;
	unsigned long value = 0;
	sigset_t set;

	counted();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	files[0] = signalfd(-1, &set, SFD_CLOEXEC);
	files[1] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	files[2] = eventfd(0, EFD_CLOEXEC);
	timerfd_settime(files[1], 0, &every, NULL);
	for (uint32_t i = 0; i < 3; i++)
		epoll_ctl(poll, EPOLL_CTL_ADD, files[i], &(struct epoll_event){.events = EPOLLIN, .data.u32 = i});
	while (signals < 50 || ticks < 50 || events < 50) {
		struct signalfd_siginfo information;
		struct epoll_event event;
		uint64_t number;

		if (epoll_wait(poll, &event, 1, 1000) != 1)
			continue;
		if (event.data.u32 == 0 && read(files[0], &information, sizeof(information)) == sizeof(information)) {
			signals++;
			number = 1;
			if (write(files[2], &number, sizeof(number)) != sizeof(number))
				return 1;
		} else if (event.data.u32 == 1 && read(files[1], &number, sizeof(number)) == sizeof(number)) {
			ticks++;
			if (signals < 50)
				kill(getpid(), SIGUSR1);
			value ^= work(100000);
		} else if (event.data.u32 == 2 && read(files[2], &number, sizeof(number)) == sizeof(number)) {
			events++;
		}
	}
	printf("%d signals, %d events\n", signals, events);
	return 0;
}
