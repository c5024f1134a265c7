/* Reads a million numbers, then ends the way the argument says. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile long numbers[1000];
static volatile int *volatile nowhere;

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	for (int i = 0; i < 1000000; i++)
		(void)numbers[i % 1000];
	if (!strcmp(how, "segv"))
		*nowhere = 1;
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	if (!strcmp(how, "exec-missing"))
		execl("/nonexistent/program", "program", (char *)NULL);
	if (!strcmp(how, "exec-privileged"))
		execl("/usr/bin/su", "su", "--version", (char *)NULL);
	if (!strcmp(how, "avx512"))
		__asm__ volatile(".byte 0x62, 0xf1, 0xfd, 0x48, 0x28, 0xc0"); /* vmovapd zmm0, zmm0 */
	return 42;
}
