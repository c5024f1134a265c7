/* Room for the results. Their file is sparse: on a full file system, any access to an unallocated page raises SIGBUS.
   Results therefore begin as anonymous memory, and a page is mapped from the file once its block is reserved. Data in
   pages without a block is lost, without further effects. */
#ifndef FATHOM_ENGINE_ACCOUNT_ROOM_H
#define FATHOM_ENGINE_ACCOUNT_ROOM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/results.h"

enum { FM_ROOM_PATH = 512, FM_ROOM_PAGE_LEAST = 4096 };

struct fm_room {
	pthread_mutex_t mutex;
	char path[FM_ROOM_PATH];
	/* Mapping of the whole file, never accessed: pages are reserved here and mapped a second time in `results`. No
	   open descriptor, since programs close and replace descriptors. */
	char *file;
	char *results;
	size_t page;
	_Atomic unsigned char pages[sizeof(struct fm_results) / FM_ROOM_PAGE_LEAST + 2]; /* enum page_state */
};

/* Initialises a zeroed room; unmaps the file and the results. */
void fm_room_init(struct fm_room *room);
void fm_room_release(struct fm_room *room);

/* Opens the file made by the command. False if it is unusable or the file system is full. */
bool fm_room_open(struct fm_room *room, const char *path, unsigned cores, bool timing);

/* Creates the file of another process: `name`, or the same name in another folder with room. False: no room. */
bool fm_room_create(struct fm_room *room, const char *name, unsigned cores, bool timing);

/* Uses no file: all results are anonymous memory. */
void fm_room_none(struct fm_room *room);

/* Maps the results of the file opened or created last, at `where` or anywhere (NULL). NULL without memory. */
struct fm_results *fm_room_use(struct fm_room *room, struct fm_results *where);

/* Reserves a part before its first use. False if the file system is full: the part's data will be lost. No other thread
   may write to its pages meanwhile. */
bool fm_room_claim(struct fm_room *room, const void *begin, size_t bytes);

/* Maps the first page of the first process's results, which all processes share; NULL if unavailable. */
struct fm_results *fm_room_first(const char *path);

#endif
