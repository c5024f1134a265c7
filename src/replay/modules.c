#include "replay/modules.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

enum { LOADS_MAX = 16, MODULES_MAX = 1 << 20 };

/* The address of position-independent files for naming; any will do. */
static const uint64_t naming_base = (uint64_t)1 << 44;

struct load {
	uint64_t offset, address, file_bytes, memory_bytes;
	bool writable;
};

struct variables {
	struct fm_module_variable *items;
	size_t count, room;
};

struct module {
	char *path;
	bool looked_at, named;
	bool position_independent;
	struct load loads[LOADS_MAX];
	unsigned load_count;
	uint64_t local_bytes;
	struct fm_symbols *symbols;
	struct variables variables, locals;
};

struct fm_modules {
	struct module *modules;
	uint32_t count, room, last; /* last: the one that was asked for last, likely to be asked for again */
};

struct fm_modules *fm_modules_create(void)
{
	return calloc(1, sizeof(struct fm_modules));
}

void fm_modules_free(struct fm_modules *modules)
{
	if (!modules)
		return;
	for (uint32_t i = 0; i < modules->count; i++) {
		fm_symbols_destroy(modules->modules[i].symbols);
		free(modules->modules[i].variables.items);
		free(modules->modules[i].locals.items);
		free(modules->modules[i].path);
	}
	free(modules->modules);
	free(modules);
}

int64_t fm_modules_find(struct fm_modules *modules, const char *path)
{
	char *copy;

	for (uint32_t i = 0; i < modules->count; i++) {
		uint32_t at = (modules->last + i) % modules->count;

		if (!strcmp(modules->modules[at].path, path))
			return modules->last = at;
	}
	if (!fm_array_grow(modules->modules, modules->count, modules->room))
		return -ENOMEM;
	copy = modules->count < MODULES_MAX ? strdup(path) : NULL;
	if (!copy)
		return -ENOMEM;
	modules->modules[modules->count] = (struct module){.path = copy};
	return modules->last = modules->count++;
}

const char *fm_module_path(const struct fm_modules *modules, uint32_t module)
{
	return modules->modules[module].path;
}

const char *fm_module_name(const struct fm_modules *modules, uint32_t module)
{
	const char *path = modules->modules[module].path, *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Its segments */

static void read_segment(struct module *module, const Elf64_Phdr *segment)
{
	if (segment->p_type == PT_TLS) {
		uint64_t align = segment->p_align ? segment->p_align : 1;

		if (segment->p_memsz < (uint64_t)1 << 40 && align < (uint64_t)1 << 30)
			module->local_bytes = (segment->p_memsz + align - 1) / align * align;
	}
	if (segment->p_type != PT_LOAD || module->load_count == LOADS_MAX || !segment->p_memsz ||
	    segment->p_vaddr > UINT64_MAX / 4 || segment->p_memsz > UINT64_MAX / 4 ||
	    segment->p_offset > UINT64_MAX / 4 || segment->p_filesz > segment->p_memsz)
		return;
	module->loads[module->load_count++] = (struct load){.offset = segment->p_offset,
	                                                    .address = segment->p_vaddr,
	                                                    .file_bytes = segment->p_filesz,
	                                                    .memory_bytes = segment->p_memsz,
	                                                    .writable = (segment->p_flags & PF_W) != 0};
}

static struct module *look_at(struct fm_modules *modules, uint32_t number)
{
	struct module *module = &modules->modules[number];
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	struct stat there;
	int file;

	if (module->looked_at)
		return module;
	module->looked_at = true;
	if (module->path[0] != '/')
		return module;
	/* a mapped file may be a device or a named pipe */
	file = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0)
		return module;
	if (!fstat(file, &there) && S_ISREG(there.st_mode) && pread(file, &head, sizeof(head), 0) == sizeof(head) &&
	    !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	    head.e_phentsize == sizeof(segment) && head.e_phoff < UINT64_MAX / 4) {
		module->position_independent = head.e_type == ET_DYN;
		for (unsigned i = 0; i < head.e_phnum; i++)
			if (pread(file, &segment, sizeof(segment), (off_t)(head.e_phoff + i * sizeof(segment))) ==
			    sizeof(segment))
				read_segment(module, &segment);
	}
	close(file);
	return module;
}

bool fm_module_is_program(struct fm_modules *modules, uint32_t module)
{
	return look_at(modules, module)->load_count > 0;
}

bool fm_module_address(struct fm_modules *modules, uint32_t number, uint64_t offset, uint64_t *ret_address)
{
	const struct module *module = look_at(modules, number);

	/* whole pages are mapped, with the bytes before and behind a segment in its file */
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < module->load_count; i++) {
			const struct load *load = &module->loads[i];
			uint64_t around = pass ? load->offset % 4096 : 0;

			if (load->file_bytes && offset + around >= load->offset &&
			    offset + around - load->offset < load->file_bytes + around) {
				*ret_address = load->address + offset - load->offset;
				return true;
			}
		}
	return false;
}

void fm_module_extent(struct fm_modules *modules, uint32_t number, uint64_t *ret_begin, uint64_t *ret_end)
{
	const struct module *module = look_at(modules, number);

	*ret_begin = *ret_end = 0;
	for (unsigned i = 0; i < module->load_count; i++) {
		const struct load *load = &module->loads[i];

		if (!i || load->address < *ret_begin)
			*ret_begin = load->address;
		if (load->address + load->memory_bytes > *ret_end)
			*ret_end = load->address + load->memory_bytes;
	}
}

bool fm_module_is_writable(struct fm_modules *modules, uint32_t number, uint64_t address)
{
	const struct module *module = look_at(modules, number);

	for (unsigned i = 0; i < module->load_count; i++)
		if (address - module->loads[i].address < module->loads[i].memory_bytes)
			return module->loads[i].writable;
	return false;
}

uint64_t fm_module_local_bytes(struct fm_modules *modules, uint32_t module)
{
	return look_at(modules, module)->local_bytes;
}

/* Names */

static void add_variable(void *context, const struct fm_symbol_object *object)
{
	struct module *module = context;
	struct variables *variables = object->per_thread ? &module->locals : &module->variables;
	uint64_t base = !object->per_thread && module->position_independent ? naming_base : 0;

	if (object->address < base)
		return;
	if (!fm_array_grow(variables->items, variables->count, variables->room))
		return;
	variables->items[variables->count++] =
	    (struct fm_module_variable){object->name, object->address - base, object->size};
}

/* Of several names for one place the longest object counts, then the shortest name, then the alphabet. */
static int by_address(const void *left, const void *right)
{
	const struct fm_module_variable *a = left, *b = right;
	size_t first = strlen(a->name), second = strlen(b->name);

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return first != second ? (first > second) - (first < second) : strcmp(a->name, b->name);
}

static void sort_variables(struct variables *variables)
{
	size_t used = 0;

	if (variables->count)
		qsort(variables->items, variables->count, sizeof(*variables->items), by_address);
	for (size_t i = 0; i < variables->count; i++)
		if (!used || variables->items[used - 1].address != variables->items[i].address)
			variables->items[used++] = variables->items[i];
	variables->count = used;
}

static struct module *name(struct fm_modules *modules, uint32_t number)
{
	struct module *module = look_at(modules, number);
	struct fm_error ignored;

	if (module->named)
		return module;
	module->named = true;
	if (!module->load_count || fm_symbols_create(&module->symbols, &ignored))
		return module;
	fm_symbols_add_file(module->symbols, module->path, module->position_independent ? naming_base : 0);
	fm_symbols_ready(module->symbols);
	fm_symbols_objects(module->symbols, add_variable, module);
	sort_variables(&module->variables);
	sort_variables(&module->locals);
	return module;
}

const struct fm_module_variable *fm_module_variable(struct fm_modules *modules, uint32_t number, uint64_t address,
                                                    bool per_thread)
{
	const struct module *module = name(modules, number);
	const struct variables *variables = per_thread ? &module->locals : &module->variables;
	size_t low = 0, high = variables->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (variables->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* one that lies in another may end before it: look a little further back */
	for (size_t i = 1; i <= low && i <= 8; i++)
		if (address - variables->items[low - i].address < variables->items[low - i].size)
			return &variables->items[low - i];
	return NULL;
}

void fm_module_type(struct fm_modules *modules, uint32_t number, const char *variable, char *text, size_t size)
{
	struct module *module = name(modules, number);

	*text = '\0';
	if (module->symbols)
		fm_symbols_type(module->symbols, variable, text, size);
}

bool fm_module_names(struct fm_modules *modules, uint32_t number, uint64_t offset, struct fm_location_names *ret_names)
{
	struct module *module = name(modules, number);
	uint64_t address;

	if (!module->symbols || !fm_module_address(modules, number, offset, &address))
		return false;
	fm_symbols_find(module->symbols, address + (module->position_independent ? naming_base : 0), ret_names);
	return true;
}
