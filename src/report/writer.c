#include "report/writer.h"

#include <string.h>

#define WRITER(identifier) extern const struct fm_writer fm_writer_##identifier;
#include "report/writers.def"
#undef WRITER

const struct fm_writer *const fm_writers[] = {
#define WRITER(identifier) &fm_writer_##identifier,
#include "report/writers.def"
#undef WRITER
    NULL,
};

const struct fm_writer *fm_writer_find(const char *name)
{
	for (unsigned i = 0; fm_writers[i]; i++)
		if (!strcmp(fm_writers[i]->name, name))
			return fm_writers[i];
	return NULL;
}
