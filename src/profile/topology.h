/* The advertised machine: processor, caches, NUMA nodes, and the allowed CPUs. */
#ifndef FATHOM_PROFILE_TOPOLOGY_H
#define FATHOM_PROFILE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	FM_CPUS_MAX = 1024,
	FM_CACHES_MAX = 6,
	FM_NODES_MAX = 64,
};

struct fm_cpu_list {
	unsigned count;
	unsigned cpu[FM_CPUS_MAX];
};

struct fm_cache {
	unsigned level;
	uint64_t bytes;
	unsigned line_bytes;
	unsigned ways;      /* 0 if unknown or fully associative */
	unsigned shared_by; /* CPUs per instance */
};

struct fm_topology {
	char host[65];
	char processor[96];
	char vendor[16];                  /* of Arm's processors: the implementer, such as 0x41 */
	unsigned family, model, stepping; /* … architecture, part and revision */
	char hypervisor[40];              /* empty on bare metal */
	unsigned packages, cores, cpus;
	unsigned nodes;
	unsigned cpu_nodes;                    /* of these with CPUs; 0 if unknown */
	struct fm_cache caches[FM_CACHES_MAX]; /* data and unified caches of the first usable or given CPU, L1 first */
	unsigned cache_count;
	uint64_t memory_bytes;
};

int fm_topology_read(struct fm_topology *ret_topology, struct fm_error *error);

/* fm_topology_read() with the caches of one CPU: hybrid processors have several kinds. */
int fm_topology_read_at(unsigned cpu, struct fm_topology *ret_topology, struct fm_error *error);

/* The CPUs this process may run on. */
int fm_cpu_list_allowed(struct fm_cpu_list *ret_list, struct fm_error *error);

/* Parses "0-3,8". Every CPU must exist, be online and be allowed; the message has the failing condition and a remedy.
 */
int fm_cpu_list_parse(const char *text, struct fm_cpu_list *ret_list, struct fm_error *error);

/* Writes "0-3,8". Returns `buffer`. */
const char *fm_cpu_list_text(char *buffer, size_t size, const struct fm_cpu_list *list);

/* Largest data set in private caches of a core, which run at its clock. */
uint64_t fm_topology_core_bytes(const struct fm_topology *topology);

/* NUMA node of a CPU, 0 if unknown. */
unsigned fm_topology_node_of(unsigned cpu);

/* Binds the calling thread to one CPU. 0 or -errno. */
int fm_bind_to_cpu(unsigned cpu, struct fm_error *error);

#endif
