#include "file/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "file/journal.h"
#include "file/output_impl.h"
#include "file/pack_chunks.h"

dm_status dm_pack_room(const dm_output_file *file, const dm_output_form *form) {
  char directory[DM_PATH];
  int64_t bytes;
  DM_TRY(dm_output_form_bytes(form, file->dtype, file->rows, file->cols, &bytes));
  dm_io_directory(file->at.file, directory);
  dm_status status = dm_output_room(&file->at, directory, bytes);
  return status ? dm_context(status, "the file with chunks, beside the one without") : DM_OK;
}

static dm_status write_chunks(void *packing, hid_t file, hid_t set) {
  (void)file;
  ((dm_packing *)packing)->set = set;
  return dm_packing_write(packing);
}

dm_status dm_pack_dataset(const dm_output_file *packed, const dm_output_form *form,
                          dm_dataset *dataset) {
  *dataset = (dm_dataset){.at = packed->at,
                          .rows = packed->rows,
                          .cols = packed->cols,
                          .dtype = packed->dtype,
                          .layout = DM_CHUNKED,
                          .offset = -1,
                          .filters = (form->shuffle ? DM_FILTER_SHUFFLE : 0u) |
                                     (form->deflate > 0 ? DM_FILTER_DEFLATE : 0u) |
                                     (form->zstd > 0 ? DM_FILTER_ZSTD : 0u)};
  dm_axes axes = {.count = packed->leads.count + 2};
  for (int i = 0; i < packed->leads.count; i++) {
    axes.extent[i] = packed->leads.extent[i];
    axes.chunk[i] = 1;
  }
  axes.extent[axes.count - 2] = packed->rows / dm_leads_entries(&packed->leads);
  axes.extent[axes.count - 1] = packed->cols;
  axes.chunk[axes.count - 2] = form->chunk_rows;
  axes.chunk[axes.count - 1] = form->chunk_cols;
  (void)dm_dataset_lay(dataset, &axes, axes.count - 1);
  char path[DM_DESCRIPTOR]; /* its name may be too long for a location */
  snprintf(dataset->at.file, sizeof dataset->at.file, "%s",
           dm_output_by_descriptor(packed->made, path));
  return dm_io_identity(dataset);
}

static dm_status compare_chunks(dm_packing *p, const dm_output_file *to) {
  dm_dataset dataset;
  DM_TRY(dm_pack_dataset(to, p->form, &dataset));
  dm_status status = dm_reader_open(&dataset, DM_DTYPE_NONE, &p->reader);
  if (!status) status = dm_packing_compare(p);
  dm_reader_close(p->reader);
  p->reader = NULL;
  /* Readers report unreadable files as wrong input, but this file was just written. */
  if (status && status->code == DM_E_INPUT) status->code = DM_E_IO;
  return status;
}

static dm_status write_and_compare(dm_packing *p, const dm_output_file *to, int threads) {
  DM_TRY(dm_packing_open(p, threads));
  DM_TRY(dm_output_edit(to, write_chunks, p));
  DM_TRY(dm_output_sync_made(to, p->keepalive));
  return compare_chunks(p, to);
}

static dm_status make_file(dm_output_file *to, const dm_output_form *form) {
  int model;
  int64_t length;
  DM_TRY(dm_output_lock(&to->at, to->part, to->made, LOCK_EX));
  DM_TRY(dm_output_model(to, form, &model));
  dm_status status = dm_output_copy_model(to, model, to->made, &length);
  close(model);
  return status ? status : dm_output_share(to);
}

static dm_status pack_into(dm_packing *p, dm_output_file *to, int threads) {
  DM_TRY(dm_output_make(to, p->from));
  dm_status status = make_file(to, p->form);
  if (!status) status = write_and_compare(p, to, threads);
  dm_packing_close(p);
  if (!status) return DM_OK;
  dm_output_discard(to);
  dm_output_release(to);
  return status;
}

dm_status dm_pack(const dm_output_file *file, const dm_output_form *form, int threads,
                  dm_tile_sums *sums, const dm_keepalive *keepalive, dm_output_file *packed) {
  dm_packing p = {
      .from = file, .to = packed, .form = form, .keepalive = keepalive, .tiles = sums, .set = -1};
  *packed = *file;
  packed->made = -1;
  packed->part[0] = '\0';
  dm_status status = pack_into(&p, packed, threads);
  if (status && !status->hint[0])
    dm_hint(status, "the complete result is '%.200s', contiguous", file->part);
  return status;
}
