/* The nearest word to a misspelt one. */
#ifndef FATHOM_BASE_SUGGEST_H
#define FATHOM_BASE_SUGGEST_H

/* NULL when none is near: at most a third of the letters may be wrong. */
const char *fm_suggest(const char *word, const char *const *candidates, unsigned count);

#endif
