#include "file/listing.h"

#include <stdio.h>
#include <string.h>

#include "file/child.h"
#include "file/contents.h"
#include "file/hdf5_use.h"
#include "file/inspect_impl.h"

typedef struct question {
  dm_location at;
  dm_trust trust;
} question;

/* The work of the child. */
typedef struct work {
  const question *asked;
  hid_t file;
  dm_dataset found; /* identity of the file */
  dm_listing *listing;
} work;

static void layout_of(hid_t set, char *text, size_t size) {
  static const char *const layouts[] = {[H5D_COMPACT] = "compact",
                                        [H5D_CONTIGUOUS] = "contiguous",
                                        [H5D_CHUNKED] = "chunked",
                                        [H5D_VIRTUAL] = "virtual"};
  hid_t creation = H5Dget_create_plist(set);
  const H5D_layout_t layout = creation < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(creation);
  if (layout >= H5D_COMPACT && layout <= H5D_VIRTUAL) snprintf(text, size, "%s", layouts[layout]);
  if (creation >= 0) H5Pclose(creation);
}

/* STATUS without the dataset's name, followed by its hint; frees STATUS. */
static void refusal_of(dm_status status, const dm_location *at, char *text, size_t size) {
  char front[2 * DM_PATH + 8];
  const char *message = status->message;
  const int length = snprintf(front, sizeof front, "%s:%s: ", at->file, at->dataset);
  if (strncmp(message, front, (size_t)length) == 0) message += length;
  snprintf(text, size, "%s%s%s", message, status->hint[0] ? "; " : "", status->hint);
  dm_status_free(status);
}

/* Why MET is not examined; DM_OK: it is. Must come right after the attempt to open it. */
static dm_status not_examined(const dm_location *at, const dm_met *met) {
  if (met->object >= 0) return DM_OK;
  if (met->object == DM_TOO_LONG)
    return dm_fail(DM_E_INPUT, "its name has more than %d characters", DM_PATH - 1);
  return met->object == DM_NOT_FOLLOWED
             ? dm_fail(DM_E_INPUT, "--allow-external follows it")
             : dm_h5_fail(DM_E_INPUT, at, "it is damaged, or leads nowhere");
}

static bool list_one(void *context, const dm_met *met) {
  work *w = context;
  dm_listing *listing = w->listing;
  dm_dataset found = w->found;
  snprintf(found.at.dataset, sizeof found.at.dataset, "%s", met->name);
  dm_status status = not_examined(&found.at, met);
  listing->all++;
  if (listing->count == DM_LISTED) {
    dm_status_free(status);
    return false;
  }
  dm_listed *entry = &listing->list[listing->count++];
  snprintf(entry->name, sizeof entry->name, "%s", met->name);
  if (!status) status = dm_examine_dataset(&w->asked->trust, w->file, met->object, &found);
  dm_describe_shape(met, entry->shape, sizeof entry->shape);
  if (met->object >= 0)
    dm_describe_type(met, entry->type, sizeof entry->type);
  else
    dm_describe_type(met, entry->layout, sizeof entry->layout);
  if (!status)
    dm_io_describe(&found, entry->layout, sizeof entry->layout);
  else if (met->object >= 0 && H5Iget_type(met->object) == H5I_DATASET)
    layout_of(met->object, entry->layout, sizeof entry->layout);
  if (status) refusal_of(status, &found.at, entry->refused, sizeof entry->refused);
  dm_dataset_free(&found);
  return false;
}

static dm_status list_all(const void *argument, void *result) {
  work w = {.asked = argument, .listing = result};
  const dm_location *at = &w.asked->at;
  memset(result, 0, sizeof(dm_listing));
  w.found.at = *at;
  DM_TRY(dm_examine_open(at, &w.asked->trust, &w.found, &w.file));
  if (w.file < 0) return DM_OK; /* a single array without a name */
  if (dm_each_dataset(w.file, &w.asked->trust, list_one, &w)) return DM_OK;
  return dm_h5_fail(DM_E_INPUT, at, "its datasets cannot be listed");
}

/* The child read an untrusted file. */
static void clean(char *text, size_t size) {
  text[size - 1] = '\0';
  dm_io_clean(text);
}

dm_status dm_io_list(const dm_location *location, const dm_trust *trust, dm_listing *listing) {
  const question asked = {*location, *trust};
  DM_TRY(dm_child_run(location, list_all, &asked, listing, sizeof *listing));
  if (listing->count < 0 || listing->count > DM_LISTED || listing->all < listing->count)
    return dm_fail_at(DM_E_INPUT, location, "rejected: its inspection gave no sensible answer");
  for (int64_t i = 0; i < listing->count; i++) {
    dm_listed *entry = &listing->list[i];
    entry->name[sizeof entry->name - 1] = '\0';
    if (!dm_io_clean(entry->name) && !entry->refused[0])
      snprintf(entry->refused, sizeof entry->refused, "its name is not printable");
    clean(entry->shape, sizeof entry->shape);
    clean(entry->type, sizeof entry->type);
    clean(entry->layout, sizeof entry->layout);
    clean(entry->refused, sizeof entry->refused);
  }
  return DM_OK;
}
