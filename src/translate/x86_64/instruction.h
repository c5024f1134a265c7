/* Decoded instructions of x86-64. */
#ifndef FATHOM_TRANSLATE_X86_64_INSTRUCTION_H
#define FATHOM_TRANSLATE_X86_64_INSTRUCTION_H

#include <Zydis/Zydis.h>

#include "translate/internal.h"

/* General registers in the order of their encoding. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, NO_REGISTER = 0xff };
#define REGISTER_BIT(number) (1u << (number))

enum instruction_class {
	CLASS_COPY,
	CLASS_JUMP,
	CLASS_CONDITIONAL,
	CLASS_COUNTED, /* loop, loope, loopne, jrcxz, jecxz */
	CLASS_CALL,
	CLASS_RETURN,
	CLASS_INDIRECT_JUMP,
	CLASS_INDIRECT_CALL,
	CLASS_SYSTEM_CALL,
	CLASS_LEAVE,
};

enum segment { SEGMENT_NONE, SEGMENT_FS, SEGMENT_GS };

/* The address of a memory operand. With `absolute` the displacement is the whole address. */
struct address {
	int64_t displacement;
	uint8_t base, index, scale; /* scale as a power of two */
	uint8_t segment;
	bool absolute;
	bool narrow;  /* 32-bit address size */
	bool unknown; /* cannot be computed in one lea */
};

struct reference {
	struct address address;
	uint16_t size;
	uint8_t kind;
	uint8_t mask;    /* opmask register of a plain masked store; 0: none … */
	uint8_t element; /* … and the bytes of each of its bits */
};

/* Can the operand be logged? Relative to the thread pointer: only if one more instruction computes the address. */
static inline bool fm_translate_can_be_logged(const struct reference *reference)
{
	return reference->address.segment != SEGMENT_FS || (!reference->address.absolute && !reference->address.narrow);
}

struct instruction {
	uint64_t pc;
	uint64_t target;      /* of a direct branch */
	struct address from;  /* memory operand with the target of an indirect branch */
	uint64_t rip_address; /* address of a rip-relative operand */
	struct reference references[MOST_REFERENCES];
	uint16_t reads, writes; /* general registers, implicit ones included */
	uint16_t replaces;      /* registers written as a whole and not read */
	uint16_t popped;        /* bytes dropped by a return beside the address */
	uint8_t length, class, condition, reason;
	uint8_t branch_register; /* of an indirect branch, or NO_REGISTER */
	uint8_t reference_count, unknown_references;
	uint8_t displacement_at, modrm_at; /* of a rip-relative operand */
	uint8_t opcode;                    /* of a counted branch */
	uint8_t extension_at;              /* byte that could extend a base register, if present */
	bool rip_relative, has_extension, extension_inverted, narrow, agen;
	bool overwrites_flags; /* OF, SF, ZF, AF and PF, without reading them */
	bool reads_flags;      /* any of these, or not known */
	bool overwrites_carry, reads_carry;
	bool varies; /* another result, or another effect, when it is executed again */
};

/* Decodes the instruction at `pc`, reading at most `room` bytes. Instructions that cannot run in the cache become
   CLASS_LEAVE. */
void fm_translate_decode(const ZydisDecoder *decoder, uint64_t pc, size_t room, struct instruction *instruction);

/* Are OF, SF, ZF, AF and PF overwritten after `pc` before they are read? False if that is not soon visible. Examines
   only code in [start, end). */
bool fm_translate_flags_die(const ZydisDecoder *decoder, uint64_t pc, uint64_t start, uint64_t end);

/* For each of `count` instructions: are all flags, CF included, overwritten from there on before any is read? The code
   after the last one is examined too. */
void fm_translate_find_dead_flags(const ZydisDecoder *decoder, const struct instruction *instructions, unsigned count,
                                  uint64_t start, uint64_t end, bool *ret_dead);

/* Does the branch go to the target of a pointer at a fixed address? */
static inline bool fm_translate_is_fixed(const struct instruction *instruction)
{
	return (instruction->class == CLASS_INDIRECT_JUMP || instruction->class == CLASS_INDIRECT_CALL) &&
	       instruction->branch_register == NO_REGISTER && instruction->from.absolute && !instruction->from.segment;
}

#endif
