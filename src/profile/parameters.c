#include "profile/parameters.h"

const struct fm_parameter fm_core_parameters[FM_CORE_PARAMETERS] = {
#define PARAMETER(identifier, words, unit, ...) {#identifier, words, unit},
#include "profile/core.def"
#undef PARAMETER
};

const struct fm_parameter fm_prefetch_parameters[FM_PREFETCH_PARAMETERS] = {
#define PREFETCH_PARAMETER(identifier, words, unit) {#identifier, words, unit},
#include "profile/prefetch.def"
#undef PREFETCH_PARAMETER
};

const struct fm_parameter fm_translation_parameters[FM_TRANSLATION_PARAMETERS] = {
#define TRANSLATION_PARAMETER(identifier, words, unit) {#identifier, words, unit},
#include "profile/translation.def"
#undef TRANSLATION_PARAMETER
};

const struct fm_parameter fm_translation_huge_parameters[FM_TRANSLATION_PARAMETERS] = {
#define TRANSLATION_PARAMETER(identifier, words, unit) {#identifier "_2m", words ", of 2 MiB", unit},
#include "profile/translation.def"
#undef TRANSLATION_PARAMETER
};

const struct fm_parameter fm_touch_parameters[FM_TOUCH_PARAMETERS] = {
#define TOUCH_PARAMETER(identifier, memory, page, distance, before, timed, words) {#identifier, words, "ns"},
#include "profile/touch.def"
#undef TOUCH_PARAMETER
    {"touch_kernel_share", "share of the time of first writes that the kernel accounts for as its own", ""},
};

const struct fm_parameter fm_ways_parameters[FM_WAYS_COUNT] = {
    {"l1_ways", "lines that a set of the cache holds", "ways"},
    {"l2_ways", "lines that a set of the cache holds", "ways"},
};

const struct fm_core_operation fm_core_operations[FM_CORE_OPERATIONS] = {
    {FM_OPERATION_multiply, FM_CORE_multiply_latency, FM_CORE_multiply_interval},
    {FM_OPERATION_divide, FM_CORE_divide_latency, FM_CORE_divide_interval},
    {FM_OPERATION_float_add, FM_CORE_float_add_latency, FM_CORE_float_add_interval},
    {FM_OPERATION_float_multiply, FM_CORE_float_multiply_latency, FM_CORE_float_multiply_interval},
    {FM_OPERATION_float_fused, FM_CORE_float_fused_latency, FM_CORE_float_fused_interval},
    {FM_OPERATION_float_divide, FM_CORE_float_divide_latency, FM_CORE_float_divide_interval},
    {FM_OPERATION_float_root, FM_CORE_float_root_latency, FM_CORE_float_root_interval},
    {FM_OPERATION_identify, FM_CORE_identify, FM_CORE_identify},
    /* like others */
    {FM_OPERATION_multiply_wide, FM_CORE_multiply_latency, FM_CORE_multiply_interval},
    {FM_OPERATION_divide_signed, FM_CORE_divide_latency, FM_CORE_divide_interval},
};

const struct fm_parameter fm_contention_kinds[FM_CONTENTION_KINDS] = {
#define CONTENTION_KIND(identifier, name, kernel, apart, words) {name, words, "ns"},
#include "profile/contention.def"
#undef CONTENTION_KIND
};
