#include "counters/event.h"

#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/text.h"
#include "counters/library.h"
#include "counters/sysfs.h"

struct generic {
	const char *name;
	unsigned type;
	uint64_t config;
	const char *description;
};

static const struct generic generics[] = {
#define EVENT(name, type, config, description) {name, type, config, description},
#include "counters/generic.def"
#undef EVENT
};

enum { GENERICS = sizeof(generics) / sizeof(generics[0]) };

/* Cache events: a cache, an operation and a result. */
static const struct {
	const char *name;
	unsigned code;
} caches[] = {{"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", PERF_COUNT_HW_CACHE_L1I},
              {"LLC", PERF_COUNT_HW_CACHE_LL},        {"dTLB", PERF_COUNT_HW_CACHE_DTLB},
              {"iTLB", PERF_COUNT_HW_CACHE_ITLB},     {"node", PERF_COUNT_HW_CACHE_NODE}},
  uses[] = {{"load", PERF_COUNT_HW_CACHE_OP_READ},
            {"store", PERF_COUNT_HW_CACHE_OP_WRITE},
            {"prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH}};

enum { CACHES = sizeof(caches) / sizeof(caches[0]), USES = sizeof(uses) / sizeof(uses[0]), ENDS = 2 };

/* The name of a cache event by number; NULL after the last. Names stay where they are. */
static const char *cache_event(unsigned index, uint64_t *ret_config)
{
	static char names[CACHES * USES * ENDS][32];
	unsigned cache = index / (USES * ENDS), use = index / ENDS % USES, misses = index % ENDS;

	if (cache >= CACHES)
		return NULL;
	if (!*names[index])
		snprintf(names[index], sizeof(names[index]),
		         misses     ? "%s-%s-misses"
		         : use == 2 ? "%s-%ses"
		                    : "%s-%ss",
		         caches[cache].name, uses[use].name);
	*ret_config = caches[cache].code | uses[use].code << 8 |
	              (uint64_t)(misses ? PERF_COUNT_HW_CACHE_RESULT_MISS : PERF_COUNT_HW_CACHE_RESULT_ACCESS) << 16;
	return names[index];
}

const char *fm_generic_event(unsigned index, const char **ret_description)
{
	uint64_t config;

	if (index < GENERICS) {
		*ret_description = generics[index].description;
		return generics[index].name;
	}
	*ret_description = "as the kernel maps it for this processor";
	return cache_event(index - GENERICS, &config);
}

/* The counted modes: ":u", ":k", ":pp". By default all that the user may see. */
static int set_modifiers(const char *text, struct perf_event_attr *attributes, const char *name, struct fm_error *error)
{
	bool user = false, kernel = false, hypervisor = false;

	for (; *text; text++) {
		switch (*text) {
		case 'u':
			user = true;
			break;
		case 'k':
			kernel = true;
			break;
		case 'h':
			hypervisor = true;
			break;
		case 'p':
			if (attributes->precise_ip == 3)
				return fm_error_set(error, EINVAL, "%s: the most precise modifier is :ppp", name);
			attributes->precise_ip++;
			break;
		case 'G':
			attributes->exclude_host = 1;
			break;
		case 'H':
			attributes->exclude_guest = 1;
			break;
		case ':':
			break;
		default:
			return fm_error_set(error, EINVAL, "%s: modifiers are u, k, h, p, G and H, not \"%c\"", name,
			                    *text);
		}
	}
	if (user || kernel || hypervisor) {
		attributes->exclude_user = !user;
		attributes->exclude_kernel = !kernel;
		attributes->exclude_hv = !hypervisor;
	}
	return 0;
}

static const char *pmu_of_type(unsigned type)
{
	switch (type) {
	case PERF_TYPE_SOFTWARE:
		return "software";
	case PERF_TYPE_TRACEPOINT:
		return "tracepoint";
	case PERF_TYPE_BREAKPOINT:
		return "breakpoint";
	default:
		return "cpu";
	}
}

static int resolve_generic(const char *name, struct fm_event *event, struct fm_error *error)
{
	size_t length = strcspn(name, ":");
	struct perf_event_attr *attributes = &event->attributes;
	uint64_t config;
	const char *cache;

	for (unsigned i = 0; i < GENERICS; i++)
		if (strlen(generics[i].name) == length && !strncasecmp(generics[i].name, name, length)) {
			attributes->type = generics[i].type;
			attributes->config = generics[i].config;
			if (strstr(generics[i].name, "-clock"))
				snprintf(event->unit, sizeof(event->unit), "ns");
			return set_modifiers(name + length, attributes, name, error);
		}
	for (unsigned i = 0; (cache = cache_event(i, &config)); i++)
		if (strlen(cache) == length && !strncasecmp(cache, name, length)) {
			attributes->type = PERF_TYPE_HW_CACHE;
			attributes->config = config;
			return set_modifiers(name + length, attributes, name, error);
		}
	return -ENOENT;
}

/* pmu/terms/modifiers */
static int resolve_terms(const char *name, struct fm_event *event, struct fm_error *error)
{
	const char *first = strchr(name, '/'), *last = first ? strrchr(name, '/') : NULL;
	char terms[FM_EVENT_NAME];
	int status;

	if (!first || first == name)
		return -ENOENT;
	if (last == first)
		return fm_error_set(error, EINVAL, "%s: terms end with a slash, as in cpu/event=0x3c/", name);
	snprintf(event->pmu, sizeof(event->pmu), "%.*s", (int)(first - name), name);
	snprintf(terms, sizeof(terms), "%.*s", (int)(last - first - 1), first + 1);
	status = fm_sysfs_encode(event->pmu, terms, &event->attributes, error);
	if (status == -ENOENT) {
		error->code = ENOTSUP;
		return -ENOTSUP;
	}
	if (status)
		return status;
	fm_sysfs_unit(event->pmu, terms, &event->scale, event->unit, sizeof(event->unit));
	event->cpu = fm_sysfs_first_cpu(event->pmu);
	return set_modifiers(last + 1, &event->attributes, name, error);
}

static int resolve_raw(const char *name, struct fm_event *event, struct fm_error *error)
{
	char *end;

	if (*name != 'r' || !isxdigit((unsigned char)name[1]))
		return -ENOENT;
	event->attributes.config = strtoull(name + 1, &end, 16);
	if (*end && *end != ':')
		return -ENOENT;
	event->attributes.type = PERF_TYPE_RAW;
	return set_modifiers(end, &event->attributes, name, error);
}

/* mem:ADDRESS[/BYTES][:rwx] */
static int resolve_breakpoint(const char *name, struct fm_event *event, struct fm_error *error)
{
	struct perf_event_attr *attributes = &event->attributes;
	char *end;
	unsigned long length = 4;

	if (strncmp(name, "mem:", 4))
		return -ENOENT;
	attributes->type = PERF_TYPE_BREAKPOINT;
	attributes->bp_addr = strtoull(name + 4, &end, 0);
	if (end == name + 4)
		return fm_error_set(error, EINVAL, "%s: an address is missing, as in mem:0x601040/8:rw", name);
	if (*end == '/')
		length = strtoul(end + 1, &end, 10);
	if (length != 1 && length != 2 && length != 4 && length != 8)
		return fm_error_set(error, EINVAL, "%s: a breakpoint watches 1, 2, 4 or 8 bytes", name);
	for (end += *end == ':'; *end && *end != ':'; end++) {
		if (*end == 'r')
			attributes->bp_type |= HW_BREAKPOINT_R;
		else if (*end == 'w')
			attributes->bp_type |= HW_BREAKPOINT_W;
		else if (*end == 'x')
			attributes->bp_type |= HW_BREAKPOINT_X;
		else
			return fm_error_set(error, EINVAL, "%s: a breakpoint watches r, w, rw or x", name);
	}
	if (!attributes->bp_type)
		attributes->bp_type = HW_BREAKPOINT_RW;
	attributes->bp_len = attributes->bp_type & HW_BREAKPOINT_X ? sizeof(long) : length;
	return set_modifiers(end, attributes, name, error);
}

static int resolve_tracepoint(const char *name, struct fm_event *event, struct fm_error *error)
{
	static const char *const roots[] = {"kernel/tracing", "kernel/debug/tracing"};
	const char *colon = strchr(name, ':');
	char path[512];
	long long number;
	size_t length;
	bool mounted = false;

	if (!colon || colon == name || colon[1] == ':' || strchr(name, '/') || strstr(name, ".."))
		return -ENOENT;
	length = strcspn(colon + 1, ":");
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (fm_sysfs_read_number(&number, "%s/events/%.*s/%.*s/id", roots[i], (int)(colon - name), name,
		                         (int)length, colon + 1))
			continue;
		event->attributes.type = PERF_TYPE_TRACEPOINT;
		event->attributes.config = (uint64_t)number;
		return set_modifiers(colon + 1 + length, &event->attributes, name, error);
	}
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		mounted |= !access(fm_sysfs_path(path, sizeof(path), "%s/events", roots[i]), X_OK);
	}
	/* lower case on both sides of one colon is what tracepoints look like, and nothing else */
	if (!mounted && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_:") == strlen(name))
		return fm_error_set(
		    error, ENOTSUP,
		    "%s looks like a tracepoint, and their list cannot be read: as root, mount -t tracefs none "
		    "/sys/kernel/tracing",
		    name);
	return -ENOENT;
}

struct search {
	const char *name;
	char pmu[64];
};

static bool match_event(const char *pmu, const char *name, void *context)
{
	struct search *search = context;

	if (strcasecmp(name, search->name))
		return true;
	snprintf(search->pmu, sizeof(search->pmu), "%s", pmu);
	return false;
}

static bool search_pmu(const char *pmu, void *context)
{
	struct search *search = context;

	fm_sysfs_each_event(pmu, match_event, search);
	return !*search->pmu;
}

/* A name some PMU gives: cpu/mem-loads/ as "mem-loads". */
static int resolve_named(const char *name, struct fm_event *event, struct fm_error *error)
{
	char bare[FM_EVENT_NAME];
	size_t length = strcspn(name, ":");
	struct search search = {.name = bare};
	int status;

	snprintf(bare, sizeof(bare), "%.*s", (int)length, name);
	if (!*bare)
		return -ENOENT;
	fm_sysfs_each_pmu(search_pmu, &search);
	if (!*search.pmu)
		return -ENOENT;
	snprintf(event->pmu, sizeof(event->pmu), "%s", search.pmu);
	status = fm_sysfs_encode(search.pmu, bare, &event->attributes, error);
	if (status)
		return status;
	fm_sysfs_unit(search.pmu, bare, &event->scale, event->unit, sizeof(event->unit));
	event->cpu = fm_sysfs_first_cpu(search.pmu);
	return set_modifiers(name + length, &event->attributes, name, error);
}

struct candidates {
	const char *names[16384];
	char *own[16384];
	unsigned count, owned;
};

static void add_candidate(struct candidates *list, const char *name)
{
	if (list->count == sizeof(list->names) / sizeof(list->names[0]))
		return;
	list->own[list->owned] = strdup(name);
	if (list->own[list->owned])
		list->names[list->count++] = list->own[list->owned++];
}

static bool add_library_event(const struct fm_library_event *found, void *context)
{
	if (found->present)
		add_candidate(context, found->name);
	return true;
}

static bool add_sysfs_event(const char *pmu, const char *name, void *context)
{
	(void)pmu;
	add_candidate(context, name);
	return true;
}

static bool add_sysfs_pmu(const char *pmu, void *context)
{
	fm_sysfs_each_event(pmu, add_sysfs_event, context);
	return true;
}

static int unknown(const char *name, struct fm_error *error)
{
	struct candidates *list = calloc(1, sizeof(*list));
	const char *description, *generic, *nearest = NULL;
	int status;

	for (unsigned i = 0; list && (generic = fm_generic_event(i, &description)); i++)
		add_candidate(list, generic);
	if (list) {
		fm_sysfs_each_pmu(add_sysfs_pmu, list);
		fm_library_each(NULL, add_library_event, list);
		nearest = fm_suggest(name, list->names, list->count);
	}
	if (nearest)
		status = fm_error_set(
		    error, EINVAL, "there is no event \"%s\"; did you mean \"%s\"? 'fathom events %.*s' searches", name,
		    nearest, (int)(strcspn(name, ":.-") < 24 ? strcspn(name, ":.-") : 24), name);
	else
		status = fm_error_set(error, EINVAL,
		                      "there is no event \"%s\", and no similar one: 'fathom events' lists the events",
		                      name);
	for (unsigned i = 0; list && i < list->owned; i++)
		free(list->own[i]);
	free(list);
	return status;
}

const char *fm_event_alias(const char *name)
{
	static const struct {
		const char *name, *kernel;
	} aliases[] = {
#define ALIAS(name, kernel) {name, kernel},
#include "counters/aliases.def"
#undef ALIAS
	};

	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (!strcasecmp(aliases[i].name, name))
			return aliases[i].kernel;
	return NULL;
}

static int resolve_alias(const char *name, struct fm_event *event, struct fm_error *error)
{
	const char *kernel = fm_event_alias(name);

	return kernel ? resolve_generic(kernel, event, error) : -ENOENT;
}

int fm_event_resolve(const char *name, struct fm_event *ret_event, struct fm_error *error)
{
	static int (*const ways[])(const char *, struct fm_event *, struct fm_error *) = {
	    resolve_breakpoint, resolve_terms,      resolve_raw,        resolve_generic,
	    resolve_named,      resolve_tracepoint, fm_library_resolve, resolve_alias,
	};

	if (!*name || strlen(name) >= FM_EVENT_NAME)
		return fm_error_set(error, EINVAL, "\"%.40s\" is not the name of an event", name);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int status;

		memset(ret_event, 0, sizeof(*ret_event));
		snprintf(ret_event->name, sizeof(ret_event->name), "%s", name);
		ret_event->attributes.size = sizeof(ret_event->attributes);
		ret_event->scale = 1;
		ret_event->cpu = -1;
		status = ways[i](name, ret_event, error);
		if (status == -ENOENT)
			continue;
		if (!status && !*ret_event->pmu)
			snprintf(ret_event->pmu, sizeof(ret_event->pmu), "%s", pmu_of_type(ret_event->attributes.type));
		ret_event->turn_ms = fm_sysfs_turn_ms(ret_event->pmu);
		return status;
	}
	return unknown(name, error);
}

/* The length of one name in a list: commas inside slashes belong to it. */
static size_t name_length(const char *text)
{
	/* the slash of a breakpoint stands alone */
	bool breakpoint = !strncmp(text, "mem:", 4), inside = false;
	size_t i;

	for (i = 0; text[i]; i++) {
		if (text[i] == '/' && !breakpoint)
			inside = !inside;
		else if (!inside && strchr(",{}", text[i]))
			break;
	}
	return i;
}

int fm_events_parse(const char *list, struct fm_event *ret_events, unsigned room, struct fm_error *error)
{
	unsigned count = 0, group = 0;
	bool in_group = false;

	for (const char *at = list; *at;) {
		char name[FM_EVENT_NAME];
		size_t length;
		int status;

		if (*at == ',') {
			at++;
			continue;
		}
		if (*at == '{' || *at == '}') {
			if (in_group == (*at == '{'))
				return fm_error_set(error, EINVAL, "%s: braces do not match", list);
			in_group = *at == '{';
			group += in_group;
			at++;
			continue;
		}
		length = name_length(at);
		if (length >= sizeof(name))
			return fm_error_set(error, EINVAL, "\"%.40s…\" is too long for an event", at);
		if (count == room)
			return fm_error_set(error, EINVAL, "more than %u events at once", room);
		snprintf(name, sizeof(name), "%.*s", (int)length, at);
		status = fm_event_resolve(name, &ret_events[count], error);
		if (status)
			return status;
		ret_events[count++].group = in_group ? group : 0;
		at += length;
	}
	if (in_group)
		return fm_error_set(error, EINVAL, "%s: a brace is not closed", list);
	if (!count)
		return fm_error_set(error, EINVAL,
		                    "-e takes names of events, separated by commas: 'fathom events' lists them");
	return (int)count;
}

bool fm_event_needs_pmu(const struct fm_event *event)
{
	return event->attributes.type != PERF_TYPE_SOFTWARE && event->attributes.type != PERF_TYPE_TRACEPOINT &&
	       event->attributes.type != PERF_TYPE_BREAKPOINT;
}

void fm_event_describe(const struct fm_event *event, char *text, size_t size)
{
	const struct perf_event_attr *attributes = &event->attributes;

	snprintf(text, size,
	         "%s: pmu=%s type=%u config=0x%llx config1=0x%llx config2=0x%llx exclude_user=%u exclude_kernel=%u "
	         "exclude_hv=%u precise_ip=%u bp_type=%u cpu=%d scale=%.9g unit=%s",
	         event->name, event->pmu, attributes->type, (unsigned long long)attributes->config,
	         (unsigned long long)attributes->config1, (unsigned long long)attributes->config2,
	         attributes->exclude_user, attributes->exclude_kernel, attributes->exclude_hv, attributes->precise_ip,
	         attributes->type == PERF_TYPE_BREAKPOINT ? attributes->bp_type : 0, event->cpu, event->scale,
	         *event->unit ? event->unit : "-");
}
