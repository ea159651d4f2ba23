/* notes: what a run applied, ignored or warned of, each text once: printed, recorded and reported
 * by whoever shows it. */
#ifndef DM_CORE_NOTES_H
#define DM_CORE_NOTES_H

#include <stdbool.h>

typedef struct dm_notes dm_notes;

typedef enum dm_note_kind {
  DM_NOTE_APPLIED, /* what was done to the numbers, as the file or the user says */
  DM_NOTE_WARNING, /* what was ignored, or may be wrong */
} dm_note_kind;

/* NULL: no memory. All calls but free may come from several threads, and take NULL. */
dm_notes *dm_notes_new(void);
void dm_notes_free(dm_notes *notes);
void dm_notes_clear(dm_notes *notes);

/* Adds TEXT, unless there are too many; false: it is there already. */
bool dm_notes_add(dm_notes *notes, dm_note_kind kind, const char *text);

int dm_notes_count(dm_notes *notes);

/* Text I, from 0 on, valid until the notes are cleared. */
const char *dm_notes_text(dm_notes *notes, int i, dm_note_kind *kind);

const char *dm_note_kind_name(dm_note_kind kind); /* "applied", "warning" */

/* All texts, with BETWEEN between them; the caller frees it. NULL: there are none, or no memory. */
char *dm_notes_join(dm_notes *notes, const char *between);

#endif
