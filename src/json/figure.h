/* Figures as JSON, the way the contract for scripts has them: an object with value, unit, low, high, origin, backend
   and trials, or null with a sibling "<name>_why". */
#ifndef FATHOM_JSON_FIGURE_H
#define FATHOM_JSON_FIGURE_H

#include <jansson.h>

#include "base/disturbance.h"
#include "base/error.h"
#include "base/figure.h"

/* A new reference; JSON null when the figure is not available. */
json_t *fm_json_figure(const struct fm_figure *figure);

/* object[name] = figure, and object[name_why] when it is not available. */
void fm_json_set_figure(json_t *object, const char *name, const struct fm_figure *figure);

/* The reverse. A missing or malformed member is a figure that is not available. */
struct fm_figure fm_json_get_figure(const json_t *object, const char *name);

json_t *fm_json_disturbance(const struct fm_disturbance *disturbance);
void fm_json_get_disturbance(const json_t *object, struct fm_disturbance *ret_disturbance);

/* {"fathom": version, "verb": verb} to which the verb adds its members. */
json_t *fm_json_document(const char *verb);

/* Read a whole file; -EBADMSG with file, line and reason when it is no JSON object, -errno when it cannot be read. */
int fm_json_read(const char *path, json_t **ret_root, struct fm_error *error);

/* Replace a file as a whole: written beside it, synced, renamed. Directories on the way are made. An existing file
   that is a symbolic link is replaced, not followed. */
int fm_json_replace(const char *path, const json_t *root, struct fm_error *error);

#endif
