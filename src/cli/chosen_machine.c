#include "cli/chosen_machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exact/host.h"

int fm_chosen_profile(const char *path, struct fm_machine **ret_profile, struct fm_error *error)
{
	char *usual = NULL;
	int status = path ? 0 : fm_profile_default_path(&usual, error);

	if (status)
		return status;
	path = path ? path : usual;
	if (access(path, F_OK))
		status =
		    fm_error_set(error, ENOTSUP,
		                 "there is no machine profile yet: 'fathom machine --quick' makes one in 10 seconds");
	else
		status = fm_profile_load(path, ret_profile, error);
	free(usual);
	return status;
}

int fm_chosen_profile_path(const char *machine, char **ret_path, struct fm_error *error)
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

int fm_chosen_machine(const char *name, struct fm_machine_description *ret_description, struct fm_error *error)
{
	struct fm_machine *profile;
	int status;

	if (strcmp(name, "host") != 0)
		return fm_description_find(name, ret_description, error);
	status = fm_chosen_profile(NULL, &profile, error);
	if (status)
		return status;
	status = fm_description_from_profile(profile, ret_description, error);
	fm_machine_free(profile);
	return status;
}
