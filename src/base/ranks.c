#include "base/ranks.h"

#include <stdio.h>
#include <stdlib.h>

void fm_rank_set(unsigned rank, unsigned ranks)
{
	static const char *const names[][2] = {{"FATHOM_RANK", "FATHOM_RANKS"},
	                                       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	                                       {"PMI_RANK", "PMI_SIZE"}};
	char number[16], count[16];

	snprintf(number, sizeof(number), "%u", rank);
	snprintf(count, sizeof(count), "%u", ranks);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		setenv(names[i][0], number, 1);
		setenv(names[i][1], count, 1);
	}
}
