#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/context.h"
#include "record/burst.h"
#include "record/chosen.h"
#include "record/costs.h"
#include "record/log.h"
#include "record/timer.h"
#include "preload/unwind.h"
#include "record/window.h"

enum {
	MOST_TRANSLATORS = 64,
	CODE_SIZE = 4 << 20,
	/* Two references are chosen. The first tells how often something is referred to: soon, or code that makes
	   system calls often would never be chosen; evenly among more than any loop's body has. The second is timed:
	   what was in flight when the signal came looks as if it hit, and the interrupt has pushed lines out of the
	   first cache, which are back after as many references as it has lines. */
	FIRST_BEFORE = 24,
	FIRST_CHOICE = 128,
	REFERENCES_BEFORE = 768,
	REFERENCES_CHOICE = 256,
	FUEL = 60000, /* instructions: a burst ends even where nothing is referred to */
};

static struct translator_slot slots[MOST_TRANSLATORS];
static unsigned slot_count; /* no more than processors */
static size_t burst_size;
static struct burst *free_bursts; /* of threads that have ended; a list that only loses from its head */
static uint64_t own_begin, own_end;
static uint64_t listed; /* ticks when the mappings were listed last */
static bool unlisted;   /* a sample lies where nothing was mapped then */

static const double LONGEST_SAMPLE = 0.0005; /* seconds */
static const double LIST_EVERY = 0.2;        /* seconds, at least, between two lists of the mappings */

static enum fm_translate_choice choose(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return site->pc >= own_begin && site->pc < own_end ? FM_TRANSLATE_IGNORE : FM_TRANSLATE_COUNTED;
}

static enum fm_translate_choice choose_all(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return site->pc >= own_begin && site->pc < own_end ? FM_TRANSLATE_IGNORE : FM_TRANSLATE_LOGGED;
}

static bool refuse_system_call(void *context, uint64_t number)
{
	(void)context;
	(void)number;
	return false;
}

static int16_t node_of(uint64_t address)
{
	void *page = (void *)(address & ~(uint64_t)4095);
	int node = FM_STREAM_NO_NODE;

	if (fm_session->nodes > 1 && fm_system_call(SYS_move_pages, 0, 1, (long)&page, 0, (long)&node, 0))
		node = FM_STREAM_NO_NODE;
	return (int16_t)(node < 0 ? FM_STREAM_NO_NODE : node);
}

static void log_sample(const struct burst *burst, const struct fm_translate_site *site, uint64_t address,
                       uint32_t stack, bool first)
{
	struct fm_stream_sample sample = {
	    .pc = site->pc,
	    .address = address,
	    .size = site->size,
	    .kind = site->kind & (FM_STREAM_LOAD | FM_STREAM_STORE | FM_STREAM_REPEATED),
	    .flags = first ? 0 : FM_STREAM_LEVEL_ONLY,
	    .stack = stack,
	    .references = (uint32_t)(first ? burst->first_references : burst->references),
	    .period_ns = burst->period,
	    .page_node = node_of(address),
	};
	uint32_t node = 0;

	fm_system_call(SYS_getcpu, (long)&sample.cpu, (long)&node, 0, 0, 0, 0);
	sample.node = (int16_t)node;
	if (first || burst->untimed) {
		sample.flags |= FM_STREAM_UNTIMED;
	} else if (burst->probe.cost == FM_PROBE_FAULTED) {
		sample.flags |= FM_STREAM_FAULTED;
	} else {
		sample.cost = burst->probe.cost;
		sample.baseline = burst->probe.baseline;
		sample.neighbour = burst->probe.neighbour;
		sample.neighbour_again = burst->probe.neighbour_again;
		if (fm_session->coarse_step > 4)
			sample.flags |= FM_STREAM_EDGE;
	}
	fm_log_write(FM_STREAM_SAMPLE, &sample, sizeof(sample));
	if (!fm_log_knows(sample.pc) || !fm_log_knows(sample.address))
		unlisted = true;
}

static void log_samples(const struct burst *burst, const uint64_t *registers)
{
	struct fm_unwind_registers start;
	uint64_t addresses[FM_STREAM_STACK_MAX];

	log_sample(burst, &burst->first, burst->first_address, fm_log_stack(burst->stack, burst->stack_count), true);
	if (!burst->site)
		return;
	fm_burst_unwind_from(burst->site->pc, registers, &start);
	log_sample(burst, burst->site, burst->address,
	           fm_log_stack(addresses, fm_unwind(&start, addresses, FM_STREAM_STACK_MAX)), false);
}

/* In the middle of the runtime the log is not to be touched: what is missed there is written down later. */
static void log_missed(struct burst *burst, uint64_t pc, unsigned reason, uint64_t period)
{
	struct fm_stream_missed missed = {.pc = pc, .period_ns = period, .reason = reason};

	if (burst->kind == BURST_SAMPLE)
		fm_log_write(FM_STREAM_MISSED, &missed, sizeof(missed));
	if (burst->own_period) {
		missed =
		    (struct fm_stream_missed){.pc = own_begin, .period_ns = burst->own_period, .reason = FM_MISSED_OWN};
		burst->own_period = 0;
		fm_log_write(FM_STREAM_MISSED, &missed, sizeof(missed));
	}
}

/* For lines that are being watched: what a sample's burst took, and how many references it made. */
static void account(struct burst *burst)
{
	uint64_t ticks = fm_ticks() - burst->began, most = (uint64_t)(LONGEST_SAMPLE * fm_session->ticks_per_second);

	/* a thread that lost its processor meanwhile has not used it */
	ticks = (ticks < most ? ticks : most) + fm_session->signal_cost;
	burst->watches.own_ns += (uint64_t)((double)ticks / fm_session->ticks_per_second * 1e9);
	if (burst->slot && burst->has_first)
		burst->watches.references += burst->site ? burst->references : burst->first_references;
}

/* Also when the burst ended otherwise. */
static void finish(struct burst *burst)
{
	/* not what the program itself did meanwhile */
	if (burst->slot)
		burst->spent += fm_translator_ticks(burst->translator) - burst->translator_before;
	if (burst->kind == BURST_SAMPLE) {
		account(burst);
	} else { /* a thread that lost its processor meanwhile has not used it */
		uint64_t most =
		    (uint64_t)((double)(fm_watch_now() - burst->cpu_began) * fm_session->ticks_per_second * 1e-9);

		burst->spent = burst->spent < most ? burst->spent : most;
	}
	burst->spent += burst->unpaid;
	burst->unpaid = 0;
	burst->slot = NULL;
	fm_costs_add(burst->spent, burst->kind);
	if (!fm_session->stop)
		fm_timer_arm(fm_costs_period());
	else
		fm_timer_disarm();
}

static void on_leave(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers)
{
	struct translator_slot *slot = context;
	struct burst *burst = slot->burst;

	bool inside = fm_self.inside;

	fm_self_enter();
	if (inside)
		burst->own_period += burst->period;
	else if (burst->has_first)
		log_samples(burst, registers);
	else
		log_missed(burst, pc, FM_MISSED_TRANSLATOR + (unsigned)reason, burst->period);
	finish(burst);
	fm_self_leave();
}

/* The end of a window. */
static void on_leave_window(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers)
{
	struct translator_slot *slot = context;
	struct burst *burst = slot->burst;
	bool inside = fm_self.inside;
	uint64_t ticks;

	(void)reason;
	(void)pc;
	(void)registers;
	fm_self_enter();
	if (!inside && burst->kind == BURST_PACE)
		fm_windows_end_pace(slot);
	else if (!inside)
		fm_windows_end(slot);
	burst->spent += fm_windows_extra(slot);
	finish(burst);
	ticks = fm_ticks();
	if (!inside)
		fm_windows_watch(slot);
	burst->unpaid =
	    fm_ticks() - ticks + (uint64_t)((double)burst->watches.unpaid_ns * fm_session->ticks_per_second * 1e-9);
	burst->watches.unpaid_ns = 0;
	fm_self_leave();
}

static int make_translator(struct translator_slot *slot)
{
	const struct fm_translate_client client = {
	    .context = slot,
	    .choose = choose,
	    .on_counted = fm_burst_chosen,
	    .on_system_call = refuse_system_call,
	    .on_leave = on_leave,
	};
	const struct fm_translate_options options = {
	    .code_size = CODE_SIZE,
	    .log_entries = 1,
	    .with_fuel = true,
	    .not_inherited = true,
	    .client = &client,
	};

	return fm_translator_create(&options, &slot->translator);
}

static struct translator_slot *take_slot(unsigned *ret_reason)
{
	*ret_reason = FM_MISSED_BUSY;
	for (unsigned i = 0; i < slot_count; i++) {
		uint32_t nobody = 0;

		if (!__atomic_compare_exchange_n(&slots[i].busy, &nobody, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		if (!slots[i].translator && make_translator(&slots[i])) {
			__atomic_store_n(&slots[i].busy, 0, __ATOMIC_RELEASE);
			*ret_reason = FM_MISSED_MEMORY;
			return NULL;
		}
		if (__atomic_exchange_n(&slots[i].stale, 0, __ATOMIC_ACQUIRE)) {
			fm_translator_flush(slots[i].translator);
			if (slots[i].logging)
				fm_windows_flush(&slots[i]);
		}
		return &slots[i];
	}
	return NULL;
}

static struct burst *make_burst(void)
{
	struct burst *burst = __atomic_load_n(&free_bursts, __ATOMIC_ACQUIRE);
	long result;

	/* A list whose head may be taken while somebody else takes it would need more care: whoever fails makes a new
	   one. */
	if (burst &&
	    __atomic_compare_exchange_n(&free_bursts, &burst, NULL, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		struct burst *rest = burst->next_free, *nobody = NULL;

		if (rest && !__atomic_compare_exchange_n(&free_bursts, &nobody, rest, false, __ATOMIC_RELEASE,
		                                         __ATOMIC_RELAXED))
			while (rest) { /* others came meanwhile: these go behind them one by one */
				struct burst *one = rest;

				rest = rest->next_free;
				one->next_free = __atomic_load_n(&free_bursts, __ATOMIC_RELAXED);
				while (!__atomic_compare_exchange_n(&free_bursts, &one->next_free, one, false,
				                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
					;
			}
		return burst;
	}
	result =
	    fm_system_call(SYS_mmap, 0, (long)burst_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return result < 0 && result > -4096 ? NULL : (struct burst *)result;
}

static void prepare_sample(struct burst *burst, struct translator_slot *slot)
{
	burst->site = NULL;
	burst->has_first = burst->inside = false;
	burst->first_references = FIRST_BEFORE + fm_self_random() % FIRST_CHOICE;
	burst->references = REFERENCES_BEFORE + fm_self_random() % REFERENCES_CHOICE;
	fm_translator_set_countdown(slot->translator, burst->first_references);
	fm_translator_set_fuel(slot->translator, FUEL);
	burst->translator = slot->translator;
}

static bool prepare_window(struct burst *burst, struct translator_slot *slot)
{
	const struct fm_translate_client client = {
	    .choose = choose_all, .on_system_call = refuse_system_call, .on_leave = on_leave_window};

	if (!slot->logging && fm_record_windows_open(slot, client, CODE_SIZE))
		return false;
	if (burst->kind == BURST_PACE)
		fm_windows_begin_pace(slot);
	else
		fm_record_window_begin(slot, fm_windows_length());
	burst->translator = slot->logging;
	return true;
}

static bool begin(struct burst *burst, ucontext_t *context, unsigned *ret_reason)
{
	struct translator_slot *slot = take_slot(ret_reason);

	if (!slot)
		return false;
	if (burst->kind == BURST_SAMPLE) {
		prepare_sample(burst, slot);
	} else if (!prepare_window(burst, slot)) {
		*ret_reason = FM_MISSED_MEMORY;
		__atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
		return false;
	}
	slot->burst = burst;
	burst->slot = slot;
	burst->translator_before = fm_translator_ticks(burst->translator);
	if (!fm_translator_begin_burst(burst->translator, context, burst->frame, &slot->busy))
		return true;
	burst->slot = NULL;
	__atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
	return false;
}

/* Samples and windows take turns by lot, so that what either of them stands for is known. */
static void choose_kind(struct burst *burst, uint64_t period)
{
	double share = fm_costs_window_share();

	bool is_window = (double)(fm_self_random() >> 11) * 0x1p-53 < share;

	burst->kind = !is_window                                    ? BURST_SAMPLE
	              : fm_costs_wants_pace() && fm_watch_is_open() ? BURST_PACE
	                                                            : BURST_WINDOW;
	burst->period = (uint64_t)((double)period / (is_window ? share : 1 - share));
}

void fm_burst_begin(ucontext_t *context)
{
	uint64_t pc = fm_context_pc(context), ticks = fm_ticks(), period = fm_timer_period();
	struct burst *burst = fm_self.burst;
	unsigned reason;

	if (!fm_is_alive() || fm_session->stop || fm_self.ended) {
		fm_timer_disarm();
		return;
	}
	if (burst && burst->slot) /* only after a fork or a jump out of a handler */
		burst->slot = NULL;
	if (fm_self.inside) {
		/* whatever the runtime was doing goes on */
		if (burst)
			burst->own_period += period;
		fm_timer_arm(fm_costs_period());
		return;
	}
	fm_self_enter();
	if (!burst)
		fm_self.burst = burst = make_burst();
	if (unlisted && ticks - listed > (uint64_t)(LIST_EVERY * fm_session->ticks_per_second)) {
		unlisted = false;
		fm_log_mappings();
		fm_unwind_forget();
		listed = ticks;
	}
	if (burst) {
		burst->spent = 0;
		burst->began = ticks;
		choose_kind(burst, period);
		if (burst->kind != BURST_SAMPLE)
			burst->cpu_began = fm_watch_now();
		period = burst->period;
		if (fm_timer_passes_over() || fm_session->begun + fm_session->delay > ticks)
			fm_timer_arm(fm_costs_period());
		else if (fm_session->duration && fm_session->begun + fm_session->delay + fm_session->duration < ticks)
			fm_session->stop = 1, fm_timer_disarm();
		else if (pc >= own_begin && pc < own_end) {
			log_missed(burst, pc, FM_MISSED_OWN, period);
			burst->spent = fm_ticks() - ticks;
			finish(burst);
		} else if (!begin(burst, context, &reason)) {
			log_missed(burst, pc, reason, period);
			burst->spent = fm_ticks() - ticks;
			finish(burst);
		} else {
			burst->spent = fm_ticks() - ticks;
		}
	}
	fm_self_leave();
}

bool fm_burst_mend(ucontext_t *context)
{
	uint64_t pc = fm_context_pc(context), fixed = fm_probe_fixup(pc);
	struct burst *burst = fm_self.burst;
	struct translator_slot *slot = burst ? burst->slot : NULL;

	if (fixed) {
		fm_context_set_pc(context, fixed);
		return true;
	}
	if (!slot || !fm_translator_holds(burst->translator, pc) || fm_translator_settle(burst->translator, context))
		return false;
	if (fm_self.inside)
		burst->own_period += burst->period;
	fm_self_enter();
	if (fm_self.inside == 1)
		log_missed(burst, fm_context_pc(context), FM_MISSED_FAULT, burst->period);
	finish(burst);
	fm_self_leave();
	__atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
	return false;
}

void fm_burst_code_changed(uint64_t begin_address, uint64_t size)
{
	uint64_t end = size > UINT64_MAX - begin_address ? UINT64_MAX : begin_address + size;

	for (unsigned i = 0; i < slot_count; i++)
		if ((slots[i].translator && fm_translator_covers(slots[i].translator, begin_address, end)) ||
		    (slots[i].logging && fm_translator_covers(slots[i].logging, begin_address, end)))
			__atomic_store_n(&slots[i].stale, 1, __ATOMIC_RELEASE);
}

void fm_burst_end_thread(void)
{
	struct burst *burst = fm_self.burst;

	fm_self.burst = NULL;
	if (!burst)
		return;
	memset(&burst->watches, 0, sizeof(burst->watches));
	burst->next_free = __atomic_load_n(&free_bursts, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&free_bursts, &burst->next_free, burst, false, __ATOMIC_RELEASE,
	                                    __ATOMIC_RELAXED))
		;
}

void fm_burst_forked(void)
{
	struct burst *burst = fm_self.burst;

	/* the memory of translators is not inherited */
	for (unsigned i = 0; i < slot_count; i++)
		slots[i] = (struct translator_slot){0};
	if (burst) {
		burst->slot = NULL;
		fm_watch_forked(&burst->watches);
	}
}

void fm_burst_end_watches(void)
{
	struct burst *burst = fm_self.burst;

	if (burst)
		fm_watch_end(&burst->watches);
}

bool fm_burst_is_watch(const siginfo_t *information)
{
	struct burst *burst = fm_self.burst;

	return fm_watch_note(burst ? &burst->watches : NULL, information);
}

static int find_own(struct dl_phdr_info *information, size_t size, void *context)
{
	(void)size;
	(void)context;
	for (unsigned i = 0; i < information->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &information->dlpi_phdr[i];
		uint64_t from = information->dlpi_addr + header->p_vaddr, to = from + header->p_memsz;

		if (header->p_type == PT_LOAD && (uint64_t)find_own >= from && (uint64_t)find_own < to) {
			own_begin = from;
			own_end = to;
			return 1;
		}
	}
	return 0;
}

int fm_burst_open(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t frame = fm_translator_frame_size();

	if (!frame)
		return -ENOTSUP;
	slot_count = processors < 1 ? 1 : processors > MOST_TRANSLATORS ? MOST_TRANSLATORS : (unsigned)processors;
	burst_size = sizeof(struct burst) + frame;
	dl_iterate_phdr(find_own, NULL);
	return own_end ? 0 : -ENOTSUP;
}
