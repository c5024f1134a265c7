/* Probes of the processor, the kernel's interfaces to it, and of the moment. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/disturbance.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "doctor/subjects.h"
#include "kernels/kernel.h"
#include "measure/buffer.h"
#include "profile/topology.h"

void fm_probe_processor(struct fm_capability *capability)
{
	struct fm_topology topology;
	struct fm_error error;
	char sets[64] = "";

	if (fm_topology_read(&topology, &error)) {
		fm_capability_no(capability, "%s", error.message);
		fm_capability_remedy(capability, "check that /sys and /proc are mounted");
		return;
	}
	for (int isa = 0; isa < FM_ISA_COUNT; isa++)
		if (fm_isa_supported((enum fm_isa)isa)) {
			size_t used = strlen(sets);

			snprintf(sets + used, sizeof(sets) - used, "%s%s", used ? ", " : "",
			         fm_isa_name((enum fm_isa)isa));
		}
	if (fm_kernels_check(&error)) {
		fm_capability_no(capability, "%s: %s", topology.processor, error.message);
		fm_capability_remedy(capability, "name a simulated machine: --machine NAME");
		return;
	}
	fm_capability_yes(capability, "%s, %u CPU%s; %s", topology.processor, topology.cpus,
	                  topology.cpus == 1 ? "" : "s", sets);
}

void fm_probe_bare_metal(struct fm_capability *capability)
{
	struct fm_topology topology;

	if (fm_topology_read(&topology, NULL)) {
		fm_capability_no(capability, "the description of the processor could not be read");
		fm_capability_remedy(capability, "check that /sys and /proc are mounted");
	} else if (*topology.hypervisor) {
		fm_capability_no(capability, "a virtual machine under %s", topology.hypervisor);
		fm_capability_remedy(
		    capability, "cannot be changed inside a virtual machine; 'fathom machine' measures the effective "
		                "cache sizes");
	} else {
		fm_capability_yes(capability, "the processor reports no hypervisor");
	}
}

void fm_probe_numa(struct fm_capability *capability)
{
	struct fm_topology topology;

	if (!fm_topology_read(&topology, NULL) && topology.nodes > 1) {
		fm_capability_yes(capability, "%u nodes", topology.nodes);
		return;
	}
	fm_capability_no(capability, "only one NUMA node: all memory is local");
	fm_capability_remedy(capability, "needs a machine with several sockets");
}

void fm_probe_huge_pages(struct fm_capability *capability)
{
	struct fm_error error;
	char setting[64] = "";
	char *colon;

	if (!fm_huge_pages_probe(&error)) {
		fm_sysfs_read_line(setting, sizeof(setting), "kernel/mm/transparent_hugepage/enabled");
		fm_capability_yes(capability, "2 MiB pages requested and received (%s)", setting);
		return;
	}
	colon = strrchr(error.message, ':');
	if (colon)
		*colon = 0;
	fm_capability_no(capability, "%s", error.message);
	fm_capability_remedy(capability, "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

static bool cpu_has_flag(const char *flag)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[8192];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		if (!strncmp(line, "flags", 5)) {
			char *match = strstr(line, flag);

			found =
			    match && match[-1] == ' ' && (match[strlen(flag)] == ' ' || match[strlen(flag)] == '\n');
			break;
		}
	if (file)
		fclose(file);
	return found;
}

void fm_probe_resctrl(struct fm_capability *capability)
{
	char group[PATH_MAX];
	int code;

	if (!cpu_has_flag("rdt_a") && !cpu_has_flag("cat_l3") && !cpu_has_flag("mba")) {
		fm_capability_no(capability, "the processor has no cache allocation (CPU flags rdt_a, cat_l3, mba)");
		fm_capability_remedy(capability, "cannot be enabled on this machine");
		return;
	}
	if (!fm_sysfs_exists("fs/resctrl/schemata")) {
		fm_capability_no(capability, "the resctrl file system is not mounted");
		fm_capability_remedy(capability, "as root: mount -t resctrl resctrl /sys/fs/resctrl");
		return;
	}
	fm_sysfs_path(group, sizeof(group), "fs/resctrl/fathom-probe");
	if (!mkdir(group, 0700)) {
		rmdir(group);
		fm_capability_yes(capability, "a control group was created");
		return;
	}
	code = errno;
	fm_capability_no(capability, "a control group cannot be created: %s", strerror(code));
	fm_capability_remedy(capability, code == EACCES || code == EPERM
	                                     ? "run as root, or chown /sys/fs/resctrl"
	                                     : "remove unused groups below /sys/fs/resctrl");
}

void fm_probe_cpufreq(struct fm_capability *capability)
{
	static const char place[] = "devices/system/cpu/cpu0/cpufreq";
	char limit[PATH_MAX], value[32], governor[32] = "?";
	int file;

	fm_sysfs_path(limit, sizeof(limit), "%s/scaling_max_freq", place);
	if (fm_text_read_line(limit, value, sizeof(value))) {
		fm_capability_no(capability, "the kernel offers no control of the clock frequency");
		fm_capability_remedy(
		    capability,
		    "on bare metal: load a cpufreq driver (acpi_cpufreq, intel_pstate); not possible in a virtual "
		    "machine");
		return;
	}
	fm_sysfs_read_line(governor, sizeof(governor), "%s/scaling_governor", place);
	file = open(limit, O_WRONLY | O_CLOEXEC);
	/* the value it has: tried, and nothing changed */
	if (file >= 0 && write(file, value, strlen(value)) > 0) {
		close(file);
		fm_capability_yes(capability, "limit %s kHz, governor %s, writable", value, governor);
		return;
	}
	fm_capability_no(capability, "the clock limit cannot be written: %s", strerror(errno));
	fm_capability_remedy(capability, "run as root, or: chmod a+w %s", limit);
	if (file >= 0)
		close(file);
}

struct energy_counter {
	char path[PATH_MAX];
	bool found;
};

static bool find_energy_counter(const char *name, void *context)
{
	struct energy_counter *counter = context;

	fm_sysfs_path(counter->path, sizeof(counter->path), "class/powercap/%s/energy_uj", name);
	counter->found = !access(counter->path, F_OK);
	return !counter->found;
}

void fm_probe_rapl(struct fm_capability *capability)
{
	struct energy_counter counter = {.found = false};
	const char *path = counter.path;
	long long before, after;
	uint64_t begin;
	int status;

	fm_sysfs_each(find_energy_counter, &counter, "class/powercap");
	if (!counter.found) {
		fm_capability_no(capability, "no energy counter below /sys/class/powercap");
		fm_capability_remedy(capability,
		                     "on bare metal: modprobe intel_rapl_msr; not possible in a virtual machine");
		return;
	}
	status = fm_text_read_number(path, &before);
	if (status) {
		fm_capability_no(capability, "%s cannot be read: %s", path, strerror(-status));
		fm_capability_remedy(capability, "as root: chmod a+r %s", path);
		return;
	}
	for (begin = fm_clock_now(); fm_clock_now() - begin < 20000000u;)
		;
	if (!fm_text_read_number(path, &after) && after != before) {
		fm_capability_yes(capability, "%s advanced by %lld µJ in 20 ms", path, after - before);
		return;
	}
	fm_capability_no(capability, "the energy counter does not advance");
	fm_capability_remedy(capability, "cannot be changed from inside this machine");
}

static volatile sig_atomic_t timer_signals;

static void on_timer(int number)
{
	(void)number;
	timer_signals++;
}

/* Signals per second from a timer asked for 20,000. -1 when it cannot be made. */
static double timer_signals_per_second(clockid_t clock)
{
	enum { ASKED_NS = 50000, WATCHED_NS = 60000000 };
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART}, before;
	struct sigevent notification = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
	struct itimerspec setting = {{0, ASKED_NS}, {0, ASKED_NS}};
	uint64_t begin;
	timer_t timer;
	double rate;

	if (sigaction(SIGRTMIN + 3, &action, &before))
		return -1;
	if (timer_create(clock, &notification, &timer)) {
		sigaction(SIGRTMIN + 3, &before, NULL);
		return -1;
	}
	timer_signals = 0;
	begin = fm_clock_now();
	timer_settime(timer, 0, &setting, NULL);
	while (fm_clock_now() - begin < WATCHED_NS)
		;
	timer_delete(timer);
	rate = timer_signals / ((double)(fm_clock_now() - begin) / 1e9);
	sigaction(SIGRTMIN + 3, &before, NULL);
	return rate;
}

void fm_probe_timer_rate(struct fm_capability *capability)
{
	double wall = timer_signals_per_second(CLOCK_MONOTONIC);
	double cpu = timer_signals_per_second(CLOCK_THREAD_CPUTIME_ID);

	if (wall >= 100)
		fm_capability_yes(
		    capability,
		    "%.0f signals/s with a wall-clock timer, %.0f/s with a CPU-time timer (20000 requested)", wall,
		    cpu < 0 ? 0 : cpu);
	else {
		fm_capability_no(capability, "only %.0f timer signals arrive per second", wall < 0 ? 0 : wall);
		fm_capability_remedy(capability, "use a kernel with CONFIG_HIGH_RES_TIMERS");
	}
}

void fm_probe_quiet(struct fm_capability *capability)
{
	enum { WATCHED_NS = 200000000 };
	const double most = 0.02; /* of the time */
	struct fm_disturbance_watch watch;
	uint64_t begin = fm_clock_now();
	int64_t steal_before = fm_disturbance_steal_now(), steal_after;
	double steal, waited, slowdown;
	bool quiet;

	fm_disturbance_open(&watch);
	while (fm_clock_now() - begin < WATCHED_NS) {
		fm_disturbance_begin(&watch);
		fm_disturbance_end(&watch, false, NULL);
	}
	steal_after = fm_disturbance_steal_now();
	steal = steal_before < 0 ? 0 : (double)(steal_after - steal_before) / WATCHED_NS;
	waited = (double)watch.total.waited_ns / WATCHED_NS;
	slowdown = watch.total.heartbeat_worst / watch.total.heartbeat_best;
	fm_disturbance_close(&watch);
	quiet = steal < most && waited < most;
	(quiet ? fm_capability_yes : fm_capability_no)(
	    capability,
	    "steal time %.1f %%, waiting for a CPU %.1f %%, a fixed loop up to %.1f times slower than its best",
	    100 * steal, 100 * waited, slowdown);
	if (!quiet)
		fm_capability_remedy(capability,
		                     steal >= most
		                         ? "the host is shared: use more repetitions (-r, --budget) or a dedicated host"
		                         : "stop other programs, or choose idle CPUs with -C");
}
