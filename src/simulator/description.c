#include "simulator/description.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/text.h"

/* Values */

enum kind { KIND_WHOLE, KIND_BYTES, KIND_REAL, KIND_GIGAHERTZ, KIND_HUNDREDTHS, KIND_WORD };

/* One key=value: where it goes and what it may be. Words are numbered from zero in the order given; where a number is
   wanted, the word is another name for 0. */
struct key {
	const char *name;
	enum kind kind;
	size_t offset;
	double least, most;
	const char *words;
	bool required;
};

#define CACHE(member) offsetof(struct fm_cache_description, member)
#define CORE(member) offsetof(struct fm_core_description, member)
#define OPERATION(member) offsetof(struct fm_operation_description, member)
#define TLB(member) offsetof(struct fm_tlb_description, member)
#define MACHINE(member) offsetof(struct fm_machine_description, member)

static const struct key cache_keys[] = {
    {"size", KIND_BYTES, CACHE(bytes), 64, 1e12, NULL, true},
    {"available", KIND_BYTES, CACHE(available), 64, 1e12, NULL, false},
    {"life", KIND_WHOLE, CACHE(life), 0, 1e9, NULL, false},
    {"ways", KIND_WHOLE, CACHE(ways), 1, 64, NULL, true},
    {"shared", KIND_WHOLE, CACHE(shared_by), 1, FM_SIMULATED_CORES_MAX, NULL, false},
    {"latency", KIND_WHOLE, CACHE(latency), 1, 10000, NULL, true},
    {"interval", KIND_HUNDREDTHS, CACHE(interval), 0, 1000, NULL, false},
    {"write", KIND_HUNDREDTHS, CACHE(write_interval), 0, 1000, NULL, false},
    {"shared_interval", KIND_HUNDREDTHS, CACHE(shared_interval), 0, 1000, NULL, false},
    {"replacement", KIND_WORD, CACHE(replacement), 0, 0, "lru tree random", false},
    {"inclusion", KIND_WORD, CACHE(inclusion), 0, 0, "none inclusive victim", false},
    {"adjacent", KIND_WORD, CACHE(adjacent), 0, 0, "no yes next", false},
    {"next", KIND_WORD, CACHE(next), 0, 0, "no yes", false},
    {"streams", KIND_WHOLE, CACHE(streams), 0, 64, NULL, false},
    {"distance", KIND_WHOLE, CACHE(distance), 1, 64, NULL, false},
    {"beyond", KIND_WHOLE, CACHE(beyond), 0, 64, NULL, false},
    {"crosses", KIND_WORD, CACHE(crosses), 0, 0, "no yes", false},
    {"strides", KIND_WHOLE, CACHE(strides), 0, 32, NULL, false},
    {"gaps", KIND_WHOLE, CACHE(gaps), 0, 32, NULL, false},
    {"back", KIND_WORD, CACHE(back), 0, 0, "no yes", false},
    {"jumps", KIND_WHOLE, CACHE(jumps), 0, 2, NULL, false},
    {"others", KIND_WORD, CACHE(others), 0, 0, "no yes", false},
    {0},
};

static const struct key tlb_keys[] = {
    {"entries", KIND_WHOLE, TLB(entries), 1, 65536, NULL, true},
    {"ways", KIND_WHOLE, TLB(ways), 1, 64, NULL, true},
    {"penalty", KIND_WHOLE, TLB(penalty), 0, 10000, NULL, true},
    {0},
};

static const struct key memory_keys[] = {
    {"latency", KIND_WHOLE, MACHINE(memory_latency), 1, 100000, NULL, true},
    {"remote", KIND_WHOLE, MACHINE(memory_remote_latency), 1, 100000, NULL, false},
    {"gbs", KIND_REAL, MACHINE(memory_gbs), 0.01, 1e5, NULL, true},
    {"write_percent", KIND_WHOLE, MACHINE(memory_write_percent), 0, 1000, NULL, false},
    {"core_gbs", KIND_REAL, MACHINE(memory_core_gbs), 0.01, 1e5, NULL, false},
    {"remote_gbs", KIND_REAL, MACHINE(remote_gbs), 0.01, 1e5, NULL, false},
    {"remote_core_gbs", KIND_REAL, MACHINE(remote_core_gbs), 0.01, 1e5, NULL, false},
    {"store_core_gbs", KIND_REAL, MACHINE(store_core_gbs), 0.01, 1e5, NULL, false},
    {0},
};

static const struct key core_keys[] = {
    {"width", KIND_WHOLE, CORE(width), 1, 16, NULL, true},
    {"window", KIND_WHOLE, CORE(window), 1, 1024, NULL, true},
    {"load_buffers", KIND_WHOLE, CORE(load_buffers), 1, 512, NULL, true},
    {"store_buffers", KIND_WHOLE, CORE(store_buffers), 1, 512, NULL, true},
    {"fill_buffers", KIND_WHOLE, CORE(fill_buffers), 1, 128, NULL, true},
    {"super_queue", KIND_WHOLE, CORE(super_queue), 1, 256, NULL, true},
    {"load_ports", KIND_WHOLE, CORE(load_ports), 1, 8, NULL, true},
    {"store_ports", KIND_WHOLE, CORE(store_ports), 1, 8, NULL, true},
    {"multiply_ports", KIND_WHOLE, CORE(multiply_ports), 1, 8, NULL, true},
    {"vector_ports", KIND_WHOLE, CORE(vector_ports), 1, 8, NULL, false},
    {"ports", KIND_WHOLE, CORE(ports), 1, 32, NULL, true},
    {"walkers", KIND_WHOLE, CORE(walkers), 1, 64, NULL, false},
    {"loads_16", KIND_HUNDREDTHS, CORE(wide_loads[0]), 1, 8, NULL, false},
    {"loads_32", KIND_HUNDREDTHS, CORE(wide_loads[1]), 1, 8, NULL, false},
    {"loads_64", KIND_HUNDREDTHS, CORE(wide_loads[2]), 1, 8, NULL, false},
    {"stores_16", KIND_HUNDREDTHS, CORE(wide_stores[0]), 0.1, 8, NULL, false},
    {"stores_32", KIND_HUNDREDTHS, CORE(wide_stores[1]), 0.1, 8, NULL, false},
    {"stores_64", KIND_HUNDREDTHS, CORE(wide_stores[2]), 0.1, 8, NULL, false},
    {"forward", KIND_WHOLE, CORE(forward), 1, 255, NULL, false},
    {"reload", KIND_WHOLE, CORE(reload), 1, 255, NULL, false},
    {"blocked", KIND_WHOLE, CORE(blocked), 1, 255, NULL, false},
    {"taken", KIND_WHOLE, CORE(taken), 4, 1 << 20, NULL, false},
    {"taken_wait", KIND_WHOLE, CORE(taken_wait), 1, 255, NULL, false},
    {"share", KIND_WHOLE, CORE(share), 1, 100, NULL, false},
    {"return_wait", KIND_WHOLE, CORE(return_wait), 0, 255, NULL, false},
    {"indirect_wait", KIND_WHOLE, CORE(indirect_wait), 0, 255, NULL, false},
    {"misprediction", KIND_WHOLE, CORE(misprediction), 1, 255, NULL, false},
    {"code", KIND_BYTES, CORE(code_bytes), 1024, 1 << 30, NULL, false},
    {"code_ways", KIND_WHOLE, CORE(code_ways), 1, 64, NULL, false},
    {"code_interval", KIND_HUNDREDTHS, CORE(code_interval), 0.01, 255, NULL, false},
    {0},
};

/* An operation that is alone may take long; of others many may be on their way, which the simulator keeps track of. */
#define OPERATION_KEYS(most)                                                                       \
	{                                                                                          \
		{"latency", KIND_WHOLE, OPERATION(latency), 0, most, NULL, true},                  \
		    {"interval", KIND_HUNDREDTHS, OPERATION(interval), 0, most, NULL, false}, {0}, \
	}
static const struct key common_operation_keys[] = OPERATION_KEYS(255),
                        serial_operation_keys[] = OPERATION_KEYS(FM_OPERATION_CYCLES_MAX);
#undef OPERATION_KEYS

static const struct key *operation_keys(enum fm_operation operation)
{
	return fm_operation_unit(operation) == FM_UNIT_SERIAL ? serial_operation_keys : common_operation_keys;
}

static const struct key machine_keys[] = {
    {"sockets", KIND_WHOLE, MACHINE(sockets), 1, FM_SIMULATED_SOCKETS_MAX, NULL, true},
    {"cores", KIND_WHOLE, MACHINE(cores), 1, FM_SIMULATED_CORES_MAX, NULL, true},
    {"threads", KIND_WHOLE, MACHINE(threads), 1, FM_SIMULATED_THREADS_MAX, NULL, false},
    {"frequency", KIND_GIGAHERTZ, MACHINE(frequency_ghz), 0.01, 100, NULL, true},
    {"line", KIND_WHOLE, MACHINE(line_bytes), 16, 1024, NULL, false},
    {"page", KIND_BYTES, MACHINE(page_bytes), 1024, 1 << 30, NULL, false},
    {"string_allocates", KIND_WHOLE, MACHINE(string_allocates), 0, 1, NULL, false},
    {"physical", KIND_WHOLE, MACHINE(physical), 1, UINT32_MAX, "no", false},
    {0},
};

struct reader {
	const char *name;
	unsigned line;
	struct fm_error *error;
	struct fm_machine_description *description;
	bool core_seen, memory_seen, machine_seen;
};

static int mistake(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int mistake(struct reader *reader, const char *format, ...)
{
	char text[240];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return fm_error_set(reader->error, EBADMSG, "%s:%u: %s", reader->name, reader->line, text);
}

static int parse_word(struct reader *reader, const struct key *key, const char *text, double *ret_value)
{
	const char *words = key->words;

	for (unsigned index = 0; *words; index++) {
		size_t length = strcspn(words, " ");

		if (strlen(text) == length && !strncmp(text, words, length)) {
			*ret_value = index;
			return 0;
		}
		words += length + (words[length] == ' ');
	}
	return mistake(reader, "%s is one of: %s; not \"%.40s\"", key->name, key->words, text);
}

static int parse_value(struct reader *reader, const struct key *key, const char *text, double *ret_value)
{
	static const struct {
		const char *suffix;
		double factor;
		enum kind kind;
	} suffixes[] = {
	    {"", 1, KIND_BYTES},           {"KiB", 1024, KIND_BYTES},
	    {"MiB", 1048576, KIND_BYTES},  {"GiB", 1073741824, KIND_BYTES},
	    {"", 1, KIND_GIGAHERTZ},       {"GHz", 1, KIND_GIGAHERTZ},
	    {"MHz", 1e-3, KIND_GIGAHERTZ},
	};
	char *end;
	double value, factor = 1;

	if (key->kind == KIND_WORD)
		return parse_word(reader, key, text, ret_value);
	if (key->words && !strcmp(text, key->words)) {
		*ret_value = 0;
		return 0;
	}
	errno = 0;
	value = strtod(text, &end);
	if (end == text || errno || !isfinite(value))
		return mistake(reader, "%s needs a number, not \"%.40s\"", key->name, text);
	if (key->kind == KIND_BYTES || key->kind == KIND_GIGAHERTZ) {
		factor = 0;
		for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
			if (suffixes[i].kind == key->kind && !strcmp(end, suffixes[i].suffix))
				factor = suffixes[i].factor;
		if (factor == 0)
			return mistake(reader, "%s: \"%.20s\" is not a unit (use %s)", key->name, end,
			               key->kind == KIND_BYTES ? "KiB, MiB, GiB" : "GHz, MHz");
	} else if (*end) {
		return mistake(reader, "%s needs a number, not \"%.40s\"", key->name, text);
	}
	value *= factor;
	if (value < key->least || value > key->most)
		return mistake(reader, "%s is out of range: %g … %g", key->name, key->least, key->most);
	if ((key->kind == KIND_WHOLE || key->kind == KIND_BYTES) && value != floor(value))
		return mistake(reader, "%s must be whole", key->name);
	*ret_value = key->kind == KIND_HUNDREDTHS ? round(100 * value) : value;
	return 0;
}

static void store_value(const struct key *key, void *target, double value)
{
	char *place = (char *)target + key->offset;

	if (key->kind == KIND_REAL || key->kind == KIND_GIGAHERTZ)
		memcpy(place, &value, sizeof(value));
	else if (key->kind == KIND_BYTES && key->most > 1e10)
		memcpy(place, &(uint64_t){(uint64_t)value}, sizeof(uint64_t));
	else
		memcpy(place, &(unsigned){(unsigned)value}, sizeof(unsigned));
}

/* "key=value key=value …" into a struct, by its table. */
static int parse_keys(struct reader *reader, char *text, const struct key *keys, void *target)
{
	uint64_t seen = 0;
	char *position = NULL;

	for (char *word = strtok_r(text, " \t", &position); word; word = strtok_r(NULL, " \t", &position)) {
		char *equals = strchr(word, '=');
		unsigned index;
		double value = 0;
		int status;

		if (!equals)
			return mistake(reader, "\"%.40s\" is not key=value", word);
		*equals = 0;
		for (index = 0; keys[index].name; index++)
			if (!strcmp(keys[index].name, word))
				break;
		if (!keys[index].name)
			return mistake(reader, "there is no \"%.40s\" here", word);
		if (seen >> index & 1)
			return mistake(reader, "%s is given twice", word);
		seen |= 1ull << index;
		status = parse_value(reader, &keys[index], equals + 1, &value);
		if (status)
			return status;
		store_value(&keys[index], target, value);
	}
	for (unsigned index = 0; keys[index].name; index++)
		if (keys[index].required && !(seen >> index & 1))
			return mistake(reader, "%s is missing", keys[index].name);
	return 0;
}

static bool power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

static int parse_cache(struct reader *reader, char *text)
{
	struct fm_machine_description *description = reader->description;
	struct fm_cache_description cache = {.shared_by = 1, .distance = 8};
	size_t length = strcspn(text, " \t");
	uint64_t line = description->line_bytes;
	int status;

	if (description->cache_count == FM_SIMULATED_CACHES_MAX)
		return mistake(reader, "more than %d caches", FM_SIMULATED_CACHES_MAX);
	if (!length || length >= sizeof(cache.name) || strspn(text, FM_CACHE_NAME_LETTERS) < length)
		return mistake(reader, "a cache needs a name of at most %zu letters and digits: cache L1 size=…",
		               sizeof(cache.name) - 1);
	memcpy(cache.name, text, length);
	for (unsigned i = 0; i < description->cache_count; i++)
		if (!strcmp(description->caches[i].name, cache.name))
			return mistake(reader, "the cache %s is there twice", cache.name);
	status = parse_keys(reader, text + length, cache_keys, &cache);
	if (status)
		return status;
	if (!cache.ways || !line || cache.bytes % (line * cache.ways))
		return mistake(reader, "%s: the size is no multiple of ways times the line of %llu bytes", cache.name,
		               (unsigned long long)line);
	if (cache.available > cache.bytes)
		return mistake(reader, "%s: more available than there is", cache.name);
	if (cache.available && cache.replacement == FM_REPLACEMENT_TREE)
		return mistake(reader, "%s: tree replacement uses all of the cache", cache.name);
	if (cache.replacement == FM_REPLACEMENT_TREE && (!power_of_two(cache.ways) || cache.ways > 32))
		return mistake(reader, "%s: tree replacement needs 2, 4, 8, 16 or 32 ways", cache.name);
	if (cache.shared_by > description->cores)
		return mistake(reader, "%s: shared by %u cores, but a socket has %u", cache.name, cache.shared_by,
		               description->cores);
	if (cache.shared_by > 1 && !description->cache_count)
		return mistake(reader, "%s: the first cache cannot be shared by cores", cache.name);
	if (cache.shared_by == 1 && cache.shared_interval)
		return mistake(reader, "%s: shared_interval is for a cache that cores share", cache.name);
	if (cache.shared_by == 1 && cache.inclusion != FM_INCLUSION_NONE)
		return mistake(reader, "%s: only a shared cache can be inclusive or a victim cache", cache.name);
	if (description->cache_count) {
		const struct fm_cache_description *above = &description->caches[description->cache_count - 1];

		if (cache.shared_by < above->shared_by || cache.latency <= above->latency)
			return mistake(reader, "%s must be slower than %s and shared by at least as many cores",
			               cache.name, above->name);
		if (above->shared_by > 1)
			return mistake(reader, "%s: only the last cache may be shared, %s is already", cache.name,
			               above->name);
	}
	description->caches[description->cache_count++] = cache;
	return 0;
}

static int parse_operation(struct reader *reader, char *text)
{
	size_t length = strcspn(text, " \t");
	struct fm_operation_description read = {.given = true}, *target;
	enum fm_operation operation;
	int status;

	if (!text[length])
		return mistake(reader, "an operation needs a name and a latency: operation float_add latency=4");
	text[length] = 0;
	operation = fm_operation_find(text);
	if (operation == FM_OPERATION_COUNT)
		return mistake(reader, "there is no operation \"%.40s\": docs/machines.md lists them", text);
	target = &reader->description->core.operations[operation];
	if (target->given)
		return mistake(reader, "the operation %s is there twice", text);
	status = parse_keys(reader, text + length + 1, operation_keys(operation), &read);
	if (!status)
		*target = read;
	return status;
}

/* Blanks at the end do not belong to a line. */
static void end_at_blanks(char *text)
{
	for (size_t end = strlen(text); end && (text[end - 1] == ' ' || text[end - 1] == '\t'); end--)
		text[end - 1] = 0;
}

static int check_code(struct reader *reader)
{
	const struct fm_core_description *core = &reader->description->core;
	uint64_t each = (uint64_t)reader->description->line_bytes * (core->code_ways ? core->code_ways : FM_CODE_WAYS);

	if (!core->code_bytes != !core->code_interval)
		return mistake(reader, "code and code_interval belong together");
	if (!core->taken != !core->taken_wait)
		return mistake(reader, "taken and taken_wait belong together");
	if (core->code_bytes % each)
		return mistake(reader, "code is no multiple of its ways times the line of %u bytes",
		               reader->description->line_bytes);
	return 0;
}

static int parse_line(struct reader *reader, char *line)
{
	struct fm_machine_description *description = reader->description;
	size_t length = strcspn(line, " \t");
	char *rest = line + length;
	int status;

	rest += strspn(rest, " \t");
	line[length] = 0;
	if (!strcmp(line, "title")) {
		snprintf(description->title, sizeof(description->title), "%s", rest);
		fm_text_complete(description->title);
		end_at_blanks(description->title);
		return 0;
	}
	if (!strcmp(line, "machine")) {
		if (reader->machine_seen)
			return mistake(reader, "a second machine line");
		reader->machine_seen = true;
		status = parse_keys(reader, rest, machine_keys, description);
		if (!status && fm_description_cpus(description) > FM_SIMULATED_CORES_MAX)
			return mistake(reader, "more than %d hardware threads", FM_SIMULATED_CORES_MAX);
		if (!status && (!power_of_two(description->line_bytes) || !power_of_two(description->page_bytes)))
			return mistake(reader, "line and page must be powers of two");
		return status;
	}
	if (!reader->machine_seen)
		return mistake(reader, "the machine line must come first: machine sockets=1 cores=4 frequency=3GHz");
	if (!strcmp(line, "cache"))
		return parse_cache(reader, rest);
	if (!strcmp(line, "tlb")) {
		struct fm_tlb_description tlb = {0};

		if (description->tlb_count == FM_SIMULATED_TLBS_MAX)
			return mistake(reader, "more than %d translation buffers", FM_SIMULATED_TLBS_MAX);
		status = parse_keys(reader, rest, tlb_keys, &tlb);
		if (!status && tlb.ways && tlb.entries % tlb.ways)
			return mistake(reader, "entries is no multiple of ways");
		if (!status)
			description->tlbs[description->tlb_count++] = tlb;
		return status;
	}
	if (!strcmp(line, "memory")) {
		if (reader->memory_seen)
			return mistake(reader, "a second memory line");
		reader->memory_seen = true;
		return parse_keys(reader, rest, memory_keys, description);
	}
	if (!strcmp(line, "core")) {
		if (reader->core_seen)
			return mistake(reader, "a second core line");
		reader->core_seen = true;
		status = parse_keys(reader, rest, core_keys, &description->core);
		return status ? status : check_code(reader);
	}
	if (!strcmp(line, "operation"))
		return parse_operation(reader, rest);
	return mistake(reader, "\"%.40s\" is not known: title, machine, cache, tlb, memory, core, operation", line);
}

int fm_description_parse(const char *text, const char *name, struct fm_machine_description *ret_description,
                         struct fm_error *error)
{
	struct fm_machine_description description = {
	    .threads = 1, .line_bytes = 64, .page_bytes = 4096, .memory_write_percent = 100, .string_allocates = 1};
	struct reader reader = {.name = name, .error = error, .description = &description};
	const char *base = strrchr(name, '/');
	char line[512];

	base = base ? base + 1 : name;
	snprintf(description.name, sizeof(description.name), "%.*s", (int)strcspn(base, "."), base);
	snprintf(description.source, sizeof(description.source), "%s", name);
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *start;
		int status;

		reader.line++;
		if (length >= sizeof(line))
			return mistake(&reader, "the line is longer than %zu characters", sizeof(line) - 1);
		memcpy(line, text, length);
		line[length] = 0;
		text += length + (text[length] == '\n');
		line[strcspn(line, "#\r")] = 0;
		start = line + strspn(line, " \t");
		end_at_blanks(start);
		if (!*start)
			continue;
		if (!fm_text_is_clean(start))
			return mistake(&reader, "this is no text in UTF-8");
		status = parse_line(&reader, start);
		if (status)
			return status;
	}
	if (!reader.machine_seen || !reader.memory_seen || !reader.core_seen || !description.cache_count)
		return mistake(&reader, "the file needs a machine, at least one cache, a memory and a core line");
	if (description.memory_latency <= description.caches[description.cache_count - 1].latency)
		return mistake(&reader, "memory must be slower than the last cache");
	if (!description.memory_remote_latency)
		description.memory_remote_latency = description.memory_latency;
	*ret_description = description;
	return 0;
}

/* The number behind a key, as it would be written. */
static double stored_value(const struct key *key, const void *source)
{
	const char *place = (const char *)source + key->offset;
	double real;
	uint64_t whole;
	unsigned number;

	if (key->kind == KIND_REAL || key->kind == KIND_GIGAHERTZ) {
		memcpy(&real, place, sizeof(real));
		return real;
	}
	if (key->kind == KIND_BYTES && key->most > 1e10) {
		memcpy(&whole, place, sizeof(whole));
		return (double)whole;
	}
	memcpy(&number, place, sizeof(number));
	return key->kind == KIND_HUNDREDTHS ? number / 100.0 : number;
}

static int check_keys(const struct key *keys, const void *source, const char *of, struct fm_error *error)
{
	for (; keys->name; keys++) {
		double value = stored_value(keys, source);

		/* what may be left out is 0 then */
		if (keys->kind == KIND_WORD || (!keys->required && value == 0))
			continue;
		if (!(value >= keys->least && value <= keys->most))
			return fm_error_set(error, ERANGE, "%s: %s is out of range: %g, not %g … %g", of, keys->name,
			                    value, keys->least, keys->most);
	}
	return 0;
}

int fm_description_check(const struct fm_machine_description *description, struct fm_error *error)
{
	int status = check_keys(machine_keys, description, "machine", error);

	for (unsigned i = 0; !status && i < description->cache_count; i++) {
		const char *name = description->caches[i].name;

		if (!*name || name[strspn(name, FM_CACHE_NAME_LETTERS)])
			return fm_error_set(error, ERANGE, "\"%s\" is no name of a cache", name);
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(description->caches[k].name, name))
				return fm_error_set(error, ERANGE, "the cache %s is there twice", name);
		status = check_keys(cache_keys, &description->caches[i], name, error);
	}
	for (unsigned i = 0; !status && i < description->tlb_count; i++)
		status = check_keys(tlb_keys, &description->tlbs[i], "tlb", error);
	if (!status)
		status = check_keys(memory_keys, description, "memory", error);
	if (!status)
		status = check_keys(core_keys, &description->core, "core", error);
	for (unsigned i = 0; !status && i < FM_OPERATION_COUNT; i++)
		if (description->core.operations[i].given)
			status = check_keys(operation_keys((enum fm_operation)i), &description->core.operations[i],
			                    fm_operation_name((enum fm_operation)i), error);
	return status;
}

int fm_description_read(const char *path, struct fm_machine_description *ret_description, struct fm_error *error)
{
	enum { LARGEST = 65536 };
	FILE *file = fopen(path, "re");
	char *text;
	size_t length;
	int status;

	if (!file)
		return fm_error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	text = malloc(LARGEST + 1);
	if (!text) {
		fclose(file);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	length = fread(text, 1, LARGEST + 1, file);
	fclose(file);
	if (length > LARGEST) {
		status = fm_error_set(error, EBADMSG, "%s: larger than any machine description", path);
	} else {
		text[length] = 0;
		if (strlen(text) != length)
			status = fm_error_set(error, EBADMSG, "%s: not a text file", path);
		else
			status = fm_description_parse(text, path, ret_description, error);
	}
	free(text);
	return status;
}

/* Writing */

static void write_keys(FILE *file, const struct key *keys, const void *source)
{
	for (; keys->name; keys++) {
		const char *place = (const char *)source + keys->offset;
		const char *words = keys->words;
		uint64_t whole = 0;
		double real = 0;
		unsigned number = 0;

		if (keys->kind == KIND_REAL || keys->kind == KIND_GIGAHERTZ) {
			memcpy(&real, place, sizeof(real));
			if (real > 0)
				fprintf(file, " %s=%.9g", keys->name, real);
			continue;
		}
		if (keys->kind == KIND_BYTES && keys->most > 1e10) {
			memcpy(&whole, place, sizeof(whole));
		} else {
			memcpy(&number, place, sizeof(number));
			whole = number;
		}
		if (keys->kind == KIND_WORD) {
			for (; number; number--)
				words += strcspn(words, " ") + 1;
			fprintf(file, " %s=%.*s", keys->name, (int)strcspn(words, " "), words);
		} else if (keys->kind == KIND_HUNDREDTHS) {
			if ((double)whole / 100 >= keys->least)
				fprintf(file, " %s=%.2f", keys->name, (double)whole / 100);
		} else if ((double)whole >= keys->least) {
			fprintf(file, " %s=%llu", keys->name, (unsigned long long)whole);
		}
	}
	fputc('\n', file);
}

static void write_description(FILE *file, const struct fm_machine_description *description)
{
	/* a title from elsewhere may not end the line, nor begin a comment */
	fputs("title ", file);
	for (const char *at = description->title; *at; at++)
		fputc(((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f || *at == '#' ? '?' : *at, file);
	fputs("\nmachine", file);
	write_keys(file, machine_keys, description);
	for (unsigned i = 0; i < description->cache_count; i++) {
		fprintf(file, "cache %s", description->caches[i].name);
		write_keys(file, cache_keys, &description->caches[i]);
	}
	for (unsigned i = 0; i < description->tlb_count; i++) {
		fprintf(file, "tlb");
		write_keys(file, tlb_keys, &description->tlbs[i]);
	}
	fprintf(file, "memory");
	write_keys(file, memory_keys, description);
	fprintf(file, "core");
	write_keys(file, core_keys, &description->core);
	for (unsigned i = 0; i < FM_OPERATION_COUNT; i++)
		if (description->core.operations[i].given) {
			fprintf(file, "operation %s", fm_operation_name((enum fm_operation)i));
			write_keys(file, operation_keys((enum fm_operation)i), &description->core.operations[i]);
		}
}

int fm_description_text(const struct fm_machine_description *description, char **ret_text, struct fm_error *error)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (file)
		write_description(file, description);
	if (!file || fclose(file)) {
		free(text);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	*ret_text = text;
	return 0;
}

int fm_description_write(const struct fm_machine_description *description, const char *path, struct fm_error *error)
{
	int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");

	if (!file) {
		int code = errno;

		if (descriptor >= 0)
			close(descriptor);
		return fm_error_set(error, code, "cannot write %s: %s", path, strerror(code));
	}
	write_description(file, description);
	if (fclose(file))
		return fm_error_set(error, errno, "cannot write %s: %s", path, strerror(errno));
	return 0;
}

/* Finding */

static void list_machines(const char *folder, char *ret_names, size_t size)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);
	size_t used = 0;

	ret_names[0] = 0;
	for (int i = 0; i < count; i++) {
		char *dot = strrchr(entries[i]->d_name, '.');

		if (dot && !strcmp(dot, ".machine") && used < size)
			used += (size_t)snprintf(ret_names + used, size - used, "%s%.*s", used ? ", " : "",
			                         (int)(dot - entries[i]->d_name), entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

int fm_description_find(const char *name, struct fm_machine_description *ret_description, struct fm_error *error)
{
	char folder[600], path[700], file[128], names[256];

	if (strchr(name, '/'))
		return fm_description_read(name, ret_description, error);
	if (fm_installed_folder(FM_INSTALLED_machine, folder, sizeof(folder)))
		return fm_error_set(error, ENOENT, "the folder of simulated machines is not found: set %s",
		                    fm_installed_variable(FM_INSTALLED_machine));
	snprintf(file, sizeof(file), "%s.machine", name);
	if (fm_installed_find(FM_INSTALLED_machine, file, path, sizeof(path))) {
		list_machines(folder, names, sizeof(names));
		return fm_error_set(error, ENOENT, "there is no simulated machine \"%s\": there are %s", name, names);
	}
	return fm_description_read(path, ret_description, error);
}

int fm_description_file(const char *name, const char *suffix, char *path, size_t size)
{
	char folder[600];
	size_t length = strlen(name);

	if (strchr(name, '/')) {
		/* beside the file that was given */
		if (length > 8 && !strcmp(name + length - 8, ".machine"))
			length -= 8;
		return (size_t)snprintf(path, size, "%.*s.%s", (int)length, name, suffix) < size ? 0 : -ENAMETOOLONG;
	}
	*path = 0;
	if (fm_installed_folder(FM_INSTALLED_machine, folder, sizeof(folder)))
		return -ENOENT;
	return (size_t)snprintf(path, size, "%s/%s.%s", folder, name, suffix) < size ? 0 : -ENAMETOOLONG;
}
