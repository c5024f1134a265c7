#include "preload/rows.h"

#include <stddef.h>

#include "preload/readable.h"

uint32_t fm_rows_generation = 1;

/* Pages of tables that were readable once in this generation: page | generation's low bits. */
enum { KNOWN_PAGES = 1024 };
static uint64_t known_pages[KNOWN_PAGES];

static bool table_readable(uint64_t address)
{
	uint64_t page = address & -FM_PAGE;
	uint64_t known = page | (__atomic_load_n(&fm_rows_generation, __ATOMIC_RELAXED) & (FM_PAGE - 1));
	uint64_t *slot = &known_pages[page / FM_PAGE % KNOWN_PAGES];

	if (__atomic_load_n(slot, __ATOMIC_RELAXED) == known)
		return true;
	if (!fm_readable(page))
		return false;
	__atomic_store_n(slot, known, __ATOMIC_RELAXED);
	return true;
}

static void reader_set(struct fm_reader *reader, const struct fm_module *module, uint64_t at, uint64_t end)
{
	reader->module = module;
	reader->at = at;
	reader->end = end < module->end ? end : module->end;
	reader->low = reader->high = 0;
	reader->bad = at < module->start || at > reader->end;
}

static bool reader_more(const struct fm_reader *reader)
{
	return !reader->bad && reader->at < reader->end;
}

static void reader_skip(struct fm_reader *reader, uint64_t size)
{
	if (reader->bad || size > reader->end - reader->at)
		reader->bad = true;
	else
		reader->at += size;
}

typedef uint16_t unaligned16 __attribute__((aligned(1), may_alias));
typedef uint32_t unaligned32 __attribute__((aligned(1), may_alias));
typedef uint64_t unaligned64 __attribute__((aligned(1), may_alias));

/* Makes sure that the bytes can be read. */
static __attribute__((noinline)) bool reader_check(struct fm_reader *reader, uint64_t at, unsigned size)
{
	uint64_t last = at + size - 1;

	if (!table_readable(at) || !table_readable(last)) {
		reader->bad = true;
		return false;
	}
	reader->low = at & -FM_PAGE;
	reader->high = (last & -FM_PAGE) + FM_PAGE;
	return true;
}

static inline uint64_t read_number(struct fm_reader *reader, unsigned size)
{
	uint64_t at = reader->at;

	if (reader->bad || size > reader->end - at) {
		reader->bad = true;
		return 0;
	}
	if ((at < reader->low || at + size > reader->high) && !reader_check(reader, at, size))
		return 0;
	reader->at = at + size;
	switch (size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		return *(const unaligned16 *)at;
	case 4:
		return *(const unaligned32 *)at;
	default:
		return *(const unaligned64 *)at;
	}
}

uint64_t fm_reader_unsigned(struct fm_reader *reader, unsigned size)
{
	return read_number(reader, size);
}

int64_t fm_reader_signed(struct fm_reader *reader, unsigned size)
{
	unsigned shift = 64 - 8 * size;

	return (int64_t)(fm_reader_unsigned(reader, size) << shift) >> shift;
}

static uint64_t leb(struct fm_reader *reader, bool is_signed)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t byte = read_number(reader, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (is_signed && (byte & 0x40) && shift + 7 < 64)
			value |= ~0ull << (shift + 7);
		return value;
	}
	reader->bad = true;
	return 0;
}

uint64_t fm_reader_uleb(struct fm_reader *reader)
{
	return leb(reader, false);
}

int64_t fm_reader_sleb(struct fm_reader *reader)
{
	return (int64_t)leb(reader, true);
}

void fm_rows_expression(const struct fm_module *module, uint32_t expression, struct fm_reader *ret_reader)
{
	uint64_t length;

	reader_set(ret_reader, module, module->start + expression, module->end);
	length = fm_reader_uleb(ret_reader);
	if (ret_reader->bad || length > ret_reader->end - ret_reader->at)
		ret_reader->bad = true;
	else
		ret_reader->end = ret_reader->at + length;
}

void fm_rows_forget(void)
{
	__atomic_add_fetch(&fm_rows_generation, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < KNOWN_PAGES; i++)
		__atomic_store_n(&known_pages[i], 0, __ATOMIC_RELAXED);
	fm_modules_changed();
	/* what was remembered while the list was old is void too */
	__atomic_add_fetch(&fm_rows_generation, 1, __ATOMIC_SEQ_CST);
}

/* Tables. */

enum { ENCODING_OMITTED = 0xff, ENCODING_FORMAT = 0x0f, ENCODING_BASE = 0x70 };

/* A pointer, without following it where it is indirect: those are of no use here. */
static uint64_t encoded(struct fm_reader *reader, unsigned encoding)
{
	uint64_t base = 0, value;

	if (encoding == ENCODING_OMITTED)
		return 0;
	switch (encoding & ENCODING_BASE) {
	case 0x00:
		break;
	case 0x10:
		base = reader->at;
		break;
	case 0x30:
		base = reader->module->header;
		break;
	case 0x50:
		reader_skip(reader, -reader->at & 7);
		break;
	default:
		reader->bad = true;
		return 0;
	}
	switch (encoding & ENCODING_FORMAT) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = fm_reader_unsigned(reader, 8);
		break;
	case 0x01:
		value = fm_reader_uleb(reader);
		break;
	case 0x02:
		value = fm_reader_unsigned(reader, 2);
		break;
	case 0x03:
		value = fm_reader_unsigned(reader, 4);
		break;
	case 0x09:
		value = (uint64_t)fm_reader_sleb(reader);
		break;
	case 0x0a:
		value = (uint64_t)fm_reader_signed(reader, 2);
		break;
	case 0x0b:
		value = (uint64_t)fm_reader_signed(reader, 4);
		break;
	default:
		reader->bad = true;
		return 0;
	}
	return base + value;
}

/* Where the description (FDE) of the function at or before pc lies; 0: none. */
static uint64_t description_of(const struct fm_module *module, uint64_t pc)
{
	struct fm_reader reader;
	unsigned frames_encoding, count_encoding, table_encoding, size;
	uint64_t table, low = 0, high, description;

	reader_set(&reader, module, module->header, module->end);
	if (fm_reader_unsigned(&reader, 1) != 1)
		return 0;
	frames_encoding = (unsigned)fm_reader_unsigned(&reader, 1);
	count_encoding = (unsigned)fm_reader_unsigned(&reader, 1);
	table_encoding = (unsigned)fm_reader_unsigned(&reader, 1);
	encoded(&reader, frames_encoding);
	high = encoded(&reader, count_encoding);
	/* every linker writes signed distances from the header, sorted */
	if (reader.bad || (table_encoding != 0x3b && table_encoding != 0x3c))
		return 0;
	size = table_encoding == 0x3b ? 4 : 8;
	table = reader.at;
	if (!high || high > (reader.end - table) / (2 * size))
		return 0;
	/* the last that begins at or before pc is in [low, high) */
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		reader.at = table + middle * 2 * size;
		if (module->header + (uint64_t)fm_reader_signed(&reader, size) <= pc)
			low = middle;
		else
			high = middle;
	}
	reader.at = table + low * 2 * size + size;
	description = module->header + (uint64_t)fm_reader_signed(&reader, size);
	return reader.bad ? 0 : description;
}

/* Opens an entry of .eh_frame behind its length. */
static void entry_open(struct fm_reader *reader, const struct fm_module *module, uint64_t at)
{
	uint64_t length;

	reader_set(reader, module, at, module->end);
	length = fm_reader_unsigned(reader, 4);
	if (length == 0xffffffff)
		length = fm_reader_unsigned(reader, 8);
	if (!length || reader->bad || length > reader->end - reader->at)
		reader->bad = true;
	else
		reader->end = reader->at + length;
}

struct common {
	uint64_t code_unit;
	int64_t data_unit;
	unsigned encoding;
	bool sized, signal;
	struct fm_reader program;
};

static void common_read(struct common *common, const struct fm_module *module, uint64_t at)
{
	struct fm_reader *reader = &common->program, letters;
	unsigned version, letter;
	uint64_t data_end = 0;

	common->encoding = 0;
	common->sized = common->signal = false;
	entry_open(reader, module, at);
	if (fm_reader_unsigned(reader, 4) != 0)
		reader->bad = true;
	version = (unsigned)fm_reader_unsigned(reader, 1);
	if (version != 1 && version != 3 && version != 4)
		reader->bad = true;
	reader_set(&letters, module, reader->at, reader->end);
	while (!reader->bad && fm_reader_unsigned(reader, 1))
		;
	if (version == 4)
		reader_skip(reader, 2);
	common->code_unit = fm_reader_uleb(reader);
	common->data_unit = fm_reader_sleb(reader);
	if ((version == 1 ? fm_reader_unsigned(reader, 1) : fm_reader_uleb(reader)) != FM_RETURN)
		reader->bad = true;
	while (!reader->bad && !letters.bad && (letter = (unsigned)fm_reader_unsigned(&letters, 1))) {
		uint64_t length;

		switch (letter) {
		case 'z':
			common->sized = true;
			length = fm_reader_uleb(reader);
			if (reader->bad || length > reader->end - reader->at)
				reader->bad = true;
			data_end = reader->at + length;
			break;
		case 'R':
			common->encoding = (unsigned)fm_reader_unsigned(reader, 1);
			break;
		case 'L':
			fm_reader_unsigned(reader, 1);
			break;
		case 'P':
			encoded(reader, (unsigned)fm_reader_unsigned(reader, 1));
			break;
		case 'S':
			common->signal = true;
			break;
		case 'B':
			break;
		default:
			/* what is unknown has no meaning for the rows if its size is told */
			if (!common->sized)
				reader->bad = true;
			letters.bad = true;
		}
	}
	if (common->sized && !reader->bad)
		reader->at = data_end;
}

/* Distances that matter fit into 32 bits; a table with others is not believed. */
static int32_t fitting(struct fm_reader *reader, int64_t value)
{
	if (value != (int32_t)value)
		reader->bad = true;
	return (int32_t)value;
}

static int32_t scaled(struct fm_reader *reader, int64_t value, int64_t unit)
{
	int64_t product;

	if (__builtin_mul_overflow(value, unit, &product)) {
		reader->bad = true;
		return 0;
	}
	return fitting(reader, product);
}

static int32_t expression_at(struct fm_reader *reader)
{
	uint64_t distance = reader->at - reader->module->start;

	reader_skip(reader, fm_reader_uleb(reader));
	return fitting(reader, (int64_t)distance);
}

static void set_column(struct fm_row *row, uint64_t column, enum fm_column_kind kind, int32_t value)
{
	if (column >= FM_COLUMNS)
		return;
	row->kind[column] = (uint8_t)kind;
	row->value[column] = value;
}

static void set_frame(struct fm_row *row, struct fm_reader *reader, uint64_t number)
{
	if (number >= FM_RETURN)
		reader->bad = true;
	row->frame_register = (uint8_t)number;
	row->frame_expression = 0;
}

/* Loops instead of assignments: those may become calls of memcpy, which uses vector registers. */
static void copy_column(struct fm_row *to, const struct fm_row *from, uint64_t column)
{
	if (column < FM_COLUMNS)
		set_column(to, column, (enum fm_column_kind)from->kind[column], from->value[column]);
}

static void copy_row(struct fm_row *to, const struct fm_row *from)
{
	to->frame_expression = from->frame_expression;
	to->frame_offset = from->frame_offset;
	to->frame_register = from->frame_register;
	for (unsigned i = 0; i < FM_COLUMNS; i++)
		copy_column(to, from, i);
}

/* Compilers nest one deep. */
enum { MOST_REMEMBERED = 4 };

/* Runs instructions of a table until the row of pc is complete. `first`: the row before those of the function, NULL
   while that one is made. */
static void run(struct fm_reader *reader, const struct common *common, uint64_t location, uint64_t pc,
                struct fm_row *row, const struct fm_row *first)
{
	struct fm_row remembered[MOST_REMEMBERED];
	unsigned depth = 0;
	int64_t unit = common->data_unit;

	while (reader_more(reader)) {
		unsigned code = (unsigned)read_number(reader, 1), low = code & 0x3f;
		uint64_t column, advance = 0;

		switch (code & 0xc0) {
		case 0x40: /* advance_loc */
			advance = low;
			code = 0;
			break;
		case 0x80: /* offset */
			set_column(row, low, FM_AT_OFFSET, scaled(reader, (int64_t)fm_reader_uleb(reader), unit));
			continue;
		case 0xc0: /* restore */
			if (!first)
				reader->bad = true;
			else
				copy_column(row, first, low);
			continue;
		default:
			break;
		}
		switch (code) {
		case 0x00: /* nop */
			break;
		case 0x01: /* set_loc */
			location = encoded(reader, common->encoding);
			break;
		case 0x02: /* advance_loc1, 2, 4 */
			advance = fm_reader_unsigned(reader, 1);
			break;
		case 0x03:
			advance = fm_reader_unsigned(reader, 2);
			break;
		case 0x04:
			advance = fm_reader_unsigned(reader, 4);
			break;
		case 0x05: /* offset_extended */
			column = fm_reader_uleb(reader);
			set_column(row, column, FM_AT_OFFSET, scaled(reader, (int64_t)fm_reader_uleb(reader), unit));
			break;
		case 0x06: /* restore_extended */
			column = fm_reader_uleb(reader);
			if (!first)
				reader->bad = true;
			else
				copy_column(row, first, column);
			break;
		case 0x07: /* undefined */
			set_column(row, fm_reader_uleb(reader), FM_UNDEFINED, 0);
			break;
		case 0x08: /* same_value */
			set_column(row, fm_reader_uleb(reader), FM_SAME, 0);
			break;
		case 0x09: /* register */
			column = fm_reader_uleb(reader);
			set_column(row, column, FM_REGISTER, fitting(reader, (int64_t)fm_reader_uleb(reader)));
			break;
		case 0x0a: /* remember_state */
			if (depth == MOST_REMEMBERED)
				reader->bad = true;
			else
				copy_row(&remembered[depth++], row);
			break;
		case 0x0b: /* restore_state */
			if (!depth)
				reader->bad = true;
			else
				copy_row(row, &remembered[--depth]);
			break;
		case 0x0c: /* def_cfa */
			set_frame(row, reader, fm_reader_uleb(reader));
			row->frame_offset = fitting(reader, (int64_t)fm_reader_uleb(reader));
			break;
		case 0x0d: /* def_cfa_register */
			set_frame(row, reader, fm_reader_uleb(reader));
			break;
		case 0x0e: /* def_cfa_offset */
			row->frame_offset = fitting(reader, (int64_t)fm_reader_uleb(reader));
			break;
		case 0x0f: /* def_cfa_expression */
			row->frame_expression = (uint32_t)expression_at(reader);
			break;
		case 0x10: /* expression */
			column = fm_reader_uleb(reader);
			set_column(row, column, FM_AT_EXPRESSION, expression_at(reader));
			break;
		case 0x11: /* offset_extended_sf */
			column = fm_reader_uleb(reader);
			set_column(row, column, FM_AT_OFFSET, scaled(reader, fm_reader_sleb(reader), unit));
			break;
		case 0x12: /* def_cfa_sf */
			set_frame(row, reader, fm_reader_uleb(reader));
			row->frame_offset = scaled(reader, fm_reader_sleb(reader), unit);
			break;
		case 0x13: /* def_cfa_offset_sf */
			row->frame_offset = scaled(reader, fm_reader_sleb(reader), unit);
			break;
		case 0x14: /* val_offset */
			column = fm_reader_uleb(reader);
			set_column(row, column, FM_IS_OFFSET, scaled(reader, (int64_t)fm_reader_uleb(reader), unit));
			break;
		case 0x15: /* val_offset_sf */
			column = fm_reader_uleb(reader);
			set_column(row, column, FM_IS_OFFSET, scaled(reader, fm_reader_sleb(reader), unit));
			break;
		case 0x16: /* val_expression */
			column = fm_reader_uleb(reader);
			set_column(row, column, FM_IS_EXPRESSION, expression_at(reader));
			break;
		case 0x1d: /* MIPS_advance_loc8 */
			advance = fm_reader_unsigned(reader, 8);
			break;
		case 0x2e: /* GNU_args_size */
			fm_reader_uleb(reader);
			break;
		case 0x2f: /* GNU_negative_offset_extended */
			column = fm_reader_uleb(reader);
			set_column(row, column, FM_AT_OFFSET, scaled(reader, -(int64_t)fm_reader_uleb(reader), unit));
			break;
		default:
			reader->bad = true;
		}
		location += advance * common->code_unit;
		if (location > pc)
			return;
	}
}

bool fm_rows_find(const struct fm_module *module, uint64_t pc, struct fm_row *ret_row, bool *ret_signal)
{
	struct fm_reader reader;
	struct common common;
	struct fm_row first;
	uint64_t at = description_of(module, pc), here, start, size;

	if (!at)
		return false;
	entry_open(&reader, module, at);
	here = reader.at;
	common_read(&common, module, here - fm_reader_unsigned(&reader, 4));
	if (reader.bad || common.program.bad)
		return false;
	start = encoded(&reader, common.encoding);
	size = encoded(&reader, common.encoding & ENCODING_FORMAT);
	if (common.sized)
		reader_skip(&reader, fm_reader_uleb(&reader));
	if (reader.bad || pc - start >= size)
		return false;
	first.frame_expression = 0;
	first.frame_offset = 0;
	first.frame_register = 0;
	for (unsigned i = 0; i < FM_COLUMNS; i++)
		set_column(&first, i, FM_SAME, 0);
	run(&common.program, &common, 0, pc, &first, NULL);
	copy_row(ret_row, &first);
	run(&reader, &common, start, pc, ret_row, &first);
	*ret_signal = common.signal;
	return !reader.bad && !common.program.bad;
}
