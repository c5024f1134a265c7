#include "symbols/symbols.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fm_symbols {
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
	char *debug_path;
};

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
	dwfl_end(symbols->dwfl);
	free(symbols);
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
	const char *name = NULL, *path = NULL;
	Dwfl_Line *line;
	GElf_Sym symbol;
	GElf_Off offset;

	memset(ret_names, 0, sizeof(*ret_names));
	snprintf(ret_names->function, sizeof(ret_names->function), "?");
	if (!module)
		return;
	path = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	if (path)
		snprintf(ret_names->module, sizeof(ret_names->module), "%s", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	if (name)
		snprintf(ret_names->function, sizeof(ret_names->function), "%s", name);
	line = dwfl_module_getsrc(module, address);
	if (line) {
		path = dwfl_lineinfo(line, NULL, &ret_names->line, NULL, NULL, NULL);
		if (path)
			snprintf(ret_names->file, sizeof(ret_names->file), "%s", path);
	}
}
