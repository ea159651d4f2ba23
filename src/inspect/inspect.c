#include "inspect/inspect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/child.h"
#include "dataset/chunk_facts.h"
#include "dataset/composite.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "dataset/members.h"
#include "dataset/naming.h"
#include "dataset/packed_dataset.h"
#include "inspect/inspect_impl.h"

enum { TAIL_LIMIT = 1 << 28 }; /* bytes that describe sources */

static bool inspect_is_text(const char *text, size_t size) {
  return memchr(text, '\0', size) != NULL;
}

/* A bool from the child may have an invalid value, which must not be used. */
static bool is_bool(const bool *value) {
  unsigned char byte;
  memcpy(&byte, value, 1);
  return byte <= 1;
}

static bool is_sane_storage(const dm_dataset *d) {
  int64_t chunk;
  if (d->offset < -1 || d->stored_bytes < 0 || d->file_bytes < 0) return false;
  if (d->offset >= 0 && (d->layout != DM_CONTIGUOUS || d->offset > d->file_bytes ||
                         dm_dataset_bytes(d) > d->file_bytes - d->offset))
    return false;
  if (d->zarr && d->layout != DM_CHUNKED && d->layout != DM_VIRTUAL && !dm_dataset_is_empty(d))
    return false;
  if (d->layout != DM_CHUNKED && d->chunk_rows == 0 && d->chunk_cols == 0) return true;
  if (d->layout != DM_CHUNKED && d->layout != DM_VIRTUAL) return false;
  return d->chunk_rows > 0 && d->chunk_cols > 0 &&
         !dm_mul_overflows(d->chunk_rows, d->chunk_cols, &chunk) && chunk <= 1 << 30;
}

static bool is_sane_meaning(const dm_dataset *d) {
  const dm_meaning *m = &d->meaning;
  const bool *const flags[] = {&m->active, &m->packed, &m->shifted, &m->other_sign,
                               &m->nan,    &m->ranged, &m->found,   &m->asked};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (!is_bool(flags[i])) return false;
  const bool floats = m->type == DM_F32 || m->type == DM_F64;
  return inspect_is_text(m->text, sizeof m->text) &&
         inspect_is_text(m->warning, sizeof m->warning) && m->count >= 0 &&
         m->count <= DM_MISSING_VALUES && (unsigned)m->missing < DM_MISSING_END &&
         (!m->active || ((m->asked || d->genotypes || !d->by_columns) &&
                         (!dm_dtype_is_complex(d->dtype) ||
                          (m->asked && m->nan && !m->packed && !m->ranged && m->count == 0)) &&
                         (m->packed ? floats && isfinite(m->scale) && isfinite(m->offset)
                                    : m->type == dm_meaning_number(m, d->dtype))));
}

static bool is_apart(const dm_dataset *d) {
  return d->parts == DM_PARTS_LAST || d->parts == DM_PARTS_FIRST;
}

/* Files of NumPy and PLINK, which have no datasets, have a known offset. */
static bool inspect_is_named(const dm_dataset *d) {
  return d->at.dataset[0] == '/'
             ? !d->by_columns || d->offset >= 0
             : d->at.dataset[0] == '\0' && (d->offset >= 0 || d->layout == DM_VIRTUAL || d->zarr ||
                                            (is_apart(d) && d->parts_offset >= 0));
}

static bool has_sane_parts(const dm_dataset *d, int64_t bytes) {
  if ((unsigned)d->parts > DM_PARTS_FIRST) return false;
  if (d->parts == DM_PARTS_TOGETHER) return true;
  const dm_axes axes = dm_dataset_axes(d);
  if (!dm_dtype_is_complex(d->dtype) || d->by_columns || d->layout == DM_VIRTUAL ||
      axes.count >= DM_AXES + !is_apart(d))
    return false;
  if (!is_apart(d)) return axes.extent[axes.count - 1] == 1;
  const bool has_place = d->parts_offset >= 0;
  return d->offset == -1 && d->parts_offset >= -1 && d->few.chunks == 0 &&
         (d->layout == DM_CHUNKED ? d->parts_chunk > 0 : d->parts_chunk == 0) &&
         (!has_place || (d->layout == DM_CONTIGUOUS && d->parts_offset <= d->file_bytes &&
                         bytes <= d->file_bytes - d->parts_offset));
}

static bool has_sane_axes(const dm_dataset *d) {
  dm_dataset laid = *d;
  const bool chunked = d->chunk_rows > 0 && d->layout != DM_VIRTUAL;
  if (d->axes.count == 0) return true;
  if (d->axes.count < 0 || d->axes.count > DM_AXES || d->axes.of_rows < 0 ||
      d->axes.of_rows > d->axes.count || d->by_columns)
    return false;
  for (int i = 0; i < d->axes.count; i++)
    if (d->axes.extent[i] < 0 || (d->axes.chunk[i] > 0) != chunked || d->axes.chunk[i] < 0)
      return false;
  return dm_dataset_lay(&laid, &d->axes, d->axes.of_rows) && laid.rows == d->rows &&
         laid.cols == d->cols &&
         (d->layout == DM_VIRTUAL ||
          (laid.chunk_rows == d->chunk_rows && laid.chunk_cols == d->chunk_cols));
}

static bool has_sane_compound(const dm_dataset *d) {
  const dm_compound *r = &d->compound;
  const dm_axes axes = dm_dataset_axes(d);
  int64_t numbers = 1;
  if (r->apart < 0 || r->apart > 1 || r->pairs < 0 || r->pairs > 1 || r->inner < 0 ||
      r->inner > DM_INNER || r->inner >= axes.count || r->path < 0 ||
      r->path >= (int64_t)strlen(d->at.dataset) + 1)
    return false;
  for (int i = axes.count - r->inner; i < axes.count; i++)
    if ((axes.chunk[i] != 0 && axes.chunk[i] != axes.extent[i]) ||
        dm_mul_overflows(numbers, axes.extent[i], &numbers))
      return false;
  return dm_compound_is_sane(r, d->dtype, numbers) && (r->bytes == 0 || d->layout != DM_VIRTUAL);
}

static bool has_sane_leads(const dm_dataset *d) {
  int64_t entries = 1;
  if (d->leads.count < 0 || d->leads.count > DM_AXES - 2) return false;
  for (int i = 0; i < d->leads.count; i++)
    if (d->leads.extent[i] < 1 || dm_mul_overflows(entries, d->leads.extent[i], &entries))
      return false;
  return d->rows % entries == 0;
}

/* The child read an untrusted file: its results are checked like the file itself. */
static bool is_sane_dataset(const dm_dataset *d) {
  int64_t elements, bytes;
  return inspect_is_text(d->at.part, sizeof d->at.part) && has_sane_axes(d) && has_sane_leads(d) &&
         inspect_is_text(d->at.file, sizeof d->at.file) &&
         inspect_is_text(d->at.dataset, sizeof d->at.dataset) && has_sane_compound(d) &&
         inspect_is_named(d) && is_bool(&d->by_columns) && is_bool(&d->swapped) &&
         (unsigned)d->members <= DM_MEMBERS_SPLIT && is_bool(&d->zarr) && is_bool(&d->bits) &&
         (unsigned)d->names <= DM_NAMES_REAL_IMAGINARY && is_bool(&d->genotypes) &&
         (!d->genotypes || d->dtype == DM_I8) && is_bool(&d->elsewhere) && is_bool(&d->no_data) &&
         is_bool(&d->swmr) && is_bool(&d->stack) && dm_dtype_is_known(d->dtype) &&
         (unsigned)d->layout <= DM_VIRTUAL && (unsigned)d->origin < DM_ORIGINS_END &&
         (unsigned)d->vector <= DM_AS_ROW && (d->vector != DM_AS_COLUMN || d->cols == 1) &&
         (d->vector != DM_AS_ROW || d->rows == 1) && d->filters < DM_FILTERS_END && d->rows >= 0 &&
         d->cols >= 0 && (d->rows > 0 || d->cols > 0) &&
         !dm_mul_overflows(d->rows, d->cols, &elements) &&
         !dm_mul_overflows(elements, dm_dtype_size(d->dtype), &bytes) && is_sane_storage(d) &&
         has_sane_parts(d, bytes) && (d->few.chunks == 0 || dm_few_chunks_are_sane(d)) &&
         is_sane_meaning(d);
}

/* Takes over what the child sent about the sources of D, which is SANE by itself. */
static bool take_composite(dm_dataset *d, dm_child_tail *tail, bool sane) {
  d->composite = NULL; /* the child's pointer */
  if (!sane) return false;
  if (d->layout != DM_VIRTUAL) return tail->bytes == 0;
  if (!tail->memory ||
      !dm_composite_is_sane(tail->memory, tail->bytes, d->rows, d->cols, is_sane_dataset))
    return false;
  d->composite = tail->memory;
  tail->memory = NULL;
  return true;
}

static bool clean_attributes(dm_attributes *attributes) {
  if (attributes->count < 0 || attributes->count > DM_ATTRIBUTES) return false;
  for (int i = 0; i < attributes->count; i++) {
    dm_attribute *attribute = &attributes->list[i];
    if (!inspect_is_text(attribute->name, sizeof attribute->name) ||
        !inspect_is_text(attribute->text, sizeof attribute->text))
      return false;
    dm_text_clean(attribute->name);
    dm_text_clean(attribute->text);
  }
  return true;
}

/* Whether FOUND is what was ASKED for; a dataset may have the name of a part. */
static bool is_answer(const dm_location *asked, const dm_location *found) {
  char name[2 * DM_PATH];
  const bool part = strcmp(asked->part, found->part) == 0;
  snprintf(name, sizeof name, "%s%s", asked->dataset, part ? "" : asked->part);
  return (part || found->part[0] == '\0') &&
         (asked->dataset[0] == '\0' || strcmp(name, found->dataset) == 0);
}

/* The file of FOUND is that which was asked for, or the first of the several of which that is one.
 */
static dm_status inspect_take_file(const dm_inspection *question, dm_dataset *found) {
  dm_members members = {.kind = DM_MEMBERS_NONE};
  memcpy(found->at.file, question->at.file, sizeof question->at.file);
  if (!found->members) return DM_OK;
  if (!dm_members_find(question->at.file, &members) || members.kind != found->members)
    return dm_fail_at(DM_E_INPUT, &question->at,
                      "rejected: its inspection gave no sensible answer");
  memcpy(found->at.file, members.first, sizeof members.first);
  return DM_OK;
}

static dm_status inspect_accept(const dm_inspection *question, dm_finding *find,
                                dm_child_tail *tail) {
  const bool sane = is_sane_dataset(&find->dataset);
  if (!take_composite(&find->dataset, tail, sane) || !clean_attributes(&find->provenance) ||
      !is_answer(&question->at, &find->dataset.at))
    return dm_fail_at(DM_E_INPUT, &question->at,
                      "rejected: its inspection gave no sensible answer");
  DM_TRY(inspect_take_file(question, &find->dataset));
  find->dataset.elsewhere = question->trust.external;
  find->dataset.no_data = question->trust.no_data;
  find->dataset.batch = 0;
  find->dataset.swmr = question->trust.swmr;
  find->dataset.meaning.missing = question->trust.missing;
  dm_text_clean(find->dataset.meaning.text);
  dm_text_clean(find->dataset.meaning.warning);
  return DM_OK;
}

dm_status dm_file_inspect_own(const dm_location *location, dm_dataset *dataset) {
  DM_H5_ALONE;
  const dm_inspection question = {.at = *location, .trust = {.filters = true, .raw = true}};
  DM_FREED dm_finding *find = NULL;
  DM_TRY(dm_buffer_table(1, &find));
  DM_TRY(dm_examine(&question, find));
  *dataset = find->dataset;
  return DM_OK;
}

/* A dm_child_work: dm_location -> dm_attributes. Whoever reads a dataset says why it cannot. */
static dm_status inspect_group(const void *question, void *result) {
  const dm_location *at = question;
  dm_attributes *found = result;
  dm_h5_exit leave;
  hid_t file = -1;
  int fd = -1;
  found->count = 0;
  dm_status status = dm_examine_open_regular(at, &fd);
  if (fd >= 0) close(fd);
  if (!status) status = dm_h5_start(false);
  if (!status) status = dm_h5_open_file(at, &file);
  dm_status_free(status);
  if (file < 0) return DM_OK;
  DM_H5_HELD hid_t held = file, access = dm_h5_access(false, &leave), object = -1;
  if (access >= 0) object = H5Oopen(held, at->dataset, access);
  if (object < 0 || H5Iget_type(object) != H5I_GROUP) return DM_OK;
  dm_status_free(dm_h5_read_attributes(at, object, found));
  return DM_OK;
}

dm_status dm_group_inspect(const dm_location *location, double patience,
                           dm_attributes *attributes) {
  dm_location at = *location;
  attributes->count = 0;
  if (at.part[0] || dm_location_is_stack(&at)) return DM_OK;
  if (!at.dataset[0]) snprintf(at.dataset, sizeof at.dataset, "/c");
  DM_TRY(dm_child_do(&(dm_child_task){.at = &at,
                                      .seconds = patience,
                                      .work = inspect_group,
                                      .argument = &at,
                                      .result = attributes,
                                      .bytes = sizeof *attributes}));
  return clean_attributes(attributes)
             ? DM_OK
             : dm_fail_at(DM_E_INPUT, &at, "rejected: its inspection gave no sensible answer");
}

static const void *composite_of(const void *result, int64_t *bytes) {
  const dm_finding *find = result;
  const dm_composite *composite = find->dataset.composite;
  *bytes = composite ? composite->bytes : 0;
  return composite;
}

static void inspect_release(void *result) {
  dm_dataset_free(&((dm_finding *)result)->dataset);
}

/* A question that may be sent to another process. */
typedef struct inspect_letter {
  dm_inspection question;
  bool replaces;
  char replaced[DM_PATH];
} inspect_letter;

/* A dm_child_work: inspect_letter -> dm_finding. */
static dm_status inspect_read(const void *argument, void *finding) {
  const inspect_letter *letter = argument;
  dm_inspection question = letter->question;
  question.trust.replaced = letter->replaces ? letter->replaced : NULL;
  return dm_examine(&question, finding);
}

static void inspect_write(const dm_inspection *question, inspect_letter *letter) {
  const char *replaced = question->trust.replaced;
  *letter = (inspect_letter){.question = *question, .replaces = replaced != NULL};
  if (replaced) snprintf(letter->replaced, sizeof letter->replaced, "%s", replaced);
  letter->question.trust.replaced = NULL;
  letter->question.trust.inspector = NULL;
}

static dm_status inspect_ask(const dm_inspection *question, dm_finding *find, dm_child_tail *tail) {
  DM_FREED inspect_letter *letter = NULL;
  DM_TRY(dm_buffer_table(1, &letter));
  inspect_write(question, letter);
  const dm_child_task task = {.at = &question->at,
                              .seconds = question->trust.patience,
                              .work = inspect_read,
                              .argument = letter,
                              .argument_bytes = sizeof *letter,
                              .result = find,
                              .bytes = sizeof *find,
                              .tail = tail};
  return question->trust.inspector ? dm_child_do_by(question->trust.inspector, &task)
                                   : dm_child_do(&task);
}

dm_status dm_file_inspect(const dm_location *location, const dm_trust *trust, dm_dataset *dataset,
                          dm_attributes *provenance) {
  dm_inspection question = {.at = *location, .trust = *trust, .provenance = provenance != NULL};
  dm_child_tail tail = {.of = composite_of, .release = inspect_release, .limit = TAIL_LIMIT};
  dm_finding *find;
  DM_TRY(dm_buffer_table(1, &find));
  dm_status status = inspect_ask(&question, find, &tail);
  if (!status) {
    status = inspect_accept(&question, find, &tail);
    if (status) dm_dataset_free(&find->dataset);
  }
  free(tail.memory);
  if (!status) *dataset = find->dataset;
  if (!status && provenance) *provenance = find->provenance;
  free(find);
  return status;
}
