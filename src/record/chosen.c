/* Compiled for general registers only: the vector registers are the program's, see translate.h. */
#include "record/burst.h"
#include "record/chosen.h"
#include "record/log.h"
#include "preload/unwind.h"

enum { DEVICES = 64 };

static struct {
	uint64_t begin, end;
} devices[DEVICES];
static unsigned device_count;

void fm_burst_unwind_from(uint64_t pc, const uint64_t *registers, struct fm_unwind_registers *ret_start)
{
	*ret_start = (struct fm_unwind_registers){
	    .pc = pc,
	    .sp = registers[4],
	    .bp = registers[5],
	    .bx = registers[3],
	    .r12 = registers[12],
	    .r13 = registers[13],
	    .r14 = registers[14],
	    .r15 = registers[15],
	    .r10 = registers[10],
	    .di = registers[7],
	};
}

static bool is_device(uint64_t address)
{
	for (unsigned i = 0; i < device_count; i++)
		if (address >= devices[i].begin && address < devices[i].end)
			return true;
	return false;
}

static void choose_first(struct burst *burst, const struct fm_translate_site *site, uint64_t address,
                         const uint64_t *registers)
{
	struct fm_unwind_registers start;

	fm_burst_unwind_from(site->pc, registers, &start);
	burst->has_first = true;
	burst->first = *site;
	burst->first_address = address;
	burst->stack_count = fm_unwind(&start, burst->stack, FM_STREAM_STACK_MAX);
}

bool fm_burst_chosen(void *context, const struct fm_translate_site *site, uint64_t address, const uint64_t *registers)
{
	struct translator_slot *slot = context;
	struct burst *burst = slot->burst;

	if ((site->kind & FM_TRANSLATE_REPEATED) && !registers[1]) { /* rcx: no element at all */
		fm_translator_set_countdown(slot->translator, 0);
		return true;
	}
	burst->spent -= fm_ticks();
	burst->inside = fm_self.inside;
	if (!burst->has_first && !burst->inside) {
		choose_first(burst, site, address, registers);
		fm_translator_set_countdown(slot->translator, burst->references - burst->first_references);
		burst->spent += fm_ticks();
		return true;
	}
	burst->site = site;
	burst->address = address;
	burst->untimed = (site->kind & FM_TRANSLATE_MASKED) || is_device(address);
	if (!burst->untimed && !burst->inside)
		fm_probe(address, fm_session->coarse_step > 4, &burst->probe);
	burst->spent += fm_ticks();
	return false;
}

void fm_burst_device(uint64_t begin_address, uint64_t size)
{
	unsigned at = __atomic_fetch_add(&device_count, 1, __ATOMIC_RELAXED);

	if (at < DEVICES) {
		devices[at].begin = begin_address;
		devices[at].end = begin_address + size;
	} else {
		fm_session->stop = 1; /* rather than to read a device that there is no room for */
		device_count = DEVICES;
	}
}
