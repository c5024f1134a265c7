#include "counters/counting.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/host.h"
#include "base/sysfs.h"
#include "base/array.h"
#include "counters/calls.h"
#include "counters/refusal.h"

struct counter {
	int file;
	unsigned event;
	bool leads; /* its group, or it is alone */
};

struct fm_counting {
	struct fm_event *events;
	unsigned count;
	struct counter *counters;
	unsigned counter_count, counter_room;
	bool user_only[FM_EVENTS_MAX];
};

static int refuse(const struct fm_event *event, int code, struct fm_error *error)
{
	struct fm_refusal refusal;

	fm_refusal_explain(code, fm_event_needs_pmu(event) ? "hardware counters for it" : "such event",
	                   fm_host_is_virtual(), &refusal);
	if (code == ESRCH)
		return fm_error_set(error, ESRCH, "the task has ended");
	return fm_error_set(error, ENOTSUP, "%s cannot be counted: %s. Remedy: %s", event->name, refusal.why,
	                    refusal.remedy);
}

/* The kernel's part is often not for everyone: then at least the program's own. */
static int open_one(const struct fm_event *event, const struct fm_target *target, int cpu, int group, bool *user_only)
{
	struct perf_event_attr attributes = event->attributes;
	pid_t task = event->cpu >= 0 ? -1 : target->task;
	int file;

	attributes.size = sizeof(attributes);
	attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attributes.disabled = group < 0;
	attributes.inherit = target->inherit && task >= 0;
	attributes.enable_on_exec = target->enable_on_exec && group < 0 && task >= 0;
	file = fm_call_open(&attributes, task, event->cpu >= 0 ? event->cpu : cpu, group);
	if (file < 0 && (errno == EACCES || errno == EPERM) && !attributes.exclude_kernel && !attributes.exclude_user) {
		attributes.exclude_kernel = attributes.exclude_hv = 1;
		file = fm_call_open(&attributes, task, event->cpu >= 0 ? event->cpu : cpu, group);
		*user_only |= file >= 0;
		if (file < 0)
			errno = EACCES;
	}
	return file;
}

static bool has_counter(const struct fm_counting *counting, unsigned event)
{
	for (unsigned i = 0; i < counting->counter_count; i++)
		if (counting->counters[i].event == event)
			return true;
	return false;
}

static int open_all(struct fm_counting *counting, const struct fm_target *target, int cpu, struct fm_error *error)
{
	int leader = -1;
	unsigned group = 0;

	for (unsigned i = 0; i < counting->count; i++) {
		const struct fm_event *event = &counting->events[i];
		int file, with;

		/* uncore counters are neither per CPU nor per task: once is enough */
		if (event->cpu >= 0 && has_counter(counting, i))
			continue;
		with = event->group && event->group == group ? leader : -1;
		file = open_one(event, target, cpu, with, &counting->user_only[i]);
		if (file < 0)
			return refuse(event, errno, error);
		if (!fm_array_grow(counting->counters, counting->counter_count, counting->counter_room)) {
			close(file);
			return fm_error_set(error, ENOMEM, "out of memory");
		}
		counting->counters[counting->counter_count++] = (struct counter){file, i, with < 0};
		if (with < 0) {
			leader = file;
			group = event->group;
		}
	}
	return 0;
}

int fm_counting_add(struct fm_counting *counting, const struct fm_target *target, struct fm_error *error)
{
	char list[4096];
	int status = 0;

	if (!target->every_cpu)
		return open_all(counting, target, -1, error);
	/* numbers may have holes: "0-3,8" */
	if (fm_sysfs_read_line(list, sizeof(list), "devices/system/cpu/online"))
		snprintf(list, sizeof(list), "0-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (char *at = list; *at >= '0' && *at <= '9' && !status; at += *at == ',') {
		long first = strtol(at, &at, 10), last = first;

		if (*at == '-')
			last = strtol(at + 1, &at, 10);
		for (; first <= last && !status; first++)
			status = open_all(counting, target, (int)first, error);
	}
	return status;
}

int fm_counting_open(const struct fm_event *events, unsigned count, const struct fm_target *target,
                     struct fm_counting **ret_counting, struct fm_error *error)
{
	struct fm_counting *counting = count <= FM_EVENTS_MAX ? calloc(1, sizeof(*counting)) : NULL;
	int status;

	if (!counting)
		return fm_error_set(error, ENOMEM, "out of memory");
	counting->events = malloc(count * sizeof(*events));
	if (!counting->events) {
		free(counting);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	memcpy(counting->events, events, count * sizeof(*events));
	counting->count = count;
	status = fm_counting_add(counting, target, error);
	if (status)
		fm_counting_close(counting);
	else
		*ret_counting = counting;
	return status;
}

void fm_counting_close(struct fm_counting *counting)
{
	if (!counting)
		return;
	/* members before their leader */
	for (unsigned i = counting->counter_count; i-- > 0;)
		close(counting->counters[i].file);
	free(counting->counters);
	free(counting->events);
	free(counting);
}

static int control(struct fm_counting *counting, unsigned long request)
{
	int status = 0;

	for (unsigned i = 0; i < counting->counter_count; i++)
		if (counting->counters[i].leads && fm_call_control(counting->counters[i].file, request, 1))
			status = -errno;
	return status;
}

int fm_counting_start(struct fm_counting *counting)
{
	return control(counting, PERF_EVENT_IOC_ENABLE);
}

int fm_counting_stop(struct fm_counting *counting)
{
	return control(counting, PERF_EVENT_IOC_DISABLE);
}

/* The kernel multiplexes events that share counters: the count is a sample of time slices. The variation between slices
   is unknown; with a coefficient of variation of one, far above steady programs, the scaled value has this relative
   standard error. Without a slice it is unknown. */
void fm_count_conclude(const struct fm_event *event, struct fm_count *count)
{
	double share = count->enabled ? (double)count->running / (double)count->enabled : 0;
	double slices = (double)count->running / 1e6 / (event->turn_ms > 0 ? event->turn_ms : 4);
	double value, error;

	if (!count->enabled) {
		count->figure = fm_figure_unavailable("the counted task did not run in that time");
		return;
	}
	if (!count->running) {
		count->figure =
		    fm_figure_unavailable("the kernel never gave it a counter: too many events at once, or it is not "
		                          "supported here");
		return;
	}
	value = (double)count->value / share * event->scale;
	error = share < 1 ? 1.96 * sqrt((1 - share) / fmax(slices, 1)) * value : 0;
	count->figure = fm_figure_make(value, fmax(value - error, (double)count->value * event->scale), value + error,
	                               *event->unit ? event->unit : "events", FM_ORIGIN_counted, "perf", 1);
}

void fm_counting_read(struct fm_counting *counting, struct fm_count *ret_counts)
{
	bool failed[FM_EVENTS_MAX] = {false};

	memset(ret_counts, 0, counting->count * sizeof(*ret_counts));
	for (unsigned i = 0; i < counting->counter_count; i++) {
		struct fm_count *count = &ret_counts[counting->counters[i].event];
		struct fm_reading reading;

		if (fm_call_read(counting->counters[i].file, &reading)) {
			failed[counting->counters[i].event] = true;
			continue;
		}
		count->value += reading.value;
		count->enabled += reading.enabled;
		count->running += reading.running;
	}
	for (unsigned i = 0; i < counting->count; i++) {
		ret_counts[i].user_only = counting->user_only[i];
		if (failed[i])
			ret_counts[i].figure = fm_figure_unavailable("its counter cannot be read: a kernel error");
		else
			fm_count_conclude(&counting->events[i], &ret_counts[i]);
	}
}

void fm_count_difference(const struct fm_event *event, const struct fm_count *after, const struct fm_count *before,
                         struct fm_count *ret_difference)
{
	*ret_difference = *after;
	/* one that could not be read has no difference either */
	if (!after->enabled || after->enabled < before->enabled || after->value < before->value)
		return;
	ret_difference->value -= before->value;
	ret_difference->enabled -= before->enabled;
	ret_difference->running -= before->running;
	fm_count_conclude(event, ret_difference);
}
