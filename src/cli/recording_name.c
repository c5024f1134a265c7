#include "cli/recording_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"
#include "observe/sampled.h"
#include "recording/recording.h"

static const char usual[] = "fathom.fathom", earlier[] = "fathom.fathom.old";

/* Its parts are still there: the tool is at work, or was killed. */
static int finish(const char *path, const struct fm_common *common, struct fm_error *error)
{
	struct fm_recording *recording;
	bool at_work;

	if (fm_sampled_parts(path, &at_work))
		return 0;
	if (at_work)
		return fm_error_set(error, EBUSY, "%s: another fathom record is writing there", path);
	if (!fm_output_load(path, common, &recording))
		fm_recording_free(recording);
	return 0;
}

static int rotate(const struct fm_common *common, struct fm_error *error)
{
	struct stat there;
	int r = lstat(usual, &there) || !there.st_size ? 1 : finish(usual, common, error);

	if (r)
		return r < 0 ? r : 0;
	if (lstat(earlier, &there) == 0 && !S_ISREG(there.st_mode))
		return fm_error_set(error, EEXIST,
		                    "%s is in the way: it is no file. Remove it, or choose a name with -o", earlier);
	if (rename(usual, earlier))
		return fm_error_set(error, EIO, "%s cannot become %s: %s", usual, earlier, strerror(errno));
	return 0;
}

int fm_recording_name_prepare(const char **path, bool force, const struct fm_common *common, struct fm_error *error)
{
	struct stat there;
	bool chosen = *path != NULL;
	int r;

	if (!chosen)
		*path = usual;
	r = fm_run_check(*path, error);
	if (!r && !chosen)
		return rotate(common, error);
	if (!r && !force && !lstat(*path, &there) && there.st_size)
		return fm_error_set(error, EINVAL, "%s exists: choose another name, or replace it with --force", *path);
	return r;
}
