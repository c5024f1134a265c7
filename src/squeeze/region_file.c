/* The program opens the markers' file by its path, so it must have one. A process that outlives the tool makes the
   folder in which it lies, and removes it. */
#include <errno.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "interference/companion.h"
#include "squeeze/regions.h"

enum { PATH = 256, PATIENCE_NS = 2000000000, NAP_US = 200 };

struct shared {
	_Atomic int made; /* 1, or -errno */
	char folder[PATH];
};

struct fm_region_file {
	struct fm_companion companion;
	struct shared *shared;
	struct fm_markers *markers;
};

static void remove_folder(const char *folder)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(entries), entry->d_name, 0);
	if (entries)
		closedir(entries);
	rmdir(folder);
}

static void keep_folder(void *context, const struct fm_companion_side *side)
{
	struct shared *shared = context;

	if (!mkdtemp(shared->folder)) {
		shared->made = -errno;
		return;
	}
	shared->made = 1;
	fm_companion_wait(side);
	remove_folder(shared->folder);
}

static int wait_for_folder(const struct fm_region_file *file, struct fm_error *error)
{
	uint64_t since = fm_clock_now();

	while (!file->shared->made && fm_clock_now() - since < PATIENCE_NS)
		usleep(NAP_US);
	if (file->shared->made == 1)
		return 0;
	return fm_error_set(error, file->shared->made ? -file->shared->made : ETIMEDOUT,
	                    "cannot create a folder for the regions of the program");
}

int fm_region_file_open(struct fm_region_file **ret_file, struct fm_error *error)
{
	struct fm_region_file *file = calloc(1, sizeof(*file));
	const char *folder = getenv("TMPDIR");
	int r;

	if (!file)
		return fm_error_set(error, ENOMEM, "out of memory");
	file->shared = mmap(NULL, sizeof(*file->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (file->shared == MAP_FAILED) {
		free(file);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	if (!folder || !*folder || strlen(folder) > PATH / 2)
		folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(file->shared->folder, sizeof(file->shared->folder), "%s/fathom-regions-XXXXXX", folder);
	r = fm_companion_start("fathom-regions", false, -1, keep_folder, file->shared, &file->companion, error);
	if (!r)
		r = wait_for_folder(file, error);
	if (r)
		fm_region_file_close(file);
	else
		*ret_file = file;
	return r;
}

int fm_region_file_renew(struct fm_region_file *file, struct fm_error *error)
{
	fm_markers_free(file->markers);
	file->markers = NULL;
	return fm_markers_create_in(file->shared->folder, &file->markers, error);
}

struct fm_markers *fm_region_file_markers(const struct fm_region_file *file)
{
	return file->markers;
}

void fm_region_file_close(struct fm_region_file *file)
{
	if (!file)
		return;
	fm_markers_free(file->markers);
	fm_companion_stop(&file->companion, 0);
	munmap(file->shared, sizeof(*file->shared));
	free(file);
}
