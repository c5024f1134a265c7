#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

		/* static members lie elsewhere */
		if ((dwarf_tag(&child) != DW_TAG_member && dwarf_tag(&child) != DW_TAG_inheritance) ||
		    dwarf_hasattr(&child, DW_AT_external) || dwarf_hasattr(&child, DW_AT_declaration))
			continue;
		dwarf_formudata(dwarf_attr(&child, DW_AT_data_member_location, &attribute), &begin);
		if (!plain_type(&child, &inner) || offset < begin || offset >= begin + size_of(&inner))
			continue;
		if (name)
			snprintf(text + used, size - used, ".%s", name);
		descend(&inner, offset - begin, text, size, depth + 1);
		return;
	} while (fm_next_sibling(&child));
}

/* Variables by the names that the linker knows. */
struct variable {
	const char *name;
	Dwarf_Die die;
	size_t order;
};

struct fm_variables {
	struct variable *variables;
	size_t count, room;
};

void fm_variables_destroy(struct fm_variables *variables)
{
	if (variables)
		free(variables->variables);
	free(variables);
}

static void add_variable(struct fm_variables *variables, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	if (!name)
		name = dwarf_diename(die);
	if (!name || dwarf_hasattr(die, DW_AT_declaration))
		return;
	if (!fm_array_grow(variables->variables, variables->count, variables->room))
		return;
	variables->variables[variables->count] = (struct variable){name, *die, variables->count};
	variables->count++;
}

/* Those of a unit, its namespaces and its Fortran modules. */
static void add_variables(struct fm_variables *variables, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_variable)
			add_variable(variables, &die);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_module)
			add_variables(variables, &die, depth + 1);
	} while (fm_next_sibling(&die));
}

/* Of several variables of one name the first one counts. */
static int by_name(const void *left, const void *right)
{
	const struct variable *a = left, *b = right;
	int difference = strcmp(a->name, b->name);

	return difference ? difference : (a->order > b->order) - (a->order < b->order);
}

static const struct fm_variables *variables_of(struct fm_symbols *symbols)
{
	struct fm_variables **kept = fm_symbols_variables(symbols), *variables = *kept;
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	if (variables)
		return variables;
	*kept = variables = calloc(1, sizeof(*variables));
	if (!variables)
		return NULL;
	while ((unit = dwfl_nextcu(fm_symbols_dwfl(symbols), unit, &bias)))
		add_variables(variables, unit, 0);
	if (variables->count)
		qsort(variables->variables, variables->count, sizeof(*variables->variables), by_name);
	return variables;
}

static const struct variable *find_variable(const struct fm_variables *variables, const char *name)
{
	size_t low = 0, high = variables->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(variables->variables[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < variables->count && !strcmp(variables->variables[low].name, name) ? &variables->variables[low]
	                                                                               : NULL;
}

bool fm_symbols_field(struct fm_symbols *symbols, const char *variable, uint64_t offset, char *text, size_t size)
{
	const struct fm_variables *variables = variables_of(symbols);
	const struct variable *found = variables ? find_variable(variables, variable) : NULL;
	Dwarf_Die die, type;

	if (fm_symbols_demangle(variable, text, size) == variable)
		snprintf(text, size, "%s", variable);
	if (!found)
		return false;
	die = found->die;
	if (!plain_type(&die, &type))
		return false;
	descend(&type, offset, text, size, 0);
	return true;
}

/* Appends the type as written in C: the target or element type comes first. */
static void write_type(Dwarf_Die *type, char *text, size_t size, unsigned depth)
{
	int tag = type ? dwarf_tag(type) : 0;
	const char *name = type ? dwarf_diename(type) : NULL;
	const char *before = tag == DW_TAG_structure_type     ? "struct "
	                     : tag == DW_TAG_union_type       ? "union "
	                     : tag == DW_TAG_enumeration_type ? "enum "
	                                                      : "";
	Dwarf_Attribute attribute;
	Dwarf_Die inner, *next = NULL;
	uint64_t bytes, element;

	if (depth < DEPTH_MAX && type && dwarf_formref_die(dwarf_attr_integrate(type, DW_AT_type, &attribute), &inner))
		next = &inner;
	switch (tag) {
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		write_type(next, text, size, depth + 1);
		return;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		write_type(next, text, size, depth + 1);
		snprintf(text + strlen(text), size - strlen(text), "%s",
		         tag == DW_TAG_pointer_type     ? " *"
		         : tag == DW_TAG_reference_type ? " &"
		                                        : " &&");
		return;
	case DW_TAG_array_type:
		write_type(next, text, size, depth + 1);
		bytes = size_of(type);
		element = next ? size_of(next) : 0;
		if (element)
			snprintf(text + strlen(text), size - strlen(text), " [%lu]", (unsigned long)(bytes / element));
		return;
	case DW_TAG_subroutine_type:
		snprintf(text + strlen(text), size - strlen(text), "function");
		return;
	default:
		snprintf(text + strlen(text), size - strlen(text), "%s%s", name ? before : "",
		         name      ? name
		         : !tag    ? "void"
		         : *before ? "struct without a name"
		                   : "?");
	}
}

bool fm_symbols_type(struct fm_symbols *symbols, const char *variable, char *text, size_t size)
{
	const struct fm_variables *variables = variables_of(symbols);
	const struct variable *found = variables ? find_variable(variables, variable) : NULL;
	Dwarf_Attribute attribute;
	Dwarf_Die die, type;

	*text = '\0';
	if (!found)
		return false;
	die = found->die;
	if (!dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &attribute), &type))
		return false;
	write_type(&type, text, size, 0);
	return *text != '\0';
}
