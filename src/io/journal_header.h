/* journal_header: the named texts at the beginning of a journal.  Private to io.
 *
 * Eight bytes of format, how many fields, then name and text of each, all ended by zeros, filled up
 * with zeros to a fixed size, so that what lies behind it can be told whatever became of it; the
 * last eight bytes are the XXH3-64 of all others. */
#ifndef DM_IO_JOURNAL_HEADER_H
#define DM_IO_JOURNAL_HEADER_H

#include "io/journal.h"

enum { DM_HEADER = 1 << 16 };

/* Fills TEXT; *KEY is its checksum. */
void dm_header_make(const dm_attributes *fields, char text[DM_HEADER], uint64_t *key);

/* Whether a file of BYTES that begins with TEXT can be a journal, also one never finished. */
bool dm_header_is_ours(const char *text, int64_t bytes);

/* Reads the header in the BYTES of a journal; DM_JOURNAL_PRESENT where it is whole. */
dm_journal_state dm_header_read(const char *text, int64_t bytes, dm_attributes *fields,
                                uint64_t *key);

#endif
