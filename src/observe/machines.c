#include "measure/characterise.h"
#include "observe/assumed.h"
#include "observe/machines.h"

#include "observe/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/installed.h"
#include "counters/library.h"
#include "kernels/kernel.h"
#include "measure/clock.h"
#include "profile/follow.h"
#include "measure/host_load.h"
#include "profile/simulated_host.h"

enum { FILE_MAX = 16 << 20 };

static const struct {
	const char *pmu, *folder;
} families[] = {
#define FAMILY(pmu, folder) {pmu, folder},
#include "observe/families.def"
#undef FAMILY
};

int fm_file_text(const char *path, char **ret_text, struct fm_error *error)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat there;
	size_t used = 0;
	char *text;

	if (file < 0 || fstat(file, &there)) {
		int code = errno;

		if (file >= 0)
			close(file);
		return fm_error_set(error, code, "%s: %s", path, strerror(code));
	}
	if (!S_ISREG(there.st_mode) || there.st_size > FILE_MAX) {
		close(file);
		return fm_error_set(error, EBADMSG, "%s: this is no file of a sensible size", path);
	}
	text = malloc((size_t)there.st_size + 1);
	while (text && used < (size_t)there.st_size) {
		ssize_t got = read(file, text + used, (size_t)there.st_size - used);

		if (got <= 0)
			break;
		used += (size_t)got;
	}
	close(file);
	if (!text)
		return fm_error_set(error, ENOMEM, "out of memory");
	text[used] = '\0';
	*ret_text = text;
	return 0;
}

/* The path that was given, or that of this host's profile, which is also *usual, to be freed in any case. */
static int find_profile(const char **path, char **usual, struct fm_error *error)
{
	int r = *path ? 0 : fm_profile_default_path(usual, error);

	if (r)
		return r;
	if (!*path)
		*path = *usual;
	if (access(*path, F_OK))
		return fm_error_set(
		    error, ENOTSUP,
		    "there is no machine profile yet: 'fathom machine --quick' makes one in 10 seconds");
	return 0;
}

/* A profile that was made for this run alone (fm_profile_ensure()); NULL: none. */
static char *own_profile;

static int load_own(struct fm_machine **ret_profile, struct fm_error *error)
{
	json_t *root = json_loads(own_profile, 0, NULL);
	int r = root ? fm_machine_from_json(root, ret_profile, error) : fm_error_set(error, ENOMEM, "out of memory");

	json_decref(root);
	return r;
}

/* Is there one that can be read? If not, why not, in words; `path` is NULL where there is no place for it. */
static bool is_usable(const char *path, char *why, size_t size)
{
	struct fm_machine *profile;
	struct fm_error error;

	if (!path) {
		snprintf(why, size, "no HOME, so no profile of this machine is kept");
		return false;
	}
	if (access(path, F_OK)) {
		snprintf(why, size, "there is no profile of this machine yet");
		return false;
	}
	if (fm_profile_load(path, &profile, &error)) {
		snprintf(why, size, "the profile is damaged and not used ('fathom machine' replaces it): %.200s",
		         error.message);
		return false;
	}
	fm_machine_free(profile);
	return true;
}

int fm_profile_ensure(const struct fm_observation *wanted, struct fm_error *error)
{
	struct fm_characterise_options wishes = {.effort = FM_EFFORT_QUICK,
	                                         .seed = 1,
	                                         .tolerate = 1,
	                                         .choose_first = true,
	                                         .watcher = {.interrupted = wanted->interrupted}};
	struct fm_machine *made;
	char why[400], *path;
	struct fm_error ignored;
	json_t *root;
	int r;

	if (own_profile)
		return 0;
	if (fm_profile_default_path(&path, &ignored))
		path = NULL;
	if (is_usable(path, why, sizeof(why))) {
		free(path);
		return 0;
	}
	r = fm_kernels_check(error);
	if (!r)
		fm_observe_remark(wanted, "%s; measuring a quick one: 10 seconds", why);
	if (!r)
		r = fm_cpu_list_allowed(&wishes.cpus, error);
	if (!r)
		r = fm_machine_characterise(&wishes, &made, error);
	if (r) {
		free(path);
		if (r == -EINTR)
			return fm_error_set(error, ECANCELED, "interrupted before the program was started");
		error->code = ENOTSUP;
		return -ENOTSUP;
	}
	/* a damaged file may still be useful to its owner */
	if (path && access(path, F_OK))
		fm_profile_save(path, made, &ignored);
	root = fm_machine_to_json(made);
	own_profile = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
	json_decref(root);
	fm_machine_free(made);
	free(path);
	return own_profile ? 0 : fm_error_set(error, ENOMEM, "out of memory");
}

int fm_profile_text(const char *path, char **ret_text, struct fm_error *error)
{
	char *usual = NULL;
	int r;

	if (!path && own_profile) {
		*ret_text = strdup(own_profile);
		return *ret_text ? 0 : fm_error_set(error, ENOMEM, "out of memory");
	}
	r = find_profile(&path, &usual, error);

	if (!r)
		r = fm_file_text(path, ret_text, error);
	free(usual);
	return r;
}

int fm_profile_chosen(const char *path, struct fm_machine **ret_profile, struct fm_error *error)
{
	char *usual = NULL;
	int r;

	if (!path && own_profile)
		return load_own(ret_profile, error);
	r = find_profile(&path, &usual, error);

	if (!r)
		r = fm_profile_load(path, ret_profile, error);
	free(usual);
	return r;
}

int fm_profile_path(const char *machine, char **ret_path, struct fm_error *error)
{
	char *host, *slash;
	const char *name = machine ? strrchr(machine, '/') : NULL;
	int r;

	*ret_path = NULL;
	r = fm_profile_default_path(&host, error);
	if (r)
		return r;
	if (!machine || !strcmp(machine, "host")) {
		*ret_path = host;
		return 0;
	}
	name = name ? name + 1 : machine;
	slash = strrchr(host, '/');
	if (asprintf(ret_path, "%.*s/simulated-%s.json", (int)(slash - host), host, name) < 0)
		*ret_path = NULL;
	free(host);
	return *ret_path ? 0 : fm_error_set(error, ENOMEM, "out of memory");
}

int fm_machine_chosen(const char *name, struct fm_machine_description *ret_description, struct fm_error *error)
{
	struct fm_machine *profile;
	struct fm_figure clock, life;
	int r;

	if (strcmp(name, "host") != 0)
		return fm_description_find(name, ret_description, error);
	r = fm_profile_chosen(NULL, &profile, error);
	if (r)
		return r;
	clock = fm_clock_measure();
	fm_machine_follow(profile, &clock);
	if (fm_machine_is_here(profile)) {
		life = fm_life_measure(&profile->topology, FM_LIFE_SECONDS);
		fm_machine_follow_life(profile, &life);
	}
	r = fm_description_from_profile(profile, ret_description, error);
	fm_machine_free(profile);
	return r;
}

double fm_host_best_rate(double ghz)
{
	struct fm_machine *profile;
	struct fm_error ignored;
	double best = 0;

	if (fm_profile_chosen(NULL, &profile, &ignored))
		return 0;
	if (profile->core_measured && profile->core[FM_CORE_width].available && fm_machine_is_here(profile))
		best = profile->core[FM_CORE_width].value * ghz;
	fm_machine_free(profile);
	return best;
}

static bool find_ours(const char *name, char *path, size_t size)
{
	char file[256];

	return (size_t)snprintf(file, sizeof(file), "%s.txt", name) < sizeof(file) &&
	       !fm_installed_find(FM_INSTALLED_group, file, path, size);
}

bool fm_group_path(const char *name, char *path, size_t size)
{
	if (strchr(name, '/') && !access(name, R_OK))
		return (size_t)snprintf(path, size, "%s", name) < size;
	return find_ours(name, path, size);
}

bool fm_vendor_path(const char *family, char *path, size_t size)
{
	char name[64];

	for (size_t i = 0; !family && i < sizeof(families) / sizeof(families[0]); i++)
		if (fm_library_has_pmu(families[i].pmu))
			family = families[i].folder;
	if (!family || strchr(family, '/'))
		return false;
	snprintf(name, sizeof(name), "%s/UTILISATION", family);
	return find_ours(name, path, size);
}
