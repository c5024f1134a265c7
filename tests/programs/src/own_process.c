/* Looks at its own process, as programs do that check their surroundings: own_process
 * path|code|frames|descriptors|threads|handlers|environment */
#define _GNU_SOURCE
#include "counted.h"
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>

extern char **environ;
extern char __executable_start, etext;

static int entries(const char *path)
{
	DIR *folder = opendir(path);
	int number = 0;

	while (folder && readdir(folder))
		number++;
	if (folder)
		closedir(folder);
	return number;
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "path";
	unsigned long sum = 0;
	char text[4096] = "";

	counted();
	if (!strcmp(what, "path")) {
		if (readlink("/proc/self/exe", text, sizeof(text) - 1) < 0)
			return 1;
		printf("%s %s %s\n", text, program_invocation_short_name, arguments[0]);
	} else if (!strcmp(what, "code")) {
		for (const char *byte = &__executable_start; byte < &etext; byte++)
			sum = sum * 31 + (unsigned char)*byte;
		printf("%lu\n", sum);
	} else if (!strcmp(what, "frames")) {
		void *frames[16], *near = __builtin_return_address(0);
		int number = backtrace(frames, 16);

		for (int i = 0; i < number; i++)
			sum += frames[i] == near;
		printf("%d frames, %lu\n", number, sum);
	} else if (!strcmp(what, "descriptors")) {
		printf("%d, next %d\n", entries("/proc/self/fd"), open("/dev/null", O_RDONLY));
	} else if (!strcmp(what, "threads")) {
		printf("%d\n", entries("/proc/self/task"));
	} else if (!strcmp(what, "handlers")) {
		for (int number = 1; number < SIGRTMAX; number++) {
			struct sigaction action;

			if (!sigaction(number, NULL, &action))
				printf("%d", action.sa_handler == SIG_DFL ? 0 : action.sa_handler == SIG_IGN ? 1 : 2);
		}
		printf("\n");
	} else {
		for (char **variable = environ; *variable; variable++)
			printf("%s\n", *variable);
	}
	printf("%lu\n", work(100000000));
	return 0;
}
