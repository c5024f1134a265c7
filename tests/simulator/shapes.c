/* Machines of many shapes, as sysfs shows them: the topology is read, CPUs are put in order, and a profile measured
   there becomes a simulated machine of that shape. The trees are made from a few lines each. */
#include "profile/cpu_places.h"
#include "profile/family.h"
#include "check.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/profile.h"
#include "profile/simulated_host.h"
#include "simulator/core.h"

enum { CPUS = 512, LINES_MAX = 24, NODES = 16, CACHES = 3, STREAM_LINES = 4000 };

/* cores FIRST COUNT STEP SIBLING PACKAGE NODE: cores whose first thread is CPU FIRST, FIRST + STEP …, and whose second
   one is SIBLING more; 0: there is none.
   cache LEVEL KIB WAYS CORES [FIRST LAST]: shared by so many cores in succession; of those CPUs only.
   memory NODE: a node without CPUs.
   offline CPU. allowed CPUS: what a cpuset leaves. identification: of Arm's.
   What is left of a line after "processor" is /proc/cpuinfo, with | for line ends. */
struct shape {
	const char *what, *text;
	unsigned packages, cores, cpus, nodes, cpu_nodes;
	unsigned shared[CACHES]; /* CPUs under the caches of the first */
	const char *family;
	unsigned sockets, per_socket, threads, last_shared;
	const char *order; /* of the first CPUs in a measurement */
	double remote;     /* latency of other nodes' memory as a multiple of the own; 0: there is none */
	const char *remark;
};

#define INTEL(model)                                                                                           \
	"processor vendor_id : GenuineIntel|cpu family : 6|model : " model "|stepping : 6|model name : Intel " \
	"Example|\n"
#define AMD(family, model)                                                          \
	"processor vendor_id : AuthenticAMD|cpu family : " family "|model : " model \
	"|stepping : 1|model name : AMD Example|\n"

static const struct shape shapes[] = {
    {"two sockets of Ice Lake SP, 32 cores of two threads",
     "cores 0 32 1 64 0 0\ncores 32 32 1 64 1 1\n"
     "cache 1 48 12 1\ncache 2 1280 20 1\ncache 3 49152 12 32\n" INTEL("106"),
     2,
     64,
     128,
     2,
     2,
     {2, 2, 64},
     "Intel Ice Lake SP",
     2,
     32,
     2,
     32,
     "0-127",
     1.6,
     ""},
    {"the same, CPUs of the sockets in turns and siblings side by side",
     "cores 0 32 4 1 0 0\ncores 2 32 4 1 1 1\n"
     "cache 1 48 12 1\ncache 2 1280 20 1\ncache 3 49152 12 32\n" INTEL("106"),
     2,
     64,
     128,
     2,
     2,
     {2, 2, 64},
     "Intel Ice Lake SP",
     2,
     32,
     2,
     32,
     "0,4,8,12,16",
     1.6,
     ""},
    {"the same, each socket as two nodes that share its last cache",
     "cores 0 16 1 64 0 0\ncores 16 16 1 64 0 1\ncores 32 16 1 64 1 2\ncores 48 16 1 64 1 3\n"
     "cache 1 48 12 1\ncache 2 1280 20 1\ncache 3 49152 12 32\n" INTEL("106"),
     2,
     64,
     128,
     4,
     4,
     {2, 2, 64},
     "Intel Ice Lake SP",
     4,
     16,
     2,
     16,
     "0-127",
     1.6,
     "L3 in parts"},
    {"two sockets of Milan, 64 cores, a last cache for every eight",
     "cores 0 64 1 128 0 0\ncores 64 64 1 128 1 1\n"
     "cache 1 32 8 1\ncache 2 512 8 1\ncache 3 32768 16 8\n" AMD("25", "1"),
     2,
     128,
     256,
     2,
     2,
     {2, 2, 16},
     "AMD Zen 3",
     2,
     64,
     2,
     8,
     "0-255",
     1.6,
     ""},
    {"the same, four cores around a last cache and four nodes in a socket",
     "cores 0 16 1 128 0 0\ncores 16 16 1 128 0 1\ncores 32 16 1 128 0 2\ncores 48 16 1 128 0 3\n"
     "cores 64 16 1 128 1 4\ncores 80 16 1 128 1 5\ncores 96 16 1 128 1 6\ncores 112 16 1 128 1 7\n"
     "cache 1 32 8 1\ncache 2 512 8 1\ncache 3 32768 16 4\n" AMD("25", "1"),
     2,
     128,
     256,
     8,
     8,
     {2, 2, 8},
     "AMD Zen 3",
     8,
     16,
     2,
     4,
     "0-255",
     1.6,
     ""},
    {"two sockets of Zen 4, 96 cores: more CPUs than can be simulated",
     "cores 0 96 1 192 0 0\ncores 96 96 1 192 1 1\n"
     "cache 1 32 8 1\ncache 2 1024 8 1\ncache 3 32768 16 8\n" AMD("25", "17"),
     2,
     192,
     384,
     2,
     2,
     {2, 2, 16},
     "AMD Zen 4",
     2,
     64,
     2,
     8,
     "0-383",
     1.6,
     "256 of 384 CPUs"},
    {"80 cores of Neoverse N1",
     "cores 0 80 1 0 0 0\n"
     "cache 1 64 4 1\ncache 2 1024 8 1\n"
     "identification 0x00000000413fd0c1\n"
     "processor BogoMIPS : 50.00|Features : fp asimd|CPU implementer : 0x41|CPU architecture: 8|CPU variant : 0x3|"
     "CPU part : 0xd0c|CPU revision : 1|\n",
     1,
     80,
     80,
     1,
     1,
     {1, 1, 0},
     "Arm Neoverse N1",
     1,
     80,
     1,
     1,
     "0-79",
     0,
     ""},
    {"six cores of two threads, eight of one, some offline, holes in the numbers",
     "cores 0 6 2 1 0 0\ncores 16 8 1 0 0 0\noffline 5\noffline 17\n"
     "cache 1 48 12 1 0 11\ncache 1 32 8 1 16 23\ncache 2 1280 10 1 0 11\ncache 2 2048 16 4 16 23\n"
     "cache 3 25600 10 14\n" INTEL("151"),
     1,
     13,
     18,
     1,
     1,
     {2, 2, 18},
     "Intel Alder Lake, performance cores",
     1,
     13,
     2,
     13,
     "0,2,4,6,8,10,16,18-23,1",
     0,
     "all cores like the first"},
    {"a socket, and a node of memory alone",
     "cores 0 56 1 56 0 0\nmemory 1\n"
     "cache 1 48 12 1\ncache 2 2048 16 1\ncache 3 107520 15 56\n" INTEL("143"),
     1,
     56,
     112,
     2,
     1,
     {2, 2, 112},
     "Intel Sapphire Rapids, Emerald Rapids",
     1,
     56,
     2,
     56,
     "0-111",
     0,
     ""},
    {"a container with three CPUs of two sockets, two of them on one core",
     "cores 0 32 1 64 0 0\ncores 32 32 1 64 1 1\nallowed 3,40,67\n"
     "cache 1 48 12 1\ncache 2 1280 20 1\ncache 3 49152 12 32\n" INTEL("106"),
     2,
     2,
     3,
     2,
     2,
     {2, 2, 2},
     "Intel Ice Lake SP",
     2,
     1,
     2,
     1,
     "3,40,67",
     1.6,
     ""},
    {"a container with three CPUs of one socket",
     "cores 0 32 1 64 0 0\ncores 32 32 1 64 1 1\nallowed 3,4,5\n"
     "cache 1 48 12 1\ncache 2 1280 20 1\ncache 3 49152 12 32\n" INTEL("106"),
     1,
     3,
     3,
     2,
     1,
     {1, 1, 3},
     "Intel Ice Lake SP",
     1,
     3,
     1,
     3,
     "3-5",
     0,
     ""},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* Where the current tree is; of each shape there is one. Thousands of small files: in memory, if there is a place. */
static char root[64], roots[SHAPES + 1][64];

static void choose_root(unsigned index)
{
	if (!*roots[index]) {
		snprintf(roots[index], sizeof(roots[index]), "%s/fathom-shapes-XXXXXX",
		         access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		assert_non_null(mkdtemp(roots[index]));
	}
	strcpy(root, roots[index]);
}

static void plant(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void plant(const char *text, const char *format, ...)
{
	char path[512];
	size_t used = (size_t)snprintf(path, sizeof(path), "%s/", root);
	va_list list;
	FILE *file;

	va_start(list, format);
	vsnprintf(path + used, sizeof(path) - used, format, list);
	va_end(list);
	file = fopen(path, "w");
	if (!file) {
		for (char *slash = path + used; (slash = strchr(slash, '/')); *slash++ = '/') {
			*slash = 0;
			mkdir(path, 0755);
		}
		file = fopen(path, "w");
	}
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status, (void)kind, (void)at;
	return remove(path);
}

static int uproot(void **state)
{
	(void)state;
	for (unsigned i = 0; i <= SHAPES; i++)
		if (*roots[i])
			nftw(roots[i], remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

/* A set of CPUs, as the kernel writes it. */
struct set {
	bool has[CPUS];
};

static const char *list_of(const struct set *set)
{
	static char text[4096];
	struct fm_cpu_list list = {0};

	for (unsigned i = 0; i < CPUS; i++)
		if (set->has[i])
			list.cpu[list.count++] = i;
	fm_cpu_list_text(text, sizeof(text) - 1, &list);
	strcat(text, "\n");
	return text;
}

static const char *mask_of(const struct set *set)
{
	static char text[CPUS / 32 * 9 + 2];
	size_t used = 0;

	for (unsigned word = CPUS / 32; word-- > 0;) {
		unsigned bits = 0;

		for (unsigned i = 0; i < 32; i++)
			bits |= (unsigned)set->has[32 * word + i] << i;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%08x%s", bits, word ? "," : "\n");
	}
	return text;
}

struct machine {
	bool exists[CPUS], online[CPUS];
	unsigned core[CPUS], package[CPUS], node[CPUS];
	unsigned cores;
	struct set node_has[NODES];
	bool node_exists[NODES];
	struct set core_has[CPUS];
	struct cache {
		unsigned level, kib, ways, sharing, first, last;
	} caches[LINES_MAX];
	unsigned cache_count;
	char processor[1024], identification[32], allowed[64];
};

static void parse(const char *text, struct machine *ret_machine)
{
	struct machine *machine = ret_machine;

	memset(machine, 0, sizeof(*machine));
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		unsigned a, b, c, d, e, f;
		struct cache cache = {.last = CPUS};

		if (sscanf(line, "cores %u %u %u %u %u %u", &a, &b, &c, &d, &e, &f) == 6) {
			for (unsigned i = 0; i < b; i++, machine->cores++)
				for (unsigned thread = 0; thread <= (d > 0); thread++) {
					unsigned cpu = a + i * c + thread * d;

					assert_in_range(cpu, 0, CPUS - 1);
					machine->exists[cpu] = machine->online[cpu] = true;
					machine->core[cpu] = machine->cores;
					machine->package[cpu] = e;
					machine->node[cpu] = f;
					machine->node_exists[f] = true;
				}
		} else if (sscanf(line, "cache %u %u %u %u %u %u", &cache.level, &cache.kib, &cache.ways,
		                  &cache.sharing, &cache.first, &cache.last) >= 4) {
			machine->caches[machine->cache_count++] = cache;
		} else if (sscanf(line, "memory %u", &a) == 1) {
			machine->node_exists[a] = true;
		} else if (sscanf(line, "offline %u", &a) == 1) {
			machine->online[a] = false;
		} else if (sscanf(line, "allowed %63s", machine->allowed) != 1 &&
		           sscanf(line, "identification %31s", machine->identification) != 1) {
			assert_int_equal(sscanf(line, "processor %1023[^\n]", machine->processor), 1);
			for (char *bar = machine->processor; (bar = strchr(bar, '|'));)
				*bar = '\n';
		}
	}
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		if (machine->exists[cpu] && machine->online[cpu]) {
			machine->node_has[machine->node[cpu]].has[cpu] = true;
			machine->core_has[machine->core[cpu]].has[cpu] = true;
		}
}

static void link_to(unsigned first, unsigned cpu, const char *what)
{
	char target[64], path[256];

	snprintf(target, sizeof(target), "../cpu%u/%s", first, what);
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%u/%s", root, cpu, what);
	assert_int_equal(symlink(target, path), 0);
}

static void plant_cpu(const struct machine *machine, unsigned cpu, FILE *cpuinfo)
{
	struct set package = {{false}};
	char text[64];
	unsigned index = 0;

	plant(machine->online[cpu] ? "1\n" : "0\n", "sys/devices/system/cpu/cpu%u/online", cpu);
	if (!machine->online[cpu])
		return;
	fprintf(cpuinfo, "processor : %u\n%s\n", cpu, machine->processor);
	plant("", "sys/devices/system/cpu/cpu%u/node%u/here", cpu, machine->node[cpu]);
	/* siblings have the same */
	for (unsigned i = 0; i < cpu; i++)
		if (machine->core_has[machine->core[cpu]].has[i]) {
			link_to(i, cpu, "topology");
			link_to(i, cpu, "cache");
			return;
		}
	for (unsigned i = 0; i < CPUS; i++)
		package.has[i] =
		    machine->exists[i] && machine->online[i] && machine->package[i] == machine->package[cpu];
	snprintf(text, sizeof(text), "%u\n", machine->package[cpu]);
	plant(text, "sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
	snprintf(text, sizeof(text), "%u\n", machine->core[cpu]);
	plant(text, "sys/devices/system/cpu/cpu%u/topology/core_id", cpu);
	plant(mask_of(&machine->core_has[machine->core[cpu]]), "sys/devices/system/cpu/cpu%u/topology/thread_siblings",
	      cpu);
	plant(list_of(&machine->core_has[machine->core[cpu]]),
	      "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
	plant(mask_of(&package), "sys/devices/system/cpu/cpu%u/topology/core_siblings", cpu);
	for (unsigned i = 0; i < machine->cache_count; i++) {
		const struct cache *cache = &machine->caches[i];
		struct set sharing = {{false}};

		if (cpu < cache->first || cpu > cache->last)
			continue;
		for (unsigned k = 0; k < CPUS; k++)
			sharing.has[k] = machine->exists[k] && machine->online[k] && k >= cache->first &&
			                 k <= cache->last &&
			                 machine->core[k] / cache->sharing == machine->core[cpu] / cache->sharing;
		snprintf(text, sizeof(text), "%u\n", cache->level);
		plant(text, "sys/devices/system/cpu/cpu%u/cache/index%u/level", cpu, index);
		plant(cache->level == 1 ? "Data\n" : "Unified\n", "sys/devices/system/cpu/cpu%u/cache/index%u/type",
		      cpu, index);
		snprintf(text, sizeof(text), "%uK\n", cache->kib);
		plant(text, "sys/devices/system/cpu/cpu%u/cache/index%u/size", cpu, index);
		plant("64\n", "sys/devices/system/cpu/cpu%u/cache/index%u/coherency_line_size", cpu, index);
		snprintf(text, sizeof(text), "%u\n", cache->kib * 16 / cache->ways);
		plant(text, "sys/devices/system/cpu/cpu%u/cache/index%u/number_of_sets", cpu, index);
		plant(mask_of(&sharing), "sys/devices/system/cpu/cpu%u/cache/index%u/shared_cpu_map", cpu, index);
		plant(list_of(&sharing), "sys/devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list", cpu, index);
		index++;
	}
}

static void plant_machine(const struct machine *machine)
{
	struct set present = {{false}}, online = {{false}}, nodes = {{false}};
	char text[2048], *lines = NULL;
	size_t size;
	FILE *cpuinfo = open_memstream(&lines, &size);

	assert_non_null(cpuinfo);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		present.has[cpu] = machine->exists[cpu];
		online.has[cpu] = machine->exists[cpu] && machine->online[cpu];
		if (machine->exists[cpu])
			plant_cpu(machine, cpu, cpuinfo);
	}
	fclose(cpuinfo);
	plant(lines, "proc/cpuinfo");
	free(lines);
	plant(list_of(&present), "sys/devices/system/cpu/present");
	plant(list_of(&present), "sys/devices/system/cpu/possible");
	plant(list_of(&online), "sys/devices/system/cpu/online");
	for (unsigned node = 0; node < NODES; node++) {
		if (!machine->node_exists[node])
			continue;
		nodes.has[node] = true;
		plant(mask_of(&machine->node_has[node]), "sys/devices/system/node/node%u/cpumap", node);
		plant(list_of(&machine->node_has[node]), "sys/devices/system/node/node%u/cpulist", node);
		snprintf(text, sizeof(text), "Node %u MemTotal:       67108864 kB\n", node);
		plant(text, "sys/devices/system/node/node%u/meminfo", node);
		text[0] = 0;
		for (unsigned other = 0; other < NODES; other++)
			if (machine->node_exists[other])
				strcat(text, other == node ? "10 " : "21 ");
		strcat(text, "\n");
		plant(text, "sys/devices/system/node/node%u/distance", node);
	}
	plant(list_of(&nodes), "sys/devices/system/node/online");
	plant(list_of(&nodes), "sys/devices/system/node/possible");
	plant("MemTotal:       67108864 kB\n", "proc/meminfo");
	/* hwloc does not ask what it runs on itself when the tree is of another machine */
	plant(*machine->identification ? "OSName: Linux\nArchitecture: aarch64\n"
	                               : "OSName: Linux\nArchitecture: x86_64\n",
	      "proc/hwloc-nofile-info");
	if (*machine->identification)
		plant(machine->identification, "sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
	if (*machine->allowed) {
		plant("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "proc/mounts");
		plant("0::/box\n", "proc/self/cgroup");
		snprintf(text, sizeof(text), "%s\n", machine->allowed);
		plant("cpuset\n", "sys/fs/cgroup/cgroup.controllers");
		plant("cpuset\n", "sys/fs/cgroup/box/cgroup.controllers");
		plant(text, "sys/fs/cgroup/box/cpuset.cpus.effective");
		plant(list_of(&nodes), "sys/fs/cgroup/box/cpuset.mems.effective");
	}
}

/* All that a process may use there. */
static struct fm_cpu_list allowed_on(const struct machine *machine)
{
	struct fm_cpu_list list = {0};
	const char *position = machine->allowed;

	for (unsigned cpu = 0; !*machine->allowed && cpu < CPUS; cpu++)
		if (machine->exists[cpu] && machine->online[cpu])
			list.cpu[list.count++] = cpu;
	for (char *end; *position; position = end + (*end == ','))
		list.cpu[list.count++] = (unsigned)strtoul(position, &end, 10);
	return list;
}

static struct fm_topology topology_of(const struct shape *shape, struct machine *ret_machine)
{
	struct fm_topology topology;
	struct fm_error error;
	char sysfs[80];
	unsigned index = (unsigned)(shape - shapes);
	bool planted = *roots[index];

	parse(shape->text, ret_machine);
	choose_root(index);
	if (!planted)
		plant_machine(ret_machine);
	snprintf(sysfs, sizeof(sysfs), "%s/sys", root);
	setenv("FATHOM_SYSFS", sysfs, 1);
	setenv("HWLOC_FSROOT", root, 1);
	setenv("HWLOC_COMPONENTS", "linux,stop", 1);
	if (fm_topology_read(&topology, &error))
		fail_msg("%s: %s", shape->what, error.message);
	return topology;
}

static void topologies_are_read(void **state)
{
	struct machine *machine = malloc(sizeof(*machine));

	(void)state;
	assert_non_null(machine);
	for (unsigned i = 0; i < SHAPES; i++) {
		const struct shape *shape = &shapes[i];
		struct fm_topology topology = topology_of(shape, machine);
		const struct fm_family *family = fm_family_of(&topology);

		print_message("%s: %u packages, %u cores, %u CPUs, %u nodes (%u with CPUs), %s %u/%u: %s\n",
		              shape->what, topology.packages, topology.cores, topology.cpus, topology.nodes,
		              topology.cpu_nodes, topology.vendor, topology.family, topology.model,
		              family ? fm_family_words(family) : "of no family");
		assert_int_equal(topology.packages, shape->packages);
		assert_int_equal(topology.cores, shape->cores);
		assert_int_equal(topology.cpus, shape->cpus);
		assert_int_equal(topology.nodes, shape->nodes);
		assert_int_equal(topology.cpu_nodes, shape->cpu_nodes);
		for (unsigned k = 0; k < CACHES && shape->shared[k]; k++) {
			assert_int_equal(topology.caches[k].level, k + 1);
			assert_int_equal(topology.caches[k].shared_by, shape->shared[k]);
			assert_int_equal(topology.caches[k].bytes, machine->caches[0].kib && k == 0
			                                               ? machine->caches[0].kib * 1024ull
			                                               : topology.caches[k].bytes);
		}
		assert_non_null(family);
		assert_string_equal(fm_family_words(family), shape->family);
	}
	free(machine);
}

/* The small cores of a hybrid processor have caches of their own, and nothing is published of them. */
static void small_cores(void **state)
{
	struct machine *machine = malloc(sizeof(*machine));
	struct fm_cpu_place places[3];
	struct fm_topology topology;
	struct fm_busy *busy = calloc(1, sizeof(*busy));
	struct fm_error error;
	unsigned hybrid = 0;

	(void)state;
	assert_true(machine && busy);
	while (!strstr(shapes[hybrid].what, "eight of one"))
		hybrid++;
	topology = topology_of(&shapes[hybrid], machine);
	assert_int_equal(topology.caches[0].bytes, 48 << 10);
	assert_int_equal(fm_topology_read_at(18, &topology, &error), 0);
	assert_int_equal(topology.caches[0].bytes, 32 << 10);
	assert_int_equal(topology.caches[0].shared_by, 1);
	assert_int_equal(topology.caches[1].bytes, 2 << 20);
	assert_in_range(topology.caches[1].shared_by, 2, 4);
	assert_null(fm_family_of(&topology));
	/* busy or not, what is measured of the core stays one of the first kind */
	fm_cpu_places_read(&(struct fm_cpu_list){3, {0, 18, 2}}, places);
	assert_int_equal(places[0].kib, places[2].kib);
	assert_true(places[0].kib != places[1].kib);
	busy->count = 1;
	busy->cpus[0].share = 1;
	assert_int_equal(fm_cpu_places_quietest(places, 3, busy), 2);
	assert_int_equal(fm_cpu_places_quietest(places, 2, busy), 0);
	free(machine);
	free(busy);
}

/* One CPU per core, node after node; the second threads behind. What is measured beside the first is on other cores. */
static void cpus_are_ordered(void **state)
{
	struct machine *machine = malloc(sizeof(*machine));

	(void)state;
	assert_non_null(machine);
	for (unsigned i = 0; i < SHAPES; i++) {
		struct fm_topology topology = topology_of(&shapes[i], machine);
		struct fm_cpu_list cpus = allowed_on(machine), given = cpus;
		struct fm_cpu_place *places = calloc(cpus.count, sizeof(*places));
		struct fm_cpu_list first = {0};
		unsigned who[CPUS], beside, siblings = 0, of_first = 0;
		char text[4096];

		assert_non_null(places);
		assert_int_equal(cpus.count, topology.cpus);
		fm_cpu_places_read(&cpus, places);
		fm_cpu_places_order(&cpus, places);
		first = cpus;
		while (strcmp(fm_cpu_list_text(text, sizeof(text), &first), shapes[i].order) && first.count)
			first.count--;
		if (!first.count)
			fail_msg("%s: %s does not begin with %s", shapes[i].what,
			         fm_cpu_list_text(text, sizeof(text), &cpus), shapes[i].order);
		assert_int_equal(cpus.cpu[0], given.cpu[0]);
		for (unsigned k = 0; k < cpus.count; k++) {
			assert_int_equal(places[k].cpu, cpus.cpu[k]);
			/* no core twice before all were there once */
			for (unsigned j = 0; j < k && k < topology.cores; j++)
				siblings += machine->core[cpus.cpu[j]] == machine->core[cpus.cpu[k]];
			of_first += k && machine->core[cpus.cpu[k]] == machine->core[cpus.cpu[0]];
		}
		assert_int_equal(siblings, 0);
		beside = fm_cpu_places_beside_first(places, cpus.count, who);
		assert_int_equal(beside, cpus.count - of_first);
		for (unsigned k = 1; k < beside; k++)
			assert_true(machine->core[cpus.cpu[who[k]]] != machine->core[cpus.cpu[0]]);
		free(places);
	}
	free(machine);
}

/* Four cores of two threads; 1 and 5 are siblings. */
static void a_quiet_core_comes_first(void **state)
{
	static const char before[] =
	    "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 5 0 0 5 0 0 0 0 0 0\n"
	    "cpu2 0 0 0 0 0 0 0 0 0 0\ncpu4 0 0 0 0 0 0 0 0 0 0\ncpu5 0 0 0 0 0 0 0 0 0 0\n"
	    "intr 1 2 3\ncpu7 broken\n",
	                  after[] =
	                      "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 0 120 0 0 0 0 0 0\ncpu1 5 0 0 25 0 0 0 0 0 0\n"
	                      "cpu2 1 0 0 19 0 0 0 0 0 0\ncpu4 10 2 3 4 0 0 1 0 0 0\n"
	                      "cpu5 0 0 0 0 0 0 0 20 0 0\ncpu6 0 0 0 20 0 0 0 0 0 0\n";
	struct fm_cpu_place places[] = {{0, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {2, 2, 0, 0, 0}, {6, 2, 0, 0, 0}};
	struct fm_cpu_list cpus = {4, {0, 1, 2, 6}};
	struct fm_busy_clock *clocks = calloc(2, sizeof(*clocks));
	struct fm_busy *busy = calloc(1, sizeof(*busy));
	char text[64];

	(void)state;
	assert_true(clocks && busy);
	choose_root(SHAPES);
	snprintf(text, sizeof(text), "%.48s/sys", root);
	setenv("FATHOM_SYSFS", text, 1);
	plant("0,4\n", "sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
	plant("0,4\n", "sys/devices/system/cpu/cpu4/topology/thread_siblings_list");
	plant("1,5\n", "sys/devices/system/cpu/cpu1/topology/core_cpus_list");
	plant("1,5\n", "sys/devices/system/cpu/cpu5/topology/core_cpus_list");
	plant("2,6\n", "sys/devices/system/cpu/cpu2/topology/core_cpus_list");
	fm_busy_read(before, &clocks[0]);
	fm_busy_read(after, &clocks[1]);
	assert_int_equal(clocks[0].count, 5);
	fm_busy_between(&clocks[0], &clocks[1], busy);
	/* 6 came later */
	assert_int_equal(busy->count, 5);
	assert_near(busy->cpus[0].share, 0, 1e-9);
	assert_near(busy->cpus[2].share, 0.05, 1e-9);
	assert_near(busy->cpus[3].share, 0.8, 1e-9);
	assert_int_equal(busy->cpus[4].core, 1);
	/* the siblings of 0 and 1 are busy, though we may not use them */
	assert_int_equal(fm_cpu_places_quietest(places, 4, busy), 2);
	fm_cpu_places_to_front(&cpus, places, 2);
	assert_string_equal(fm_cpu_list_text(text, sizeof(text), &cpus), "2,0-1,6");
	fm_cpu_places_order(&cpus, places);
	assert_string_equal(fm_cpu_list_text(text, sizeof(text), &cpus), "2,0-1,6");
	/* none is quiet: the least busy */
	busy->cpus[2].share = 0.9;
	assert_int_equal(fm_cpu_places_quietest(places, 4, busy), 1);
	/* without accounts the first */
	busy->count = 0;
	assert_int_equal(fm_cpu_places_quietest(places, 4, busy), 0);
	free(clocks);
	free(busy);
}

static struct fm_figure figure(double value)
{
	return fm_figure_make(value, value, value, "", FM_ORIGIN_measured, "test", 3);
}

/* 2 GHz. Own memory 100 ns, 60 GB/s a node, 10 a core; of another node 160 ns and 25 GB/s, of one without CPUs 250 and
   12. */
enum { GHZ = 2, OWN_NS = 100, REMOTE_NS = 160, OWN_GBS = 60, REMOTE_GBS = 25, CORE_GBS = 10 };

static struct fm_machine profile_of(const struct machine *machine, const struct fm_topology *topology)
{
	static struct fm_bandwidth bandwidths[2];
	static struct fm_numa_pair pairs[NODES * NODES];
	static const double cycles[] = {5, 14, 60};
	struct fm_machine profile = {.topology = *topology, .frequency_ghz = figure(GHZ), .numa = pairs};
	struct fm_level *memory;

	strcpy(profile.taken, "2026-01-02T03:04:05Z");
	for (unsigned i = 0; i < topology->cache_count; i++) {
		struct fm_level *level = &profile.levels[profile.level_count++];

		snprintf(level->name, sizeof(level->name), "L%u", i + 1);
		level->advertised_bytes = topology->caches[i].bytes;
		level->shared_by = topology->caches[i].shared_by;
		level->effective_bytes = figure((double)level->advertised_bytes);
		level->latency_cycles = figure(cycles[i]);
		level->latency_ns = figure(cycles[i] / GHZ);
	}
	memory = &profile.levels[profile.level_count++];
	strcpy(memory->name, "memory");
	memory->effective_bytes = fm_figure_unavailable("endless");
	memory->latency_ns = figure(OWN_NS);
	memory->latency_cycles = figure(OWN_NS * GHZ);
	for (unsigned i = 0; i < 2; i++)
		bandwidths[i] = (struct fm_bandwidth){.level = profile.level_count - 1,
		                                      .kernel = FM_STREAM_load,
		                                      .threads = i ? topology->cpus : 1,
		                                      .gbs = figure(i ? OWN_GBS * topology->cpu_nodes : CORE_GBS)};
	profile.bandwidths = bandwidths;
	profile.bandwidth_count = 2;
	for (unsigned from = 0; topology->nodes > 1 && from < NODES; from++)
		for (unsigned to = 0; to < NODES; to++) {
			bool has_cpus = false, measured = false;

			for (unsigned cpu = 0; cpu < CPUS; cpu++) {
				has_cpus |= machine->node_has[to].has[cpu];
				measured |= machine->node_has[from].has[cpu] &&
				            (!*machine->allowed || cpu == strtoul(machine->allowed, NULL, 10) ||
				             (topology->cpu_nodes > 1 && cpu == 40));
			}
			if (measured && machine->node_exists[to])
				pairs[profile.numa_count++] = (struct fm_numa_pair){from, to, 8,
				                                                    figure(from == to ? OWN_GBS
				                                                           : has_cpus ? REMOTE_GBS
				                                                                      : 12),
				                                                    figure(from == to ? OWN_NS
				                                                           : has_cpus ? REMOTE_NS
				                                                                      : 250)};
		}
	return profile;
}

struct passage {
	double cycles;        /* a line */
	uint64_t own, remote; /* stalls */
};

/* Core 0 loads lines that a core of the socket has touched the pages of: one after the other, or all at once. */
static struct passage pass(const struct fm_machine_description *description, unsigned home, bool chained)
{
	static const struct fm_instruction load = {.reads = 1, .writes = 2, .address_reads = 1},
	                                   pointer = {.reads = 1, .writes = 1, .address_reads = 1};
	const uint64_t base = 1ull << 32;
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *timing;
	const struct fm_timing_counts *counts;
	struct passage passage;
	struct fm_error error;

	if (fm_hierarchy_create(description, &hierarchy, &error) ||
	    fm_core_timing_create(hierarchy, 0, &timing, &error))
		fail_msg("%s", error.message);
	hierarchy->prefetch = !chained;
	for (uint64_t page = 0; page < STREAM_LINES * 64 / 4096 + 1; page++)
		fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, home * description->cores),
		                    base + page * 4096, 8, FM_ACCESS_LOAD);
	for (unsigned i = 0; i < STREAM_LINES; i++) {
		struct fm_memory_access access = {base + i * 64ull, 8, FM_ACCESS_LOAD, 0};

		if (i % 64)
			fm_core_execute(timing, chained ? &pointer : &load, &access, 1);
	}
	fm_core_drain(timing);
	counts = fm_core_timing_counts(timing);
	passage =
	    (struct passage){(double)counts->cycles / (STREAM_LINES * 63 / 64),
	                     counts->latency_stalls[FM_SERVED_MEMORY] + counts->bandwidth_stalls[FM_SERVED_MEMORY],
	                     counts->latency_stalls[FM_SERVED_REMOTE] + counts->bandwidth_stalls[FM_SERVED_REMOTE]};
	fm_core_timing_destroy(timing);
	fm_hierarchy_destroy(hierarchy);
	return passage;
}

static void remote_memory_takes_longer(const struct fm_machine_description *description)
{
	struct passage own = pass(description, 0, true), remote = pass(description, 1, true);
	double own_gbs = 64 * GHZ / pass(description, 0, false).cycles,
	       remote_gbs = 64 * GHZ / pass(description, 1, false).cycles;

	print_message(
	    "  a line of own memory %.0f cycles, of another node's %.0f; streams of one core %.1f and %.1f GB/s\n",
	    own.cycles, remote.cycles, own_gbs, remote_gbs);
	assert_near(remote.cycles - own.cycles, (REMOTE_NS - OWN_NS) * GHZ, 0.1 * REMOTE_NS * GHZ);
	assert_true(own.own > 0 && !own.remote);
	assert_true(remote.remote > 0 && remote.remote > 100 * remote.own);
	assert_near(own_gbs, CORE_GBS, 0.15 * CORE_GBS);
	assert_near(remote_gbs, CORE_GBS * OWN_NS / (double)REMOTE_NS, 0.15 * CORE_GBS);
}

static void hosts_have_these_shapes(void **state)
{
	struct machine *machine = malloc(sizeof(*machine));

	(void)state;
	assert_non_null(machine);
	for (unsigned i = 0; i < SHAPES; i++) {
		const struct shape *shape = &shapes[i];
		struct fm_topology topology = topology_of(shape, machine);
		struct fm_machine *profile = malloc(sizeof(*profile));
		struct fm_machine_description description;
		struct fm_cache_description *last;
		struct fm_error error;

		assert_non_null(profile);
		*profile = profile_of(machine, &topology);
		if (fm_description_from_profile(profile, &description, &error))
			fail_msg("%s: %s", shape->what, error.message);
		last = &description.caches[description.cache_count - 1];
		print_message("%s: %u sockets of %u cores of %u threads, %s of %u cores has %llu KiB; %s\n",
		              shape->what, description.sockets, description.cores, description.threads, last->name,
		              last->shared_by, (unsigned long long)last->bytes >> 10, description.title);
		assert_int_equal(description.sockets, shape->sockets);
		assert_int_equal(description.cores, shape->per_socket);
		assert_int_equal(description.threads, shape->threads);
		assert_int_equal(last->shared_by, shape->last_shared);
		assert_non_null(strstr(description.title, shape->remark));
		assert_null(strstr(description.title, "assumed"));
		assert_int_equal(last->bytes, topology.caches[topology.cache_count - 1].bytes /
		                                  (strstr(shape->remark, "in parts") ? 2 : 1));
		assert_int_equal(description.memory_latency, OWN_NS * GHZ);
		assert_near(description.memory_gbs, OWN_GBS, 1e-9);
		/* nothing of the core was measured: as published of the family */
		assert_int_equal(description.core.window, fm_family_figure(fm_family_of(&topology), "window").value);
		if (shape->remote > 0) {
			assert_int_equal(description.memory_remote_latency, shape->remote * OWN_NS * GHZ);
			assert_near(description.remote_gbs, REMOTE_GBS, 1e-9);
			remote_memory_takes_longer(&description);
		} else {
			assert_int_equal(description.memory_remote_latency, description.memory_latency);
		}
		free(profile);
	}
	free(machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(topologies_are_read),     cmocka_unit_test(small_cores),
	    cmocka_unit_test(cpus_are_ordered),        cmocka_unit_test(a_quiet_core_comes_first),
	    cmocka_unit_test(hosts_have_these_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, uproot);
}
