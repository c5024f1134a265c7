#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "record/burst.h"
#include "record/log.h"
#include "record/mappings.h"

void fm_mappings_changed(const void *address, size_t size)
{
	if (fm_is_alive() && fm_session->sampling)
		fm_burst_code_changed((uint64_t)address, size);
}

void fm_mappings_of_file(const void *address, size_t size, int file)
{
	struct stat about = {0};

	if (!fm_is_alive() || !fm_session->sampling || fm_self.inside ||
	    fm_system_call(SYS_fstat, file, (long)&about, 0, 0, 0, 0) || !S_ISCHR(about.st_mode))
		return;
	if (about.st_rdev == makedev(1, 5)) /* /dev/zero is memory */
		return;
	fm_burst_device((uint64_t)address, size);
}
