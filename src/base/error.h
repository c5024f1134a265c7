/* Errors carry a message up to the command line; library code neither prints nor exits.
   Functions return 0 or a negative errno value and fill a struct fm_error that the caller provides (or NULL). The
   message has the reason and the remedy. */
#ifndef FATHOM_BASE_ERROR_H
#define FATHOM_BASE_ERROR_H

/* Two codes have a meaning of their own at the command line: EINVAL is wrong usage, ENOTSUP: the measurement is
   impossible on this machine. */
struct fm_error {
	int code;
	char message[480];
};

/* Store the message and return -code, so that `return fm_error_set(…)` reads well. */
int fm_error_set(struct fm_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#if defined(__clang_analyzer__)
/* clang-tidy checks single files and would assume that fm_error_set() may return 0. */
#define fm_error_set(error, code, ...) (fm_error_set(error, code, __VA_ARGS__), -(code))
#endif

/* Put "text: " in front of the message. Returns -error->code. */
int fm_error_prefix(struct fm_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
