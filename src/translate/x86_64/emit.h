/* The few instructions of the translator itself. None changes the flags. */
#ifndef FATHOM_TRANSLATE_X86_64_EMIT_H
#define FATHOM_TRANSLATE_X86_64_EMIT_H

#include <string.h>

#include "translate/x86_64/instruction.h"

static inline void emit_bytes(uint8_t **at, const void *bytes, size_t count)
{
	memcpy(*at, bytes, count);
	*at += count;
}

static inline void emit_byte(uint8_t **at, unsigned byte)
{
	*(*at)++ = (uint8_t)byte;
}

static inline void emit_32(uint8_t **at, uint32_t value)
{
	emit_bytes(at, &value, sizeof(value));
}

static inline void emit_64(uint8_t **at, uint64_t value)
{
	emit_bytes(at, &value, sizeof(value));
}

/* Emits the last four bytes of an instruction: `target` relative to the instruction's end. */
static inline void emit_relative(uint8_t **at, const void *target)
{
	emit_32(at, (uint32_t)((const uint8_t *)target - (*at + 4)));
}

static inline void emit_jump(uint8_t **at, const void *target)
{
	emit_byte(at, 0xe9);
	emit_relative(at, target);
}

static inline void emit_slot(uint8_t **at, unsigned opcode, unsigned number, const void *slot)
{
	emit_byte(at, 0x48 | (number >= 8 ? 4u : 0));
	emit_byte(at, opcode);
	emit_byte(at, 5 | (number & 7) << 3);
	emit_relative(at, slot);
}

static inline void emit_store(uint8_t **at, unsigned number, const void *slot)
{
	emit_slot(at, 0x89, number, slot);
}

static inline void emit_load(uint8_t **at, unsigned number, const void *slot)
{
	emit_slot(at, 0x8b, number, slot);
}

static inline void emit_constant(uint8_t **at, unsigned number, uint64_t value)
{
	emit_byte(at, 0x48 | (number >= 8 ? 1u : 0));
	emit_byte(at, 0xb8 | (number & 7));
	emit_64(at, value);
}

/* opcode (0x8b mov, 0x89 store, 0x8d lea) number, [base + index << scale + displacement] */
static inline void emit_memory(uint8_t **at, unsigned opcode, bool wide, unsigned number, unsigned base, unsigned index,
                               unsigned scale, int32_t displacement)
{
	bool has_base = base != NO_REGISTER, has_index = index != NO_REGISTER;
	bool is_short = has_base && displacement == (int8_t)displacement;
	unsigned mode = is_short ? 0x40 : 0x80;

	emit_byte(at, 0x40 | (wide ? 8u : 0) | (number >= 8 ? 4u : 0) | (has_index && index >= 8 ? 2u : 0) |
	                  (has_base && base >= 8 ? 1u : 0));
	emit_byte(at, opcode);
	if (has_base && !has_index && (base & 7) != RSP) {
		emit_byte(at, mode | (number & 7) << 3 | (base & 7));
	} else {
		emit_byte(at, (has_base ? mode | 4 : 0x04u) | (number & 7) << 3);
		emit_byte(at, scale << 6 | (has_index ? index & 7 : 4u) << 3 | (has_base ? base & 7 : 5u));
	}
	if (is_short)
		emit_byte(at, (uint8_t)displacement);
	else
		emit_32(at, (uint32_t)displacement);
}

#endif
