#include "squeeze/colours_kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json/figure.h"
#include "profile/profile.h"

static char *path_of(void)
{
	struct fm_error ignored;
	char *profile, *path = NULL;
	size_t length;

	if (fm_profile_default_path(&profile, &ignored))
		return NULL;
	length = strlen(profile);
	if (length > 5 && asprintf(&path, "%.*s.colours.json", (int)(length - 5), profile) < 0)
		path = NULL;
	free(profile);
	return path;
}

static bool has(const json_t *root, const char *name, unsigned value)
{
	return json_integer_value(json_object_get(root, name)) == (json_int_t)value;
}

int fm_colours_kept_load(const struct fm_colours_geometry *geometry, struct fm_colours_kept *ret_kept)
{
	struct fm_colours_kept kept = {0};
	struct fm_error ignored;
	char *path = path_of();
	json_t *root = NULL;
	const char *hash, *taken;
	int r = path ? fm_json_read(path, &root, &ignored) : -ENOENT;

	if (!r) {
		hash = json_string_value(json_object_get(root, "hash"));
		taken = json_string_value(json_object_get(root, "taken"));
		kept.hash = hash ? strtoull(hash, NULL, 16) : 0;
		kept.near_ns = json_number_value(json_object_get(root, "near_ns"));
		kept.beyond_ns = json_number_value(json_object_get(root, "beyond_ns"));
		snprintf(kept.taken, sizeof(kept.taken), "%s", taken ? taken : "");
		r = (kept.hash & 1) && kept.near_ns > 0 && kept.beyond_ns > kept.near_ns &&
		            has(root, "ways", geometry->ways) && has(root, "sets", geometry->sets) &&
		            has(root, "first_ways", geometry->first_ways)
		        ? 0
		        : -ENOENT;
		json_decref(root);
	}
	free(path);
	if (!r)
		*ret_kept = kept;
	return r ? -ENOENT : 0;
}

void fm_colours_kept_save(const struct fm_colours_geometry *geometry, const struct fm_colours_kept *kept)
{
	char *path = path_of(), hash[24], taken[32] = "";
	struct fm_error ignored;
	time_t now = time(NULL);
	struct tm utc;
	json_t *root;

	if (!path)
		return;
	if (gmtime_r(&now, &utc))
		strftime(taken, sizeof(taken), "%Y-%m-%dT%H:%M:%SZ", &utc);
	snprintf(hash, sizeof(hash), "%" PRIx64, kept->hash);
	root = json_pack("{s:s, s:i, s:i, s:i, s:s, s:f, s:f}", "taken", taken, "first_ways", (int)geometry->first_ways,
	                 "ways", (int)geometry->ways, "sets", (int)geometry->sets, "hash", hash, "near_ns",
	                 kept->near_ns, "beyond_ns", kept->beyond_ns);
	if (root)
		fm_json_replace(path, root, &ignored);
	json_decref(root);
	free(path);
}
