#include "base/process_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char fm_process_state(const char *path, pid_t *ret_parent)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	char text[512], state = 0;
	const char *end;
	ssize_t length;
	pid_t parent;

	if (file < 0)
		return 0;
	length = read(file, text, sizeof(text) - 1);
	close(file);
	text[length > 0 ? length : 0] = 0;
	/* the name before it may hold any character */
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %c %d", &state, &parent) != 2)
		return 0;
	if (ret_parent)
		*ret_parent = parent;
	return state;
}
