/* Texts of the kinds; kinds.def names them. */
#ifndef TEXTS_H
#define TEXTS_H

#define KIND(name, ...) extern const char text_##name[];
#include "kinds.def"
#undef KIND
#undef AT
#undef NEVER

#endif
