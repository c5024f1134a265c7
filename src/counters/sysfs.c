#include "counters/sysfs.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT = 512 };

#define DEVICES "bus/event_source/devices"

static int read_text(const char *pmu, const char *folder, const char *name, char *text, size_t size)
{
	int status;

	if (!fm_sysfs_is_name(pmu) || !fm_sysfs_is_name(name))
		return -ENOENT;
	status = fm_sysfs_read_line(text, size, DEVICES "/%s/%s%s%s", pmu, folder, *folder ? "/" : "", name);
	return status ? status : *text ? 0 : -ENODATA;
}

bool fm_sysfs_has_pmu(const char *pmu)
{
	char text[TEXT];

	return !read_text(pmu, "", "type", text, sizeof(text));
}

/* Put a value into the bits a format gives: "config:0-7", "config1:0-31,35". */
static int set_field(const char *format, uint64_t value, struct perf_event_attr *attributes)
{
	__u64 *target;
	const char *at = strchr(format, ':');
	unsigned used = 0;

	if (!at)
		return -EINVAL;
	if (!strncmp(format, "config1:", 8))
		target = &attributes->config1;
	else if (!strncmp(format, "config2:", 8))
		target = &attributes->config2;
	else if (!strncmp(format, "config:", 7))
		target = &attributes->config;
	else
		return -ENOTSUP;
	for (at++; *at; at += *at == ',') {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (end == at)
			return -EINVAL;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last > 63)
			return -EINVAL;
		for (unsigned long bit = first; bit <= last; bit++, used++)
			if (used < 64 && value >> used & 1)
				*target |= 1ull << bit;
		at = end;
	}
	/* more than the field holds would be counted as something else */
	return used < 64 && value >> used ? -ERANGE : 0;
}

struct names {
	char text[TEXT];
	size_t used;
};

static bool collect(const char *name, void *context)
{
	struct names *names = context;

	names->used += (size_t)snprintf(names->text + names->used, sizeof(names->text) - names->used, "%s%s",
	                                names->used ? ", " : "", name);
	return names->used < sizeof(names->text);
}

static int set_term(const char *pmu, const char *term, struct perf_event_attr *attributes, struct fm_error *error)
{
	char name[128], format[TEXT];
	const char *equal = strchr(term, '=');
	uint64_t value = 1;
	char *end;
	int status;

	snprintf(name, sizeof(name), "%.*s", (int)(equal ? equal - term : (long)strlen(term)), term);
	if (equal) {
		errno = 0;
		value = strtoull(equal + 1, &end, 0);
		if (end == equal + 1 || *end || errno)
			return fm_error_set(error, EINVAL, "%s: \"%s\" is not a number in %s", pmu, equal + 1, term);
	}
	if (!strcmp(name, "config") || !strcmp(name, "config1") || !strcmp(name, "config2")) {
		*(name[6] == '1'   ? &attributes->config1
		  : name[6] == '2' ? &attributes->config2
		                   : &attributes->config) |= value;
		return 0;
	}
	if (!strcmp(name, "period") || !strcmp(name, "name"))
		return 0;
	status = read_text(pmu, "format", name, format, sizeof(format));
	if (!status)
		status = set_field(format, value, attributes);
	if (status == -ERANGE)
		return fm_error_set(error, EINVAL, "%s: %s is larger than the field (%s)", pmu, term, format);
	if (status) {
		struct names names = {.used = 0};

		fm_sysfs_each(collect, &names, DEVICES "/%s/format", pmu);
		return fm_error_set(error, EINVAL, "%s has no field \"%s\"; it has: %.300s", pmu, name, names.text);
	}
	return 0;
}

static int set_terms(const char *pmu, const char *terms, struct perf_event_attr *attributes, unsigned depth,
                     struct fm_error *error)
{
	int status = 0;

	while (*terms && !status) {
		size_t length = strcspn(terms, ",");
		char term[TEXT], event[TEXT] = "";

		snprintf(term, sizeof(term), "%.*s", (int)length, terms);
		/* a name of the PMU expands to terms, none of which is a name */
		if (!depth && !strchr(term, '=') && !read_text(pmu, "events", term, event, sizeof(event)))
			status = set_terms(pmu, event, attributes, 1, error);
		else
			status = set_term(pmu, term, attributes, error);
		terms += length + (terms[length] == ',');
	}
	return status;
}

int fm_sysfs_encode(const char *pmu, const char *terms, struct perf_event_attr *attributes, struct fm_error *error)
{
	char text[TEXT];

	if (read_text(pmu, "", "type", text, sizeof(text)))
		return fm_error_set(error, ENOENT, "there is no PMU \"%s\" here", pmu);
	attributes->type = (__u32)strtoul(text, NULL, 10);
	return set_terms(pmu, terms, attributes, 0, error);
}

void fm_sysfs_unit(const char *pmu, const char *event, double *ret_scale, char *ret_unit, unsigned size)
{
	char name[160], text[TEXT];

	*ret_scale = 1;
	*ret_unit = 0;
	snprintf(name, sizeof(name), "%s.scale", event);
	if (!read_text(pmu, "events", name, text, sizeof(text)))
		*ret_scale = strtod(text, NULL);
	snprintf(name, sizeof(name), "%s.unit", event);
	if (!read_text(pmu, "events", name, text, sizeof(text)))
		snprintf(ret_unit, size, "%.*s", (int)size - 1, text);
}

int fm_sysfs_type(const char *pmu)
{
	char text[TEXT];

	return read_text(pmu, "", "type", text, sizeof(text)) ? -1 : (int)strtol(text, NULL, 10);
}

unsigned fm_sysfs_cpus(const char *pmu, int *ret_cpus, unsigned room)
{
	char text[TEXT] = "";
	unsigned count = 0;

	if (read_text(pmu, "", "cpumask", text, sizeof(text)))
		return 0;
	for (char *at = text; *at >= '0' && *at <= '9' && count < room;) {
		long first = strtol(at, &at, 10), last = first;

		if (*at == '-')
			last = strtol(at + 1, &at, 10);
		for (; first <= last && count < room; first++)
			ret_cpus[count++] = (int)first;
		at += *at == ',';
	}
	return count;
}

int fm_sysfs_first_cpu(const char *pmu)
{
	int cpu;

	return fm_sysfs_cpus(pmu, &cpu, 1) ? cpu : -1;
}

double fm_sysfs_turn_ms(const char *pmu)
{
	char text[TEXT];
	double turn = 0;

	if (!read_text(pmu, "", "perf_event_mux_interval_ms", text, sizeof(text)))
		turn = strtod(text, NULL);
	return turn > 0 ? turn : 4;
}

struct pmu_context {
	bool (*callback)(const char *pmu, void *context);
	void *context;
};

static bool on_pmu(const char *name, void *context)
{
	const struct pmu_context *pmus = context;

	return fm_sysfs_has_pmu(name) ? pmus->callback(name, pmus->context) : true;
}

void fm_sysfs_each_pmu(bool (*callback)(const char *pmu, void *context), void *context)
{
	struct pmu_context pmus = {callback, context};

	fm_sysfs_each(on_pmu, &pmus, DEVICES);
}

struct event_context {
	const char *pmu;
	bool (*callback)(const char *pmu, const char *event, void *context);
	void *context;
};

static bool on_event(const char *name, void *context)
{
	const struct event_context *events = context;
	const char *dot = strrchr(name, '.');

	if (dot &&
	    (!strcmp(dot, ".scale") || !strcmp(dot, ".unit") || !strcmp(dot, ".snapshot") || !strcmp(dot, ".per-pkg")))
		return true;
	return events->callback(events->pmu, name, events->context);
}

void fm_sysfs_each_event(const char *pmu, bool (*callback)(const char *pmu, const char *event, void *context),
                         void *context)
{
	struct event_context events = {pmu, callback, context};

	if (fm_sysfs_is_name(pmu))
		fm_sysfs_each(on_event, &events, DEVICES "/%s/events", pmu);
}
