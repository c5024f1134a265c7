/* The page of `report --html` without its data: made of web/ when Fathom is built, one file with everything inside. */
#ifndef FATHOM_REPORT_PAGE_H
#define FATHOM_REPORT_PAGE_H

#include <stddef.h>

/* The data goes between the two. */
extern const unsigned char fm_page_head[], fm_page_tail[];
extern const size_t fm_page_head_bytes, fm_page_tail_bytes;

/* Why there is no page in this build, and what to do; "": there is. */
extern const char fm_page_lacks[];

#endif
