#include <elf.h>

#include "symbols/internal.h"
#include "symbols/symbols.h"

struct search {
	void (*each)(void *context, const struct fm_symbol_object *object);
	void *context;
};

static int look_through(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr begin, void *argument)
{
	const struct search *search = argument;
	int count = dwfl_module_getsymtab(module);

	(void)data;
	(void)name;
	(void)begin;
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *text = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
		unsigned type = GELF_ST_TYPE(symbol.st_info);
		struct fm_symbol_object object;

		if (!text || !*text || !symbol.st_shndx || !symbol.st_size || (type != STT_OBJECT && type != STT_TLS))
			continue;
		object = (struct fm_symbol_object){.name = text,
		                                   .address = type == STT_TLS ? symbol.st_value : address,
		                                   .size = symbol.st_size,
		                                   .per_thread = type == STT_TLS};
		search->each(search->context, &object);
	}
	return DWARF_CB_OK;
}

void fm_symbols_objects(struct fm_symbols *symbols, void (*each)(void *context, const struct fm_symbol_object *object),
                        void *context)
{
	struct search search = {each, context};

	dwfl_getmodules(fm_symbols_dwfl(symbols), look_through, &search, 0);
}
