#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef fm_error_set

int fm_error_set(struct fm_error *error, int code, const char *format, ...)
{
	va_list list;

	if (!error)
		return -code;
	error->code = code;
	va_start(list, format);
	vsnprintf(error->message, sizeof(error->message), format, list);
	va_end(list);
	return -code;
}

int fm_error_prefix(struct fm_error *error, const char *format, ...)
{
	char old[sizeof(error->message)];
	va_list list;
	int length;

	if (!error)
		return 0;
	memcpy(old, error->message, sizeof(old));
	va_start(list, format);
	length = vsnprintf(error->message, sizeof(error->message), format, list);
	va_end(list);
	if (length >= 0 && (size_t)length < sizeof(error->message))
		snprintf(error->message + length, sizeof(error->message) - (size_t)length, ": %s", old);
	return -error->code;
}
