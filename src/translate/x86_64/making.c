#include "translate/x86_64/making.h"

#include "translate/x86_64/emit.h"

uint64_t *fm_making_slot(struct work *work, unsigned number)
{
	return &work->translator->slots->registers[number];
}

void fm_making_mark(struct work *work, enum pc_kind kind)
{
	struct fm_translator *translator = work->translator;
	struct place place = {
	    .held = work->held, .logged = work->logged, .log_register = work->log_register, .pc_kind = (uint8_t)kind};

	for (;;) {
		size_t distance = (size_t)(work->at - work->last_code);
		struct place *next = &translator->places[translator->place_count];

		/* there is room: fm_translate_block() has seen to it */
		if (distance <= 255) {
			place.code = (uint8_t)distance;
			place.pc = (int8_t)(work->pc - work->last_pc);
			*next = place;
		} else { /* nothing new, only further on */
			*next = work->block->place_count ? next[-1] : (struct place){.log_register = NO_REGISTER};
			next->code = 255;
			next->pc = 0;
			work->last_code += 255;
		}
		translator->place_count++;
		work->block->place_count++;
		if (distance <= 255)
			break;
	}
	work->last_code = work->at;
	work->last_pc = work->pc;
}

void fm_making_spill(struct work *work, unsigned number)
{
	emit_store(&work->at, number, fm_making_slot(work, number));
	work->held |= REGISTER_BIT(number);
	fm_making_mark(work, PC_STATIC);
}

unsigned fm_making_borrow(struct work *work, unsigned exclude, bool low)
{
	static const uint8_t order[] = {R11, R10, R9, R8, RDX, RSI, RDI, RCX, RBX, RAX, RBP, R15, R14, R13, R12};

	if (work->log_register != NO_REGISTER)
		exclude |= REGISTER_BIT(work->log_register);
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < sizeof(order); i++) {
			unsigned number = order[i];

			if ((exclude & REGISTER_BIT(number)) || (low && number >= 8))
				continue;
			if (work->held & REGISTER_BIT(number))
				return number;
			if (pass) {
				fm_making_spill(work, number);
				return number;
			}
		}
	return NO_REGISTER;
}

void fm_making_give_back(struct work *work, unsigned mask)
{
	mask &= work->held;
	if (work->log_register != NO_REGISTER && (mask & REGISTER_BIT(work->log_register))) {
		unsigned number = work->log_register;

		emit_memory(&work->at, 0x8d, true, number, number, NO_REGISTER, 0,
		            (int32_t)(work->writing * sizeof(struct fm_translate_entry)));
		work->logged = work->writing = 0;
		fm_making_mark(work, PC_STATIC);
		emit_store(&work->at, number, &work->translator->slots->log_end);
		work->log_register = NO_REGISTER;
		fm_making_mark(work, PC_STATIC);
	}
	for (unsigned number = 0; mask >> number; number++)
		if (mask & REGISTER_BIT(number)) {
			emit_load(&work->at, number, fm_making_slot(work, number));
			work->held &= (uint16_t)~REGISTER_BIT(number);
			fm_making_mark(work, PC_STATIC);
		}
}

void fm_making_address(struct work *work, unsigned number, const struct address *address)
{
	if (address->segment == SEGMENT_FS) {
		static const uint8_t thread_pointer[] = {0x64};

		emit_bytes(&work->at, thread_pointer, sizeof(thread_pointer));
		emit_memory(&work->at, 0x8b, true, number, NO_REGISTER, NO_REGISTER, 0, 0);
		if (address->index != NO_REGISTER)
			emit_memory(&work->at, 0x8d, true, number, number, address->index, address->scale, 0);
		emit_memory(&work->at, 0x8d, true, number, number, address->base, 0, (int32_t)address->displacement);
	} else if (address->absolute) {
		emit_constant(&work->at, number, (uint64_t)address->displacement);
	} else {
		emit_memory(&work->at, 0x8d, !address->narrow, number, address->base, address->index, address->scale,
		            (int32_t)address->displacement);
	}
}

void fm_making_begin_log(struct work *work, unsigned used)
{
	unsigned number;

	if (work->log_register != NO_REGISTER)
		return;
	number = fm_making_borrow(work, used, false);
	emit_load(&work->at, number, &work->translator->slots->log_end);
	work->log_register = (uint8_t)number;
	fm_making_mark(work, PC_STATIC);
}

void fm_making_pend(struct work *work, enum exit_kind kind, uint64_t pc, unsigned reason, uint32_t patch, uint32_t site)
{
	struct pending *pending = &work->pending[work->pending_count++];

	pending->displacement = work->at;
	pending->record = (struct exit_record){
	    .pc = pc, .patch = patch, .kind = (uint16_t)kind, .reason = (uint16_t)reason, .site = site};
	emit_32(&work->at, 0);
}
