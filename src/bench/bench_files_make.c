/* Creates the files of bench multiply --from file, in their own folder. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_files_impl.h"
#include "file/examine.h"
#include "product/generate.h"

enum { LARGEST = 1000, LARGEST_I8 = 8 };

static dm_status path_of(const dm_files_bench *b, const char *name, char path[DM_PATH]) {
  const int length = snprintf(path, DM_PATH, "%s/%s", b->folder, name);
  return length < DM_PATH ? DM_OK : dm_fail(DM_E_USAGE, "the directory's name is too long");
}

static dm_status make_folder(dm_files_bench *b) {
  const char *directory = b->wanted->directory;
  if ((size_t)snprintf(b->folder, sizeof b->folder, "%s/damier-bench-XXXXXX", directory) >=
      sizeof b->folder - 32)
    return dm_fail(DM_E_USAGE, "the directory's name is too long");
  if (mkdtemp(b->folder)) return DM_OK;
  b->folder[0] = '\0';
  return dm_fail(DM_E_IO, "cannot create a folder in %s: %s", directory, strerror(errno));
}

/* Packed files hold integers, which use a part of the bits of an f64, as measured data do. */
static dm_generator generator_of(const dm_files_bench *b, dm_matrix matrix) {
  const dm_bench_multiply *p = &b->wanted->product;
  const bool small = p->type == DM_I8;
  const bool whole = small || dm_output_is_chunked(&b->wanted->form);
  return (dm_generator){.kind = whole ? DM_INTEGER : DM_UNIFORM,
                        .seed = p->seed + (uint64_t)matrix,
                        .parameter = whole ? (small ? LARGEST_I8 : LARGEST) : 0};
}

/* The program's own file: it can be inspected without a child process. */
static dm_status look(const dm_location *at, dm_dataset *dataset) {
  dm_question question = {.at = *at};
  dm_finding *finding = calloc(1, sizeof *finding);
  if (!finding) return dm_fail(DM_E_FIT, "no memory for an inspection");
  dm_status status = dm_examine(&question, finding);
  *dataset = finding->dataset;
  free(finding);
  return status;
}

static dm_status make_input(dm_files_bench *b, dm_matrix matrix, dm_dataset *dataset) {
  const dm_bench_multiply *p = &b->wanted->product;
  dm_generate make = {.rows = matrix == DM_A ? p->m : p->k,
                      .cols = matrix == DM_A ? p->k : p->n,
                      .dtype = p->type,
                      .generator = generator_of(b, matrix),
                      .form = b->wanted->form,
                      .io_threads = p->engine.io_threads};
  dm_record *unused = NULL;
  snprintf(make.out.dataset, sizeof make.out.dataset, "/x");
  dm_status status = path_of(b, matrix == DM_A ? "A.h5" : "B.h5", make.out.file);
  if (!status) status = dm_output_form_complete(&make.form, make.dtype, make.rows, make.cols);
  if (!status) status = dm_record_new("generate", "", &unused);
  DM_TRY(dm_comm_agree(b->run->world, status));
  status = dm_generate_run(b->run, &make, unused);
  dm_record_free(unused);
  DM_TRY(status);
  DM_TRY(dm_comm_agree(b->run->world, b->run->rank == 0 ? look(&make.out, dataset) : DM_OK));
  DM_TRY(dm_comm_broadcast(b->run->world, dataset, sizeof *dataset, 0));
  dm_ceiling *input = &b->inputs[matrix];
  *input = (dm_ceiling){.offset = dataset->offset > 0 ? dataset->offset : 0,
                        .bytes = dataset->stored_bytes};
  snprintf(input->file, sizeof input->file, "%s", make.out.file);
  return DM_OK;
}

static dm_status name_outputs(dm_files_bench *b) {
  snprintf(b->multiply.out.dataset, sizeof b->multiply.out.dataset, "/c");
  DM_TRY(path_of(b, "C.h5", b->multiply.out.file));
  return path_of(b, "ceiling", b->scratch.file);
}

dm_status dm_bench_files_make(dm_files_bench *b) {
  const dm_comm *world = b->run->world;
  dm_run_phase(b->run, "making A and B", DM_SYNC_PATIENCE);
  DM_TRY(dm_comm_agree(world, b->run->rank == 0 ? make_folder(b) : DM_OK));
  DM_TRY(dm_comm_broadcast(world, b->folder, sizeof b->folder, 0));
  DM_TRY(dm_comm_agree(world, name_outputs(b)));
  DM_TRY(make_input(b, DM_A, &b->multiply.a));
  return make_input(b, DM_B, &b->multiply.b);
}

void dm_bench_files_remove(const dm_files_bench *b) {
  static const char *const names[] = {"A.h5",           "B.h5",         "C.h5",
                                      "C.h5.part",      "C.h5.journal", "C.h5.damier-new",
                                      "ceiling",

                                      "A.h5.part",      "B.h5.part",    "A.h5.damier-new",
                                      "B.h5.damier-new"};
  char path[DM_PATH];
  if (!b->folder[0]) return;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    dm_status status = path_of(b, names[i], path);
    if (!status) unlink(path);
    dm_status_free(status);
  }
  if (rmdir(b->folder))
    dm_log_line(&b->run->log, DM_LOG_WARNING, "%s could not be removed: %s", b->folder,
                strerror(errno));
}
