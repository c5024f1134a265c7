/* Compile units by address, and in each one the inlined calls by address. The library would search the tree of a unit
   from its root for every address, and knows units by .debug_aranges only, which clang and rustc do not write. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/printable.h"
#include "base/text.h"
#include "symbols/internal.h"
#include "symbols/symbols.h"

enum {
	NO_CALL = UINT32_MAX,
	DEPTH_MAX = 256,
	RANGES_MAX = 1 << 16, /* of one call or unit: more is not a program */
};

/* A function that was compiled, or one inlined into its parent. */
struct call {
	Dwarf_Off offset;
	uint32_t parent; /* NO_CALL: not inlined */
	char *name;      /* asked for at first use */
};

/* From here to the next segment the innermost call is this one. */
struct segment {
	uint64_t begin;
	uint32_t call;
};

struct range {
	uint64_t begin, end;
	uint32_t index, depth;
};

struct ranges {
	struct range *ranges;
	size_t count, room;
	bool failed;
};

struct fm_unit {
	Dwarf_Die die;  /* with the lines */
	Dwarf_Die tree; /* with the functions: another one where debugging information is split */
	bool is_read;
	struct call *calls;
	size_t call_count, call_room;
	struct segment *segments;
	size_t segment_count;
};

struct fm_units {
	struct fm_unit *units;
	size_t unit_count;
	struct ranges ranges;
	Dwarf_Addr bias;
};

bool fm_next_sibling(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

/* Returns how many ranges with code there are. */
static unsigned add_ranges(struct ranges *ranges, Dwarf_Die *die, uint32_t index, uint32_t depth)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t offset = 0;
	unsigned added = 0;

	for (unsigned i = 0; i < RANGES_MAX && (offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0; i++) {
		/* the linker puts discarded code at 0 */
		if (!begin || begin >= end)
			continue;
		if (!fm_array_grow(ranges->ranges, ranges->count, ranges->room)) {
			ranges->failed = true;
			return 0;
		}
		ranges->ranges[ranges->count++] = (struct range){begin, end, index, depth};
		added++;
	}
	return added;
}

/* Outer ones before what lies in them. */
static int by_begin(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

struct fm_units *fm_units_create(Dwfl_Module *module)
{
	struct fm_units *units = calloc(1, sizeof(*units));
	Dwarf_Die *die = NULL;
	size_t room = 0;

	if (!units)
		return NULL;
	while ((die = dwfl_module_nextcu(module, die, &units->bias))) {
		struct fm_unit *unit;
		Dwarf_Die main, split;
		uint8_t type;

		if (units->unit_count == NO_CALL || !fm_array_grow(units->units, units->unit_count, room))
			break;
		if (!add_ranges(&units->ranges, die, (uint32_t)units->unit_count, 0))
			continue;
		unit = &units->units[units->unit_count++];
		*unit = (struct fm_unit){.die = *die, .tree = *die};
		if (!dwarf_cu_info(die->cu, NULL, &type, &main, &split, NULL, NULL, NULL) && type == DW_UT_skeleton &&
		    split.cu)
			unit->tree = split;
	}
	if (units->ranges.count)
		qsort(units->ranges.ranges, units->ranges.count, sizeof(*units->ranges.ranges), by_begin);
	return units;
}

void fm_units_destroy(struct fm_units *units)
{
	if (!units)
		return;
	for (size_t i = 0; i < units->unit_count; i++) {
		for (size_t k = 0; k < units->units[i].call_count; k++)
			free(units->units[i].calls[k].name);
		free(units->units[i].calls);
		free(units->units[i].segments);
	}
	free(units->units);
	free(units->ranges.ranges);
	free(units);
}

struct fm_unit *fm_units_find(struct fm_units *units, uint64_t address)
{
	const struct range *ranges = units->ranges.ranges;
	size_t low = 0, high = units->ranges.count;

	address -= units->bias;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ranges[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < ranges[low - 1].end ? &units->units[ranges[low - 1].index] : NULL;
}

bool fm_unit_is_fortran(const struct fm_unit *unit)
{
	static const int languages[] = {DW_LANG_Fortran77, DW_LANG_Fortran90, DW_LANG_Fortran95, DW_LANG_Fortran03,
	                                DW_LANG_Fortran08};
	Dwarf_Die die = unit->tree;
	int language = dwarf_srclang(&die);

	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		if (language == languages[i])
			return true;
	return false;
}

/* The calls at and below the children of a place in the tree. */
static void read_calls(struct fm_unit *unit, struct ranges *ranges, Dwarf_Die *parent, uint32_t call, uint32_t depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		uint32_t inner = call;

		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			inner = (uint32_t)unit->call_count;
			if (!fm_array_grow(unit->calls, unit->call_count, unit->call_room) || inner == NO_CALL)
				return;
			/* a declaration, or an inlined function: lambdas in it may still be functions */
			if (!add_ranges(ranges, &die, inner, depth)) {
				read_calls(unit, ranges, &die, NO_CALL, depth + 1);
				continue;
			}
			unit->calls[unit->call_count++] = (struct call){
			    .offset = dwarf_dieoffset(&die),
			    .parent = dwarf_tag(&die) == DW_TAG_subprogram ? NO_CALL : call,
			};
			read_calls(unit, ranges, &die, inner, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_namespace:
		case DW_TAG_module:
			read_calls(unit, ranges, &die, call, depth + 1);
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			/* lambdas are classes in functions; elsewhere a class only declares its functions */
			if (dwarf_tag(parent) == DW_TAG_subprogram || dwarf_tag(parent) == DW_TAG_lexical_block)
				read_calls(unit, ranges, &die, call, depth + 1);
			break;
		default:
			break;
		}
	} while (fm_next_sibling(&die));
}

static void add_segment(struct fm_unit *unit, uint64_t begin, uint32_t call)
{
	if (unit->segment_count && unit->segments[unit->segment_count - 1].begin == begin)
		unit->segment_count--;
	unit->segments[unit->segment_count++] = (struct segment){begin, call};
}

/* Ranges are nested; overlaps in a damaged file are cut. */
static void flatten(struct fm_unit *unit, struct ranges *ranges)
{
	struct range open[DEPTH_MAX + 1];
	unsigned opened = 0;

	for (size_t i = 0; i <= ranges->count; i++) {
		bool is_last = i == ranges->count;
		struct range range = is_last ? (struct range){UINT64_MAX, UINT64_MAX, NO_CALL, 0} : ranges->ranges[i];

		/* cppcheck-suppress uninitvar ; there is one when something was opened */
		while (opened && open[opened - 1].end <= range.begin) {
			opened--;
			add_segment(unit, open[opened].end, opened ? open[opened - 1].index : NO_CALL);
		}
		if (is_last || opened == DEPTH_MAX)
			continue;
		if (opened && range.end > open[opened - 1].end)
			range.end = open[opened - 1].end;
		open[opened++] = range;
		add_segment(unit, range.begin, range.index);
	}
}

static void read_unit(struct fm_unit *unit)
{
	struct ranges ranges = {0};

	if (unit->is_read)
		return;
	unit->is_read = true;
	read_calls(unit, &ranges, &unit->tree, NO_CALL, 0);
	unit->segments = calloc(2 * ranges.count + 1, sizeof(*unit->segments));
	if (unit->segments && ranges.count) {
		qsort(ranges.ranges, ranges.count, sizeof(*ranges.ranges), by_begin);
		flatten(unit, &ranges);
	}
	free(ranges.ranges);
}

static struct call *call_at(struct fm_unit *unit, uint64_t address)
{
	size_t low = 0, high;

	read_unit(unit);
	high = unit->segment_count;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (unit->segments[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && unit->segments[low - 1].call != NO_CALL ? &unit->calls[unit->segments[low - 1].call] : NULL;
}

static bool die_of(struct fm_unit *unit, const struct call *call, Dwarf_Die *ret_die)
{
	return dwarf_offdie(dwarf_cu_getdwarf(unit->tree.cu), call->offset, ret_die);
}

/* The linker's name has the namespace, unlike the other. */
static const char *linker_name(Dwarf_Die *die)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	const char *name = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !name; i++) {
		Dwarf_Attribute attribute;

		name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));
	}
	return name;
}

static const char *name_of(struct fm_unit *unit, struct call *call)
{
	Dwarf_Die die;

	if (!call->name && die_of(unit, call, &die)) {
		const char *linker = linker_name(&die), *name = dwarf_diename(&die);
		char demangled[FM_DEMANGLED_MAX];

		/* one that cannot be demangled is worth less than the plain one */
		if (linker && fm_demangle(linker, false, demangled, sizeof(demangled)))
			name = linker;
		call->name = fm_demangle_copy(name ? name : "?", false);
	}
	return call->name ? call->name : "?";
}

static struct call *function_at(struct fm_unit *unit, uint64_t address)
{
	struct call *call = call_at(unit, address);

	for (unsigned i = 0; i < DEPTH_MAX && call && call->parent != NO_CALL; i++)
		call = &unit->calls[call->parent];
	return call;
}

const char *fm_unit_function(struct fm_units *units, struct fm_unit *unit, uint64_t address)
{
	struct call *call = function_at(unit, address - units->bias);

	return call ? name_of(unit, call) : NULL;
}

const char *fm_unit_written_function(struct fm_units *units, struct fm_unit *unit, uint64_t address)
{
	struct call *call = function_at(unit, address - units->bias);
	Dwarf_Die die;

	return call && die_of(unit, call, &die) ? dwarf_diename(&die) : NULL;
}

static void put_file(char *buffer, const char *path)
{
	char printable[4096];

	fm_printable_copy(printable, sizeof(printable), path);
	fm_text_elide(buffer, FM_SYMBOLS_FILE, printable, SIZE_MAX);
}

/* Where the call stands in its caller. */
static void put_call_site(struct fm_unit *unit, const struct call *call, struct fm_frame_names *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	Dwarf_Die die;
	size_t count;
	const char *path = NULL;

	if (!die_of(unit, call, &die))
		return;
	if (!dwarf_formudata(dwarf_attr(&die, DW_AT_call_line, &attribute), &number) && number <= INT32_MAX)
		frame->line = (int)number;
	if (!dwarf_formudata(dwarf_attr(&die, DW_AT_call_file, &attribute), &number) &&
	    !dwarf_getsrcfiles(&unit->tree, &files, &count) && number < count)
		path = dwarf_filesrc(files, number, NULL, NULL);
	if (path)
		put_file(frame->file, path);
}

void fm_unit_describe(struct fm_units *units, struct fm_unit *unit, uint64_t address, struct fm_location_names *names)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address - units->bias);
	struct call *call = call_at(unit, address - units->bias), *inner = NULL;
	const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;

	if (path) {
		put_file(names->file, path);
		dwarf_lineno(line, &names->line);
	}
	if (!call || call->parent == NO_CALL)
		return;
	for (unsigned i = 0; i < DEPTH_MAX && call; i++) {
		bool is_outermost = call->parent == NO_CALL;
		struct fm_frame_names *frame;

		if (is_outermost && names->frame_count == FM_SYMBOLS_FRAMES_MAX)
			names->frame_count--;
		if (names->frame_count < FM_SYMBOLS_FRAMES_MAX) {
			frame = &names->frames[names->frame_count++];
			memset(frame, 0, sizeof(*frame));
			if (inner) {
				put_call_site(unit, inner, frame);
			} else {
				memcpy(frame->file, names->file, sizeof(frame->file));
				frame->line = names->line;
			}
			fm_text_elide(frame->function, sizeof(frame->function), name_of(unit, call), SIZE_MAX);
		}
		inner = call;
		call = is_outermost ? NULL : &unit->calls[call->parent];
	}
	memcpy(names->inlined, names->frames[0].function, sizeof(names->inlined));
}
