#include "interference/resctrl_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define RESCTRL_MAGIC 0x7655821
enum { TEXT = 4096, SCHEMATA = 16384 };

/* Largest values that are percent; from there on eighths of GB/s, from here on MB/s. */
#define MOST_PERCENT 100
#define LEAST_UNLIMITED 1000000000ull

/* Folders of the kernel at the root that are no groups. */
static const char *const reserved[] = {"info", "mon_groups", "mon_data"};

static const char *const cache_names[FM_RESCTRL_CACHES] = {"L2", "L3"};

int fm_resctrl_tree_open(void)
{
	int root = open(fm_resctrl_root(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return root < 0 ? -errno : root;
}

bool fm_resctrl_tree_is_real(int root)
{
	struct statfs about;

	return !fstatfs(root, &about) && about.f_type == RESCTRL_MAGIC;
}

/* Opens the last part of a path, one part after the other. */
static int open_below(int root, const char *path, int flags)
{
	char part[256];
	int folder = dup(root), next;

	while (folder >= 0) {
		size_t length = strcspn(path, "/");

		if (!length || length >= sizeof(part)) {
			close(folder);
			return -EINVAL;
		}
		memcpy(part, path, length);
		part[length] = 0;
		path += length;
		next = openat(folder, part, (*path ? O_RDONLY | O_DIRECTORY : flags) | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (next < 0) {
			int code = errno;

			close(folder);
			return -code;
		}
		close(folder);
		if (!*path)
			return next;
		folder = next;
		path++;
	}
	return -errno;
}

int fm_resctrl_tree_read(int root, const char *path, char *text, size_t size)
{
	int file = open_below(root, path, O_RDONLY | O_NONBLOCK);
	size_t used = 0;
	ssize_t length = 0;

	if (file < 0)
		return file;
	while (used < size - 1 && (length = read(file, text + used, size - 1 - used)) > 0)
		used += (size_t)length;
	text[used] = 0;
	close(file);
	return length < 0 ? -EIO : 0;
}

int fm_resctrl_tree_write(int root, const char *path, const char *text)
{
	/* the kernel's files are all there, and take one line with each write; others keep them all */
	int file =
	    open_below(root, path, O_WRONLY | O_NONBLOCK | (fm_resctrl_tree_is_real(root) ? 0 : O_CREAT | O_APPEND));
	int code = 0;
	size_t length = strlen(text);

	if (file < 0)
		return file;
	if (write(file, text, length) != (ssize_t)length)
		code = errno ? errno : EIO;
	close(file);
	return -code;
}

unsigned fm_resctrl_tree_groups(int root, char *names, size_t size)
{
	int copy = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
	unsigned count = 0;
	size_t used = 0;

	*names = 0;
	if (!folder) {
		if (copy >= 0)
			close(copy);
		return 0;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		bool ours = *entry->d_name == '.';
		struct stat about;

		for (unsigned i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
			ours |= !strcmp(entry->d_name, reserved[i]);
		if (ours || fstatat(root, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(about.st_mode))
			continue;
		count++;
		if (used < size)
			used += (size_t)snprintf(names + used, size - used, "%s%.64s", used ? ", " : "", entry->d_name);
	}
	closedir(folder);
	return count;
}

int fm_resctrl_tree_make(int root, const char *group)
{
	return mkdirat(root, group, 0755) ? -errno : 0;
}

int fm_resctrl_tree_remove(int root, const char *group)
{
	static const char *const files[] = {"schemata", "tasks"};

	if (!fm_resctrl_tree_is_real(root)) {
		int folder = openat(root, group, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		for (unsigned i = 0; folder >= 0 && i < sizeof(files) / sizeof(files[0]); i++)
			unlinkat(folder, files[i], 0);
		if (folder >= 0)
			close(folder);
	}
	return unlinkat(root, group, AT_REMOVEDIR) && errno != ENOENT ? -errno : 0;
}

static int read_number(int root, const char *resource, const char *name, int base, uint64_t *ret_number)
{
	char path[128], text[64], *end;

	snprintf(path, sizeof(path), "info/%s/%s", resource, name);
	if (fm_resctrl_tree_read(root, path, text, sizeof(text)))
		return -ENOENT;
	*ret_number = strtoull(text, &end, base);
	return end == text ? -EBADMSG : 0;
}

/* The line of a resource, such as "    L3:0=fffff;1=fffff": its domains, the least and the largest value. False: it has
 * none. */
static bool read_schema(const char *schemata, const char *resource, int base, unsigned *domains, unsigned *ret_count,
                        uint64_t *ret_least, uint64_t *ret_most)
{
	size_t length = strlen(resource);
	unsigned count = 0;
	uint64_t least = UINT64_MAX, most = 0;

	for (const char *line = schemata; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at = line + strspn(line, " \t");

		if (strncmp(at, resource, length) != 0 || at[length] != ':')
			continue;
		at += length + 1;
		while (count < FM_RESCTRL_DOMAINS) {
			char *end;
			unsigned long domain = strtoul(at, &end, 10);
			uint64_t value;

			if (end == at || *end != '=')
				return false;
			at = end + 1;
			value = strtoull(at, &end, base);
			if (end == at)
				return false;
			domains[count++] = (unsigned)domain;
			most = value > most ? value : most;
			least = value < least ? value : least;
			at = end;
			if (*at != ';')
				break;
			at++;
		}
		*ret_count = count;
		*ret_least = least;
		*ret_most = most;
		return count > 0;
	}
	return false;
}

static bool read_cache(int root, const char *schemata, enum fm_resctrl_cache which, struct fm_resctrl_ways *ways)
{
	char name[16], code[16];
	uint64_t mask, least, shared = 0, lowest, most;

	snprintf(name, sizeof(name), "%s", cache_names[which]);
	snprintf(code, sizeof(code), "%sCODE", name);
	*ways = (struct fm_resctrl_ways){0};
	if (read_number(root, name, "cbm_mask", 16, &mask)) {
		/* code and data apart */
		snprintf(name, sizeof(name), "%sDATA", cache_names[which]);
		ways->split = true;
		if (read_number(root, name, "cbm_mask", 16, &mask))
			return false;
	}
	if (read_number(root, name, "min_cbm_bits", 10, &least) || !mask || !least ||
	    !read_schema(schemata, name, 16, ways->domains, &ways->domain_count, &lowest, &most))
		return false;
	if (ways->split && !read_schema(schemata, code, 16, ways->domains, &ways->domain_count, &lowest, &most))
		return false;
	read_number(root, name, "shareable_bits", 16, &shared);
	ways->mask = mask;
	ways->shared = shared & mask;
	ways->ways = (unsigned)__builtin_popcountll(mask);
	ways->least = (unsigned)least;
	ways->available = least < ways->ways;
	ways->restricted = lowest != mask;
	return ways->available;
}

static bool read_bandwidth(int root, const char *schemata, struct fm_resctrl_bandwidth *bandwidth)
{
	uint64_t least, step, lowest, most;

	*bandwidth = (struct fm_resctrl_bandwidth){0};
	if (read_number(root, "MB", "min_bandwidth", 10, &least) ||
	    read_number(root, "MB", "bandwidth_gran", 10, &step) ||
	    !read_schema(schemata, "MB", 10, bandwidth->domains, &bandwidth->domain_count, &lowest, &most))
		return false;
	/* The unit is not reported. Without a limit, MB/s are all ones; percent have coarse steps; AMD counts one by
	   one, from a power of two down. */
	bandwidth->unit = most >= LEAST_UNLIMITED            ? FM_RESCTRL_MEGABYTES
	                  : step > 1 || most <= MOST_PERCENT ? FM_RESCTRL_PERCENT
	                                                     : FM_RESCTRL_EIGHTHS;
	bandwidth->step = step ? step : 1;
	bandwidth->least = least > bandwidth->step ? least : bandwidth->step;
	bandwidth->most = bandwidth->unit == FM_RESCTRL_PERCENT ? MOST_PERCENT : most;
	bandwidth->restricted = lowest < bandwidth->most;
	bandwidth->available = true;
	return true;
}

int fm_resctrl_tree_facts(int root, struct fm_resctrl_facts *ret_facts, struct fm_error *error)
{
	char *schemata = malloc(SCHEMATA);
	struct fm_resctrl_facts facts = {0};
	bool any = false;
	int status;

	if (!schemata)
		return fm_error_set(error, ENOMEM, "out of memory");
	status = fm_resctrl_tree_read(root, "schemata", schemata, SCHEMATA);
	for (unsigned i = 0; !status && i < FM_RESCTRL_CACHES; i++)
		any |= read_cache(root, schemata, i, &facts.caches[i]);
	if (!status)
		any |= read_bandwidth(root, schemata, &facts.bandwidth);
	free(schemata);
	if (status)
		return fm_error_set(error, ENOTSUP, "%s/schemata cannot be read: %s", fm_resctrl_root(),
		                    strerror(-status));
	if (!any)
		return fm_error_set(
		    error, ENOTSUP,
		    "%s offers neither cache ways (L3, L2) nor bandwidth (MB): this processor, or the kernel option "
		    "rdt=, allows monitoring only",
		    fm_resctrl_root());
	*ret_facts = facts;
	return 0;
}
