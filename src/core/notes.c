#include "core/notes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NOTES = 64 };

struct dm_notes {
  pthread_mutex_t lock;
  int count;
  struct {
    dm_note_kind kind;
    char *text;
  } list[MOST_NOTES];
};

dm_notes *dm_notes_new(void) {
  dm_notes *notes = calloc(1, sizeof *notes);
  if (notes && pthread_mutex_init(&notes->lock, NULL) == 0) return notes;
  free(notes);
  return NULL;
}

void dm_notes_clear(dm_notes *notes) {
  if (!notes) return;
  pthread_mutex_lock(&notes->lock);
  for (int i = 0; i < notes->count; i++) free(notes->list[i].text);
  notes->count = 0;
  pthread_mutex_unlock(&notes->lock);
}

void dm_notes_free(dm_notes *notes) {
  if (!notes) return;
  dm_notes_clear(notes);
  pthread_mutex_destroy(&notes->lock);
  free(notes);
}

bool dm_notes_add(dm_notes *notes, dm_note_kind kind, const char *text) {
  if (!notes) return true;
  bool known = false;
  pthread_mutex_lock(&notes->lock);
  for (int i = 0; i < notes->count && !known; i++) known = strcmp(notes->list[i].text, text) == 0;
  char *copy = known || notes->count == MOST_NOTES ? NULL : strdup(text);
  if (copy) {
    notes->list[notes->count].kind = kind;
    notes->list[notes->count++].text = copy;
  }
  pthread_mutex_unlock(&notes->lock);
  return !known;
}

int dm_notes_count(dm_notes *notes) {
  if (!notes) return 0;
  pthread_mutex_lock(&notes->lock);
  const int count = notes->count;
  pthread_mutex_unlock(&notes->lock);
  return count;
}

const char *dm_notes_text(dm_notes *notes, int i, dm_note_kind *kind) {
  pthread_mutex_lock(&notes->lock);
  const char *text = notes->list[i].text;
  *kind = notes->list[i].kind;
  pthread_mutex_unlock(&notes->lock);
  return text;
}

const char *dm_note_kind_name(dm_note_kind kind) {
  return kind == DM_NOTE_APPLIED ? "applied" : "warning";
}

char *dm_notes_join(dm_notes *notes, const char *between) {
  const int count = dm_notes_count(notes);
  dm_note_kind kind;
  size_t size = 1;
  for (int i = 0; i < count; i++) size += strlen(dm_notes_text(notes, i, &kind)) + strlen(between);
  char *all = count > 0 ? malloc(size) : NULL;
  if (!all) return NULL;
  char *end = all;
  for (int i = 0; i < count; i++) {
    if (i > 0) end = stpcpy(end, between);
    end = stpcpy(end, dm_notes_text(notes, i, &kind));
  }
  return all;
}
