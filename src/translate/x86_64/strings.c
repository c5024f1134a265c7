/* The log entries of a repeated string instruction that was interrupted. */
#include "translate/x86_64/strings.h"

enum { WIDER = 0x66, DIRECTION = 1 << 10 };

struct string {
	unsigned size;     /* bytes of an element */
	unsigned operands; /* 0: it is none */
};

static bool is_segment(uint8_t byte)
{
	return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 || byte == 0x65;
}

/* Without those that count by ecx, which programs do not contain. */
static struct string read_code(const uint8_t *code)
{
	bool repeated = false, wider = false, wide = false;

	for (; is_segment(*code) || *code == WIDER || *code == 0xf2 || *code == 0xf3; code++) {
		repeated |= *code == 0xf2 || *code == 0xf3;
		wider |= *code == WIDER;
	}
	if ((*code & 0xf0) == 0x40)
		wide = *code++ & 8;
	/* movs, cmps; stos, lods, scas; the odd ones have more than a byte for each element */
	if (!repeated || (*code & 0xf0) != 0xa0 || *code < 0xa4 || *code == 0xa8 || *code == 0xa9)
		return (struct string){0};
	return (struct string){.size = !(*code & 1) ? 1 : wide ? 8 : wider ? 2 : 4, .operands = *code < 0xa8 ? 2 : 1};
}

/* Two entries of an operand: the address of its first element, and how many there were. */
static bool is_pair(const struct fm_translate_entry *pair, const struct string *string,
                    const struct fm_translate_string_state *now)
{
	uint64_t done = (pair[1].address - now->count) * string->size;

	if (pair[0].site != pair[1].site || pair[1].address < now->count)
		return false;
	if (now->flags & DIRECTION)
		done = -done;
	return pair->address + done == now->source || pair->address + done == now->destination;
}

/* The pairs of one instruction, at most `most`. */
static unsigned count_pairs(const struct fm_translate_entry *entries, unsigned most, const struct string *string,
                            const struct fm_translate_string_state *now)
{
	unsigned pairs = 0;

	while (pairs < most && is_pair(entries + 2 * (size_t)pairs, string, now) &&
	       entries[2 * (size_t)pairs + 1].address == entries[1].address)
		pairs++;
	return pairs;
}

struct fm_translate_entry *fm_translate_settle_string(const uint8_t *code, const struct fm_translate_entry *from,
                                                      struct fm_translate_entry *end, bool follows,
                                                      const struct fm_translate_string_state *now)
{
	/* operands of instructions behind it may have been looked at before it began */
	enum { FURTHEST = 8 };
	struct string string = read_code(code);
	struct fm_translate_entry *first = end;
	unsigned pairs = 0;

	if (!string.operands)
		return end;
	if (follows) {
		/* it may be the first one of a piece */
		struct fm_translate_entry *behind =
		    end + ((end->site ^ FM_TRANSLATE_PIECE_ENTRY) < FM_TRANSLATE_PIECES);

		pairs = count_pairs(behind, string.operands, &string, now);
		if (pairs && behind[1].address == now->count)
			return end;
		if (pairs) {
			first = behind;
			end = behind + 2 * (size_t)pairs;
		}
	}
	for (unsigned back = FURTHEST; !pairs && back >= 2; back--) {
		if (end - from < (ptrdiff_t)back)
			continue;
		first = end - back;
		pairs = count_pairs(first, back / 2 < string.operands ? back / 2 : string.operands, &string, now);
	}
	if (!pairs)
		return end;
	/* what has not begun is logged again when it does */
	if (first[1].address == now->count)
		return first;
	for (unsigned i = 0; i < pairs; i++)
		first[2 * (size_t)i + 1].address -= now->count;
	return end;
}
