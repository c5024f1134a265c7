/* Probes of other programs Fathom can use. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/subjects.h"

/* Runs a program from PATH and collects the beginning of its output; its exit status, or -1 if it cannot run. */
static int run_program(const char *const *arguments, char *ret_said, size_t size)
{
	posix_spawn_file_actions_t actions;
	pid_t child;
	int ends[2], status = -1;
	size_t used = 0;
	ssize_t length;

	ret_said[0] = 0;
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	if (posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ))
		child = -1;
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (child > 0) {
		char rest[256] = "";

		while ((length = read(ends[0], used + 1 < size ? ret_said + used : rest,
		                      used + 1 < size ? size - 1 - used : sizeof(rest))) > 0)
			if (used + 1 < size)
				used += (size_t)length;
		ret_said[used < size ? used : size - 1] = 0;
		if (waitpid(child, &status, 0) != child)
			status = -1;
		else
			status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	close(ends[0]);
	return status;
}

void fm_probe_qemu(struct fm_capability *capability)
{
	static const char *const version[] = {"qemu-x86_64", "--version", NULL};
	static const char *const run[] = {"qemu-x86_64", "/bin/true", NULL};
	/* a plugin that does not exist: a QEMU with plugins complains about the file, one without about the option */
	static const char *const plugin[] = {"qemu-x86_64", "-plugin", "/nonexistent/fathom.so", "/bin/true", NULL};
	char said[512], first[96];
	int status = run_program(version, said, sizeof(said));

	if (status) {
		fm_capability_no(capability, "qemu-x86_64 is not installed");
		fm_capability_remedy(capability,
		                     "as root: apt-get install qemu-user (not qemu-user-static, which has no plugins)");
		return;
	}
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(said, "(\n"), said);
	if (run_program(run, said, sizeof(said))) {
		fm_capability_no(capability, "qemu-x86_64 is installed but cannot run /bin/true: %.100s", said);
		fm_capability_remedy(capability, "reinstall it: apt-get install --reinstall qemu-user");
		return;
	}
	run_program(plugin, said, sizeof(said));
	if (!strstr(said, "nonexistent")) {
		fm_capability_no(capability, "this QEMU was built without plugins");
		fm_capability_remedy(capability,
		                     "as root: apt-get install qemu-user (not qemu-user-static, which has no plugins)");
		return;
	}
	fm_capability_yes(capability, "%sruns programs and accepts plugins", first);
}
