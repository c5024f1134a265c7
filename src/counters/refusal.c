#include "counters/refusal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

long long fm_paranoid_level(void)
{
	long long level;

	return fm_text_read_number("/proc/sys/kernel/perf_event_paranoid", &level) ? -99 : level;
}

static void say(char *target, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(char *target, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(target, size, format, arguments);
	va_end(arguments);
}

#define WHY(...) say(refusal->why, sizeof(refusal->why), __VA_ARGS__)
#define REMEDY(...) say(refusal->remedy, sizeof(refusal->remedy), __VA_ARGS__)

void fm_refusal_explain(int code, const char *what, bool in_virtual_machine, struct fm_refusal *refusal)
{
	switch (code) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		if (in_virtual_machine) {
			WHY("the hypervisor provides no %s", what);
			REMEDY("start this virtual machine with a PMU (QEMU/KVM: -cpu host,pmu=on) or use bare metal; "
			       "exact counting needs no PMU");
		} else {
			WHY("the kernel supports no %s on this processor", what);
			REMEDY("boot a kernel that supports this processor; see 'dmesg | grep -i pmu'");
		}
		break;
	case EACCES:
	case EPERM:
		WHY("not permitted (perf_event_paranoid is %lld)", fm_paranoid_level());
		if (fm_paranoid_level() > 2)
			REMEDY("as root: sysctl kernel.perf_event_paranoid=2");
		else
			REMEDY("in a container: allow the system call (docker run --cap-add PERFMON --security-opt "
			       "seccomp=unconfined); otherwise as root: sysctl kernel.perf_event_paranoid=-1");
		break;
	case ENOSYS:
		WHY("the system call perf_event_open is missing or filtered");
		REMEDY("in a container: --security-opt seccomp=unconfined; otherwise use a kernel with "
		       "CONFIG_PERF_EVENTS");
		break;
	case EBUSY:
		WHY("all counters are already in use");
		REMEDY("'lsof | grep perf_event' lists the users; to free one counter, turn off the NMI watchdog: "
		       "sysctl kernel.nmi_watchdog=0");
		break;
	case EMFILE:
		WHY("too many open files: every event needs one for each task or CPU");
		REMEDY("count fewer events at once, or raise the limit: ulimit -n 65536");
		break;
	case EINVAL:
		WHY("the kernel does not accept %s in this combination (too many events in one group, or "
		    "an unknown field)",
		    what);
		REMEDY("count this event alone, without braces and with fewer modifiers");
		break;
	default:
		WHY("perf_event_open failed: %s", strerror(code));
		REMEDY("see perf_event_open(2) for %s", strerror(code));
	}
}
