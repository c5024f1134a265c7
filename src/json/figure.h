/* Figures as JSON, as in the contract for scripts: an object with value, unit, low, high, origin, backend and trials,
   or null with a sibling "<name>_why". */
#ifndef FATHOM_JSON_FIGURE_H
#define FATHOM_JSON_FIGURE_H

#include <jansson.h>

#include "base/disturbance.h"
#include "base/error.h"
#include "base/figure.h"

/* A new reference; null if the figure is not available. */
json_t *fm_json_figure(const struct fm_figure *figure);

/* object[name] = figure, and object[name_why] if it is not available. */
void fm_json_set_figure(json_t *object, const char *name, const struct fm_figure *figure);

/* Reads a figure. A missing or malformed member gives an unavailable figure. */
struct fm_figure fm_json_get_figure(const json_t *object, const char *name);

/* The text; null if it is empty or NULL. */
json_t *fm_json_text(const char *text);

/* object[name] = null, object[name_why] = why. */
void fm_json_set_null(json_t *object, const char *name, const char *why);

/* Writes a document and releases its reference. */
void fm_json_print(json_t *root, FILE *output);

json_t *fm_json_disturbance(const struct fm_disturbance *disturbance);
void fm_json_get_disturbance(const json_t *object, struct fm_disturbance *ret_disturbance);

/* A new document {"fathom": version, "verb": verb}. */
json_t *fm_json_document(const char *verb);

/* Reads a file; -EBADMSG with file, line and reason if it is no JSON object, -errno if it cannot be read. */
int fm_json_read(const char *path, json_t **ret_root, struct fm_error *error);

/* Replaces a file atomically (written beside it, synced, renamed) and creates its directories. A symbolic link is
   replaced, not followed. */
int fm_json_replace(const char *path, const json_t *root, struct fm_error *error);

#endif
