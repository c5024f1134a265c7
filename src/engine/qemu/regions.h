/* Marked regions of the program.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_REGIONS_H
#define FATHOM_ENGINE_QEMU_REGIONS_H

struct fm_engine_thread;

void fm_region_begin(struct fm_engine_thread *thread, const char *name);

/* Ends the innermost region of that name; an end without a begin is passed over. */
void fm_region_end(struct fm_engine_thread *thread, const char *name);

/* The region under way of that name never was. */
void fm_region_forget(struct fm_engine_thread *thread, const char *name);

/* Around a move to another core: what was spent on the old one is the open regions', and they go on from the new one.
 */
void fm_regions_leave_core(struct fm_engine_thread *thread);
void fm_regions_enter_core(struct fm_engine_thread *thread);

#endif
