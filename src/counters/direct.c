#include "counters/direct.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/host.h"
#include "counters/calls.h"
#include "counters/refusal.h"

/* The hardware counter of that number, from zero on. */
static uint64_t read_register(uint32_t number)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t value = 0;

	/* the register's number is part of the instruction */
#define COUNTER(n)                                                            \
	case n:                                                               \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value)); \
		break;
	switch (number) {
		COUNTER(0)
		COUNTER(1)
		COUNTER(2)
		COUNTER(3)
		COUNTER(4)
		COUNTER(5)
		COUNTER(6)
		COUNTER(7)
	case 31:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value));
		break;
	default:
		break;
	}
#undef COUNTER
	return value;
#else
	(void)number;
	return 0;
#endif
}

int fm_direct_open(const struct fm_event *event, struct fm_direct *ret_direct, struct fm_error *error)
{
	struct perf_event_attr attributes = event->attributes;
	struct fm_refusal refusal;
	void *page;

	attributes.size = sizeof(attributes);
	attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
#if defined(__aarch64__)
	/* there it must be asked for; a kernel that does not know it refuses */
	attributes.config1 |= 2;
#endif
	ret_direct->page = NULL;
	ret_direct->file = fm_call_open(&attributes, 0, -1, -1);
#if defined(__aarch64__)
	if (ret_direct->file < 0) {
		attributes.config1 &= ~2ull;
		ret_direct->file = fm_call_open(&attributes, 0, -1, -1);
	}
#endif
	if (ret_direct->file < 0) {
		fm_refusal_explain(errno, "hardware counters for it", fm_host_is_virtual(), &refusal);
		return fm_error_set(error, ENOTSUP, "%s cannot be counted: %s. Remedy: %s", event->name, refusal.why,
		                    refusal.remedy);
	}
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, ret_direct->file, 0);
	if (page != MAP_FAILED)
		ret_direct->page = page;
	return 0;
}

void fm_direct_close(struct fm_direct *direct)
{
	if (direct->page)
		munmap(direct->page, (size_t)sysconf(_SC_PAGESIZE));
	close(direct->file);
	*direct = (struct fm_direct){.file = -1};
}

bool fm_direct_is_direct(const struct fm_direct *direct)
{
	const struct perf_event_mmap_page *page = direct->page;

	return page && page->cap_user_rdpmc && page->index;
}

bool fm_direct_read(const struct fm_direct *direct, uint64_t *ret_value)
{
	const volatile struct perf_event_mmap_page *page = direct->page;
	struct fm_reading reading;

	while (page && page->cap_user_rdpmc) {
		uint32_t sequence = page->lock, index;
		uint64_t value;
		int64_t counted;
		unsigned unused;

		atomic_signal_fence(memory_order_seq_cst);
		index = page->index;
		/* not on a counter at this moment: the system call knows */
		if (!index)
			break;
#if defined(__aarch64__)
		if (index > 8 && index != 32)
			break;
#endif
		value = (uint64_t)page->offset;
		unused = 64 - (unsigned)page->pmc_width;
		counted = (int64_t)(read_register(index - 1) << unused) >> unused;
		value += (uint64_t)counted;
		atomic_signal_fence(memory_order_seq_cst);
		/* the kernel moved it meanwhile: again */
		if (page->lock != sequence)
			continue;
		*ret_value = value;
		return true;
	}
	if (fm_call_read(direct->file, &reading))
		return false;
	*ret_value = reading.value;
	return true;
}
