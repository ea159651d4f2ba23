/* journal_header: the named texts at the start of a journal. Private to io.
 *
 * Eight bytes of format, the number of fields, then name and text of each, zero-terminated, padded
 * with zeros to a fixed size, so that records can be found whatever happened to the header; the
 * last eight bytes are the XXH3-64 of all others. */
#ifndef DM_FILE_JOURNAL_HEADER_H
#define DM_FILE_JOURNAL_HEADER_H

#include "file/journal.h"

enum { DM_HEADER = 1 << 16 };

/* Fills TEXT; *KEY is its checksum. */
void dm_header_make(const dm_attributes *fields, char text[DM_HEADER], uint64_t *key);

/* The first bytes, by which a journal is recognised. */
enum { DM_HEADER_MARK = 8 };

/* Whether a file of BYTES that starts with TEXT can be a journal, or the start of one. */
bool dm_header_is_ours(const char *text, int64_t bytes);

/* Whether its BYTES are all zero: nothing of it reached the disk. */
bool dm_header_is_nothing(const char *text, int64_t bytes);

/* Parses the header in the BYTES of a journal; DM_JOURNAL_PRESENT if it is complete. */
dm_journal_state dm_header_read(const char *text, int64_t bytes, dm_attributes *fields,
                                uint64_t *key);

#endif
