/* Probes of perf_event: each opens an event, lets something happen, and reads the count. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/host.h"
#include "counters/calls.h"
#include "counters/refusal.h"
#include "counters/sysfs.h"
#include "doctor/doctor.h"
#include "doctor/subjects.h"

static int open_event(struct perf_event_attr *attributes, pid_t process, int cpu)
{
	attributes->size = sizeof(*attributes);
	attributes->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return fm_call_open(attributes, process, cpu, -1);
}

static uint64_t read_count(int event)
{
	struct fm_reading reading;

	return fm_call_read(event, &reading) ? 0 : reading.value;
}

/* Something to count: about a million instructions that touch memory. */
static void work(void)
{
	static volatile unsigned numbers[4096];

	for (unsigned i = 0; i < 100000; i++)
		numbers[i * 61 % 4096] += i;
}

/* Why perf_event_open failed, in words, and what would help. */
static void explain(struct fm_capability *capability, int code, const char *what)
{
	struct fm_refusal refusal;

	fm_refusal_explain(code, what, fm_host_is_virtual(), &refusal);
	fm_capability_no(capability, "%s", refusal.why);
	fm_capability_remedy(capability, "%s", refusal.remedy);
}

/* True if the event opened; the capability says why it did not. */
static bool count_work(struct fm_capability *capability, uint32_t type, uint64_t config, const char *what,
                       unsigned long long *ret_count)
{
	struct perf_event_attr attributes = {.type = type, .config = config, .exclude_kernel = 1, .exclude_hv = 1};
	int event = open_event(&attributes, 0, -1);

	if (event < 0) {
		explain(capability, errno, what);
		return false;
	}
	work();
	*ret_count = read_count(event);
	close(event);
	return true;
}

void fm_probe_core_counters(struct fm_capability *capability)
{
	unsigned long long count;

	if (!count_work(capability, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "core counters", &count))
		return;
	if (count) {
		fm_capability_yes(capability, "instructions opened and counted %llu", count);
		return;
	}
	fm_capability_no(capability, "the instructions event opens but counts nothing");
	fm_capability_remedy(
	    capability, "the hypervisor emulates the PMU but does not count; use a host with a working virtual PMU");
}

static bool is_uncore(const char *name)
{
	static const char *const prefixes[] = {"uncore",  "amd_df",  "amd_l3", "amd_umc",
	                                       "arm_cmn", "arm_dsu", "hisi",   "nvidia"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Uncore units, until an event of one counts. */
struct uncore {
	unsigned found;
	int64_t result; /* the count, or minus the last errno */
	char event[300];
};

static bool try_event(const char *pmu, const char *name, void *context)
{
	struct perf_event_attr attributes = {0};
	struct uncore *uncore = context;
	int cpu = fm_sysfs_first_cpu(pmu), event;
	struct fm_error ignored;

	if (fm_sysfs_encode(pmu, name, &attributes, &ignored))
		return true;
	event = open_event(&attributes, -1, cpu < 0 ? 0 : cpu);
	if (event < 0) {
		uncore->result = -errno;
		return true;
	}
	work();
	usleep(1000);
	uncore->result = (int64_t)read_count(event);
	close(event);
	snprintf(uncore->event, sizeof(uncore->event), "%s/%s/", pmu, name);
	return uncore->result <= 0;
}

static bool try_unit(const char *pmu, void *context)
{
	struct uncore *uncore = context;

	if (is_uncore(pmu)) {
		uncore->found++;
		fm_sysfs_each_event(pmu, try_event, uncore);
	}
	return uncore->result <= 0;
}

void fm_probe_uncore_counters(struct fm_capability *capability)
{
	struct uncore uncore = {.result = -ENOENT};

	fm_sysfs_each_pmu(try_unit, &uncore);
	if (uncore.result > 0)
		fm_capability_yes(capability, "%s opened and counted %lld", uncore.event, (long long)uncore.result);
	else if (!uncore.found)
		explain(capability, ENOENT, "uncore counters");
	else if (uncore.result == 0) {
		fm_capability_no(capability, "found %u uncore units, but none of them counts", uncore.found);
		fm_capability_remedy(capability, "none known; 'perf list' shows the units");
	} else {
		explain(capability, (int)-uncore.result, "uncore counters");
		if (uncore.result == -EACCES || uncore.result == -EPERM)
			fm_capability_remedy(
			    capability,
			    "as root: sysctl kernel.perf_event_paranoid=0, or setcap cap_perfmon+ep on fathom");
	}
}

/* Open a sampling event, work, and see whether the ring buffer moved. */
static int64_t try_sampling(struct perf_event_attr *attributes)
{
	long page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *ring;
	int64_t bytes;
	int event;

	attributes->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	attributes->disabled = 1;
	event = open_event(attributes, 0, -1);
	if (event < 0)
		return -errno;
	ring = mmap(NULL, (size_t)page * 9, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	if (ring == MAP_FAILED) {
		int code = errno;

		close(event);
		return -code;
	}
	fm_call_control(event, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 20; i++)
		work();
	fm_call_control(event, PERF_EVENT_IOC_DISABLE, 0);
	bytes = (int64_t)ring->data_head;
	munmap(ring, (size_t)page * 9);
	close(event);
	return bytes;
}

void fm_probe_precise_sampling(struct fm_capability *capability)
{
	static const char *const units[] = {"ibs_op", "arm_spe_0"};
	struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE,
	                                     .config = PERF_COUNT_HW_CPU_CYCLES,
	                                     .sample_period = 10007,
	                                     .precise_ip = 2,
	                                     .exclude_kernel = 1,
	                                     .exclude_hv = 1};
	const char *unit = "PEBS";
	int64_t result = try_sampling(&attributes);

	for (size_t i = 0; result <= 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		int type = fm_sysfs_type(units[i]);

		if (type < 0)
			continue;
		attributes = (struct perf_event_attr){.type = (uint32_t)type, .sample_period = 65536};
		result = try_sampling(&attributes);
		unit = units[i];
	}
	if (result > 0) {
		fm_capability_yes(capability, "%s delivered samples", unit);
		return;
	}
	if (!result) {
		fm_capability_no(capability, "%s opens but delivers no samples", unit);
		fm_capability_remedy(capability, "cannot be changed from inside this machine");
		return;
	}
	explain(capability, (int)-result, "precise sampling");
}

void fm_probe_paranoid(struct fm_capability *capability)
{
	long long level = fm_paranoid_level();

	if (level == -99) {
		fm_capability_no(capability,
		                 "the kernel was built without perf events: perf_event_paranoid does not exist");
		fm_capability_remedy(capability, "use a kernel with CONFIG_PERF_EVENTS");
	} else if (level <= 2 || !geteuid()) {
		fm_capability_yes(capability, "level %lld%s", level, geteuid() ? "" : " (does not limit root)");
	} else {
		fm_capability_no(capability, "level %lld does not allow counting without root", level);
		fm_capability_remedy(capability, "as root: sysctl kernel.perf_event_paranoid=2");
	}
}

void fm_probe_software_events(struct fm_capability *capability)
{
	unsigned long long count;

	if (!count_work(capability, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "software events", &count))
		return;
	if (count) {
		fm_capability_yes(capability, "task-clock opened and counted %llu ns", count);
		return;
	}
	fm_capability_no(capability, "task-clock opens but counts nothing");
	fm_capability_remedy(capability, "none known");
}

void fm_probe_breakpoints(struct fm_capability *capability)
{
	enum { WRITES = 3 };
	static volatile uint64_t watched;
	struct perf_event_attr attributes = {.type = PERF_TYPE_BREAKPOINT,
	                                     .bp_type = HW_BREAKPOINT_W,
	                                     .bp_addr = (uintptr_t)&watched,
	                                     .bp_len = HW_BREAKPOINT_LEN_8,
	                                     .exclude_kernel = 1,
	                                     .exclude_hv = 1};
	int event = open_event(&attributes, 0, -1);
	uint64_t count;

	if (event < 0) {
		explain(capability, errno, "hardware breakpoints");
		return;
	}
	for (unsigned i = 0; i < WRITES; i++)
		watched = i;
	count = read_count(event);
	close(event);
	if (count == WRITES) {
		fm_capability_yes(capability, "counted %d of %d writes", (int)count, WRITES);
		return;
	}
	fm_capability_no(capability, "a breakpoint counted %llu of %d writes", (unsigned long long)count, WRITES);
	fm_capability_remedy(capability, "cannot be changed from inside this machine");
}
