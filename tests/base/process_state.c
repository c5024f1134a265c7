/* The kernel's account of a process. */
#include "check.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_state.h"

static char state_of(pid_t process, pid_t *ret_parent)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	return fm_process_state(path, ret_parent);
}

static void a_running_process_has_a_parent(void **state)
{
	pid_t parent = 0;

	(void)state;
	assert_int_equal(state_of(getpid(), &parent), 'R');
	assert_int_equal(parent, getppid());
}

/* Parentheses in its name do not end the name. */
static void a_zombie_is_known_until_it_is_collected(void **state)
{
	pid_t child = fork(), parent = 0;
	siginfo_t end;

	(void)state;
	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_NAME, "a) R 1 (");
		_exit(0);
	}
	assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
	assert_int_equal(state_of(child, &parent), 'Z');
	assert_int_equal(parent, getpid());
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(state_of(child, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_running_process_has_a_parent),
	    cmocka_unit_test(a_zombie_is_known_until_it_is_collected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
