#include "cli/chosen_machine.h"

#include <errno.h>
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
