#include "translate/x86_64/references.h"

#include <string.h>

#include "translate/x86_64/emit.h"

/* mov, or movzx of less than four bytes: number := [base + displacement] */
static void emit_load_of(uint8_t **at, unsigned number, unsigned base, int32_t displacement, unsigned size)
{
	uint8_t *start = *at, opcode = size == 2 ? 0xb7 : 0xb6;

	emit_memory(at, 0x8b, size == 8, number, base, NO_REGISTER, 0, displacement);
	if (size >= 4)
		return;
	/* two bytes of opcode instead of one, behind the prefix */
	memmove(start + 3, start + 2, (size_t)(*at - start) - 2);
	start[1] = 0x0f;
	start[2] = opcode;
	++*at;
}

/* Entries with the bytes that the store overwrites; its address is in `at`. */
static void log_old(struct work *work, unsigned at, unsigned size, unsigned used)
{
	unsigned value = fm_making_borrow(work, used | REGISTER_BIT(at), false), bytes;

	for (unsigned done = 0; done < size; done += bytes) {
		int32_t offset = (int32_t)(work->writing * sizeof(struct fm_translate_entry));

		bytes = size - done >= 8 ? 8 : size - done >= 4 ? 4 : size - done >= 2 ? 2 : 1;
		emit_load_of(&work->at, value, at, (int32_t)done, bytes);
		emit_memory(&work->at, 0x89, true, value, work->log_register, NO_REGISTER, 0, offset);
		emit_memory(&work->at, 0xc7, true, 0, work->log_register, NO_REGISTER, 0, offset + 8);
		emit_32(&work->at, FM_TRANSLATE_OLD_ENTRY | bytes);
		work->writing++;
	}
}

/* Asks the translator, with the operand's address in slots->target. */
static void pass_address(struct work *work, const struct instruction *instruction, const struct reference *reference,
                         enum exit_kind kind, unsigned reason, uint32_t site)
{
	unsigned used = instruction->reads | instruction->writes | REGISTER_BIT(RSP), temporary;

	fm_making_give_back(work, work->held);
	temporary = fm_making_borrow(work, used, false);
	fm_making_address(work, temporary, &reference->address);
	emit_store(&work->at, temporary, &work->translator->slots->target);
	fm_making_give_back(work, work->held);
	emit_byte(&work->at, 0xe9);
	fm_making_pend(work, kind, work->pc, reason, (uint32_t)(work->at + 4 - work->translator->code), site);
}

static void log_reference(struct work *work, const struct instruction *instruction, const struct reference *reference,
                          uint32_t site)
{
	unsigned used = instruction->reads | instruction->writes | REGISTER_BIT(RSP), temporary;
	unsigned entries = reference->kind & FM_TRANSLATE_REPEATED ? 2 : 1;

	if (work->translator->undo && (reference->kind & FM_TRANSLATE_STORE) && reference->mask) {
		/* only the stored bytes may be read; the translator finds them */
		pass_address(work, instruction, reference, EXIT_MASKED,
		             reference->mask | (unsigned)reference->element << 8, site);
		return;
	}
	fm_making_begin_log(work, used);
	temporary = fm_making_borrow(work, used, false);
	for (unsigned entry = 0; entry < entries; entry++) {
		int32_t offset = (int32_t)((work->writing + entry) * sizeof(struct fm_translate_entry));

		if (!entry)
			fm_making_address(work, temporary, &reference->address);
		emit_memory(&work->at, 0x89, true, entry ? RCX : temporary, work->log_register, NO_REGISTER, 0, offset);
		emit_memory(&work->at, 0xc7, true, 0, work->log_register, NO_REGISTER, 0, offset + 8);
		emit_32(&work->at, site);
	}
	work->writing += (uint8_t)entries;
	if (work->translator->undo && (reference->kind & FM_TRANSLATE_STORE))
		log_old(work, temporary, reference->size, used);
}

/* The highest byte of the countdown is 0 unless it is negative, as for the fuel. */
static void count_reference(struct work *work, const struct instruction *instruction, const struct reference *reference,
                            uint32_t site)
{
	struct slots *slots = work->translator->slots;
	uint8_t *skip;

	fm_making_give_back(work, work->held);
	fm_making_spill(work, RCX);
	emit_load(&work->at, RCX, &slots->countdown);
	emit_memory(&work->at, 0x8d, true, RCX, RCX, NO_REGISTER, 0, -1);
	emit_store(&work->at, RCX, &slots->countdown);
	emit_bytes(&work->at, "\x48\x0f\xc9\x0f\xb6\xc9", 6); /* bswap %rcx; movzx %cl, %ecx */
	emit_byte(&work->at, 0xe3);                           /* jrcxz */
	skip = work->at++;
	pass_address(work, instruction, reference, EXIT_COUNTED, 0, site);
	*skip = (uint8_t)(work->at - skip - 1);
	work->held |= REGISTER_BIT(RCX);
	fm_making_mark(work, PC_STATIC);
	fm_making_give_back(work, work->held);
}

void fm_references_log(struct work *work, const struct instruction *instruction)
{
	struct fm_translator *translator = work->translator;

	translator->counts.unlogged += instruction->unknown_references;
	for (unsigned i = 0; i < instruction->reference_count; i++) {
		const struct reference *reference = &instruction->references[i];
		struct fm_translate_site site = {instruction->pc, reference->size, reference->kind, (uint8_t)i};
		enum fm_translate_choice choice;
		uint32_t number = translator->site_count;

		if (!fm_translate_can_be_logged(reference)) {
			translator->counts.unlogged++;
			continue;
		}
		choice = translator->client.choose(translator->client.context, &site);
		if (choice == FM_TRANSLATE_IGNORE)
			continue;
		translator->sites[translator->site_count] = site;
		if (translator->client.number_site)
			number = translator->client.number_site(translator->client.context, &site);
		if (choice == FM_TRANSLATE_LOGGED)
			log_reference(work, instruction, reference, number);
		else if (choice == FM_TRANSLATE_COUNTED)
			count_reference(work, instruction, reference, translator->site_count);
		else
			pass_address(work, instruction, reference, EXIT_REFERENCE, 0, translator->site_count);
		translator->site_count++;
	}
}

bool fm_references_are_reversible(const struct instruction *instruction)
{
	if (instruction->varies || instruction->unknown_references || instruction->class == CLASS_SYSTEM_CALL)
		return false;
	for (unsigned i = 0; i < instruction->reference_count; i++) {
		const struct reference *reference = &instruction->references[i];

		if (!fm_translate_can_be_logged(reference) || (reference->kind & FM_TRANSLATE_REPEATED) ||
		    ((reference->kind & FM_TRANSLATE_STORE) &&
		     (((reference->kind & FM_TRANSLATE_MASKED) && !(reference->mask && reference->element)) ||
		      reference->size > MOST_OLD * sizeof(uint64_t))))
			return false;
	}
	return true;
}
