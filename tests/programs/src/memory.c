/* Shared memory of every kind between processes: POSIX, System V, memfd, a file; mremap, madvise, a fork that writes.
 */
#define _GNU_SOURCE
#include "counted.h"
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

enum { LENGTH = 12 << 20 };

static void *map(int file)
{
	void *area =
	    ftruncate(file, LENGTH) ? MAP_FAILED : mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	close(file);
	return area;
}

int main(void)
{
	char name[64];
	int identifier = shmget(IPC_PRIVATE, LENGTH, IPC_CREAT | 0600);
	unsigned char *areas[4];
	unsigned long sum = 0;

	counted();
	snprintf(name, sizeof(name), "/memory-%d", (int)getpid());
	areas[0] = map(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
	shm_unlink(name);
	areas[1] = shmat(identifier, NULL, 0);
	shmctl(identifier, IPC_RMID, NULL);
	areas[2] = map(memfd_create("memory", MFD_CLOEXEC));
	areas[3] = map(open("memory.data", O_RDWR | O_CREAT | O_TRUNC, 0644));
	for (int child = 0; child < 4; child++)
		if (fork() == 0) {
			for (int i = 0; i < LENGTH; i++)
				areas[child][i] = (unsigned char)(i * (child + 3));
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	areas[2] = mremap(areas[2], LENGTH, LENGTH / 2, 0);
	madvise(areas[3], LENGTH, MADV_DONTNEED);
	for (int k = 0; k < 4; k++)
		for (int i = 0; i < LENGTH / 2; i++)
			sum = sum * 31 + areas[k][i];
	printf("%lu\n", sum);
	return 0;
}
