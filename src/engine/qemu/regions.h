/* Marked regions of the program.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_REGIONS_H
#define FATHOM_ENGINE_QEMU_REGIONS_H

struct fm_engine_thread;

void fm_region_begin(struct fm_engine_thread *thread, const char *name);

/* Ends the innermost region of that name; an end without a begin is ignored. */
void fm_region_end(struct fm_engine_thread *thread, const char *name);

/* Cancels the current instance of the region. */
void fm_region_forget(struct fm_engine_thread *thread, const char *name);

/* Around a move to another core: adds the old core's counts to the open regions, and continues from the new core's. */
void fm_regions_leave_core(struct fm_engine_thread *thread);
void fm_regions_enter_core(struct fm_engine_thread *thread);

#endif
