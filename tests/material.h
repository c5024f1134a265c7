/* Material from outside, such as measurements on machines that nobody here has: FATHOM_MATERIAL names its folder. A
   test without it is skipped, with the reason. */
#ifndef FATHOM_TESTS_MATERIAL_H
#define FATHOM_TESTS_MATERIAL_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The path of a file of the material. False, and a line that says so, when it is not there. */
static inline bool material_find(const char *name, char *path, size_t size)
{
	const char *folder = getenv("FATHOM_MATERIAL");

	if (!folder || !*folder) {
		printf("SKIPPED: FATHOM_MATERIAL is not set\n");
		return false;
	}
	snprintf(path, size, "%s/%s", folder, name);
	if (!access(path, R_OK))
		return true;
	printf("SKIPPED: there is no %s\n", path);
	return false;
}

/* What a test program returns then: ctest knows it as skipped. */
enum { MATERIAL_MISSING = 77 };

#endif
