#include "inspect/listing.h"
#include "core/suggest.h"
#include "dataset/dataset_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/status.h"
#include "dataset/child.h"
#include "dataset/hdf5_compound.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "inspect/contents.h"
#include "inspect/inspect_impl.h"

typedef struct question {
  dm_location at;
  dm_trust trust;
} question;

/* The work of the child. */
typedef struct listing_work {
  const question *asked;
  hid_t file;
  dm_dataset found; /* identity of the file */
  dm_listing *listing;
} listing_work;

static void listing_layout_of(hid_t set, char *text, size_t size) {
  static const char *const layouts[] = {[H5D_COMPACT] = "compact",
                                        [H5D_CONTIGUOUS] = "contiguous",
                                        [H5D_CHUNKED] = "chunked",
                                        [H5D_VIRTUAL] = "virtual"};
  DM_H5_HELD hid_t creation = H5Dget_create_plist(set);
  const H5D_layout_t layout = creation < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(creation);
  if (layout >= H5D_COMPACT && layout <= H5D_VIRTUAL) snprintf(text, size, "%s", layouts[layout]);
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
  if (met->failed) return dm_status_copy(met->failed);
  if (met->object >= 0) return DM_OK;
  if (met->object == DM_TOO_LONG)
    return dm_fail(DM_E_INPUT, "its name has more than %d characters", DM_PATH - 1);
  return met->object == DM_NOT_FOLLOWED
             ? dm_fail(DM_E_INPUT, "--allow-external follows it")
             : dm_h5_fail(DM_E_INPUT, at, "it is damaged, or leads nowhere");
}

/* ---- what a dataset counts as where no name is given ---- */

/* Matrices, or what may be one: it has two or more dimensions, or cannot be seen; coordinates
 * (dimension scales) of two dimensions; vectors. */
typedef enum kind { MATRIX, SCALE, LISTING_VECTOR, KINDS } kind;

/* What cannot be read is none: whoever names the dataset meets the error. */
static bool has_attribute(const dm_location *at, hid_t set, const char *name, const char *wanted) {
  bool has;
  dm_status status = dm_h5_text_is(at, set, name, wanted, &has);
  if (status) dm_status_free(status);
  return !status && has;
}

/* The class of SET's elements; *known: they can be multiplied. */
static H5T_class_t class_of(const dm_location *at, hid_t set, bool *known) {
  char text[DM_TYPE_TEXT];
  dm_dtype dtype;
  bool swapped, bfloat16;
  DM_H5_HELD hid_t type = H5Dget_type(set);
  *known = false;
  if (type < 0) return H5T_NO_CLASS;
  const H5T_class_t class = H5Tget_class(type);
  dm_status status = dm_h5_is_bfloat16(at, set, type, &bfloat16);
  *known = !status && dm_h5_read_type(type, bfloat16, &dtype, &swapped, text);
  dm_status_free(status);
  return class;
}

/* KINDS: not a candidate. What the user allows must make no difference. */
static kind listing_kind_of(const dm_met *met) {
  if (met->object < 0 || H5Iget_type(met->object) != H5I_DATASET) return MATRIX;
  hsize_t dims[H5S_MAX_RANK];
  const int rank = dm_rank_of(met->object, dims);
  const dm_location at = {.file = ""};
  bool known;
  const H5T_class_t class = class_of(&at, met->object, &known);
  /* Texts, in HDF5's form and in MATLAB's. */
  if (class == H5T_STRING || has_attribute(&at, met->object, "MATLAB_class", "char")) return KINDS;
  if (class == H5T_ARRAY) return MATRIX; /* its elements have dimensions, too */
  if (rank == 0) return KINDS;
  const bool scale = has_attribute(&at, met->object, "CLASS", "DIMENSION_SCALE");
  if (rank != 1) return scale ? SCALE : MATRIX;
  /* Records, sequences and references: tables and lists. */
  const bool records =
      !known && (class == H5T_COMPOUND || class == H5T_VLEN || class == H5T_REFERENCE);
  return scale || records || met->encoding ? KINDS : LISTING_VECTOR;
}

/* ---- the list ---- */

static bool list_one(void *context, const dm_met *met) {
  listing_work *w = context;
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
  entry->kind = (int)listing_kind_of(met);
  dm_describe_shape(met, entry->shape, sizeof entry->shape);
  if (met->object >= 0)
    dm_describe_type(met, entry->type, sizeof entry->type);
  else
    dm_describe_type(met, entry->layout, sizeof entry->layout);
  if (!status)
    dm_dataset_describe(&found, entry->layout, sizeof entry->layout);
  else if (met->object >= 0 && H5Iget_type(met->object) == H5I_DATASET && !found.zarr)
    listing_layout_of(met->object, entry->layout, sizeof entry->layout);
  if (status) refusal_of(status, &found.at, entry->refused, sizeof entry->refused);
  dm_meaning_free(&found.meaning);
  dm_dataset_free(&found);
  return false;
}

static dm_status list_all(const void *argument, void *result) {
  listing_work w = {.asked = argument, .listing = result};
  const dm_location *at = &w.asked->at;
  memset(result, 0, sizeof(dm_listing));
  w.found.at = *at;
  char own[DM_PATH];
  DM_TRY(dm_examine_open(at, &w.asked->trust, &w.found, &w.file, own));
  if (w.file < 0 || own[0]) return DM_OK; /* a single array without a name */
  if (dm_each_dataset(at, w.file, &w.asked->trust, list_one, &w)) return DM_OK;
  return dm_h5_fail(DM_E_INPUT, at, "its datasets cannot be listed");
}

/* The child read an untrusted file. */
static void clean(char *text, size_t size) {
  text[size - 1] = '\0';
  dm_text_clean(text);
}

dm_status dm_file_list(const dm_location *location, const dm_trust *trust, dm_listing *listing) {
  const question asked = {*location, *trust};
  DM_TRY(dm_child_run(location, list_all, &asked, listing, sizeof *listing));
  if (listing->count < 0 || listing->count > DM_LISTED || listing->all < listing->count)
    return dm_fail_at(DM_E_INPUT, location, "rejected: its inspection gave no sensible answer");
  for (int64_t i = 0; i < listing->count; i++) {
    dm_listed *entry = &listing->list[i];
    entry->name[sizeof entry->name - 1] = '\0';
    if (!dm_text_clean(entry->name) && !entry->refused[0])
      snprintf(entry->refused, sizeof entry->refused, "its name is not printable");
    clean(entry->shape, sizeof entry->shape);
    clean(entry->type, sizeof entry->type);
    clean(entry->layout, sizeof entry->layout);
    clean(entry->refused, sizeof entry->refused);
  }
  return DM_OK;
}

/* ---- which dataset of a file is meant, and what to say if that is unclear ---- */

/* Lists must fit in a message, with the name of the file. */
enum {
  NAMED = 10,
  LISTING_SHOWN = 80,
  ENOUGH = 1000,
  MANY = 20000,
  LIST = 520,
  LISTING_LEAST = 120
};

/* Appends "/group/a (60 x 30 f64)" to LIST unless it would be longer than ROOM. */
static bool listing_append(char list[LIST], size_t room, const dm_met *met) {
  char entry[LISTING_SHOWN + 2 * 96 + 40], shape[160], type[96];
  dm_describe_shape(met, shape, sizeof shape);
  dm_describe_type(met, type, sizeof type);
  const bool virtual = met->object >= 0 && H5Iget_type(met->object) == H5I_DATASET &&
                       dm_is_virtual(met->object);
  const size_t used = strlen(list);
  const int length =
      snprintf(entry, sizeof entry, "%s%.*s%s (%.95s%s%s%s)", used ? ", " : "", LISTING_SHOWN,
               met->name, strlen(met->name) > LISTING_SHOWN ? "..." : "", shape,
               shape[0] && type[0] ? " " : "", type, virtual ? ", virtual" : "");
  if (length < 0 || used + (size_t)length >= room) return false;
  memcpy(list + used, entry, (size_t)length + 1);
  return true;
}

/* ---- the only matrix ---- */

typedef struct listing_search {
  int count[KINDS], listed[KINDS], all;
  size_t room;
  const dm_encoding *table;  /* that some datasets belong to */
  char compounds[DM_PATH];   /* the first dataset of those that have members of numbers, ... */
  char members[160];         /* ... and these */
  dm_status failed;          /* why the first group that cannot be examined cannot be */
  int64_t first[KINDS];      /* dm_met.object, if it is no open object */
  char name[KINDS][DM_PATH]; /* the first of each */
  char list[KINDS][LIST];    /* the first few */
} listing_search;

static void note_members(listing_search *found, const dm_met *met) {
  if (found->compounds[0] || met->object < 0 || H5Iget_type(met->object) != H5I_DATASET) return;
  DM_H5_HELD const hid_t type = H5Dget_type(met->object);
  if (type < 0 || H5Tget_class(type) != H5T_COMPOUND) return;
  dm_h5_list_members(type, found->members, sizeof found->members);
  if (found->members[0]) snprintf(found->compounds, DM_PATH, "%s", met->name);
}

static bool listing_visit(void *context, const dm_met *met) {
  listing_search *found = context;
  const kind what = listing_kind_of(met);
  found->all++;
  if (met->failed && !found->failed) found->failed = dm_status_copy(met->failed);
  if (met->failed) return false;
  if (met->encoding && met->encoding->table) found->table = met->encoding;
  if (what == KINDS) note_members(found, met);
  if (what == KINDS) return false;
  if (++found->count[what] == 1) {
    snprintf(found->name[what], DM_PATH, "%s", met->name);
    found->first[what] = met->object;
  }
  /* The list ends with the first that does not fit. */
  if (found->listed[what] == found->count[what] - 1 && found->count[what] <= NAMED)
    found->listed[what] += listing_append(found->list[what], found->room, met);
  return what == MATRIX && found->count[what] >= ENOUGH;
}

static dm_status none_found(const dm_location *at, const listing_search *found) {
  dm_status status = dm_fail_at(DM_E_INPUT, at, "holds no 2-D dataset");
  if (found->compounds[0])
    return dm_hint(status, "'%.300s:%.*s.MEMBER' takes a member of its compounds as a matrix: %s",
                   at->file, LISTING_SHOWN, found->compounds, found->members);
  if (found->count[LISTING_VECTOR] > 0)
    return dm_hint(
        status,
        "--as-column or --as-row takes a dataset of one dimension as a matrix; 'damier info "
        "FILE' lists all");
  if (found->table)
    return dm_hint(status, "it holds %s; %s", found->table->what, found->table->hint);
  return found->all > 0 ? dm_hint(status, "'damier info FILE' lists what it holds") : status;
}

static dm_status several_found(const dm_location *at, kind what, const listing_search *found) {
  static const char *const names[] = {"matrices", "matrices of coordinates",
                                      "datasets of one dimension"};
  const int count = found->count[what], more = count - found->listed[what];
  char rest[40] = "";
  if (more > 0) snprintf(rest, sizeof rest, ", and %d more", more);
  return dm_hint(
      dm_fail_at(DM_E_INPUT, at, "holds %s%d %s: %s%s", count >= ENOUGH ? "at least " : "", count,
                 names[what], found->list[what], rest),
      "name one, such as '%.*s:%.*s'", LISTING_LEAST, at->file, LISTING_SHOWN, found->name[what]);
}

static dm_status find_among(const listing_search *found, const dm_trust *trust, dm_location *at) {
  if (found->failed)
    return dm_hint(dm_status_copy(found->failed), "name a dataset; 'damier info FILE' lists all");
  kind what = MATRIX;
  while (what < LISTING_VECTOR && found->count[what] == 0) what++;
  if (found->count[what] == 0 || (what == LISTING_VECTOR && trust->vectors == DM_NO_VECTOR))
    return none_found(at, found);
  if (found->count[what] > 1) return several_found(at, what, found);
  if (found->first[what] == DM_TOO_LONG)
    return dm_fail_at(DM_E_INPUT, at, "the name of its dataset has more than %d characters",
                      DM_PATH - 1);
  char clean[DM_PATH];
  snprintf(clean, sizeof clean, "%s", found->name[what]);
  if (!dm_text_clean(clean))
    return dm_fail_at(DM_E_INPUT, at, "the name of its dataset, '%.200s', is not printable", clean);
  snprintf(at->dataset, sizeof at->dataset, "%s", found->name[what]);
  return DM_OK;
}

dm_status dm_find_dataset(int64_t file, const dm_trust *trust, dm_location *at) {
  DM_FREED listing_search *found = NULL;
  DM_TRY(dm_buffer_table(1, &found));
  found->room = (size_t)dm_max(LISTING_LEAST, LIST - (int64_t)strlen(at->file));
  dm_status status = dm_each_dataset(at, file, trust, listing_visit, found)
                         ? find_among(found, trust, at)
                         : dm_h5_fail(DM_E_INPUT, at, "its datasets cannot be listed");
  dm_status_free(found->failed);
  return status;
}

/* ---- what a file holds instead ---- */

/* The datasets whose names are closest to a wanted one, nearest first. */
typedef struct nearest {
  const char *wanted, *within; /* only names that begin with WITHIN */
  int count, all;
  struct {
    int distance;
    char name[DM_PATH], text[LIST];
  } best[NAMED];
} nearest;

static const char *last_part(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash ? slash + 1 : name;
}

/* Names that differ by their case alone, or by their group alone, are the nearest. */
static int distance_of(const char *wanted, const char *name) {
  if (strcasecmp(wanted, name) == 0) return 0;
  if (strcasecmp(last_part(wanted), last_part(name)) == 0) return 1;
  return 1 + (int)dm_min(dm_edit_distance(wanted, name),
                         1 + dm_edit_distance(last_part(wanted), last_part(name)));
}

static bool listing_compare(void *context, const dm_met *met) {
  nearest *n = context;
  const size_t length = strlen(n->within);
  if (strncmp(met->name, n->within, length) != 0) return false;
  n->all++;
  const int distance = distance_of(n->wanted, met->name);
  int place = n->count;
  while (place > 0 && distance < n->best[place - 1].distance) place--;
  if (place == NAMED) return n->all >= MANY;
  if (n->count < NAMED) n->count++;
  memmove(&n->best[place + 1], &n->best[place], (size_t)(n->count - place - 1) * sizeof n->best[0]);
  n->best[place].distance = distance;
  snprintf(n->best[place].name, DM_PATH, "%s", met->name);
  n->best[place].text[0] = '\0';
  listing_append(n->best[place].text, LIST, met);
  return n->all >= MANY;
}

/* Appends the texts of N to LIST as far as they fit; returns their number. */
static int listing_join(const nearest *n, char *list, size_t size) {
  size_t used = 0;
  for (int i = 0; i < n->count; i++) {
    const char *text = n->best[i].text, *between = used ? ", " : "";
    if (used + strlen(text) + strlen(between) >= size) return i;
    used = (size_t)(stpcpy(stpcpy(list + used, between), text) - list);
  }
  return n->count;
}

/* Adds to STATUS which datasets of FILE have names that begin with WITHIN, those like WANTED
 * first. */
static dm_status listing_hint_at_others(dm_status status, const dm_location *at,
                                        const dm_trust *trust, hid_t file, const char *wanted,
                                        const char *within) {
  nearest *n = calloc(1, sizeof *n);
  char list[LIST - 80] = "", guess[LISTING_SHOWN + 48] = "", rest[40] = "";
  if (!n) return status;
  n->wanted = wanted;
  n->within = within;
  (void)dm_each_dataset(at, file, trust, listing_compare, n);
  const int named = listing_join(n, list, sizeof list);
  if (named > 0 && n->best[0].distance <= 1 + (int)strlen(last_part(wanted)) / 3 &&
      strlen(n->best[0].name) <= LISTING_SHOWN)
    snprintf(guess, sizeof guess, "did you mean '%.*s'? ", LISTING_SHOWN, n->best[0].name);
  if (n->all > named)
    snprintf(rest, sizeof rest, ", and %s%d more", n->all >= MANY ? "at least " : "",
             n->all - named);
  if (named > 0)
    dm_hint(status, "%sit holds %s%s", guess, list, rest);
  else
    dm_hint(status, "it holds no datasets");
  free(n);
  dm_text_clean(status->hint);
  return status;
}

dm_status dm_no_dataset(const dm_location *at, const dm_trust *trust, hid_t file, int64_t object) {
  if (H5Iget_type(object) != H5I_GROUP)
    return dm_fail_at(DM_E_INPUT, at, "is a type, not a dataset");
  const dm_encoding *encoding;
  DM_TRY(dm_encoding_of(at, object, &encoding));
  if (encoding && !encoding->table)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "is %s, which cannot be multiplied", encoding->what),
                   "%s", encoding->hint);
  if (encoding)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, at, "is a group that holds %s, not a dataset", encoding->what), "%s",
        encoding->hint);
  char within[DM_PATH + 1];
  snprintf(within, sizeof within, "%s%s", at->dataset, strcmp(at->dataset, "/") == 0 ? "" : "/");
  return listing_hint_at_others(dm_fail_at(DM_E_INPUT, at, "is a group, not a dataset"), at, trust,
                                file, at->dataset, within);
}

/* Whether what the last name of PATH lies in can be opened, and is a group. */
static bool is_group(hid_t file, const char *path, hid_t access) {
  char group[DM_PATH];
  snprintf(group, sizeof group, "%s", path);
  char *end = strrchr(group, '/');
  end[end == group] = '\0';
  DM_H5_HELD const hid_t object = H5Oopen(file, group, access);
  return object >= 0 && H5Iget_type(object) == H5I_GROUP;
}

/* DM_E_INPUT, if PATH is below a dataset of compounds: how to name their members. */
static dm_status is_member(const dm_location *at, hid_t file, const char *path, hid_t access) {
  char set[DM_PATH], members[200];
  snprintf(set, sizeof set, "%s", path);
  char *slash = strrchr(set, '/');
  slash[slash == set] = '\0';
  DM_H5_HELD const hid_t object = H5Oopen(file, set, access);
  if (object < 0 || H5Iget_type(object) != H5I_DATASET) return DM_OK;
  DM_H5_HELD const hid_t type = H5Dget_type(object);
  if (type < 0) return DM_OK;
  dm_h5_list_members(type, members, sizeof members);
  if (!members[0]) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "'%.300s' is a dataset, not a group", set),
                 "a member of its compounds follows a dot, '%.300s:%.300s.MEMBER': %s", at->file,
                 set, members);
}

dm_status dm_not_there(const dm_location *at, const dm_trust *trust, hid_t file, hid_t access,
                       const dm_h5_exit *leave) {
  if (leave->met)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "refused: it is a link into another file ('%.200s')",
                              leave->file),
                   "--allow-external follows it");
  dm_status status = dm_h5_fail(
      DM_E_INPUT, at, "cannot be opened: its path leads nowhere or in a circle, or it is damaged");
  char path[DM_PATH];
  for (size_t end = 1; at->dataset[end - 1]; end++) {
    if (at->dataset[end] != '/' && at->dataset[end] != '\0') continue;
    memcpy(path, at->dataset, end);
    path[end] = '\0';
    bool exists;
    dm_status failed = dm_h5_has_link(at, file, path, access, &exists);
    if (!failed && exists) continue;
    dm_status_free(status);
    if (failed && is_group(file, path, access)) return failed;
    dm_status_free(failed);
    if (failed) {
      dm_status named = is_member(at, file, path, access);
      if (named) return named;
    }
    status = !failed ? dm_fail_at(DM_E_INPUT, at, "there is no '%.300s' in the file", path)
                     : dm_fail_at(DM_E_INPUT, at,
                                  "'%.300s' cannot exist: what it lies in is not a group", path);
    return listing_hint_at_others(status, at, trust, file, at->dataset, "/");
  }
  return status;
}
