#include "symbols/symbols.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/internal.h"

/* The functions of one file, by address: the library searches its symbol tables from end to end for every address. */
struct function {
	uint64_t begin, end;
	const char *name;
};

struct table {
	struct function *functions;
	size_t count;
	struct table *next; /* of all, to free them */
};

struct fm_symbols {
	struct table *tables;
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
	char *debug_path;
};

Dwfl *fm_symbols_dwfl(struct fm_symbols *symbols)
{
	return symbols->dwfl;
}

int fm_symbols_create(struct fm_symbols **ret_symbols, struct fm_error *error)
{
	struct fm_symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return fm_error_set(error, ENOMEM, "out of memory");
	symbols->callbacks.find_elf = dwfl_linux_proc_find_elf;
	symbols->callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
	symbols->callbacks.section_address = dwfl_offline_section_address;
	symbols->callbacks.debuginfo_path = &symbols->debug_path;
	symbols->dwfl = dwfl_begin(&symbols->callbacks);
	if (!symbols->dwfl) {
		free(symbols);
		return fm_error_set(error, ENOMEM, "the symbol library cannot be initialised");
	}
	dwfl_report_begin(symbols->dwfl);
	*ret_symbols = symbols;
	return 0;
}

void fm_symbols_destroy(struct fm_symbols *symbols)
{
	if (!symbols)
		return;
	while (symbols->tables) {
		struct table *next = symbols->tables->next;

		free(symbols->tables->functions);
		free(symbols->tables);
		symbols->tables = next;
	}
	dwfl_end(symbols->dwfl);
	free(symbols);
}

static int by_address(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	/* of several names for one place the one that says how long it is, then the shortest */
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (strlen(a->name) > strlen(b->name)) - (strlen(a->name) < strlen(b->name));
}

static struct table *build_table(struct fm_symbols *symbols, Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module);
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->functions = calloc(count > 0 ? (size_t)count : 1, sizeof(*table->functions));
	for (int i = 0; i < count && table->functions; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
		unsigned type = GELF_ST_TYPE(symbol.st_info);

		if (!name || !*name || (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC) ||
		    !symbol.st_shndx)
			continue;
		table->functions[table->count++] = (struct function){address, address + symbol.st_size, name};
	}
	if (table->functions)
		qsort(table->functions, table->count, sizeof(*table->functions), by_address);
	table->next = symbols->tables;
	symbols->tables = table;
	return table;
}

static const char *function_at(const struct table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (table->functions[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	low--;
	/* first of those that begin here */
	while (low && table->functions[low - 1].begin == table->functions[low].begin)
		low--;
	/* one without a length goes on to the next */
	if (address < table->functions[low].end || table->functions[low].end == table->functions[low].begin)
		return table->functions[low].name;
	return NULL;
}

/* Programs that are not position-independent lie where they say. */
static bool is_position_independent(const char *path)
{
	Elf64_Ehdr head = {0};
	int file = open(path, O_RDONLY | O_CLOEXEC);
	bool right = file >= 0 && read(file, &head, sizeof(head)) == sizeof(head);

	if (file >= 0)
		close(file);
	return right && head.e_type == ET_DYN;
}

void fm_symbols_add(struct fm_symbols *symbols, const char *path, uint64_t begin, uint64_t end, uint64_t offset)
{
	(void)end;
	if (path[0] != '/' || offset > begin)
		return;
	/* the same file mapped again overlaps what is known: refused by the library, and not needed */
	dwfl_report_elf(symbols->dwfl, path, path, -1, is_position_independent(path) ? begin - offset : 0, true);
}

void fm_symbols_ready(struct fm_symbols *symbols)
{
	dwfl_report_end(symbols->dwfl, NULL, NULL);
}

void fm_symbols_find(struct fm_symbols *symbols, uint64_t address, struct fm_location_names *ret_names)
{
	Dwfl_Module *module = dwfl_addrmodule(symbols->dwfl, address);
	const char *name, *path;
	void **data = NULL;
	Dwfl_Line *line;

	memset(ret_names, 0, sizeof(*ret_names));
	snprintf(ret_names->function, sizeof(ret_names->function), "?");
	if (!module)
		return;
	path = dwfl_module_info(module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	if (path)
		snprintf(ret_names->module, sizeof(ret_names->module), "%s",
		         strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	if (data && !*data)
		*data = build_table(symbols, module);
	name = data && *data ? function_at(*data, address) : NULL;
	if (name)
		snprintf(ret_names->function, sizeof(ret_names->function), "%s", name);
	line = dwfl_module_getsrc(module, address);
	if (line) {
		path = dwfl_lineinfo(line, NULL, &ret_names->line, NULL, NULL, NULL);
		if (path)
			snprintf(ret_names->file, sizeof(ret_names->file), "%s", path);
	}
}
