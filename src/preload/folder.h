/* The session folder of the tool, seen from this process: the session, shared by all processes, and the file of this
   process. The file is opened again for each growth: a program may close unknown files and reuse their numbers. */
#ifndef FATHOM_PRELOAD_FOLDER_H
#define FATHOM_PRELOAD_FOLDER_H

#include "preload/calls.h"

/* Maps `least` to `most` bytes of the session in the folder named by the environment variable, and checks its header. A
   folder that others can write to is refused. Returns 0 or a negative errno. */
struct fm_folder_identity {
	uint64_t magic;
	uint32_t version;
};
int fm_folder_open(const char *variable, struct fm_folder_identity identity, size_t least, size_t most,
                   void **ret_session, size_t *ret_bytes);

/* Hides the session from programs executed later. The variable stays, empty: markers look for it. */
void fm_folder_hide(const char *variable);

/* Is the tool that made the session alive? Yes while it holds its lock on the session. */
bool fm_folder_reader_lives(void);

/* Makes the name of this process's file: process, time, suffix. */
void fm_folder_name_file(const char *suffix);

/* Opens, or removes, the file of this process. Opening is for reading and writing; returns a negative errno on
   failure. */
long fm_folder_open_file(long flags);
void fm_folder_remove_file(void);

/* Reserves `size` bytes of a file: on a full disk, a write to unreserved memory would end the program. Returns 0 or a
   negative errno. */
int fm_folder_claim(long file, uint64_t from, uint64_t size);

/* May this process write to its file? Not before the first call, after the end, or in a forked child before its fork
   hook: the kernel clears this mark in children. */
int fm_alive_open(void); /* 0 or a negative errno */
void fm_alive_set(bool alive);
bool fm_is_alive(void);

#endif
