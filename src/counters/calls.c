#include "counters/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	int code;
} faults[] = {{"ENOENT", ENOENT}, {"EACCES", EACCES}, {"EPERM", EPERM},   {"ENOSYS", ENOSYS},        {"EBUSY", EBUSY},
              {"EMFILE", EMFILE}, {"EINVAL", EINVAL}, {"ENODEV", ENODEV}, {"EOPNOTSUPP", EOPNOTSUPP}};

static int injected(const struct perf_event_attr *attributes)
{
	const char *fault = getenv("FATHOM_FAULTS");
	size_t length = fault ? strcspn(fault, "@") : 0;

	if (!length)
		return 0;
	if (!strcmp(fault + length, "@hardware") &&
	    (attributes->type == PERF_TYPE_SOFTWARE || attributes->type == PERF_TYPE_TRACEPOINT ||
	     attributes->type == PERF_TYPE_BREAKPOINT))
		return 0;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (strlen(faults[i].name) == length && !strncmp(faults[i].name, fault, length))
			return faults[i].code;
	return 0;
}

static int fault_is(const char *name)
{
	const char *fault = getenv("FATHOM_FAULTS");

	return fault && !strcmp(fault, name);
}

int fm_call_open(struct perf_event_attr *attributes, pid_t task, int cpu, int group)
{
	int code = injected(attributes);

	if (code) {
		errno = code;
		return -1;
	}
	return (int)syscall(SYS_perf_event_open, attributes, task, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

int fm_call_read(int counter, struct fm_reading *ret_reading)
{
	if (read(counter, ret_reading, sizeof(*ret_reading)) != sizeof(*ret_reading)) {
		errno = errno ? errno : EIO;
		return -1;
	}
	if (fault_is("never"))
		ret_reading->value = ret_reading->running = 0;
	if (fault_is("zero"))
		ret_reading->value = 0;
	return 0;
}

int fm_call_control(int counter, unsigned long request, int whole_group)
{
	return ioctl(counter, request, whole_group ? PERF_IOC_FLAG_GROUP : 0);
}
