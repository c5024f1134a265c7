/* The translator's answers to what the cache asks for, on a stack of its own. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/processor.h"
#include "base/system_call.h"
#include "translate/internal.h"

void fm_translate_leave(struct fm_translator *translator, enum fm_translate_reason reason, uint64_t pc)
{
	translator->counts.left[reason]++;
	fm_translate_deliver_log(translator);
	if (translator->client.on_leave)
		translator->client.on_leave(translator->client.context, reason, pc, translator->slots->registers);
	translator->slots->resume = pc;
	translator->left = true;
}

uint32_t fm_translate_go_to(struct fm_translator *translator, uint64_t pc, bool with_landing)
{
	enum fm_translate_reason reason;
	uint32_t block = fm_translate_block(translator, pc, with_landing, &reason);

	if (block)
		translator->slots->resume = (uint64_t)(translator->code + translator->blocks[block - 1].code);
	else
		fm_translate_leave(translator, reason, pc);
	return block;
}

static void serve_chain(struct fm_translator *translator, const struct exit_record *exit)
{
	uint32_t generation = translator->generation, patch = exit->patch;

	if (fm_translate_go_to(translator, exit->pc, false) && translator->generation == generation)
		fm_translate_chain(translator, patch);
}

static void serve_leave(struct fm_translator *translator, const struct exit_record *exit)
{
	fm_translate_leave(translator, (enum fm_translate_reason)exit->reason, exit->pc);
}

static void serve_fuel(struct fm_translator *translator, const struct exit_record *exit)
{
	uint64_t more = translator->client.on_fuel ? translator->client.on_fuel(translator->client.context) : 0;

	translator->slots->fuel += exit->site; /* the piece was charged for and does not run */
	if (!more) {
		fm_translate_leave(translator, FM_LEFT_FUEL, exit->pc);
		return;
	}
	fm_translator_set_fuel(translator, more < exit->site ? exit->site : more);
	translator->slots->resume = (uint64_t)(translator->code + exit->patch);
}

static void serve_full(struct fm_translator *translator, const struct exit_record *exit)
{
	fm_translate_deliver_log(translator);
	if (translator->client.on_full && !translator->client.on_full(translator->client.context))
		fm_translate_leave(translator, FM_LEFT_FUEL, exit->pc);
	else
		translator->slots->resume = (uint64_t)(translator->code + exit->patch);
}

static void serve_reference(struct fm_translator *translator, const struct exit_record *exit)
{
	if (translator->client.on_reference)
		translator->client.on_reference(translator->client.context, &translator->sites[exit->site],
		                                translator->slots->target);
	translator->slots->resume = (uint64_t)(translator->code + exit->patch);
}

enum { MOST_RUNS = 4 };

/* Runs of stored bytes, each with its address and the old contents. False: too many, or not readable. */
static bool log_masked(struct fm_translator *translator, uint64_t mask, unsigned element, uint32_t site)
{
	struct fm_translate_entry *entry = (struct fm_translate_entry *)translator->slots->log_end;
	uint64_t address = translator->slots->target;
	unsigned runs = 0;

	for (unsigned bit = 0; bit < 64 && mask >> bit; bit++) {
		unsigned end = bit;

		if (!(mask >> bit & 1))
			continue;
		while (end < 64 && mask >> end & 1)
			end++;
		if (++runs > MOST_RUNS)
			return false;
		/* the program may want this fault */
		if (!fm_translate_is_readable((address + (uint64_t)bit * element) & ~(uint64_t)7) ||
		    !fm_translate_is_readable((address + (uint64_t)end * element - 1) & ~(uint64_t)7))
			return false;
		*entry++ = (struct fm_translate_entry){address + (uint64_t)bit * element, site};
		for (uint64_t at = address + (uint64_t)bit * element, last = address + (uint64_t)end * element;
		     at < last;) {
			uint64_t bytes = last - at >= 8 ? 8 : last - at >= 4 ? 4 : last - at >= 2 ? 2 : 1;

			*entry = (struct fm_translate_entry){0, FM_TRANSLATE_OLD_ENTRY | bytes};
			memcpy(&entry++->address, (const void *)at, bytes);
			at += bytes;
		}
		bit = end - 1;
	}
	translator->slots->log_end = (uint64_t)entry;
	return true;
}

static void serve_masked(struct fm_translator *translator, const struct exit_record *exit)
{
	uint64_t mask = fm_translate_mask_register(translator, exit->reason & 0xff);
	unsigned element = exit->reason >> 8;

	if (element && element <= 8 &&
	    log_masked(translator, mask & (~(uint64_t)0 >> (64 - 64 / element)), element, exit->site))
		translator->slots->resume = (uint64_t)(translator->code + exit->patch);
	else
		fm_translate_leave(translator, FM_LEFT_IRREVERSIBLE, exit->pc);
}

static void serve_visit(struct fm_translator *translator, const struct exit_record *exit)
{
	if (translator->client.on_visit && translator->client.on_visit(translator->client.context))
		translator->slots->resume = translator->slots->visit_back;
	else
		fm_translate_leave(translator, FM_LEFT_ASKED, exit->pc);
}

static void serve_counted(struct fm_translator *translator, const struct exit_record *exit)
{
	fm_translate_leave(translator, FM_LEFT_ASKED, exit->pc);
}

/* The addresses that a system call maps anew, or takes away. */
static void mapped_anew(const struct system_call *call, uint64_t *ret_start, uint64_t *ret_size)
{
	uint64_t number = call->number;

	*ret_start = *ret_size = 0;
	if (number == SYS_munmap || number == SYS_mprotect || number == SYS_pkey_mprotect || number == SYS_mremap ||
	    (number == SYS_mmap && (call->arguments[3] & MAP_FIXED))) {
		*ret_start = call->arguments[0];
		*ret_size = call->arguments[1];
	}
	if (number == SYS_shmat) { /* of unknown size */
		*ret_start = call->arguments[1];
		*ret_size = call->arguments[1] ? UINT64_MAX - call->arguments[1] : 0;
	}
}

static void forget_changed(struct fm_translator *translator, const struct system_call *call)
{
	uint64_t start, size, end;
	bool known = false, used = false;

	mapped_anew(call, &start, &size);
	end = size > UINT64_MAX - 4095 - start ? UINT64_MAX : start + size + 4095;
	for (unsigned i = 0; size && i < translator->ranges.count; i++) {
		const struct range *range = &translator->ranges.list[i];

		if (range->start < end && range->end > start) {
			known = true;
			used |= range->used;
		}
	}
	if (used)
		fm_translator_flush(translator);
	else if (known)
		/* forgets only what is to be read again; translations of other ranges stay */
		for (unsigned i = 0; i < translator->ranges.count; i++)
			if (translator->ranges.list[i].start < end && translator->ranges.list[i].end > start)
				translator->ranges.list[i].start = translator->ranges.list[i].end = 0;
}

static void serve_system_call(struct fm_translator *translator, const struct exit_record *exit)
{
	struct slots *slots = translator->slots;
	struct system_call call = fm_translate_system_call(slots);
	uint64_t number = call.number, pc = exit->pc;
	bool shares = number == SYS_clone3 || (number == SYS_clone && (call.arguments[0] & CLONE_VM));

#if defined(SYS_vfork)
	shares |= number == SYS_vfork;
#endif

	translator->counts.system_calls++;
	if (translator->client.on_filter &&
	    (number == SYS_seccomp || (number == SYS_prctl && call.arguments[0] == PR_SET_SECCOMP))) {
		translator->client.on_filter(translator->client.context);
		fm_translate_leave(translator, FM_LEFT_SYSTEM_CALL, pc);
		return;
	}
	if (translator->client.on_system_call &&
	    !translator->client.on_system_call(translator->client.context, number)) {
		fm_translate_leave(translator, FM_LEFT_SYSTEM_CALL, pc);
		return;
	}
	if (shares) {
		uint8_t *gate = fm_translate_thread_gate(translator, pc + call.bytes);

		if (gate)
			slots->resume = (uint64_t)gate;
		else
			fm_translate_leave(translator, FM_LEFT_CODE_SHARING, pc);
		return;
	}
	forget_changed(translator, &call);
	slots->next = pc + call.bytes;
	slots->resume = (uint64_t)translator->call_code;
}

static void (*const servers[])(struct fm_translator *, const struct exit_record *) = {
    [EXIT_CHAIN] = serve_chain,     [EXIT_LEAVE] = serve_leave,        [EXIT_SYSTEM_CALL] = serve_system_call,
    [EXIT_FUEL] = serve_fuel,       [EXIT_FULL] = serve_full,          [EXIT_REFERENCE] = serve_reference,
    [EXIT_COUNTED] = serve_counted, [EXIT_LEARN] = fm_translate_learn, [EXIT_VISIT] = serve_visit,
    [EXIT_MASKED] = serve_masked,
};

/* A handler that never returns must not interrupt the translator in the middle of a block. */
static uint64_t change_mask(uint64_t mask)
{
	uint64_t before = 0;

	fm_system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask), 0, 0);
	return before;
}

uint64_t fm_translator_ticks(const struct fm_translator *translator)
{
	return translator->ticks + (translator->served_since ? fm_ticks() - translator->served_since : 0);
}

void fm_translator_hand_over(struct fm_translator *from, struct fm_translator *to)
{
	from->successor = to;
}

/* The thread was about to go on natively. The vector registers need no copy: they are loaded from where they were
   saved. */
static void go_on_in(struct fm_translator *translator, const struct fm_translator *before)
{
	memcpy(translator->slots->registers, before->slots->registers, sizeof(before->slots->registers));
	translator->slots->flags = before->slots->flags;
	translator->mask = before->mask;
	translator->served_since = fm_ticks();
	translator->counts.entered++;
	fm_translate_go_to(translator, before->slots->resume, false);
	translator->successor = NULL; /* natively after all, if it comes to that */
	translator->ticks += fm_ticks() - translator->served_since;
	translator->served_since = 0;
}

/* On the stack of the translator that goes on. */
void fm_translate_unblock(struct fm_translator *translator)
{
	if (!translator->burst)
		change_mask(translator->mask);
}

struct fm_translator *fm_translate_serve(struct fm_translator *translator)
{
	struct fm_translator *successor;
	uint32_t number = (uint32_t)translator->slots->exit;

	if (!translator->burst) /* in which they are blocked already */
		translator->mask = change_mask(~(uint64_t)0);
	translator->served_since = fm_ticks();
	translator->left = false;
	translator->successor = NULL;
	translator->rewound = NULL;

	if (number == EXIT_ENTER) {
		translator->counts.entered++;
		fm_translate_go_to(translator, translator->slots->target, false);
	} else if (number == EXIT_INDIRECT) {
		uint32_t block = fm_translate_go_to(translator, translator->slots->target, true);

		translator->counts.looked_up++;
		if (block)
			fm_translate_land(translator, block);
	} else {
		struct exit_record exit = translator->exits[number];

		servers[exit.kind](translator, &exit);
	}
	translator->ticks += fm_ticks() - translator->served_since;
	translator->served_since = 0;
	successor = translator->left ? translator->successor : NULL;
	if (translator->burst && translator->left)
		fm_translate_end_burst(translator);
	if (successor)
		go_on_in(successor, translator);
	return successor ? successor : translator;
}
