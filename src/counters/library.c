#include "counters/library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "counters/sysfs.h"

#if defined(FATHOM_HAS_LIBPFM)
#include <perfmon/pfmlib_perf_event.h>

static bool ready(void)
{
	static int state; /* 1: yes, -1: no */

	/* events of other processors encode too; whether they count here is for the kernel to say */
	if (!state) {
		bool was_set = getenv("LIBPFM_ENCODE_INACTIVE");

		setenv("LIBPFM_ENCODE_INACTIVE", "1", 0);
		state = pfm_initialize() == PFM_SUCCESS ? 1 : -1;
		/* it is read once; programs that are started need not see it */
		if (!was_set)
			unsetenv("LIBPFM_ENCODE_INACTIVE");
	}
	return state > 0;
}

int fm_library_resolve(const char *name, struct fm_event *event, struct fm_error *error)
{
	char *full = NULL;
	pfm_perf_encode_arg_t request = {.attr = &event->attributes, .fstr = &full, .size = sizeof(request)};
	int status;

	if (!ready())
		return -ENOENT;
	status = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &request);
	if (status == PFM_ERR_NOTFOUND || status == PFM_ERR_INVAL)
		return -ENOENT;
	if (status == PFM_ERR_NOTSUPP)
		return fm_error_set(error, ENOTSUP,
		                    "%s: its PMU is not here (the kernel shows none of that name in sysfs)", name);
	if (status)
		return fm_error_set(error, EINVAL, "%s: %s; 'fathom events %.*s' lists its parts", name,
		                    pfm_strerror(status), (int)strcspn(name, ":"), name);
	event->attributes.size = sizeof(event->attributes);
	if (full) {
		snprintf(event->pmu, sizeof(event->pmu), "%.*s", (int)strcspn(full, ":"), full);
		free(full);
	}
	/* an uncore PMU counts per CPU, not per task */
	if (strstr(event->pmu, "_unc_"))
		event->cpu = 0;
	return 0;
}

bool fm_library_has_pmu(const char *name)
{
	pfm_pmu_t number;

	if (!ready())
		return false;
	pfm_for_all_pmus(number)
	{
		pfm_pmu_info_t pmu = {.size = sizeof(pmu)};

		if (pfm_get_pmu_info(number, &pmu) == PFM_SUCCESS && pmu.is_present && !strcmp(pmu.name, name))
			return true;
	}
	return false;
}

/* The event alone, or each of its parts when it has such. */
static bool each_part(const pfm_pmu_info_t *pmu, const pfm_event_info_t *found,
                      bool (*callback)(const struct fm_library_event *event, void *context), void *context)
{
	bool parts = false;
	int index;

	pfm_for_each_event_attr(index, found)
	{
		pfm_event_attr_info_t part = {.size = sizeof(part)};
		char name[FM_EVENT_NAME], description[400];
		struct fm_library_event event = {name, pmu->name, description, pmu->is_present};

		if (pfm_get_event_attr_info(found->idx, index, PFM_OS_NONE, &part) != PFM_SUCCESS ||
		    part.type != PFM_ATTR_UMASK)
			continue;
		parts = true;
		snprintf(name, sizeof(name), "%s::%s:%s", pmu->name, found->name, part.name);
		snprintf(description, sizeof(description), "%.190s: %.190s", found->desc, part.desc);
		if (!callback(&event, context))
			return false;
	}
	if (!parts) {
		char name[FM_EVENT_NAME];
		struct fm_library_event event = {name, pmu->name, found->desc, pmu->is_present};

		snprintf(name, sizeof(name), "%s::%s", pmu->name, found->name);
		return callback(&event, context);
	}
	return true;
}

void fm_library_each(const char *only, bool (*callback)(const struct fm_library_event *event, void *context),
                     void *context)
{
	pfm_pmu_t number;

	if (!ready())
		return;
	pfm_for_all_pmus(number)
	{
		pfm_pmu_info_t pmu = {.size = sizeof(pmu)};

		if (pfm_get_pmu_info(number, &pmu) != PFM_SUCCESS ||
		    (only ? strcmp(only, pmu.name) != 0 : !pmu.is_present))
			continue;
		for (int i = pmu.first_event; i != -1; i = pfm_get_event_next(i)) {
			pfm_event_info_t found = {.size = sizeof(found)};

			if (pfm_get_event_info(i, PFM_OS_NONE, &found) == PFM_SUCCESS &&
			    !each_part(&pmu, &found, callback, context))
				return;
		}
	}
}

#else

int fm_library_resolve(const char *name, struct fm_event *event, struct fm_error *error)
{
	(void)name, (void)event, (void)error;
	return -ENOENT;
}

bool fm_library_has_pmu(const char *pmu)
{
	(void)pmu;
	return false;
}

void fm_library_each(const char *only, bool (*callback)(const struct fm_library_event *event, void *context),
                     void *context)
{
	(void)only, (void)callback, (void)context;
}
#endif
