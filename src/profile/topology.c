#include "profile/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/limits.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "profile/family.h"

static void read_processor(struct fm_topology *topology, hwloc_topology_t hwloc)
{
	hwloc_obj_t package = hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, 0);
	static const struct {
		const char *key;
		size_t offset;
	} numbers[] = {
	    {"CPUFamilyNumber", offsetof(struct fm_topology, family)},
	    {"CPUModelNumber", offsetof(struct fm_topology, model)},
	    {"CPUStepping", offsetof(struct fm_topology, stepping)},
	    {"CPUArchitecture", offsetof(struct fm_topology, family)},
	    {"CPUPart", offsetof(struct fm_topology, model)},
	    {"CPURevision", offsetof(struct fm_topology, stepping)},
	};
	const char *text;

	if (!package)
		return;
	text = hwloc_obj_get_info_by_name(package, "CPUModel");
	if (text)
		snprintf(topology->processor, sizeof(topology->processor), "%s", text);
	text = hwloc_obj_get_info_by_name(package, "CPUVendor");
	if (!text)
		text = hwloc_obj_get_info_by_name(package, "CPUImplementer");
	if (text)
		snprintf(topology->vendor, sizeof(topology->vendor), "%s", text);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		text = hwloc_obj_get_info_by_name(package, numbers[i].key);
		if (text)
			*(unsigned *)((char *)topology + numbers[i].offset) = (unsigned)strtoul(text, NULL, 0);
	}
}

/* Arm's main identification register, where hwloc has no words. */
static void read_identification(struct fm_topology *topology)
{
	char line[64];
	unsigned long long value;

	if (*topology->vendor ||
	    fm_sysfs_read_line(line, sizeof(line), "devices/system/cpu/cpu0/regs/identification/midr_el1"))
		return;
	value = strtoull(line, NULL, 0);
	snprintf(topology->vendor, sizeof(topology->vendor), "0x%02llx", value >> 24 & 0xff);
	topology->family = 8;
	topology->model = value >> 4 & 0xfff;
	topology->stepping = value & 0xf;
}

static void name_processor(struct fm_topology *topology)
{
	const struct fm_family *family = fm_family_of(topology);

	snprintf(topology->processor, sizeof(topology->processor), "%s",
	         family ? fm_family_words(family) : "unknown processor");
}

static void read_hypervisor(struct fm_topology *topology)
{
#if defined(__x86_64__)
	static const struct {
		const char *signature;
		const char *name;
	} known[] = {
	    {"KVMKVMKVM", "KVM"},
	    {"Linux KVM Hv", "KVM"},
	    {"Microsoft Hv", "Hyper-V"},
	    {"VMwareVMware", "VMware"},
	    {"XenVMMXenVMM", "Xen"},
	    {"bhyve bhyve ", "bhyve"},
	    {"TCGTCGTCGTCG", "QEMU (emulated)"},
	    {"VBoxVBoxVBox", "VirtualBox"},
	};
	unsigned a, b, c, d;
	char signature[13] = "";

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31 & 1))
		return;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	snprintf(topology->hypervisor, sizeof(topology->hypervisor), "%s",
	         *signature ? signature : "an unnamed hypervisor");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(signature, known[i].signature))
			snprintf(topology->hypervisor, sizeof(topology->hypervisor), "%s", known[i].name);
#else
	fm_sysfs_read_line(topology->hypervisor, sizeof(topology->hypervisor), "hypervisor/type");
#endif
}

static void read_caches(struct fm_topology *topology, hwloc_topology_t hwloc, const unsigned *cpu)
{
	hwloc_obj_t object = cpu ? hwloc_get_pu_obj_by_os_index(hwloc, *cpu) : NULL;

	if (!object)
		object = hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_PU, 0);

	for (; object && topology->cache_count < FM_CACHES_MAX; object = object->parent) {
		struct fm_cache *cache;

		if (!hwloc_obj_type_is_dcache(object->type))
			continue;
		cache = &topology->caches[topology->cache_count++];
		cache->level = object->attr->cache.depth;
		cache->bytes = object->attr->cache.size;
		cache->line_bytes = object->attr->cache.linesize;
		cache->ways = object->attr->cache.associativity > 0 ? (unsigned)object->attr->cache.associativity : 0;
		cache->shared_by = (unsigned)hwloc_bitmap_weight(object->cpuset);
	}
}

/* Not by hwloc's sets: it gives nodes of memory alone to the CPUs next to them. */
static unsigned count_cpu_nodes(hwloc_topology_t hwloc)
{
	bool seen[FM_NODES_MAX] = {false};
	hwloc_obj_t cpu = NULL;
	unsigned count = 0;

	while ((cpu = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_PU, cpu))) {
		unsigned node = fm_topology_node_of(cpu->os_index);

		count += !seen[node];
		seen[node] = true;
	}
	return count;
}

/* Not those that are only there for their memory: a container may have that of all, and CPUs of one. */
static unsigned count_packages(hwloc_topology_t hwloc)
{
	hwloc_obj_t package = NULL;
	unsigned count = 0;

	while ((package = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, package)))
		count += !hwloc_bitmap_iszero(package->cpuset);
	return count ? count : 1;
}

static int read_topology(const unsigned *cpu, struct fm_topology *ret_topology, struct fm_error *error)
{
	struct fm_topology topology = {0};
	hwloc_topology_t hwloc;
	int count;

	if (hwloc_topology_init(&hwloc))
		return fm_error_set(error, ENOMEM, "hwloc cannot be initialised");
	if (hwloc_topology_load(hwloc)) {
		hwloc_topology_destroy(hwloc);
		return fm_error_set(error, EIO, "hwloc cannot read the topology of this machine");
	}
	gethostname(topology.host, sizeof(topology.host) - 1);
	read_processor(&topology, hwloc);
	read_identification(&topology);
	read_hypervisor(&topology);
	read_caches(&topology, hwloc, cpu);
	if (!*topology.processor)
		name_processor(&topology);
	topology.packages = count_packages(hwloc);
	count = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_CORE);
	topology.cores = count > 0 ? (unsigned)count : 1;
	count = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_PU);
	topology.cpus = count > 0 ? (unsigned)count : 1;
	count = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_NUMANODE);
	topology.nodes = count > 0 ? (unsigned)count : 1;
	topology.cpu_nodes = topology.nodes > 1 ? count_cpu_nodes(hwloc) : 1;
	/* not from hwloc: memory that was added to a virtual machine later has no node */
	topology.memory_bytes = fm_memory_information("MemTotal: %llu");
	hwloc_topology_destroy(hwloc);
	*ret_topology = topology;
	return 0;
}

int fm_topology_read(struct fm_topology *ret_topology, struct fm_error *error)
{
	return read_topology(NULL, ret_topology, error);
}

int fm_topology_read_at(unsigned cpu, struct fm_topology *ret_topology, struct fm_error *error)
{
	return read_topology(&cpu, ret_topology, error);
}

/* A kernel made for more CPUs than a cpu_set_t holds refuses one alone. */
enum { CPU_SETS = 8 };

int fm_cpu_list_allowed(struct fm_cpu_list *ret_list, struct fm_error *error)
{
	cpu_set_t sets[CPU_SETS];

	CPU_ZERO_S(sizeof(sets), sets);
	if (sched_getaffinity(0, sizeof(sets), sets))
		return fm_error_set(error, errno, "cannot read the CPU affinity: %s", strerror(errno));
	ret_list->count = 0;
	for (unsigned cpu = 0; cpu < CPU_SETS * CPU_SETSIZE && ret_list->count < FM_CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, sizeof(sets), sets))
			ret_list->cpu[ret_list->count++] = cpu;
	return 0;
}

static bool contains(const struct fm_cpu_list *list, unsigned cpu)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->cpu[i] == cpu)
			return true;
	return false;
}

static int check_cpu(unsigned long cpu, const struct fm_cpu_list *allowed, struct fm_error *error)
{
	char path[PATH_MAX], have[128];
	long long online = 1;

	/* a captured tree may have none of them */
	if (fm_sysfs_exists("devices/system/cpu") && !fm_sysfs_exists("devices/system/cpu/cpu%lu", cpu)) {
		if (fm_sysfs_read_line(have, sizeof(have), "devices/system/cpu/present"))
			snprintf(have, sizeof(have), "unknown");
		return fm_error_set(error, EINVAL, "CPU %lu does not exist: this machine has CPUs %s", cpu, have);
	}
	fm_sysfs_path(path, sizeof(path), "devices/system/cpu/cpu%lu/online", cpu);
	if (!fm_text_read_number(path, &online) && !online)
		return fm_error_set(error, EINVAL,
		                    "CPU %lu is offline: bring it up with 'echo 1 > %s' as root, or leave it out", cpu,
		                    path);
	if (!contains(allowed, (unsigned)cpu))
		return fm_error_set(
		    error, EINVAL,
		    "CPU %lu is not allowed for this process: it may use CPUs %s (taskset, cpuset or container limit)",
		    cpu, fm_cpu_list_text(have, sizeof(have), allowed));
	return 0;
}

int fm_cpu_list_parse(const char *text, struct fm_cpu_list *ret_list, struct fm_error *error)
{
	struct fm_cpu_list list = {0}, allowed = {0};
	const char *position = text;
	int status = fm_cpu_list_allowed(&allowed, error);

	if (status)
		return status;
	do {
		char *end;
		unsigned long first, last;

		if (*position < '0' || *position > '9')
			goto malformed;
		first = last = strtoul(position, &end, 10);
		if (*end == '-') {
			position = end + 1;
			if (*position < '0' || *position > '9')
				goto malformed;
			last = strtoul(position, &end, 10);
		}
		if (last < first || (*end && *end != ','))
			goto malformed;
		for (unsigned long cpu = first; cpu <= last; cpu++) {
			status = check_cpu(cpu, &allowed, error);
			if (status)
				return status;
			if (!contains(&list, (unsigned)cpu))
				list.cpu[list.count++] = (unsigned)cpu;
		}
		position = end + (*end == ',');
		if (*end == ',' && !*position)
			goto malformed;
	} while (*position);
	*ret_list = list;
	return 0;
malformed:
	return fm_error_set(error, EINVAL, "\"%s\" is not a CPU list: write 0-3,8", text);
}

const char *fm_cpu_list_text(char *buffer, size_t size, const struct fm_cpu_list *list)
{
	size_t used = 0;

	buffer[0] = 0;
	for (unsigned i = 0; i < list->count && used < size;) {
		unsigned end = i;

		while (end + 1 < list->count && list->cpu[end + 1] == list->cpu[end] + 1)
			end++;
		used += (size_t)snprintf(buffer + used, size - used, end > i ? "%s%u-%u" : "%s%u", i ? "," : "",
		                         list->cpu[i], list->cpu[end]);
		i = end + 1;
	}
	return buffer;
}

uint64_t fm_topology_core_bytes(const struct fm_topology *topology)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < topology->cache_count; i++)
		if (topology->caches[i].shared_by == topology->caches[0].shared_by)
			bytes = topology->caches[i].bytes;
	return bytes;
}

unsigned fm_topology_node_of(unsigned cpu)
{
	for (unsigned node = 0; node < FM_NODES_MAX; node++)
		if (fm_sysfs_exists("devices/system/cpu/cpu%u/node%u", cpu, node))
			return node;
	return 0;
}

int fm_bind_to_cpu(unsigned cpu, struct fm_error *error)
{
	cpu_set_t sets[CPU_SETS];
	int code;

	CPU_ZERO_S(sizeof(sets), sets);
	CPU_SET_S(cpu, sizeof(sets), sets);
	code = pthread_setaffinity_np(pthread_self(), sizeof(sets), sets);
	if (code)
		return fm_error_set(error, code, "cannot run on CPU %u: %s", cpu, strerror(code));
	return 0;
}
