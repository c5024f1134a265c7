#include "symbols/symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/text.h"
#include "symbols/internal.h"

enum { PAGE = 4096 };

/* The functions of one file, by address: the library searches its symbol tables from end to end for every address. */
struct function {
	uint64_t begin, end;
	const char *name;
	/* at first use: */
	char *full;                      /* demangled, with parameters */
	char shown[FM_SYMBOLS_FUNCTION]; /* as far as it fits */
};

/* A file and its symbols. */
struct file {
	struct function *functions;
	size_t count;
	struct fm_units *units;
	struct file *next; /* of all, to free them */
};

struct fm_symbols {
	struct file *files;
	struct fm_variables *variables;
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
};

Dwfl *fm_symbols_dwfl(struct fm_symbols *symbols)
{
	return symbols->dwfl;
}

struct fm_variables **fm_symbols_variables(struct fm_symbols *symbols)
{
	return &symbols->variables;
}

/* Files are given by path; the library's own search could ask the network for one. */
static int find_no_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **ret_path,
                        Elf **ret_elf)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)ret_path;
	(void)ret_elf;
	return -1;
}

int fm_symbols_create(struct fm_symbols **ret_symbols, struct fm_error *error)
{
	struct fm_symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return fm_error_set(error, ENOMEM, "out of memory");
	symbols->callbacks.find_elf = find_no_file;
	symbols->callbacks.find_debuginfo = fm_debug_file_find;
	symbols->callbacks.section_address = dwfl_offline_section_address;
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
	while (symbols->files) {
		struct file *file = symbols->files;

		symbols->files = file->next;
		for (size_t i = 0; i < file->count; i++)
			free(file->functions[i].full);
		free(file->functions);
		fm_units_destroy(file->units);
		free(file);
	}
	fm_variables_destroy(symbols->variables);
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

/* A symbol without a type may be data, such as a table for exceptions. */
static bool is_code(Elf *elf, const GElf_Sym *symbol, GElf_Word section)
{
	GElf_Shdr head;

	if (GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE)
		return true;
	return !gelf_getshdr(elf_getscn(elf, section), &head) || head.sh_flags & SHF_EXECINSTR;
}

/* Marks between code and data in ARM files are no functions. */
static bool is_mapping_mark(const char *name)
{
	return name[0] == '$' && name[1] && strchr("xdat", name[1]) && (!name[2] || name[2] == '.');
}

static struct file *read_file(struct fm_symbols *symbols, Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module);
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->functions = calloc(count > 0 ? (size_t)count : 1, sizeof(*file->functions));
	for (int i = 0; i < count && file->functions; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		GElf_Word section = 0;
		Elf *elf = NULL;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, &elf, NULL);
		unsigned type = GELF_ST_TYPE(symbol.st_info);

		if (!name || !*name || (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC) ||
		    !symbol.st_shndx || is_mapping_mark(name) || !is_code(elf, &symbol, section))
			continue;
		file->functions[file->count].begin = address;
		file->functions[file->count].end = address + symbol.st_size;
		file->functions[file->count++].name = name;
	}
	if (file->functions)
		qsort(file->functions, file->count, sizeof(*file->functions), by_address);
	file->units = fm_units_create(module);
	file->next = symbols->files;
	symbols->files = file;
	return file;
}

static struct function *function_at(const struct file *file, uint64_t address)
{
	size_t low = 0, high = file->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (file->functions[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	low--;
	/* first of those that begin here */
	while (low && file->functions[low - 1].begin == file->functions[low].begin)
		low--;
	/* one without a length goes on to the next */
	if (address < file->functions[low].end || file->functions[low].end == file->functions[low].begin)
		return &file->functions[low];
	return NULL;
}

/* Segments may begin at addresses other than their offsets, as lld and mold place them. */
static bool has_segment(Elf *elf, uint64_t offset, uint64_t *ret_address)
{
	bool found = false;
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		/* two of them may share a page of the file: code is wanted */
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || !segment.p_filesz ||
		    offset / PAGE < segment.p_offset / PAGE ||
		    offset / PAGE > (segment.p_offset + segment.p_filesz - 1) / PAGE ||
		    (found && !(segment.p_flags & PF_X)))
			continue;
		*ret_address = segment.p_vaddr - segment.p_offset + offset;
		found = true;
	}
	return found;
}

/* The difference between addresses in the process and in the file. */
static uint64_t bias_of(const char *path, uint64_t begin, uint64_t offset)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = file >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(file, ELF_C_READ_MMAP, NULL) : NULL;
	uint64_t bias = begin - offset, address;
	GElf_Ehdr head;

	if (elf && gelf_getehdr(elf, &head)) {
		if (head.e_type != ET_DYN)
			bias = 0;
		else if (has_segment(elf, offset, &address))
			bias = begin - address;
	}
	elf_end(elf);
	if (file >= 0)
		close(file);
	return bias;
}

void fm_symbols_add(struct fm_symbols *symbols, const char *path, uint64_t begin, uint64_t end, uint64_t offset)
{
	(void)end;
	if (offset <= begin)
		fm_symbols_add_file(symbols, path, bias_of(path, begin, offset));
}

void fm_symbols_add_file(struct fm_symbols *symbols, const char *path, uint64_t bias)
{
	/* a second mapping of the file overlaps: refused by the library, and not needed */
	if (path[0] == '/')
		dwfl_report_elf(symbols->dwfl, path, path, -1, bias, true);
}

void fm_symbols_ready(struct fm_symbols *symbols)
{
	dwfl_report_end(symbols->dwfl, NULL, NULL);
}

/* External procedures of Fortran: solve_ is solve, and the main program is MAIN__. Only DWARF distinguishes an
   underscore of the programmer. */
static const char *fortran_name(struct file *file, struct fm_unit *unit, uint64_t address, const char *name,
                                char *buffer, size_t size)
{
	size_t length = strlen(name);
	const char *written;

	if (!length || name[length - 1] != '_')
		return name;
	if (!strcmp(name, "MAIN__")) {
		written = fm_unit_written_function(file->units, unit, address);
		return written ? written : name;
	}
	snprintf(buffer, size, "%.*s", (int)(length - 1 < size ? length - 1 : size - 1), name);
	return buffer;
}

/* As much of a name as there is room for, parameters last. */
static void shorten(const char *name, const char *full, char *buffer, size_t size)
{
	char *shorter;

	if (strlen(full) < size || !(shorter = fm_demangle_copy(name, false))) {
		fm_text_elide(buffer, size, full, SIZE_MAX);
		return;
	}
	fm_text_elide(buffer, size, shorter, SIZE_MAX);
	free(shorter);
}

static void name_function(struct file *file, struct fm_unit *unit, struct function *function)
{
	char buffer[FM_DEMANGLED_MAX];
	const char *name = function->name;

	if (unit && fm_unit_is_fortran(unit))
		name = fortran_name(file, unit, function->begin, name, buffer, sizeof(buffer));
	function->full = fm_demangle_copy(name, true);
	shorten(name, function->full ? function->full : "?", function->shown, sizeof(function->shown));
}

bool fm_symbols_is_foreign(const char *file)
{
	static const char *const folders[] = {"/usr/include/", "/usr/local/include/", "/usr/lib/", "/rustc/",
	                                      "/usr/src/rustc"},
	                         *const parts[] = {"/include/c++/", "/rustlib/src/", "/.cargo/registry/"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (!strncmp(file, folders[i], strlen(folders[i])))
			return true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

/* The innermost line of the program's own source, if there is one. */
static void choose_own_line(struct fm_location_names *names)
{
	unsigned own = 0;

	while (own < names->frame_count &&
	       (!*names->frames[own].file || fm_symbols_is_foreign(names->frames[own].file)))
		own++;
	if (!own || own == names->frame_count)
		return;
	memcpy(names->file, names->frames[own].file, sizeof(names->file));
	names->line = names->frames[own].line;
	memcpy(names->inlined, names->frames[own].function, sizeof(names->inlined));
	if (own == names->frame_count - 1)
		names->inlined[0] = '\0';
}

void fm_symbols_find(struct fm_symbols *symbols, uint64_t address, struct fm_location_names *ret_names)
{
	Dwfl_Module *module = dwfl_addrmodule(symbols->dwfl, address);
	struct fm_location_names *names = ret_names;
	const char *path, *name;
	struct function *function;
	struct fm_unit *unit;
	struct file *file;
	void **data = NULL;

	/* most of it is frames, which count only as far as frame_count says */
	memset(names, 0, sizeof(*names));
	snprintf(names->function, sizeof(names->function), "?");
	names->full_function = "?";
	if (!module)
		return;
	path = dwfl_module_info(module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	if (path)
		fm_text_elide(names->module, sizeof(names->module), strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
		              SIZE_MAX);
	if (data && !*data)
		*data = read_file(symbols, module);
	file = data ? *data : NULL;
	if (!file)
		return;
	unit = file->units ? fm_units_find(file->units, address) : NULL;
	function = function_at(file, address);
	if (unit) {
		fm_unit_describe(file->units, unit, address, names);
		choose_own_line(names);
	}
	if (function) {
		if (!function->full)
			name_function(file, unit, function);
		memcpy(names->function, function->shown, sizeof(names->function));
		names->full_function = function->full ? function->full : function->shown;
		names->entry = function->begin;
	} else if (unit && (name = fm_unit_function(file->units, unit, address))) {
		/* no symbol, but DWARF */
		fm_text_elide(names->function, sizeof(names->function), name, SIZE_MAX);
		names->full_function = name;
	}
}

/* Appends; a long text is cut at the end of the buffer, at a whole character. */
static void append(char *buffer, size_t size, const char *text)
{
	size_t used = strlen(buffer);

	fm_printable_copy(buffer + used, size - used, text);
}

const char *fm_symbols_chain(const struct fm_location_names *names, char *buffer, size_t size)
{
	struct fm_frame_names only = {.line = names->line};
	const struct fm_frame_names *frames = names->frame_count ? names->frames : &only;
	unsigned count = names->frame_count ? names->frame_count : 1;

	*buffer = '\0';
	memcpy(only.function, names->function, sizeof(only.function));
	memcpy(only.file, names->file, sizeof(only.file));
	for (unsigned i = 0; i < count; i++) {
		const char *file = strrchr(frames[i].file, '/') ? strrchr(frames[i].file, '/') + 1 : frames[i].file;
		char line[16];

		snprintf(line, sizeof(line), ":%d (", frames[i].line);
		append(buffer, size, i ? " inlined into " : "");
		append(buffer, size, *file ? file : "?");
		append(buffer, size, frames[i].line ? line : " (");
		append(buffer, size, frames[i].function);
		append(buffer, size, ")");
	}
	return buffer;
}
