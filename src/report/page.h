/* The page of `report --html` without its data: one file, made from web/ at build time. */
#ifndef FATHOM_REPORT_PAGE_H
#define FATHOM_REPORT_PAGE_H

#include <stddef.h>

/* The two parts of the page, before and after the data. */
extern const unsigned char fm_page_head[], fm_page_tail[];
extern const size_t fm_page_head_bytes, fm_page_tail_bytes;

/* The reason why this build has no page, and the remedy; "" with a page. */
extern const char fm_page_lacks[];

#endif
