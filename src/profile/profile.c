/* The machine profile: its levels by name, and its file. */
#include <jansson.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json/figure.h"
#include "profile/profile.h"

const enum fm_stream_kernel_index fm_small_pages_kernels[FM_SMALL_PAGES_KERNELS] = {
    [FM_SMALL_PAGES_LOAD] = FM_STREAM_load, [FM_SMALL_PAGES_STORE] = FM_STREAM_store};

static const char *const effort_names[] = {"quick", "default", "full"};

const char *fm_effort_name(enum fm_effort effort)
{
	return effort_names[effort];
}

const struct fm_level *fm_machine_level(const struct fm_machine *machine, const char *name)
{
	for (unsigned i = 0; i < machine->level_count; i++)
		if (!strcmp(machine->levels[i].name, name))
			return &machine->levels[i];
	return NULL;
}

void fm_machine_free(struct fm_machine *machine)
{
	if (!machine)
		return;
	for (int i = 0; i < FM_PAGES_COUNT; i++)
		fm_latency_curve_free(&machine->curves[i]);
	free(machine->bandwidths);
	fm_bandwidth_curve_free(&machine->bandwidth_curve);
	free(machine->transfers);
	free(machine->numa);
	free(machine);
}

int fm_profile_default_path(char **ret_path, struct fm_error *error)
{
	const char *data = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");
	char host[65] = "localhost";
	int length;

	gethostname(host, sizeof(host) - 1);
	for (char *c = host; *c; c++)
		if (*c == '/')
			*c = '_';
	if (data && *data == '/') /* the standard says to ignore relative ones */
		length = asprintf(ret_path, "%s/fathom/machines/%s.json", data, host);
	else if (home && *home)
		length = asprintf(ret_path, "%s/.local/share/fathom/machines/%s.json", home, host);
	else
		return fm_error_set(error, ENOENT, "no folder for a profile: set XDG_DATA_HOME or HOME");
	return length < 0 ? fm_error_set(error, ENOMEM, "out of memory") : 0;
}

int fm_profile_save(const char *path, const struct fm_machine *machine, struct fm_error *error)
{
	json_t *root = fm_machine_to_json(machine), *old = NULL;
	int status;

	/* what validation has found about events stays true when the machine is measured again */
	if (root && !fm_json_read(path, &old, &(struct fm_error){0}) && json_object_get(old, "metrics"))
		json_object_set(root, "metrics", json_object_get(old, "metrics"));
	json_decref(old);
	status = root ? fm_json_replace(path, root, error) : fm_error_set(error, ENOMEM, "out of memory");
	json_decref(root);
	return status;
}

int fm_profile_load(const char *path, struct fm_machine **ret_machine, struct fm_error *error)
{
	json_t *root;
	int status = fm_json_read(path, &root, error);

	if (status)
		return status;
	status = fm_machine_from_json(root, ret_machine, error);
	json_decref(root);
	return status ? fm_error_prefix(error, "%s", path) : 0;
}
