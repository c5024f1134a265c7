/* The library's own search would ask network servers (DEBUGINFOD_URLS) for missing files, and ignores
   FATHOM_DEBUG_PATH. */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/internal.h"

static const char standard_folder[] = "/usr/lib/debug";

enum { BUILD_ID_MAX = 64 };

/* Conditions of the file. */
struct wanted {
	const unsigned char *build_id;
	size_t build_id_size; /* 0: by checksum */
	uint32_t checksum;
};

/* The checksum of .gnu_debuglink: CRC-32 as in zlib. */
static bool has_checksum(int file, uint32_t wanted)
{
	static uint32_t table[256];
	unsigned char block[65536];
	uint32_t sum = UINT32_MAX;
	off_t at = 0;
	ssize_t length;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t value = i;

			for (int bit = 0; bit < 8; bit++)
				value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
			table[i] = value;
		}
	while ((length = pread(file, block, sizeof(block), at)) > 0) {
		for (ssize_t i = 0; i < length; i++)
			sum = sum >> 8 ^ table[(sum ^ block[i]) & 0xff];
		at += length;
	}
	return length == 0 && ~sum == wanted;
}

static bool has_build_id(int file, const struct wanted *wanted)
{
	Elf *elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
	const void *id = NULL;
	bool right = elf && dwelf_elf_gnu_build_id(elf, &id) == (ssize_t)wanted->build_id_size &&
	             !memcmp(id, wanted->build_id, wanted->build_id_size);

	elf_end(elf);
	return right;
}

/* A descriptor, or -1 when there is no such file or it is not the one that is wanted. */
static int open_if_wanted(const char *path, const struct wanted *wanted, char **ret_path)
{
	/* a pipe of that name must not keep us waiting */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (file < 0)
		return -1;
	if (!fstat(file, &status) && S_ISREG(status.st_mode) &&
	    (wanted->build_id_size ? has_build_id(file, wanted) : has_checksum(file, wanted->checksum))) {
		*ret_path = strdup(path);
		if (*ret_path)
			return file;
	}
	close(file);
	return -1;
}

/* Each folder of FATHOM_DEBUG_PATH, then the standard one. */
static bool next_folder(const char **position, char *folder, size_t size)
{
	while (*position && **position) {
		size_t length = strcspn(*position, ":");
		const char *begin = *position;

		*position += length + (begin[length] == ':');
		if (length && length < size) {
			snprintf(folder, size, "%.*s", (int)length, begin);
			return true;
		}
	}
	if (!*position)
		return false;
	*position = NULL;
	snprintf(folder, size, "%s", standard_folder);
	return true;
}

static const char *first_folder(void)
{
	const char *path = getenv("FATHOM_DEBUG_PATH");

	return path ? path : "";
}

static int find_by_build_id(const struct wanted *wanted, char **ret_path)
{
	const char *position = first_folder();
	char folder[PATH_MAX / 2], path[PATH_MAX], digits[2 * BUILD_ID_MAX + 1] = "";

	if (wanted->build_id_size < 2 || wanted->build_id_size > BUILD_ID_MAX)
		return -1;
	for (size_t i = 0; i < wanted->build_id_size; i++)
		snprintf(digits + 2 * i, 3, "%02x", wanted->build_id[i]);
	while (next_folder(&position, folder, sizeof(folder))) {
		int file;

		snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", folder, digits, digits + 2);
		file = open_if_wanted(path, wanted, ret_path);
		if (file >= 0)
			return file;
	}
	return -1;
}

static int find_by_link(const char *program, const char *link, const struct wanted *wanted, char **ret_path)
{
	static const char *const beside[] = {"", "/.debug"};
	const char *position = first_folder();
	char real[PATH_MAX], folder[PATH_MAX / 2], path[2 * PATH_MAX];
	const char *directory;
	int file = -1;

	/* the name comes from the program's file: it may not lead elsewhere */
	if (!*link || strchr(link, '/') || strlen(link) > NAME_MAX || !realpath(program, real))
		return -1;
	directory = dirname(real);
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]) && file < 0; i++) {
		snprintf(path, sizeof(path), "%s%s/%s", directory, beside[i], link);
		file = open_if_wanted(path, wanted, ret_path);
	}
	while (file < 0 && next_folder(&position, folder, sizeof(folder))) {
		snprintf(path, sizeof(path), "%s%s/%s", folder, directory, link);
		file = open_if_wanted(path, wanted, ret_path);
		if (file >= 0)
			break;
		snprintf(path, sizeof(path), "%s/%s", folder, link);
		file = open_if_wanted(path, wanted, ret_path);
	}
	return file;
}

/* Debugging information that several files have in common: dwz puts its name and build-id into .gnu_debugaltlink. */
static bool read_common_link(const char *path, const char *link, unsigned char *ret_build_id, size_t *ret_size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf = file >= 0 ? elf_begin(file, ELF_C_READ_MMAP, NULL) : NULL;
	Elf_Scn *section = NULL;
	size_t names, length = strlen(link) + 1;
	bool found = false;

	if (elf && !elf_getshdrstrndx(elf, &names))
		while (!found && (section = elf_nextscn(elf, section))) {
			GElf_Shdr header;
			const char *name =
			    gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
			Elf_Data *data;

			if (!name || strcmp(name, ".gnu_debugaltlink") != 0)
				continue;
			data = elf_getdata(section, NULL);
			if (!data || data->d_size <= length || data->d_size - length > BUILD_ID_MAX ||
			    memcmp(data->d_buf, link, length) != 0)
				break;
			*ret_size = data->d_size - length;
			memcpy(ret_build_id, (const unsigned char *)data->d_buf + length, *ret_size);
			found = true;
		}
	elf_end(elf);
	if (file >= 0)
		close(file);
	return found;
}

static int find_common(const char *program, const char *link, const struct wanted *wanted, char **ret_path)
{
	char real[PATH_MAX], path[2 * PATH_MAX];
	int file;

	if (*link == '/')
		snprintf(path, sizeof(path), "%s", link);
	else if (realpath(program, real))
		snprintf(path, sizeof(path), "%s/%s", dirname(real), link);
	else
		return -1;
	file = open_if_wanted(path, wanted, ret_path);
	return file >= 0 ? file : find_by_build_id(wanted, ret_path);
}

int fm_debug_file_find(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *path,
                       const char *link, GElf_Word link_checksum, char **ret_path)
{
	unsigned char common[BUILD_ID_MAX];
	struct wanted wanted = {.checksum = link_checksum};
	const unsigned char *build_id;
	GElf_Addr place;
	int size, file = -1;

	(void)data;
	(void)name;
	(void)base;
	if (path && link && !link_checksum && read_common_link(path, link, common, &wanted.build_id_size)) {
		wanted.build_id = common;
		return find_common(path, link, &wanted, ret_path);
	}
	size = dwfl_module_build_id(module, &build_id, &place);
	if (size > 0) {
		wanted.build_id = build_id;
		wanted.build_id_size = (size_t)size;
		file = find_by_build_id(&wanted, ret_path);
	}
	if (file < 0 && path && link) {
		wanted.build_id_size = 0;
		file = find_by_link(path, link, &wanted, ret_path);
	}
	return file;
}
