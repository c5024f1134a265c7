#include "export/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 18 };

static int refuse(struct fm_error *error, const char *path, const char *why)
{
	return fm_error_set(error, EEXIST, "%s: %s", path, why);
}

/* *ret_direct: a device or a pipe, not a file. */
static int check(const char *path, bool alone, bool replace, const char *source, bool *ret_direct,
                 struct fm_error *error)
{
	struct stat there, from;

	*ret_direct = false;
	if (lstat(path, &there))
		return errno == ENOENT ? 0 : fm_error_set(error, errno, "cannot write %s: %s", path, strerror(errno));
	if (S_ISLNK(there.st_mode))
		return refuse(error, path,
		              "it is a symbolic link, which is not followed: name the file itself with -o");
	if (S_ISDIR(there.st_mode))
		return refuse(error, path, "it is a folder: name a file in it with -o");
	if (!S_ISREG(there.st_mode)) {
		*ret_direct = alone;
		return alone ? 0
		             : refuse(error, path, "it is not a regular file, and this format writes several files");
	}
	if (source && !stat(source, &from) && from.st_dev == there.st_dev && from.st_ino == there.st_ino)
		return refuse(error, path, "it is the recording itself: choose another name with -o");
	if (!replace)
		return fm_error_set(error, EEXIST, "%s already exists: -o %s replaces it, another name keeps it", path,
		                    path);
	return 0;
}

static int open_beside(struct fm_files *files, unsigned i, struct fm_error *error)
{
	mode_t mask = umask(0);
	int descriptor;

	umask(mask);
	if ((size_t)snprintf(files->beside[i], PATH_MAX, "%s.XXXXXX", files->paths[i]) >= PATH_MAX) {
		files->beside[i][0] = '\0';
		return fm_error_set(error, ENAMETOOLONG, "%s: the path is too long", files->paths[i]);
	}
	descriptor = mkostemp(files->beside[i], O_CLOEXEC);
	if (descriptor < 0) {
		files->beside[i][0] = '\0';
		return fm_error_set(error, errno, "cannot write %s: %s", files->paths[i], strerror(errno));
	}
	fchmod(descriptor, 0666 & ~mask);
	files->sinks[i].file = fdopen(descriptor, "w");
	if (!files->sinks[i].file) {
		close(descriptor);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	return 0;
}

static int open_in_place(struct fm_files *files, unsigned i, struct fm_error *error)
{
	int descriptor = open(files->paths[i], O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	files->sinks[i].file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	if (!files->sinks[i].file)
		return fm_error_set(error, errno, "cannot write %s: %s", files->paths[i], strerror(errno));
	return 0;
}

static size_t without_suffix(const char *path, const char *suffix)
{
	size_t length = strlen(path), end = strlen(suffix);

	return length > end && !strcmp(path + length - end, suffix) ? length - end : length;
}

int fm_files_open(struct fm_files *files, const char *path, const char *const *suffixes, bool replace,
                  const char *source, const volatile bool *stop, struct fm_error *error)
{
	bool alone = !suffixes[1], direct;
	int r = 0;

	memset(files, 0, sizeof(*files));
	for (unsigned i = 0; !r && suffixes[i] && i < FM_FILES_MAX; i++) {
		size_t used = alone ? (size_t)snprintf(files->paths[i], PATH_MAX, "%s", path)
		                    : (size_t)snprintf(files->paths[i], PATH_MAX, "%.*s%s",
		                                       (int)without_suffix(path, suffixes[0]), path, suffixes[i]);

		files->sinks[i].stop = stop;
		if (used >= PATH_MAX)
			r = fm_error_set(error, ENAMETOOLONG, "%s: the path is too long", path);
		if (!r)
			r = check(files->paths[i], alone, replace, source, &direct, error);
		if (r)
			break;
		files->count++;
		r = direct ? open_in_place(files, i, error) : open_beside(files, i, error);
		if (!r)
			setvbuf(files->sinks[i].file, NULL, _IOFBF, BUFFER);
	}
	if (r)
		fm_files_finish(files, true, NULL);
	return r;
}

void fm_files_use(struct fm_files *files, FILE *stream, const volatile bool *stop)
{
	memset(files, 0, sizeof(*files));
	files->count = 1;
	snprintf(files->paths[0], PATH_MAX, "standard output");
	files->sinks[0] = (struct fm_sink){.file = stream, .stop = stop};
}

int fm_files_finish(struct fm_files *files, bool failed, struct fm_error *error)
{
	int r = 0;

	for (unsigned i = 0; i < files->count; i++) {
		struct fm_sink *sink = &files->sinks[i];
		bool ours = *files->beside[i];
		int wrong = 0;

		/* streams that a caller opened are closed by the caller */
		if (sink->file && (ours || strcmp(files->paths[i], "standard output") != 0))
			wrong = fclose(sink->file) ? errno : 0;
		else if (sink->file)
			wrong = fflush(sink->file) ? errno : 0;
		if (sink->failed || wrong) {
			wrong = sink->failed ? sink->code : wrong;
			if (!failed)
				r = fm_error_set(error, wrong, "cannot write %s: %s", files->paths[i],
				                 wrong == EINTR ? "it was interrupted" : strerror(wrong));
			failed = true;
		}
	}
	for (unsigned i = files->count; i--;) {
		if (!*files->beside[i])
			continue;
		if (!failed && rename(files->beside[i], files->paths[i])) {
			r = fm_error_set(error, errno, "cannot write %s: %s", files->paths[i], strerror(errno));
			failed = true;
		}
		if (failed)
			unlink(files->beside[i]);
	}
	files->count = 0;
	return r;
}
