/* A server that works until it is told to end; its handler calls _exit(0): server SIGNAL */
#include "counted.h"
#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

static void end(int number)
{
	(void)number;
	_exit(0);
}

int main(int count, char **arguments)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	volatile unsigned long sum = 0;

	signal(count > 1 ? atoi(arguments[1]) : SIGTERM, end);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 8))
		return 1;
	if (write(1, "serving\n", 8) != 8)
		return 1;
	counted();
	for (;;)
		sum += work(10000);
}
