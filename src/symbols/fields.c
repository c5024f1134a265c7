#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <string.h>

#include "symbols/internal.h"
#include "symbols/symbols.h"

enum { DEPTH_MAX = 16 };

/* The type behind an attribute, without const, volatile and names. */
static Dwarf_Die *plain_type(Dwarf_Die *die, Dwarf_Die *memory)
{
	Dwarf_Attribute attribute;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), memory))
		return NULL;
	return dwarf_peel_type(memory, memory) == 0 ? memory : NULL;
}

static uint64_t size_of(Dwarf_Die *type)
{
	Dwarf_Word size;

	return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

/* Down through members and elements to what lies at the offset: ".words[3]". */
static void descend(Dwarf_Die *type, uint64_t offset, char *text, size_t size, unsigned depth)
{
	Dwarf_Die inner, child;
	size_t used = strlen(text);
	int tag = dwarf_tag(type);

	if (depth == DEPTH_MAX || used + 1 >= size)
		return;
	if (tag == DW_TAG_array_type) {
		uint64_t element = plain_type(type, &inner) ? size_of(&inner) : 0;

		if (!element)
			return;
		snprintf(text + used, size - used, "[%lu]", (unsigned long)(offset / element));
		descend(&inner, offset % element, text, size, depth + 1);
		return;
	}
	if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type)
		return;
	if (dwarf_child(type, &child) != 0)
		return;
	do {
		Dwarf_Attribute attribute;
		Dwarf_Word begin = 0;
		const char *name = dwarf_diename(&child);

		if (dwarf_tag(&child) != DW_TAG_member)
			continue;
		dwarf_formudata(dwarf_attr(&child, DW_AT_data_member_location, &attribute), &begin);
		if (!plain_type(&child, &inner) || offset < begin || offset >= begin + size_of(&inner))
			continue;
		if (name)
			snprintf(text + used, size - used, ".%s", name);
		descend(&inner, offset - begin, text, size, depth + 1);
		return;
	} while (dwarf_siblingof(&child, &child) == 0);
}

bool fm_symbols_field(struct fm_symbols *symbols, const char *variable, uint64_t offset, char *text, size_t size)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	snprintf(text, size, "%s", variable);
	while ((unit = dwfl_nextcu(fm_symbols_dwfl(symbols), unit, &bias))) {
		Dwarf_Die die, type;

		if (dwarf_child(unit, &die) != 0)
			continue;
		do {
			const char *name = dwarf_tag(&die) == DW_TAG_variable ? dwarf_diename(&die) : NULL;

			if (name && !strcmp(name, variable) && plain_type(&die, &type)) {
				descend(&type, offset, text, size, 0);
				return true;
			}
		} while (dwarf_siblingof(&die, &die) == 0);
	}
	return false;
}
