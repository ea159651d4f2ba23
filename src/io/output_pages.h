/* output_pages: an output's pages pass from who reserved them to who writes them.  Private to io.
 */
#ifndef DM_IO_OUTPUT_PAGES_H
#define DM_IO_OUTPUT_PAGES_H

#include <stdbool.h>

#include "io/output.h"

/* PAGES, which map all BYTES of the file, become OUTPUT's; false: it writes in another way. */
bool dm_output_take_pages(dm_output *output, void *pages, int64_t bytes);

#endif
