#include "replay/call_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/index_map.h"

struct code {
	struct fm_code_place place;
	bool used;
	uint32_t row;
	char *site;   /* "solver.c:40 (make_grid)" */
	bool handing; /* it only hands on an allocation */
};

struct frame {
	uint32_t code;
	bool used;
	int64_t caller;
	uint32_t row;
};

struct fm_call_tree {
	struct code *codes;
	struct frame *frames;
	size_t code_count, frame_count;
	struct fm_index_map code_map, frame_map;
};

static const char *const exact[] = {
#define EXACT(name) name,
#define PREFIX(name)
#include "replay/allocator_wrappers.def"
#undef EXACT
#undef PREFIX
};
static const char *const prefixes[] = {
#define EXACT(name)
#define PREFIX(name) name,
#include "replay/allocator_wrappers.def"
#undef EXACT
#undef PREFIX
};

bool fm_call_tree_forwards(const char *function)
{
	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		if (!strcmp(function, exact[i]))
			return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

struct fm_call_tree *fm_call_tree_create(void)
{
	return calloc(1, sizeof(struct fm_call_tree));
}

void fm_call_tree_free(struct fm_call_tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->code_count; i++)
		free(tree->codes[i].site);
	free(tree->codes);
	free(tree->frames);
	fm_index_map_free(&tree->code_map);
	fm_index_map_free(&tree->frame_map);
	free(tree);
}

int64_t fm_call_tree_code(struct fm_call_tree *tree, const struct fm_code_place *place)
{
	bool inside = place->module != FM_NO_MODULE;
	struct fm_index_key key = {place->module, inside ? place->offset : place->address,
	                           inside ? 0 : (uint64_t)place->process + 1};
	uint32_t *index = fm_index_map_place(&tree->code_map, key);
	struct code *code;

	if (index && *index)
		return *index - 1;
	code = index ? fm_recording_grow((void **)&tree->codes, &tree->code_count, sizeof(*code)) : NULL;
	if (!code)
		return -ENOMEM;
	code->place = *place;
	*index = (uint32_t)tree->code_count;
	return *index - 1;
}

int64_t fm_call_tree_frame(struct fm_call_tree *tree, int64_t caller, uint32_t code)
{
	uint32_t *index = fm_index_map_place(&tree->frame_map, (struct fm_index_key){(uint64_t)caller, code, 0});
	struct frame *frame;

	if (index && *index)
		return *index - 1;
	frame = index ? fm_recording_grow((void **)&tree->frames, &tree->frame_count, sizeof(*frame)) : NULL;
	if (!frame)
		return -ENOMEM;
	*frame = (struct frame){.code = code, .caller = caller};
	*index = (uint32_t)tree->frame_count;
	return *index - 1;
}

const struct fm_code_place *fm_call_tree_place(const struct fm_call_tree *tree, uint32_t code)
{
	return &tree->codes[code].place;
}

void fm_call_tree_use_code(struct fm_call_tree *tree, int64_t code)
{
	if (code >= 0)
		tree->codes[code].used = true;
}

void fm_call_tree_use_frame(struct fm_call_tree *tree, int64_t frame)
{
	for (; frame >= 0 && !tree->frames[frame].used; frame = tree->frames[frame].caller) {
		tree->frames[frame].used = true;
		tree->codes[tree->frames[frame].code].used = true;
	}
}

/* Names */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void describe(char *text, size_t size, const char *file, int line, const char *function, const char *module,
                     uint64_t offset)
{
	if (*file && line)
		snprintf(text, size, "%s:%d (%s)", last_part(file), line, function);
	else if (*function && strcmp(function, "?") != 0)
		snprintf(text, size, "%s (%s)", *module ? module : "?", function);
	else if (*module)
		snprintf(text, size, "%s+0x%lx", module, (unsigned long)offset);
	else
		snprintf(text, size, "0x%lx", (unsigned long)offset);
}

/* The innermost of the functions that were inlined here that does more than hand on. */
static void name_site(struct code *code, const struct fm_location_names *names, const char *module, uint64_t offset)
{
	char text[320];

	code->handing = true;
	for (unsigned i = 0; i < names->frame_count && code->handing; i++)
		if (!fm_call_tree_forwards(names->frames[i].function)) {
			describe(text, sizeof(text), names->frames[i].file, names->frames[i].line,
			         names->frames[i].function, module, offset);
			code->handing = false;
		}
	if (code->handing) {
		code->handing = fm_call_tree_forwards(names->function);
		/* the line belongs to the inlined function, if there is one */
		describe(text, sizeof(text), names->file, names->line, names->function, module, offset);
	}
	code->site = strdup(text);
}

static void name_code(struct code *code, struct fm_modules *modules, struct fm_recorded_code *row)
{
	const struct fm_code_place *place = &code->place;
	bool inside = place->module != FM_NO_MODULE;
	struct fm_location_names names = {.function = "?"};
	bool named = inside && fm_module_names(modules, place->module, place->offset, &names);

	row->process = place->process;
	row->address = place->address;
	row->offset = inside ? place->offset : 0;
	row->line = names.line;
	if (inside)
		fm_text_elide(row->module, sizeof(row->module), fm_module_name(modules, place->module), SIZE_MAX);
	snprintf(row->function, sizeof(row->function), "%s", strcmp(names.function, "?") ? names.function : "");
	snprintf(row->inlined, sizeof(row->inlined), "%s", names.inlined);
	snprintf(row->file, sizeof(row->file), "%s", names.file);
	if (named && *row->function)
		fm_symbols_chain(&names, row->chain, sizeof(row->chain));
	name_site(code, &names, row->module, inside ? place->offset : place->address);
}

int fm_call_tree_write(struct fm_call_tree *tree, struct fm_modules *modules, struct fm_recording *recording)
{
	for (size_t i = 0; i < tree->code_count; i++) {
		struct fm_recorded_code *row;

		if (!tree->codes[i].used)
			continue;
		row = fm_recording_add(recording, codes);
		if (!row)
			return -ENOMEM;
		tree->codes[i].row = (uint32_t)recording->codes_count - 1;
		name_code(&tree->codes[i], modules, row);
	}
	for (size_t i = 0; i < tree->frame_count; i++) {
		struct fm_recorded_frame *row;

		if (!tree->frames[i].used)
			continue;
		row = fm_recording_add(recording, frames);
		if (!row)
			return -ENOMEM;
		tree->frames[i].row = (uint32_t)recording->frames_count - 1;
		*row = (struct fm_recorded_frame){.code = tree->codes[tree->frames[i].code].row,
		                                  .caller = fm_call_tree_frame_row(tree, tree->frames[i].caller)};
	}
	return 0;
}

int64_t fm_call_tree_code_row(const struct fm_call_tree *tree, int64_t code)
{
	return code < 0 ? -1 : (int64_t)tree->codes[code].row;
}

int64_t fm_call_tree_frame_row(const struct fm_call_tree *tree, int64_t frame)
{
	return frame < 0 ? -1 : (int64_t)tree->frames[frame].row;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), rest = strlen(end);

	return length >= rest && !strcmp(text + length - rest, end);
}

/* Allocator wrappers, and functions without a name, from libraries without symbols. */
static bool is_passed_over(const struct code *code)
{
	return code->handing || !code->site || !ends_with(code->site, ")");
}

void fm_call_tree_site(const struct fm_call_tree *tree, int64_t frame, char *site, size_t site_size, char *name,
                       size_t name_size)
{
	int64_t first = frame;
	size_t used = 0;

	*site = *name = '\0';
	while (first >= 0 && is_passed_over(&tree->codes[tree->frames[first].code]))
		first = tree->frames[first].caller;
	if (first < 0) /* no other name: better than none */
		first = frame;
	for (int64_t at = first; at >= 0; at = tree->frames[at].caller) {
		const char *part = tree->codes[tree->frames[at].code].site;

		/* a part that does not fit as a whole is left out, but for the first */
		if (!part || (used && used + 3 + strlen(part) >= site_size))
			break;
		if (!used)
			snprintf(name, name_size, "%s", part);
		used += (size_t)snprintf(site + used, site_size - used, "%s%s", used ? " < " : "", part);
		/* all programs have the same caller of main */
		if (used >= site_size || ends_with(part, "(main)"))
			break;
		if (tree->frames[at].caller >= 0) {
			const char *next = tree->codes[tree->frames[tree->frames[at].caller].code].site;

			if (next && strstr(next, "(__libc_start"))
				break;
		}
	}
	fm_text_complete(site);
	fm_text_complete(name);
}

void fm_code_function(struct fm_modules *modules, const struct fm_code_place *place, char *function,
                      size_t function_size, char *module, size_t module_size)
{
	struct fm_location_names names;

	*function = *module = '\0';
	if (place->module == FM_NO_MODULE)
		return;
	fm_text_elide(module, module_size, fm_module_name(modules, place->module), SIZE_MAX);
	if (fm_module_names(modules, place->module, place->offset, &names) && strcmp(names.function, "?") != 0)
		snprintf(function, function_size, "%s", names.function);
}
