/* The quick path for processors with AVX2; create.c chooses. */
#if defined(__AVX2__)
#define FM_QUICK_ACCESS fm_hierarchy_access_avx2
#define FM_QUICK_HIT fm_hierarchy_choose_hit_avx2
#define FM_QUICK_MISS fm_hierarchy_miss_avx2
#define FM_QUICK_PAGE fm_hierarchy_page_avx2
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same text, compiled for other instructions */
#include "simulator/quick.c"
#endif
