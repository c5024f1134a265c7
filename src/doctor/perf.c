/* Probes of perf_event: each opens an event, lets something happen, and reads the count. */
#include <dirent.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host.h"
#include "base/text.h"
#include "counters/refusal.h"
#include "doctor/doctor.h"
#include "doctor/subjects.h"

#define DEVICES "/sys/bus/event_source/devices"

static int open_event(struct perf_event_attr *attributes, pid_t process, int cpu)
{
	attributes->size = sizeof(*attributes);
	return (int)syscall(SYS_perf_event_open, attributes, process, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t read_count(int event)
{
	uint64_t count;

	return read(event, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* Something to count: about a million instructions that touch memory. */
static void work(void)
{
	static volatile unsigned numbers[4096];

	for (unsigned i = 0; i < 100000; i++)
		numbers[i * 61 % 4096] += i;
}

static long long paranoid_level(void)
{
	long long level;

	return fm_text_read_number("/proc/sys/kernel/perf_event_paranoid", &level) ? -99 : level;
}

/* Why perf_event_open failed, in words, and what would help. */
static void explain(struct fm_capability *capability, int code, const char *what)
{
	struct fm_refusal refusal;

	fm_refusal_explain(code, what, fm_host_is_virtual(), &refusal);
	fm_capability_no(capability, "%s", refusal.why);
	fm_capability_remedy(capability, "%s", refusal.remedy);
}

void fm_probe_core_counters(struct fm_capability *capability)
{
	struct perf_event_attr attributes = {
	    .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1, .exclude_hv = 1};
	int event = open_event(&attributes, 0, -1);
	uint64_t count;

	if (event < 0) {
		explain(capability, errno, "core counters");
		return;
	}
	work();
	count = read_count(event);
	close(event);
	if (count) {
		fm_capability_yes(capability, "instructions opened and counted %llu", (unsigned long long)count);
		return;
	}
	fm_capability_no(capability, "the instructions event opens but counts nothing");
	fm_capability_remedy(capability,
	                     "the PMU is emulated without counting; a host with a working virtual PMU is needed");
}

/* "config:0-7" or "config1:3" of the PMU's format file: where a term goes. False when it is another kind. */
static bool place_term(const char *pmu, const char *term, uint64_t value, struct perf_event_attr *attributes)
{
	char path[512], format[128];
	unsigned low, high;
	const char *colon;
	__u64 *word = &attributes->config;

	snprintf(path, sizeof(path), DEVICES "/%s/format/%s", pmu, term);
	if (fm_text_read_line(path, format, sizeof(format)))
		return false;
	colon = strchr(format, ':');
	if (!colon)
		return false;
	if (!strncmp(format, "config1:", 8))
		word = &attributes->config1;
	else if (!strncmp(format, "config2:", 8))
		word = &attributes->config2;
	if (sscanf(colon + 1, "%u-%u", &low, &high) < 1 || low > 63)
		return false;
	*word |= value << low;
	return true;
}

/* "event=0x04,umask=0x03" of an events file. */
static bool parse_event(const char *pmu, const char *text, struct perf_event_attr *attributes)
{
	char copy[256];
	char *position = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *term = strtok_r(copy, ",", &position); term; term = strtok_r(NULL, ",", &position)) {
		char *equals = strchr(term, '=');
		uint64_t value = 1;

		if (equals) {
			*equals = 0;
			value = strtoull(equals + 1, NULL, 0);
		}
		if (!place_term(pmu, term, value, attributes))
			return false;
	}
	return true;
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

/* Try the PMU's named events until one counts; returns the count, or minus the last errno. */
static int64_t try_uncore(const char *pmu, char *event_name, size_t size)
{
	char path[512], text[256];
	struct dirent *entry;
	long long type;
	int64_t result = -ENOENT;
	DIR *events;

	snprintf(path, sizeof(path), DEVICES "/%s/type", pmu);
	if (fm_text_read_number(path, &type))
		return -ENOENT;
	snprintf(path, sizeof(path), DEVICES "/%s/events", pmu);
	events = opendir(path);
	if (!events)
		return -ENOENT;
	while (result <= 0 && (entry = readdir(events))) {
		struct perf_event_attr attributes = {.type = (uint32_t)type};
		int event;

		if (strchr(entry->d_name, '.'))
			continue;
		snprintf(path, sizeof(path), DEVICES "/%s/events/%s", pmu, entry->d_name);
		if (fm_text_read_line(path, text, sizeof(text)) || !parse_event(pmu, text, &attributes))
			continue;
		event = open_event(&attributes, -1, 0);
		if (event < 0) {
			result = -errno;
			continue;
		}
		work();
		usleep(1000);
		result = (int64_t)read_count(event);
		close(event);
		snprintf(event_name, size, "%s/%s/", pmu, entry->d_name);
	}
	closedir(events);
	return result;
}

void fm_probe_uncore_counters(struct fm_capability *capability)
{
	DIR *devices = opendir(DEVICES);
	struct dirent *entry;
	int64_t result = -ENOENT;
	unsigned found = 0;
	char event[300] = "";

	while (devices && result <= 0 && (entry = readdir(devices)))
		if (is_uncore(entry->d_name)) {
			found++;
			result = try_uncore(entry->d_name, event, sizeof(event));
		}
	if (devices)
		closedir(devices);
	if (result > 0)
		fm_capability_yes(capability, "%s opened and counted %lld", event, (long long)result);
	else if (!found)
		explain(capability, ENOENT, "uncore counters");
	else if (result == 0) {
		fm_capability_no(capability, "%u uncore units, but none counted anything", found);
		fm_capability_remedy(capability, "nothing known; 'perf list' shows the units");
	} else {
		explain(capability, (int)-result, "uncore counters");
		if (result == -EACCES || result == -EPERM)
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
	ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 20; i++)
		work();
	ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
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
		char path[128];
		long long type;

		snprintf(path, sizeof(path), DEVICES "/%s/type", units[i]);
		if (fm_text_read_number(path, &type))
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
		fm_capability_remedy(capability, "nothing inside this machine can change that");
		return;
	}
	explain(capability, (int)-result, "precise sampling");
}

void fm_probe_paranoid(struct fm_capability *capability)
{
	long long level = paranoid_level();

	if (level == -99) {
		fm_capability_no(capability, "the kernel has no perf_event_paranoid: perf events are not built in");
		fm_capability_remedy(capability, "a kernel with CONFIG_PERF_EVENTS");
	} else if (level <= 2 || !geteuid()) {
		fm_capability_yes(capability, "%lld%s", level,
		                  geteuid() ? "" : " (and you are root, whom it does not bind)");
	} else {
		fm_capability_no(capability, "%lld forbids counting without root", level);
		fm_capability_remedy(capability, "as root: sysctl kernel.perf_event_paranoid=2");
	}
}

void fm_probe_software_events(struct fm_capability *capability)
{
	struct perf_event_attr attributes = {
	    .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1, .exclude_hv = 1};
	int event = open_event(&attributes, 0, -1);
	uint64_t count;

	if (event < 0) {
		explain(capability, errno, "software events");
		return;
	}
	work();
	count = read_count(event);
	close(event);
	if (count) {
		fm_capability_yes(capability, "task-clock opened and counted %llu ns", (unsigned long long)count);
		return;
	}
	fm_capability_no(capability, "task-clock opens but counts nothing");
	fm_capability_remedy(capability, "nothing known");
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
	fm_capability_no(capability, "a breakpoint saw %llu of %d writes", (unsigned long long)count, WRITES);
	fm_capability_remedy(capability, "nothing inside this machine can change that");
}
