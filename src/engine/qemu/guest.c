/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/guest.h"

#include <sys/uio.h>
#include <unistd.h>

size_t fm_guest_copy(void *target, size_t size, uint64_t address)
{
	size_t done = 0;

	/* page by page, since a text may end before what follows it begins */
	while (done < size) {
		size_t part = 4096 - (address + done) % 4096;
		struct iovec into = {(char *)target + done, part < size - done ? part : size - done};
		struct iovec from = {(void *)(address + done), into.iov_len};
		ssize_t got = process_vm_readv(getpid(), &into, 1, &from, 1, 0);

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

void fm_guest_write(uint64_t address, const void *source, size_t size)
{
	struct iovec from = {(void *)source, size}, into = {(void *)address, size};

	if (process_vm_writev(getpid(), &from, 1, &into, 1, 0) < 0)
		return; /* an invalid address of the program: the call itself reports it */
}

void fm_guest_text(char *target, size_t size, uint64_t address, uint64_t length)
{
	target[fm_guest_copy(target, length < size ? length : size - 1, address)] = 0;
}
