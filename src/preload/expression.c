#include "preload/walk.h"

#include <stddef.h>

enum { EXPRESSION_DEPTH = 24, EXPRESSION_STEPS = 256 };

static bool compare(unsigned code, int64_t a, int64_t b)
{
	switch (code) {
	case 0x29:
		return a == b;
	case 0x2a:
		return a >= b;
	case 0x2b:
		return a > b;
	case 0x2c:
		return a <= b;
	case 0x2d:
		return a < b;
	default:
		return a != b;
	}
}

/* Operations on the two topmost values. */
static bool combine(unsigned code, uint64_t a, uint64_t b, uint64_t *ret_value)
{
	switch (code) {
	case 0x1a:
		*ret_value = a & b;
		return true;
	case 0x1b: /* div */
		if (b == 0 || (b == ~0ull && a == 1ull << 63))
			return false;
		*ret_value = (uint64_t)((int64_t)a / (int64_t)b);
		return true;
	case 0x1c:
		*ret_value = a - b;
		return true;
	case 0x1d: /* mod */
		if (b == 0)
			return false;
		*ret_value = a % b;
		return true;
	case 0x1e:
		*ret_value = a * b;
		return true;
	case 0x21:
		*ret_value = a | b;
		return true;
	case 0x22:
		*ret_value = a + b;
		return true;
	case 0x24:
		*ret_value = b < 64 ? a << b : 0;
		return true;
	case 0x25:
		*ret_value = b < 64 ? a >> b : 0;
		return true;
	case 0x26:
		b = b < 64 ? b : 63;
		*ret_value = a >> 63 ? ~(~a >> b) : a >> b;
		return true;
	case 0x27:
		*ret_value = a ^ b;
		return true;
	default:
		*ret_value = compare(code, (int64_t)a, (int64_t)b);
		return true;
	}
}

bool fm_walk_evaluate(struct fm_stack_walk *walk, const struct fm_module *module, uint32_t expression, uint64_t frame,
                      uint64_t *ret_value)
{
	struct fm_reader reader;
	uint64_t stack[EXPRESSION_DEPTH + 1], start;
	unsigned depth = 0;

	fm_rows_expression(module, expression, &reader);
	start = reader.at;
	if (frame)
		stack[depth++] = frame;
	for (unsigned step = 0; reader.at < reader.end; step++) {
		unsigned code = (unsigned)fm_reader_unsigned(&reader, 1), needs = 0;
		uint64_t value = 0, number;
		int64_t distance;

		if (reader.bad || step == EXPRESSION_STEPS || depth == EXPRESSION_DEPTH)
			return false;
		/* how many values it takes from the stack */
		if ((code >= 0x1a && code <= 0x1e) || (code >= 0x20 && code <= 0x2e && code != 0x23 && code != 0x28))
			needs = code == 0x20 ? 1 : 2;
		else if (code == 0x06 || code == 0x12 || code == 0x13 || code == 0x19 || code == 0x1f || code == 0x23 ||
		         code == 0x28 || code == 0x94)
			needs = 1;
		else if (code == 0x14 || code == 0x16)
			needs = 2;
		else if (code == 0x17)
			needs = 3;
		if (depth < needs)
			return false;
		if (needs)
			value = stack[depth - 1];
		switch (code) {
		case 0x03: /* addr */
		case 0x0e: /* const8u, const8s */
		case 0x0f:
			stack[depth++] = fm_reader_unsigned(&reader, 8);
			break;
		case 0x06: /* deref */
			if ((value & 7) || !fm_walk_may_read(walk, value))
				return false;
			stack[depth - 1] = fm_walk_load(value);
			break;
		case 0x08: /* const1u … const4s */
			stack[depth++] = fm_reader_unsigned(&reader, 1);
			break;
		case 0x09:
			stack[depth++] = (uint64_t)fm_reader_signed(&reader, 1);
			break;
		case 0x0a:
			stack[depth++] = fm_reader_unsigned(&reader, 2);
			break;
		case 0x0b:
			stack[depth++] = (uint64_t)fm_reader_signed(&reader, 2);
			break;
		case 0x0c:
			stack[depth++] = fm_reader_unsigned(&reader, 4);
			break;
		case 0x0d:
			stack[depth++] = (uint64_t)fm_reader_signed(&reader, 4);
			break;
		case 0x10: /* constu, consts */
			stack[depth++] = fm_reader_uleb(&reader);
			break;
		case 0x11:
			stack[depth++] = (uint64_t)fm_reader_sleb(&reader);
			break;
		case 0x12: /* dup */
			stack[depth++] = value;
			break;
		case 0x13: /* drop */
			depth--;
			break;
		case 0x14: /* over */
			stack[depth] = stack[depth - 2];
			depth++;
			break;
		case 0x15: /* pick */
			number = fm_reader_unsigned(&reader, 1);
			if (number >= depth)
				return false;
			stack[depth] = stack[depth - 1 - number];
			depth++;
			break;
		case 0x16: /* swap */
			stack[depth - 1] = stack[depth - 2];
			stack[depth - 2] = value;
			break;
		case 0x17: /* rot */
			stack[depth - 1] = stack[depth - 2];
			stack[depth - 2] = stack[depth - 3];
			stack[depth - 3] = value;
			break;
		case 0x19: /* abs */
			stack[depth - 1] = value >> 63 ? -value : value;
			break;
		case 0x1f: /* neg */
			stack[depth - 1] = -value;
			break;
		case 0x20: /* not */
			stack[depth - 1] = ~value;
			break;
		case 0x23: /* plus_uconst */
			stack[depth - 1] = value + fm_reader_uleb(&reader);
			break;
		case 0x28: /* bra */
			depth--;
			distance = fm_reader_signed(&reader, 2);
			if (!value)
				break;
			goto jump;
		case 0x2f: /* skip */
			distance = fm_reader_signed(&reader, 2);
		jump:
			if (distance < -(int64_t)(reader.at - start) || distance > (int64_t)(reader.end - reader.at))
				return false;
			reader.at += (uint64_t)distance;
			break;
		case 0x90: /* regx */
			stack[depth++] = fm_walk_register(walk, fm_reader_uleb(&reader));
			break;
		case 0x92: /* bregx */
			number = fm_reader_uleb(&reader);
			stack[depth++] = fm_walk_register(walk, number) + (uint64_t)fm_reader_sleb(&reader);
			break;
		case 0x94: /* deref_size */
			number = fm_reader_unsigned(&reader, 1);
			if ((number != 1 && number != 2 && number != 4 && number != 8) ||
			    !fm_walk_may_read(walk, value & ~7ull) || (value & 7) + number > 8)
				return false;
			stack[depth - 1] =
			    fm_walk_load(value & ~7ull) >> 8 * (value & 7) & (~0ull >> (64 - 8 * number));
			break;
		case 0x96: /* nop */
			break;
		default:
			if (needs == 2) {
				depth--;
				if (!combine(code, stack[depth - 1], value, &stack[depth - 1]))
					return false;
			} else if (code >= 0x30 && code <= 0x4f) { /* lit */
				stack[depth++] = code - 0x30;
			} else if (code >= 0x50 && code <= 0x6f) { /* reg */
				stack[depth++] = fm_walk_register(walk, code - 0x50);
			} else if (code >= 0x70 && code <= 0x8f) { /* breg */
				stack[depth++] =
				    fm_walk_register(walk, code - 0x70) + (uint64_t)fm_reader_sleb(&reader);
			} else {
				return false;
			}
		}
	}
	if (reader.bad || !depth)
		return false;
	*ret_value = stack[depth - 1];
	return true;
}
