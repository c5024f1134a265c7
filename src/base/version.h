/* The version, in one place. */
#ifndef FATHOM_BASE_VERSION_H
#define FATHOM_BASE_VERSION_H

#define FM_VERSION "0.2.0"

#endif
