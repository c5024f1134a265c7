#include "engine/trace/allocations.h"

#include "engine/account/heap.h"
#include "engine/account/objects.h"
#include "engine/trace/state.h"

_Static_assert((int)FM_TRACE_ALLOCATION_FRAMES == (int)FM_RESULT_ALLOCATION_FRAMES, "copied as they are");

void fm_traced_allocations(struct fm_consumer *consumer)
{
	struct fm_trace_allocations *all = &consumer->trace->allocations;
	struct fm_heap *heap = &consumer->account->heap;
	uint64_t read = consumer->allocations_read, written;

	/* without room for the ring, not even its pages are to be touched */
	if (!__atomic_load_n(&consumer->trace->head.objects, __ATOMIC_ACQUIRE))
		return;
	written = __atomic_load_n(&all->written, __ATOMIC_ACQUIRE);
	if (written == read || written - read > FM_TRACE_ALLOCATIONS)
		return;
	for (; read < written; read++) {
		const struct fm_trace_allocation *entry = &all->list[read % FM_TRACE_ALLOCATIONS];
		struct fm_trace_allocation own;

		/* its thread is still at it; or it was cancelled, or left by a jump out of a handler */
		if (__atomic_load_n(&entry->ready, __ATOMIC_ACQUIRE) != (uint32_t)read + 1) {
			if (written - read <= FM_TRACE_ALLOCATIONS / 2)
				break;
			continue;
		}
		own = *entry;
		fm_heap_add(heap, own.address, own.size, own.size < FM_TRACE_ALLOCATION_LARGE, own.frames);
	}
	consumer->allocations_read = read;
	__atomic_store_n(&all->read, read, __ATOMIC_RELEASE);
}

void fm_traced_allocations_settle(struct fm_consumer *consumer)
{
	fm_traced_allocations(consumer);
	if (fm_heap_settle(&consumer->account->heap, false))
		fm_objects_heap_changed(consumer->account);
}
