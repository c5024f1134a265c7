/* A thread serves the page faults of another by userfaultfd. */
#define _GNU_SOURCE
#include "counted.h"
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGES = 2000 };
static int faults;

static void *serve(void *nothing)
{
	static char page[4096] __attribute__((aligned(4096)));

	for (int i = 0; i < PAGES; i++) {
		struct uffd_msg message;
		struct uffdio_copy copy = {.src = (unsigned long)page, .len = 4096};

		if (read(faults, &message, sizeof(message)) != sizeof(message))
			break;
		memset(page, (int)(work(10000) + (unsigned long)i) & 127, sizeof(page));
		copy.dst = message.arg.pagefault.address & ~4095UL;
		if (ioctl(faults, UFFDIO_COPY, &copy))
			break;
	}
	return nothing;
}

int main(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	char *area = mmap(NULL, PAGES * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(unsigned long)area, PAGES * 4096L},
	                                .mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t thread;
	unsigned long sum = 0;

	counted();
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &range))
		return 77;
	pthread_create(&thread, NULL, serve, NULL);
	for (long i = 0; i < PAGES; i++)
		sum = sum * 31 + (unsigned char)area[i * 4096 + i];
	pthread_join(thread, NULL);
	printf("%lu\n", sum);
	return 0;
}
