/* The nearest word to a misspelt one. */
#ifndef FATHOM_BASE_SUGGEST_H
#define FATHOM_BASE_SUGGEST_H

/* NULL if more than a third of the letters differ. */
const char *fm_suggest(const char *word, const char *const *candidates, unsigned count);

#endif
