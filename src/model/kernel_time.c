#include "model/kernel_time.h"
#include "model/doubt.h"
#include "profile/faults.h"
#include "profile/profile.h"

#include <math.h>

bool fm_kernel_matters(const struct fm_recorded_native *native)
{
	return native->share_seconds > FM_KERNEL_SECONDS && native->kernel_share > FM_KERNEL_MATTERS;
}

void fm_kernel_time(const struct fm_recording *recording, struct fm_picture *picture)
{
	const struct fm_recorded_native *native = &recording->native;
	double seconds = native->kernel_seconds;

	picture->kernel_seconds = fm_figure_unavailable("the program had no native run");
	picture->fault_seconds = picture->kernel_seconds;
	if (!native->runs)
		return;
	if (picture->part.region || picture->part.thread >= 0) {
		picture->kernel_seconds = fm_figure_unavailable("known for the whole program only");
		picture->fault_seconds = picture->kernel_seconds;
		return;
	}
	picture->kernel_seconds =
	    fm_figure_make(seconds, fmax(0, seconds - FM_TICKS * FM_TICK), seconds + FM_TICKS * FM_TICK, "s",
	                   FM_ORIGIN_measured, "native", native->runs);
	if (!native->faults)
		picture->fault_seconds = fm_figure_unavailable("page faults were not counted");
	else if (!recording->profile)
		picture->fault_seconds = fm_figure_unavailable("there is no profile of this machine");
	else if (!recording->profile->touch_measured)
		picture->fault_seconds = fm_figure_unavailable(
		    "the profile does not say what a page fault costs: run 'fathom machine' again");
	else
		picture->fault_seconds = fm_faults_predict(recording->profile->touch, native->faults,
		                                           native->huge_faults, native->huge_always);
}
