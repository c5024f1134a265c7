#include "generator.h"
#include "texts.h"

#define KIND(name, threads, shape, arrays, ...) {#name, threads, shape, arrays, {__VA_ARGS__}, text_##name},
const struct kind kinds[] = {
#include "kinds.def"
};
#undef KIND

const unsigned kind_count = sizeof(kinds) / sizeof(*kinds);

const char *const level_names[LEVELS] = {"L1", "L2", "L3", "memory"};
