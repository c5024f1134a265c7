#include "interference/resctrl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <stdatomic.h>

#include "base/host.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "interference/companion.h"
#include "interference/resctrl_tree.h"

enum { GROUP = 64, LINE = 1024 };

/* The state of the guardian, for the tool. */
enum guardian_state { STARTING, MADE, REFUSED, RESTORED, LEFT };

struct watched {
	_Atomic int state, code;
};

struct fm_resctrl {
	struct fm_resctrl_facts facts;
	struct fm_companion guardian;
	struct watched *watched; /* shared with it */
	int root;
	char group[GROUP];
};

static const char *const cache_names[FM_RESCTRL_CACHES] = {"L2", "L3"};

const char *fm_resctrl_root(void)
{
	static char path[512];
	const char *chosen = getenv("FATHOM_RESCTRL_ROOT");

	if (chosen && *chosen)
		return chosen;
	return fm_sysfs_path(path, sizeof(path), "fs/resctrl");
}

/* Whether the processor could, by the flags it shows. */
static bool processor_can(void)
{
	static const char *const flags[] = {" cat_l3", " cat_l2", " mba"};
	FILE *file = fopen("/proc/cpuinfo", "re");
	char *line = NULL;
	size_t room = 0;
	bool can = false, found = false;

	while (file && !found && getline(&line, &room, file) > 0) {
		found = !strncmp(line, "flags", 5);
		for (unsigned i = 0; found && i < sizeof(flags) / sizeof(flags[0]); i++)
			can |= strstr(line, flags[i]) != NULL;
	}
	free(line);
	if (file)
		fclose(file);
	return can;
}

static int explain_missing(int code, struct fm_error *error)
{
	const char *root = fm_resctrl_root();

	if (code == ELOOP || code == ENOTDIR)
		return fm_error_set(error, ENOTSUP, "%s is not a folder, or is a symbolic link, which is not followed",
		                    root);
	if (code == EACCES)
		return fm_error_set(error, ENOTSUP, "%s may not be read: ask for permission, or run as root", root);
	if (processor_can())
		return fm_error_set(
		    error, ENOTSUP,
		    "the processor can limit cache or bandwidth, but this kernel has no resctrl file system (%s): use "
		    "a kernel with CONFIG_X86_CPU_RESCTRL",
		    root);
	return fm_error_set(error, ENOTSUP,
	                    "%s has no cache or bandwidth allocation (flags cat_l3, cat_l2, mba in /proc/cpuinfo)%s",
	                    fm_host_is_virtual() ? "the processor that the hypervisor shows" : "this processor",
	                    fm_host_is_virtual() ? ": its administrator would have to pass it through" : "");
}

static int probe(int root, struct fm_resctrl_facts *ret_facts, struct fm_error *error)
{
	char names[200];
	unsigned groups;
	int status;

	if (faccessat(root, "info", F_OK, AT_SYMLINK_NOFOLLOW))
		return fm_error_set(
		    error, ENOTSUP, "%s is not mounted: 'mount -t resctrl resctrl %s' as root mounts it%s",
		    fm_resctrl_root(), fm_resctrl_root(),
		    processor_can() ? "" : ", but this processor can limit neither cache nor bandwidth");
	status = fm_resctrl_tree_facts(root, ret_facts, error);
	if (status)
		return status;
	groups = fm_resctrl_tree_groups(root, names, sizeof(names));
	if (groups)
		return fm_error_set(
		    error, EBUSY,
		    "another tool already divides the cache: %s has the group%s %s; end that tool, or remove the group "
		    "(rmdir), then try again",
		    fm_resctrl_root(), groups > 1 ? "s" : "", names);
	if (ret_facts->caches[FM_RESCTRL_L2].restricted || ret_facts->caches[FM_RESCTRL_L3].restricted ||
	    ret_facts->bandwidth.restricted)
		return fm_error_set(error, EBUSY,
		                    "the default group is already limited (%s/schemata): remove that limit first",
		                    fm_resctrl_root());
	if (faccessat(root, ".", W_OK, 0))
		return fm_error_set(
		    error, ENOTSUP,
		    "%s cannot be written: run as root, or change its owner (chown -R, until the next mount)",
		    fm_resctrl_root());
	return 0;
}

int fm_resctrl_probe(struct fm_resctrl_facts *ret_facts, struct fm_error *error)
{
	int root = fm_resctrl_tree_open(), status;

	if (root < 0)
		return explain_missing(-root, error);
	status = probe(root, ret_facts, error);
	close(root);
	return status;
}

/* Makes the group, waits for the tool's end, removes it. Tasks that are left go back to the default group by that. */
static void guard(void *context, const struct fm_companion_side *side)
{
	struct fm_resctrl *resctrl = context;
	int status = fm_resctrl_tree_make(resctrl->root, resctrl->group);

	atomic_store(&resctrl->watched->code, -status);
	atomic_store(&resctrl->watched->state, status ? REFUSED : MADE);
	if (status)
		return;
	fm_companion_wait(side);
	status = fm_resctrl_tree_remove(resctrl->root, resctrl->group);
	atomic_store(&resctrl->watched->code, -status);
	atomic_store(&resctrl->watched->state, status ? LEFT : RESTORED);
}

static void free_all(struct fm_resctrl *resctrl)
{
	if (resctrl->root >= 0)
		close(resctrl->root);
	if (resctrl->watched)
		munmap(resctrl->watched, sizeof(*resctrl->watched));
	free(resctrl);
}

static int make_group(struct fm_resctrl *resctrl, struct fm_error *error)
{
	int status =
	        fm_companion_start("fathom-guardian", false, resctrl->root, guard, resctrl, &resctrl->guardian, error),
	    code;

	if (status)
		return status;
	while (atomic_load(&resctrl->watched->state) == STARTING && fm_companion_lives(&resctrl->guardian))
		poll(NULL, 0, 1);
	if (atomic_load(&resctrl->watched->state) == MADE)
		return 0;
	code = atomic_load(&resctrl->watched->code);
	fm_companion_stop(&resctrl->guardian, 0);
	return code == ENOSPC
	           ? fm_error_set(error, EBUSY, "%s has no free group (num_closids): remove one", fm_resctrl_root())
	           : fm_error_set(error, ENOTSUP, "no group can be created in %s: %s", fm_resctrl_root(),
	                          code ? strerror(code) : "the guard process was ended");
}

int fm_resctrl_begin(struct fm_resctrl **ret_resctrl, struct fm_error *error)
{
	struct fm_resctrl *resctrl = calloc(1, sizeof(*resctrl));
	int status = 0;

	if (!resctrl)
		return fm_error_set(error, ENOMEM, "out of memory");
	snprintf(resctrl->group, sizeof(resctrl->group), "fathom-%d", (int)getpid());
	resctrl->guardian.line = -1;
	resctrl->root = fm_resctrl_tree_open();
	if (resctrl->root < 0)
		status = explain_missing(-resctrl->root, error);
	if (!status)
		status = probe(resctrl->root, &resctrl->facts, error);
	if (!status) {
		void *memory =
		    mmap(NULL, sizeof(*resctrl->watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		resctrl->watched = memory == MAP_FAILED ? NULL : memory;
		status = resctrl->watched ? make_group(resctrl, error) : fm_error_set(error, ENOMEM, "out of memory");
	}
	if (status)
		free_all(resctrl);
	else
		*ret_resctrl = resctrl;
	return status;
}

const struct fm_resctrl_facts *fm_resctrl_facts(const struct fm_resctrl *resctrl)
{
	return &resctrl->facts;
}

static int add_task(struct fm_resctrl *resctrl, pid_t task)
{
	char path[GROUP + 16], text[16];

	snprintf(path, sizeof(path), "%s/tasks", resctrl->group);
	snprintf(text, sizeof(text), "%d\n", (int)task);
	return fm_resctrl_tree_write(resctrl->root, path, text);
}

int fm_resctrl_add(struct fm_resctrl *resctrl, pid_t process, struct fm_error *error)
{
	char path[32];
	DIR *folder;
	int status = 0;
	unsigned added = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	folder = opendir(path);
	for (struct dirent *entry; folder && !status && (entry = readdir(folder));) {
		pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);

		if (task <= 0)
			continue;
		status = add_task(resctrl, task);
		/* a thread that has ended meanwhile */
		if (status == -ESRCH)
			status = 0;
		else
			added++;
	}
	if (folder)
		closedir(folder);
	if (!status && added)
		return 0;
	return fm_error_set(error, status ? EIO : ESRCH, "the program cannot be put into the group %s: %s",
	                    resctrl->group, strerror(status ? -status : ESRCH));
}

uint64_t fm_resctrl_mask(const struct fm_resctrl_ways *cache, unsigned ways)
{
	uint64_t row, best = 0;
	unsigned least_shared = 65;

	if (!ways || ways > cache->ways || ways < cache->least)
		return 0;
	row = ways == 64 ? UINT64_MAX : (UINT64_C(1) << ways) - 1;
	for (unsigned shift = 0; shift + ways <= 64; shift++) {
		uint64_t mask = row << shift;
		unsigned shared = (unsigned)__builtin_popcountll(mask & cache->shared);

		if ((mask & ~cache->mask) || shared >= least_shared)
			continue;
		best = mask;
		least_shared = shared;
	}
	return best;
}

/* "L3:0=f;1=f\n" */
static void write_line(char *text, size_t size, const char *resource, const unsigned *domains, unsigned count,
                       uint64_t value, bool hexadecimal)
{
	size_t used = (size_t)snprintf(text, size, "%s:", resource);

	for (unsigned i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, hexadecimal ? "%s%u=%llx" : "%s%u=%llu",
		                         i ? ";" : "", domains[i], (unsigned long long)value);
	if (used < size)
		snprintf(text + used, size - used, "\n");
}

static int set(struct fm_resctrl *resctrl, const char *line, struct fm_error *error)
{
	char path[GROUP + 16], reason[200];
	int status;

	snprintf(path, sizeof(path), "%s/schemata", resctrl->group);
	status = fm_resctrl_tree_write(resctrl->root, path, line);
	if (!status)
		return 0;
	if (fm_resctrl_tree_read(resctrl->root, "info/last_cmd_status", reason, sizeof(reason)) || !*reason ||
	    !fm_text_is_clean(reason))
		snprintf(reason, sizeof(reason), "%s", strerror(-status));
	reason[strcspn(reason, "\n")] = 0;
	return fm_error_set(error, EIO, "the kernel does not take \"%.*s\" for %s: %s", (int)strcspn(line, "\n"), line,
	                    resctrl->group, reason);
}

static int set_ways(struct fm_resctrl *resctrl, enum fm_resctrl_cache which, unsigned ways, unsigned *ret_ways,
                    struct fm_error *error)
{
	static const char *const parts[] = {"CODE", "DATA"};
	const struct fm_resctrl_ways *cache = &resctrl->facts.caches[which];
	char name[16], line[LINE];
	uint64_t mask;
	int status = 0;

	if (!cache->available)
		return fm_error_set(error, ENOTSUP, "the ways of %s cannot be limited here", cache_names[which]);
	ways = !ways || ways > cache->ways ? cache->ways : ways < cache->least ? cache->least : ways;
	mask = fm_resctrl_mask(cache, ways);
	if (!mask)
		return fm_error_set(error, ENOTSUP, "%s has no %u ways in a row", cache_names[which], ways);
	for (unsigned i = 0; i < (cache->split ? 2 : 1) && !status; i++) {
		snprintf(name, sizeof(name), "%s%s", cache_names[which], cache->split ? parts[i] : "");
		write_line(line, sizeof(line), name, cache->domains, cache->domain_count, mask, true);
		status = set(resctrl, line, error);
	}
	*ret_ways = ways;
	return status;
}

static int set_bandwidth(struct fm_resctrl *resctrl, uint64_t amount, uint64_t *ret_amount, struct fm_error *error)
{
	const struct fm_resctrl_bandwidth *bandwidth = &resctrl->facts.bandwidth;
	char line[LINE];

	if (!bandwidth->available)
		return fm_error_set(error, ENOTSUP, "bandwidth cannot be limited here");
	if (!amount || amount > bandwidth->most)
		amount = bandwidth->most;
	else
		amount = (amount + bandwidth->step / 2) / bandwidth->step * bandwidth->step;
	amount = amount < bandwidth->least ? bandwidth->least : amount;
	write_line(line, sizeof(line), "MB", bandwidth->domains, bandwidth->domain_count, amount, false);
	*ret_amount = amount;
	return set(resctrl, line, error);
}

int fm_resctrl_limit(struct fm_resctrl *resctrl, const struct fm_resctrl_limit *limit,
                     struct fm_resctrl_limit *ret_limit, struct fm_error *error)
{
	struct fm_resctrl_limit done = *limit;
	int status = 0;

	if (resctrl->facts.caches[limit->cache].available || limit->ways)
		status = set_ways(resctrl, limit->cache, limit->ways, &done.ways, error);
	if (!status && (resctrl->facts.bandwidth.available || limit->bandwidth))
		status = set_bandwidth(resctrl, limit->bandwidth, &done.bandwidth, error);
	if (!status)
		*ret_limit = done;
	return status;
}

int fm_resctrl_end(struct fm_resctrl *resctrl, struct fm_error *error)
{
	char group[GROUP];
	int state, code;

	fm_companion_stop(&resctrl->guardian, 0);
	state = atomic_load(&resctrl->watched->state);
	code = atomic_load(&resctrl->watched->code);
	/* if the guardian was killed */
	if (state != RESTORED) {
		code = -fm_resctrl_tree_remove(resctrl->root, resctrl->group);
		state = code ? LEFT : RESTORED;
	}
	snprintf(group, sizeof(group), "%s", resctrl->group);
	free_all(resctrl);
	return state == RESTORED ? 0
	                         : fm_error_set(error, EIO, "the group %s could not be removed from %s: %s", group,
	                                        fm_resctrl_root(), strerror(code));
}
