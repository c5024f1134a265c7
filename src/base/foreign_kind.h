/* Why a preloaded library does nothing in a process (foreign.h). */
#ifndef FATHOM_BASE_FOREIGN_KIND_H
#define FATHOM_BASE_FOREIGN_KIND_H

enum fm_foreign {
	FM_FOREIGN_NONE,
	FM_FOREIGN_TRACED,
	FM_FOREIGN_EMULATED,
	FM_FOREIGN_KINDS,
};

#endif
