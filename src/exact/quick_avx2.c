/* The quick path for processors with AVX2; create.c chooses. */
#if defined(__AVX2__)
#define FM_QUICK_ACCESS fm_hierarchy_access_avx2
#include "exact/quick.c"
#endif
