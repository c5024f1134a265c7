/* One thread waits in a call until the other has counted for a while and lets it go, ten times. The argument names the
   call. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 10, STEPS = 100000 };

static char path[] = "/tmp/fathom-waiting-00000000";
static int semaphore;
static volatile long counted[2];

static void count(int who)
{
	for (int i = 0; i < STEPS; i++)
		counted[who]++;
}

static int die(const char *what)
{
	perror(what);
	unlink(path);
	exit(1);
}

/* With as many instructions for each number. */
static void name_file(unsigned number)
{
	for (size_t i = sizeof(path) - 2; path[i] != '-'; i--, number >>= 4)
		path[i] = (char)('a' + (number & 15));
}

/* A FIFO opens when it is opened from both sides. */
static void wait_for_fifo(void)
{
	int file = open(path, O_RDONLY);

	if (file < 0)
		die("open");
	close(file);
}

static void let_go_fifo(void)
{
	int file = open(path, O_WRONLY);

	if (file < 0)
		die("open");
	close(file);
}

static void change_semaphore(short by)
{
	struct sembuf operation = {0, by, 0};
	struct timespec limit = {100, 0};

	while (semtimedop(semaphore, &operation, 1, &limit))
		if (errno != EINTR)
			die("semtimedop");
}

static void wait_for_semaphore(void)
{
	change_semaphore(-1);
}

static void let_go_semaphore(void)
{
	change_semaphore(1);
}

/* Locked before the other thread begins, which then has it for good: one round. */
static int locked = -1;

static void wait_for_lock(void)
{
	int file = open(path, O_RDWR);

	if (file < 0 || flock(file, LOCK_EX))
		die("flock");
	locked = file;
}

static void let_go_lock(void)
{
	int file = locked;

	flock(file, LOCK_UN);
	close(file);
}

static const struct way {
	const char *name;
	int rounds;
	void (*wait)(void);
	void (*let_go)(void);
} ways[] =
    {
        {"fifo", ROUNDS, wait_for_fifo, let_go_fifo},
        {"semaphore", ROUNDS, wait_for_semaphore, let_go_semaphore},
        {"lock", 1, wait_for_lock, let_go_lock},
},
  *way;

static void *wait_and_count(void *unused)
{
	for (int i = 0; i < way->rounds; i++) {
		way->wait();
		count(1);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int lock = argc > 1 && !strcmp(argv[1], "lock");

	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, argv[1]))
			way = &ways[i];
	if (!way)
		return 2;
	name_file((unsigned)getpid());
	if (mkfifo(path, 0600))
		return 3;
	if (lock) {
		unlink(path);
		locked = open(path, O_RDWR | O_CREAT, 0600);
		flock(locked, LOCK_EX);
	}
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	if (pthread_create(&thread, NULL, wait_and_count, NULL))
		return 1;
	for (int i = 0; i < way->rounds; i++) {
		count(0);
		way->let_go();
	}
	pthread_join(thread, NULL);
	unlink(path);
	semctl(semaphore, 0, IPC_RMID);
	return counted[0] == way->rounds * STEPS && counted[1] == counted[0] ? 0 : 4;
}
