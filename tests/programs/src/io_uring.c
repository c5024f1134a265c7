/* io_uring by its system calls: writes a file and reads it again, 64 requests at a time. */
#define _GNU_SOURCE
#include "counted.h"
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { ENTRIES = 64, BLOCK = 4096 };
static char *requests_ring, *results_ring;
static struct io_uring_sqe *requests;
static struct io_uring_params parameters;
static char blocks[ENTRIES][BLOCK];

static long all(int ring, int file, int operation)
{
	unsigned *tail = (unsigned *)(requests_ring + parameters.sq_off.tail),
	         *index = (unsigned *)(requests_ring + parameters.sq_off.array);
	unsigned *head = (unsigned *)(results_ring + parameters.cq_off.head),
	         *ready = (unsigned *)(results_ring + parameters.cq_off.tail);
	struct io_uring_cqe *results = (struct io_uring_cqe *)(results_ring + parameters.cq_off.cqes);
	long sum = 0;

	for (unsigned i = 0; i < ENTRIES; i++) {
		memset(&requests[i], 0, sizeof(requests[i]));
		requests[i].opcode = (unsigned char)operation;
		requests[i].fd = file;
		requests[i].addr = (unsigned long)blocks[i];
		requests[i].len = BLOCK;
		requests[i].off = i * BLOCK;
		index[(*tail + i) % parameters.sq_entries] = i;
	}
	__atomic_store_n(tail, *tail + ENTRIES, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, ENTRIES, ENTRIES, IORING_ENTER_GETEVENTS, NULL, 0) != ENTRIES)
		return -1;
	/* a signal may end the wait before all are done, and the call does not say so */
	while (__atomic_load_n(ready, __ATOMIC_ACQUIRE) - *head < ENTRIES)
		syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	for (unsigned i = 0; i < ENTRIES; i++)
		sum += results[(*head + i) % parameters.cq_entries].res;
	__atomic_store_n(head, *head + ENTRIES, __ATOMIC_RELEASE);
	return sum;
}

int main(void)
{
	int ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &parameters),
	    file = open("uring.data", O_RDWR | O_CREAT | O_TRUNC, 0644);
	long written = 0, read = 0;

	counted();
	if (ring < 0)
		return 77;
	requests_ring = mmap(NULL, parameters.sq_off.array + ENTRIES * 4, PROT_READ | PROT_WRITE,
	                     MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	results_ring = mmap(NULL, parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe),
	                    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
	requests = mmap(NULL, ENTRIES * sizeof(*requests), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
	                IORING_OFF_SQES);
	for (int round = 0; round < 400; round++) {
		memset(blocks, (int)work(100000) + round, sizeof(blocks));
		written += all(ring, file, IORING_OP_WRITE);
		read += all(ring, file, IORING_OP_READ);
	}
	printf("%ld %ld %d\n", written, read, blocks[63][4095]);
	return 0;
}
