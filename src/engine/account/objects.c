#include "engine/account/objects.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/account/misses.h"
#include "engine/account/places.h"
#include "engine/account/account.h"

enum { NAME_ROOM = FM_RESULT_NAME };

/* One for every symbol, sorted, without overlaps. In the results once it is accessed. */
struct fm_known_object {
	uint64_t begin, end;
	char *name; /* NULL: data without a symbol */
	unsigned module;
	uint32_t result; /* plus one; 0: not yet */
};

static bool add(struct fm_account *account, uint64_t begin, uint64_t end, const char *name, unsigned module)
{
	if (!fm_array_grow(account->known.objects, account->known.count, account->known.room))
		return false;
	account->known.objects[account->known.count++] = (struct fm_known_object){
	    .begin = begin, .end = end, .name = name ? strndup(name, NAME_ROOM - 1) : NULL, .module = module};
	return true;
}

/* By address; of several at one the largest with a name comes first. */
static int by_address(const void *left, const void *right)
{
	const struct fm_known_object *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (!a->name != !b->name)
		return a->name ? -1 : 1;
	return a->end != b->end ? (a->end > b->end ? -1 : 1) : 0;
}

/* Sorted and cut so that nothing overlaps: a name wins over none, the earlier over the later. */
static void arrange(struct fm_account *account)
{
	struct fm_known_object *all = account->known.objects;
	size_t count = account->known.count;

	qsort(all, count, sizeof(*all), by_address);
	account->known.objects = NULL;
	account->known.count = account->known.room = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t at = all[i].begin, end = all[i].end;

		if (all[i].name) {
			const struct fm_known_object *last =
			    account->known.count ? &account->known.objects[account->known.count - 1] : NULL;

			/* an alias, or within another */
			if (last && last->name && last->end > at)
				at = last->end;
			if (at < end && add(account, at, end, NULL, all[i].module)) {
				account->known.objects[account->known.count - 1].name = all[i].name;
				account->known.objects[account->known.count - 1].result = all[i].result;
			} else {
				free(all[i].name);
			}
			continue;
		}
		/* the holes between the names of a segment, from the end of one that began with it or before */
		for (size_t k = account->known.count; k-- > 0 && account->known.objects[k].name;)
			if (account->known.objects[k].end > at) {
				at = account->known.objects[k].end;
				break;
			}
		for (size_t k = i + 1; at < end; k++) {
			uint64_t until = k < count && all[k].begin < end ? all[k].begin : end;

			if (k < count && !all[k].name && until < end)
				continue;
			if (at < until && add(account, at, until, NULL, all[i].module))
				account->known.objects[account->known.count - 1].result = all[i].result;
			if (k >= count || all[k].begin >= end)
				break;
			if (all[k].end > at)
				at = all[k].end;
		}
	}
	free(all);
	if (account->known.count)
		qsort(account->known.objects, account->known.count, sizeof(*account->known.objects), by_address);
}

/* A file that is not what it claims to be only gives no names: everything is checked against its size. */
struct image {
	const unsigned char *bytes;
	size_t size;
};

static const void *part(const struct image *image, uint64_t offset, uint64_t size)
{
	return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

static void add_symbols(struct fm_account *account, const struct image *image, const Elf64_Shdr *sections,
                        unsigned section_count, const Elf64_Shdr *table, uint64_t bias, unsigned module)
{
	const Elf64_Shdr *strings = table->sh_link < section_count ? &sections[table->sh_link] : NULL;
	const char *text = strings ? part(image, strings->sh_offset, strings->sh_size) : NULL;
	const Elf64_Sym *symbols = part(image, table->sh_offset, table->sh_size);
	size_t count = table->sh_size / sizeof(*symbols);

	if (!text || !symbols || !strings->sh_size || text[strings->sh_size - 1])
		return;
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, &symbols[i], sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && account->on_function && symbol.st_shndx != SHN_UNDEF &&
		    symbol.st_name < strings->sh_size)
			account->on_function(text + symbol.st_name, bias + symbol.st_value);
		if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || !symbol.st_size || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_shndx == SHN_ABS || symbol.st_name >= strings->sh_size || !text[symbol.st_name] ||
		    symbol.st_value + symbol.st_size < symbol.st_value)
			continue;
		add(account, bias + symbol.st_value, bias + symbol.st_value + symbol.st_size, text + symbol.st_name,
		    module);
	}
}

static void read_image(struct fm_account *account, const struct image *image, unsigned module)
{
	const struct fm_result_module *mapped = &account->results->modules[module];
	const Elf64_Ehdr *head = part(image, 0, sizeof(*head));
	const Elf64_Phdr *segments;
	const Elf64_Shdr *sections;
	uint64_t bias = 0;
	bool found = false, full = false;

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_phentsize != sizeof(*segments))
		return;
	segments = part(image, head->e_phoff, (uint64_t)head->e_phnum * sizeof(*segments));
	sections = head->e_shentsize == sizeof(*sections)
	               ? part(image, head->e_shoff, (uint64_t)head->e_shnum * sizeof(*sections))
	               : NULL;
	if (!segments || head->e_phoff % 8 || (sections && head->e_shoff % 8))
		return;
	for (unsigned i = 0; i < head->e_phnum && !found; i++)
		if (segments[i].p_type == PT_LOAD && (segments[i].p_offset & ~4095ull) <= mapped->offset &&
		    mapped->offset < segments[i].p_offset + segments[i].p_filesz) {
			bias = mapped->begin - (segments[i].p_vaddr - segments[i].p_offset + mapped->offset);
			found = true;
		}
	if (!found)
		return;
	for (unsigned i = 0; i < head->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_W && segments[i].p_memsz < 1ull << 46)
			add(account, bias + segments[i].p_vaddr, bias + segments[i].p_vaddr + segments[i].p_memsz, NULL,
			    module);
	/* the full table when there is one, else what the dynamic linker needs */
	for (unsigned i = 0; sections && i < head->e_shnum; i++)
		full |= sections[i].sh_type == SHT_SYMTAB;
	for (unsigned i = 0; sections && i < head->e_shnum; i++)
		if (sections[i].sh_type == (full ? SHT_SYMTAB : SHT_DYNSYM) && sections[i].sh_offset % 8 == 0)
			add_symbols(account, image, sections, head->e_shnum, &sections[i], bias, module);
}

static void add_counts(struct fm_account *account, struct fm_result_site *site, unsigned index)
{
	struct fm_result_place *place = fm_places_of(account, site);
	struct fm_result_slot *slot = &site->slots[index];
	struct fm_result_object *object = place->objects[index] && place->objects[index] <= FM_RESULT_OBJECTS_MAX
	                                      ? &account->results->objects[place->objects[index] - 1]
	                                      : NULL;

	place->loads += slot->loads;
	place->stores += slot->stores;
	if (object) {
		object->loads += slot->loads;
		object->stores += slot->stores;
	}
	slot->loads = slot->stores = 0;
}

void fm_objects_settle(struct fm_account *account, struct fm_result_site *site)
{
	for (unsigned i = 0; i < 2; i++)
		if (site->slots[i].loads | site->slots[i].stores)
			add_counts(account, site, i);
}

static void settle(struct fm_account *account, struct fm_result_site *site, unsigned index)
{
	add_counts(account, site, index);
	site->slots[index] = (struct fm_result_slot){0};
	fm_places_of(account, site)->objects[index] = 0;
}

/* Spaces that instructions remember may have been filled. */
static void forget_slots(struct fm_account *account)
{
	struct fm_results *results = account->results;

	for (unsigned i = 0; i < results->site_count; i++) {
		if (!fm_places_is_used(&results->sites[i]))
			continue;
		settle(account, &results->sites[i], 0);
		settle(account, &results->sites[i], 1);
	}
}

void fm_objects_heap_changed(struct fm_account *account)
{
	pthread_mutex_lock(&account->known.mutex);
	forget_slots(account);
	pthread_mutex_unlock(&account->known.mutex);
}

void fm_objects_add_module(struct fm_account *account, unsigned module)
{
	struct fm_results *results = account->results;
	int file = open(results->modules[module].path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat information;
	struct image image = {0};

	if (file < 0)
		return;
	if (!fstat(file, &information) && S_ISREG(information.st_mode) && information.st_size > 0) {
		image.size = (size_t)information.st_size;
		image.bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, file, 0);
	}
	close(file);
	if (!image.bytes || image.bytes == MAP_FAILED)
		return;
	pthread_mutex_lock(&account->known.mutex);
	read_image(account, &image, module);
	arrange(account);
	forget_slots(account);
	pthread_mutex_unlock(&account->known.mutex);
	munmap((void *)image.bytes, image.size);
}

static uint32_t result_of(struct fm_account *account, struct fm_known_object *object)
{
	struct fm_results *results = account->results;
	struct fm_result_object *result;

	if (object->result) {
		/* a forked child uses its parent's for the first time; without room its counts are lost */
		result = &results->objects[object->result - 1];
		return fm_room_claim(&account->room, result, sizeof(*result)) ? object->result : 0;
	}
	if (results->object_count == FM_RESULT_OBJECTS_MAX ||
	    !fm_room_claim(&account->room, &results->objects[results->object_count], sizeof(*result))) {
		results->lost_objects++;
		return 0;
	}
	result = &results->objects[results->object_count];
	result->begin = object->begin;
	result->size = object->end - object->begin;
	result->module = object->module;
	result->unnamed = !object->name;
	snprintf(result->name, sizeof(result->name), "%s", object->name ? object->name : "");
	object->result = ++results->object_count;
	return object->result;
}

static uint32_t result_of_heap(struct fm_account *account, struct fm_heap_site *site)
{
	struct fm_results *results = account->results;
	uint32_t number = site->result;

	if (!number) {
		number = results->object_count + 1;
		if (number > FM_RESULT_OBJECTS_MAX ||
		    !fm_room_claim(&account->room, &results->objects[number - 1], sizeof(results->objects[0]))) {
			results->lost_objects++;
			return 0;
		}
		memcpy(results->objects[number - 1].allocated, site->frames, sizeof(site->frames));
		results->object_count = site->result = number;
	}
	results->objects[number - 1].size = site->largest;
	return number;
}

/* The range of the slot around the address, between known objects, by heap memory: its object, plus one; 0: none. */
static uint32_t narrow(struct fm_account *account, uint64_t address, struct fm_result_slot *slot)
{
	const struct fm_heap *heap = &account->heap;
	size_t at = fm_heap_find(heap, address);
	uint64_t begin = at ? heap->segments[at - 1].end : 0, end = UINT64_MAX;
	uint32_t object = 0;

	if (at < heap->count)
		end = heap->segments[at].begin;
	if (at < heap->count && heap->segments[at].begin <= address) {
		begin = heap->segments[at].begin;
		end = heap->segments[at].end;
		if (heap->segments[at].site != FM_HEAP_NOWHERE)
			object = result_of_heap(account, &heap->sites[heap->segments[at].site]);
	}
	if (slot->begin > begin)
		begin = slot->begin;
	if (slot->begin + slot->size < end)
		end = slot->begin + slot->size;
	slot->begin = begin;
	slot->size = end - begin;
	return object;
}

/* The first that ends beyond the address. */
static size_t find(const struct fm_account *account, uint64_t address)
{
	size_t low = 0, high = account->known.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (account->known.objects[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t fm_objects_at(struct fm_account *account, uint64_t address)
{
	uint32_t number = 0;
	size_t at;

	pthread_mutex_lock(&account->known.mutex);
	at = find(account, address);
	if (at < account->known.count && account->known.objects[at].begin <= address)
		number = result_of(account, &account->known.objects[at]);
	else
		number = narrow(account, address, &(struct fm_result_slot){.size = UINT64_MAX});
	pthread_mutex_unlock(&account->known.mutex);
	return number;
}

struct fm_result_slot *fm_objects_change(struct fm_account *account, struct fm_result_site *site, uint64_t address)
{
	/* the second makes room; what is used most came first or will come back */
	unsigned index = site->slots[0].size ? 1 : 0;
	struct fm_result_place *place = fm_places_of(account, site);
	struct fm_result_slot *slot = &site->slots[index];
	size_t low;

	fm_places_claim(account, site);
	/* Threads that run free may disturb each other here; their counts are no better anyway. */
	settle(account, site, index);
	pthread_mutex_lock(&account->known.mutex);
	low = find(account, address);
	if (low < account->known.count && account->known.objects[low].begin <= address) {
		slot->begin = account->known.objects[low].begin;
		slot->size = account->known.objects[low].end - slot->begin;
		place->objects[index] = result_of(account, &account->known.objects[low]);
	} else {
		slot->begin = low ? account->known.objects[low - 1].end : 0;
		slot->size =
		    (low < account->known.count ? account->known.objects[low].begin : UINT64_MAX) - slot->begin;
		place->objects[index] = narrow(account, address, slot);
	}
	pthread_mutex_unlock(&account->known.mutex);
	return slot;
}

void fm_objects_after_fork(struct fm_account *account)
{
	pthread_mutex_init(&account->known.mutex, NULL);
	fm_misses_after_fork(account);
}

void fm_objects_forget(struct fm_account *account)
{
	for (size_t i = 0; i < account->known.count; i++)
		free(account->known.objects[i].name);
	free(account->known.objects);
	account->known.objects = NULL;
	account->known.count = account->known.room = 0;
	fm_heap_free(&account->heap);
}
