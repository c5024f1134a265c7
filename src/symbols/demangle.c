#include <ctype.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/text.h"
#include "symbols/internal.h"
#include "symbols/symbols.h"

/* gfortran: __module_MOD_procedure */
static bool demangle_module_procedure(const char *name, char *buffer, size_t size)
{
	static const char separator[] = "_MOD_";
	const char *middle;

	if (strncmp(name, "__", 2) != 0)
		return false;
	name += 2;
	middle = strstr(name, separator);
	if (!middle || middle == name || !middle[sizeof(separator) - 1])
		return false;
	/* what gfortran puts there is in lower case */
	for (const char *letter = name; letter < middle; letter++)
		if (!islower((unsigned char)*letter) && !isdigit((unsigned char)*letter) && !strchr("_.", *letter))
			return false;
	snprintf(buffer, size, "%.*s::%s", (int)(middle - name), name, middle + sizeof(separator) - 1);
	return true;
}

#ifdef FATHOM_HAS_LIBIBERTY
#include <libiberty/demangle.h>

enum {
	NAME_MAX_BYTES = 16384, /* of mangled names: no compiler makes longer ones for programs that people wrote */
	/* The library gives up on longer ones, since it does not know how much stack there is. */
	PLAIN_STACK_BYTES = 1000,
	CHOICES_MAX = 10,
	LARGE_STACK = 512 << 20, /* address space; untouched pages cost nothing */
};

struct task {
	const char *name;
	int options;
	char *buffer;
	size_t size, used;
	bool done, is_cut;
	jmp_buf enough;
};

/* A short name may expand to 2^100 bytes, so the demangler must stop early. The library's frames below hold no
   resources: with a callback it works on the stack alone. */
static void take(const char *text, size_t length, void *opaque)
{
	struct task *task = opaque;
	size_t room = task->size - 1 - task->used;
	size_t taken = length < room ? length : room;

	if (taken)
		memcpy(task->buffer + task->used, text, taken);
	task->used += taken;
	if (length > room) {
		task->is_cut = true;
		longjmp(task->enough, 1);
	}
}

static void *carry_out(void *opaque)
{
	struct task *task = opaque;

	if (setjmp(task->enough)) {
		task->done = true;
		return NULL;
	}
	/* always with its own limit: names of Rust may refer to themselves without end */
	task->done = rust_demangle_callback(task->name, DMGL_NO_OPTS, take, task);
	if (!task->done) {
		task->used = 0;
		task->done = cplus_demangle_v3_callback(task->name, task->options, take, task);
	}
	return NULL;
}

static void carry_out_on_large_stack(struct task *task)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes))
		return;
	task->options |= DMGL_NO_RECURSE_LIMIT;
	if (!pthread_attr_setstacksize(&attributes, LARGE_STACK) &&
	    !pthread_create(&thread, &attributes, carry_out, task))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* Behind a conversion operator ("cv") the library tries each template parameter with arguments ("T_I") in two ways, so
   that a few dozen of them would take years. */
static bool takes_too_long(const char *name)
{
	unsigned choices = 0;

	if (!strstr(name, "cv"))
		return false;
	while ((name = strchr(name, 'T'))) {
		name++;
		name += strspn(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		choices += name[0] == '_' && name[1] == 'I';
	}
	return choices > CHOICES_MAX;
}

static bool demangle_by_library(const char *name, bool with_parameters, char *buffer, size_t size)
{
	static const char mark[] = "…";
	size_t length = strnlen(name, NAME_MAX_BYTES + 1);
	struct task task = {
	    .name = name,
	    .options = DMGL_ANSI | (with_parameters ? DMGL_PARAMS | DMGL_RET_DROP : 0),
	    .buffer = buffer,
	    .size = size,
	};

	/* "_Z", "_R", and what begins with them after more underscores or "_GLOBAL_" */
	if (name[0] != '_' || length > NAME_MAX_BYTES || size <= sizeof(mark) || takes_too_long(name))
		return false;
	if (length < PLAIN_STACK_BYTES)
		carry_out(&task);
	else
		carry_out_on_large_stack(&task);
	if (!task.done)
		return false;
	if (task.is_cut) {
		/* at a whole character */
		while (task.used &&
		       (task.used + sizeof(mark) > size || ((unsigned char)buffer[task.used] & 0xc0) == 0x80))
			task.used--;
		memcpy(buffer + task.used, mark, sizeof(mark) - 1);
		task.used += sizeof(mark) - 1;
	}
	buffer[task.used] = '\0';
	return true;
}

bool fm_symbols_can_demangle(void)
{
	return true;
}

#else

static bool demangle_by_library(const char *name, bool with_parameters, char *buffer, size_t size)
{
	(void)name;
	(void)with_parameters;
	(void)buffer;
	(void)size;
	return false;
}

bool fm_symbols_can_demangle(void)
{
	return false;
}

#endif

bool fm_demangle(const char *name, bool with_parameters, char *buffer, size_t size)
{
	return demangle_module_procedure(name, buffer, size) ||
	       demangle_by_library(name, with_parameters, buffer, size);
}

char *fm_demangle_copy(const char *name, bool with_parameters)
{
	char demangled[FM_DEMANGLED_MAX], printable[FM_DEMANGLED_MAX];

	if (!fm_demangle(name, with_parameters, demangled, sizeof(demangled)))
		fm_text_elide(demangled, sizeof(demangled), name, SIZE_MAX);
	fm_printable_copy(printable, sizeof(printable), demangled);
	return strdup(printable);
}

const char *fm_symbols_demangle(const char *name, char *buffer, size_t size)
{
	char demangled[FM_DEMANGLED_MAX], printable[FM_DEMANGLED_MAX];

	if (!fm_demangle(name, true, demangled, sizeof(demangled)))
		return name;
	if (strlen(demangled) >= size)
		fm_demangle(name, false, demangled, sizeof(demangled));
	fm_printable_copy(printable, sizeof(printable), demangled);
	return fm_text_elide(buffer, size, printable, SIZE_MAX);
}
