#include "trust/quantity.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *words, *access, *kind;
} causes[FM_CAUSE_COUNT] = {
    [FM_CAUSE_ORDER] = {"read_in_order", "lines read in order from", "lines read in order", "prefetched lines"},
    [FM_CAUSE_RANDOM] = {"read_at_random", "lines read at random from", "lines read at random",
                         "lines without prefetch"},
    [FM_CAUSE_OWNERSHIP] = {"ownership", "lines read for ownership from", "lines read for ownership", "RFO"},
    [FM_CAUSE_WRITTEN] = {"written", "lines written back from L1 with the data in", "lines written back",
                          "lines written back"},
};

unsigned fm_width_index(unsigned bytes)
{
	return bytes >= 64 ? 3 : bytes >= 32 ? 2 : bytes >= 16 ? 1 : 0;
}

static unsigned add_atom(struct fm_quantities *all, const char *name, const char *words, const char *access,
                         const char *kind)
{
	struct fm_atom *atom = &all->atoms[all->atom_count];

	snprintf(atom->name, sizeof(atom->name), "%s", name);
	snprintf(atom->words, sizeof(atom->words), "%s", words);
	snprintf(atom->access, sizeof(atom->access), "%s", access);
	snprintf(atom->kind, sizeof(atom->kind), "%s", kind);
	return all->atom_count++;
}

static void add_quantity(struct fm_quantities *all, const char *name, const char *words, uint64_t atoms, unsigned bytes)
{
	struct fm_quantity *quantity = &all->quantities[all->quantity_count];

	/* with few caches the same set may have two names: the first stays */
	for (unsigned i = 0; i < all->quantity_count; i++)
		if (all->quantities[i].atoms == atoms)
			return;
	if (!atoms || all->quantity_count == FM_QUANTITIES_MAX)
		return;
	snprintf(quantity->name, sizeof(quantity->name), "%s", name);
	snprintf(quantity->words, sizeof(quantity->words), "%s", words);
	quantity->atoms = atoms;
	quantity->bytes = bytes;
	all->quantity_count++;
}

static const char *place_name(const struct fm_quantities *all, unsigned place)
{
	return place < fm_place_memory(all)    ? all->caches[place + 1]
	       : place == fm_place_memory(all) ? "memory"
	                                       : "remote";
}

static void build_atoms(struct fm_quantities *all)
{
	char name[48], words[64], kind[40];

	for (unsigned i = 0; i < FM_WIDTHS; i++) {
		snprintf(kind, sizeof(kind), "accesses of %u bytes", 8u << i);
		snprintf(name, sizeof(name), "loads_%u", 8u << i);
		snprintf(words, sizeof(words), "loads of %u bytes", 8u << i);
		all->loads[i] = add_atom(all, name, words, kind, kind);
		snprintf(name, sizeof(name), "stores_%u", 8u << i);
		snprintf(words, sizeof(words), "stores of %u bytes", 8u << i);
		all->stores[i] = add_atom(all, name, words, kind, kind);
	}
	for (unsigned place = 0; place < all->place_count; place++)
		for (unsigned cause = 0; cause < FM_CAUSE_COUNT; cause++) {
			snprintf(name, sizeof(name), "%s.%s", place_name(all, place), causes[cause].name);
			snprintf(words, sizeof(words), "%s %s%s", causes[cause].words, place_name(all, place),
			         place > fm_place_memory(all) ? " memory" : "");
			all->lines[place][cause] = add_atom(all, name, words, causes[cause].access, causes[cause].kind);
		}
	all->nontemporal[0] = add_atom(all, "memory.nontemporal", "lines stored past the caches",
	                               "lines stored past the caches", "non-temporal stores");
	all->nontemporal[1] = all->nontemporal[0];
	if (all->remote)
		all->nontemporal[1] = add_atom(all, "remote.nontemporal", "non-temporal stores to remote memory",
		                               "lines stored past the caches", "non-temporal stores");
	all->flops = add_atom(all, "flops", "floating point operations", "floating point operations",
	                      "floating point operations");
	all->vector_calculations = add_atom(all, "vector_calculations", "arithmetic on 256 bits and more",
	                                    "wide arithmetic", "wide arithmetic");
	all->instructions = add_atom(all, "instructions", "instructions", "instructions", "instructions");
	all->cycles = add_atom(all, "cycles", "core cycles", "cycles", "cycles");
	all->transfers[0] =
	    add_atom(all, "transfers", "changed lines from other cores of the socket", "transfers", "transfers");
	all->transfers[1] = all->transfers[0];
	if (all->remote)
		all->transfers[1] = add_atom(all, "transfers_remote", "changed lines from cores of other sockets",
		                             "remote transfers", "remote transfers");
}

static uint64_t bit(unsigned atom)
{
	return 1ull << atom;
}

/* Lines that places from `first` to `last` delivered, for reading and ownership. */
static uint64_t delivered(const struct fm_quantities *all, unsigned first, unsigned last, bool only_ownership)
{
	uint64_t atoms = 0;

	for (unsigned place = first; place <= last; place++) {
		atoms |= bit(all->lines[place][FM_CAUSE_OWNERSHIP]);
		if (!only_ownership)
			atoms |= bit(all->lines[place][FM_CAUSE_ORDER]) | bit(all->lines[place][FM_CAUSE_RANDOM]);
	}
	return atoms;
}

static uint64_t written(const struct fm_quantities *all, unsigned first, unsigned last)
{
	uint64_t atoms = 0;

	for (unsigned place = first; place <= last; place++)
		atoms |= bit(all->lines[place][FM_CAUSE_WRITTEN]);
	return atoms;
}

static void build_quantities(struct fm_quantities *all)
{
	unsigned memory = fm_place_memory(all), last = all->place_count - 1, line = all->line_bytes;
	uint64_t loads = 0, stores = 0, nontemporal = bit(all->nontemporal[0]) | bit(all->nontemporal[1]),
	         transfers = bit(all->transfers[0]) | bit(all->transfers[1]);
	char name[48], words[80];

	for (unsigned i = 0; i < FM_WIDTHS; i++) {
		loads |= bit(all->loads[i]);
		stores |= bit(all->stores[i]);
	}
	add_quantity(all, "loads", "load instructions", loads, 0);
	add_quantity(all, "stores", "store instructions", stores, 0);
	/* through each boundary */
	for (unsigned cache = 0; cache + 1 < all->cache_count; cache++) {
		snprintf(name, sizeof(name), "%s.lines_in", all->caches[cache]);
		snprintf(words, sizeof(words), "lines into %s", all->caches[cache]);
		/* also from other cores */
		add_quantity(all, name, words, delivered(all, cache, last, false) | transfers, line);
		snprintf(name, sizeof(name), "%s.lines_in_ownership", all->caches[cache]);
		snprintf(words, sizeof(words), "lines into %s for ownership (RFO)", all->caches[cache]);
		add_quantity(all, name, words, delivered(all, cache, last, true), line);
		snprintf(name, sizeof(name), "%s.lines_out", all->caches[cache]);
		snprintf(words, sizeof(words), "lines written back from %s", all->caches[cache]);
		add_quantity(all, name, words, written(all, cache, last), line);
	}
	snprintf(name, sizeof(name), "%s.lines_stored", all->caches[0]);
	snprintf(words, sizeof(words), "lines that left %s, including non-temporal stores", all->caches[0]);
	add_quantity(all, name, words, written(all, 0, last) | nontemporal, line);
	/* memory */
	add_quantity(all, "memory.reads", "lines read from memory", delivered(all, memory, last, false), line);
	add_quantity(all, "memory.writes", "lines written to memory", written(all, memory, last) | nontemporal, line);
	add_quantity(all, "memory.written_back", "lines written back to memory", written(all, memory, last), line);
	add_quantity(all, "memory.nontemporal", "lines stored past the caches", nontemporal, line);
	add_quantity(all, "memory.ownership", "lines read from memory for ownership",
	             delivered(all, memory, last, true), line);
	if (all->remote) {
		add_quantity(all, "memory.reads_local", "lines read from local memory",
		             delivered(all, memory, memory, false), line);
		add_quantity(all, "memory.reads_remote", "lines read from remote memory",
		             delivered(all, last, last, false), line);
		add_quantity(all, "memory.writes_local", "lines written to local memory",
		             written(all, memory, memory) | bit(all->nontemporal[0]), line);
		add_quantity(all, "memory.writes_remote", "lines written to remote memory",
		             written(all, last, last) | bit(all->nontemporal[1]), line);
	}
	/* lines from each cache itself */
	for (unsigned place = 0; place < memory; place++) {
		snprintf(name, sizeof(name), "%s.delivered", place_name(all, place));
		snprintf(words, sizeof(words), "lines that %s delivered", place_name(all, place));
		add_quantity(all, name, words, delivered(all, place, place, false), line);
		snprintf(name, sizeof(name), "%s.delivered_ownership", place_name(all, place));
		snprintf(words, sizeof(words), "lines that %s delivered for ownership (RFO)", place_name(all, place));
		add_quantity(all, name, words, delivered(all, place, place, true), line);
	}
	add_quantity(all, "flops", "floating point operations", bit(all->flops), 0);
	add_quantity(all, "vector_calculations", "floating point instructions of 256 bits and more",
	             bit(all->vector_calculations), 0);
	add_quantity(all, "instructions", "instructions", bit(all->instructions), 0);
	add_quantity(all, "cycles", "core cycles", bit(all->cycles), 0);
	add_quantity(all, "transfers", "changed lines from cores of the same socket", bit(all->transfers[0]), line);
	if (all->remote) {
		add_quantity(all, "transfers_remote", "changed lines from cores of other sockets",
		             bit(all->transfers[1]), line);
		add_quantity(all, "transfers_all", "changed lines from other cores", transfers, line);
	}
}

void fm_quantities_build(struct fm_quantities *quantities, unsigned cache_count, const char (*names)[12], bool remote,
                         unsigned line_bytes)
{
	memset(quantities, 0, sizeof(*quantities));
	quantities->cache_count = cache_count;
	for (unsigned i = 0; i < cache_count && i < FM_SIMULATED_CACHES_MAX; i++)
		snprintf(quantities->caches[i], sizeof(quantities->caches[i]), "%s", names[i]);
	quantities->remote = remote;
	quantities->line_bytes = line_bytes;
	quantities->place_count = cache_count + remote;
	build_atoms(quantities);
	build_quantities(quantities);
	/* a dirty line leaves the last cache when another one comes, whosoever that is */
	for (unsigned i = 0; i < quantities->quantity_count; i++)
		quantities->quantities[i].shared = !strncmp(quantities->quantities[i].name, "memory.writ", 11);
}

int fm_quantity_find(const struct fm_quantities *quantities, const char *name)
{
	for (unsigned i = 0; i < quantities->quantity_count; i++)
		if (!strcmp(quantities->quantities[i].name, name))
			return (int)i;
	return -1;
}

int fm_atom_find(const struct fm_quantities *quantities, const char *name)
{
	for (unsigned i = 0; i < quantities->atom_count; i++)
		if (!strcmp(quantities->atoms[i].name, name))
			return (int)i;
	return -1;
}
