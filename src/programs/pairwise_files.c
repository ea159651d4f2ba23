/* The files of the products that covariances and correlations of pairs are made of: their names
 * beside C, what an earlier run has left of them, reading and removing them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "inspect/inspect.h"
#include "io/journal.h"
#include "product/multiply.h"
#include "programs/pairwise_impl.h"

/* Of a C that is complete but for its name. */
#define PAIRWISE_UNNAMED ".damier-new"

/* As in dm_output_endings. */
static const char *const pairwise_endings[PAIRWISE_FACTORS] = {
    [COUNTS] = ".damier-pair-n",        [PAIRWISE_PRODUCTS] = ".damier-pair-p",
    [PAIRWISE_SUMS] = ".damier-pair-s", [PAIRWISE_SQUARES] = ".damier-pair-q",
    [OTHER_SUMS] = ".damier-pair-t",    [OTHER_SQUARES] = ".damier-pair-r"};

/* C.h5 has its counts in C_counts.h5. */
static dm_status pairwise_name_counts(const pairwise *p, char path[DM_SIBLING_PATH]) {
  const char *file = p->multiply->out.file, *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
  const bool ends = dot && (!slash || dot > slash + 1) && dot > file;
  const int base = (int)(ends ? (size_t)(dot - file) : strlen(file));
  const int used = snprintf(path, DM_SIBLING_PATH, "%.*s_counts.h5", base, file);
  return used < DM_SIBLING_PATH ? DM_OK : dm_fail(DM_E_USAGE, "the name of C is too long");
}

/* Whether product WHICH is a result, too. */
static bool pairwise_keeps_product(const pairwise *p, int which) {
  return p->relates && which == COUNTS && !p->in_memory;
}

static dm_status pairwise_place(const char *path, dm_location *at) {
  *at = (dm_location){.dataset = "/c"};
  if (strlen(path) >= sizeof at->file) return dm_fail(DM_E_USAGE, "the name of C is too long");
  memcpy(at->file, path, strlen(path) + 1);
  return DM_OK;
}

static dm_status pairwise_name_product(const pairwise *p, int which, dm_location *at) {
  char path[DM_SIBLING_PATH];
  DM_TRY(pairwise_keeps_product(p, which)
             ? pairwise_name_counts(p, path)
             : dm_file_sibling(&p->multiply->out, pairwise_endings[which], path));
  return pairwise_place(path, at);
}

/* DM_E_USAGE: a file has the name of the counts, and may not be replaced. They get it before C
 * does: if C has not got its own, they are those of a run that was killed in between. */
static dm_status pairwise_check_counts(const pairwise *p) {
  const char *c = p->multiply->out.file;
  char unnamed[DM_SIBLING_PATH];
  dm_location at;
  bool complete = false;
  if (!pairwise_keeps_product(p, COUNTS)) return DM_OK;
  DM_TRY(pairwise_name_product(p, COUNTS, &at));
  if (access(at.file, F_OK) != 0 || p->multiply->force) return DM_OK;
  DM_TRY(dm_file_sibling(&p->multiply->out, PAIRWISE_UNNAMED, unnamed));
  if (access(c, F_OK) != 0 && access(unnamed, F_OK) == 0) return DM_OK;
  dm_status status = dm_journal_inspect_complete(&at, p->m, p->n, &complete);
  dm_status_free(status);
  if (complete) return DM_OK; /* of the run that this one resumes */
  return dm_hint(dm_fail(DM_E_USAGE, "%s is in the way of the file of counts", at.file),
                 "--force replaces it; or give another -o");
}

/* Whether an earlier run completed the product: its journal, which stays until C is complete, says
 * of what. */
static dm_status pairwise_find_made(const pairwise *p, dm_multiply *job) {
  bool complete = false;
  dm_status status = DM_OK;
  if (p->run->rank == 0 && job->checkpoint && access(job->out.file, F_OK) == 0)
    status = dm_journal_inspect_complete(&job->out, p->m, p->n, &complete);
  if (complete && !status) status = dm_file_inspect_own(&job->out, &job->existing);
  if (status) job->existing = (dm_dataset){0}; /* it is computed again */
  dm_status_free(status);
  return dm_comm_broadcast(p->run->world, &job->existing, sizeof job->existing, 0);
}

dm_status dm_pairwise_to_file(pairwise *p, int which, dm_multiply *job) {
  DM_TRY(pairwise_name_product(p, which, &job->out));
  DM_TRY(pairwise_find_made(p, job));
  DM_TRY(dm_multiply_run(p->run, job, NULL));
  dm_dataset *made = &p->made[which];
  dm_status status = p->run->rank == 0 ? dm_file_inspect_own(&job->out, made) : DM_OK;
  DM_TRY(dm_comm_agree(p->run->world, status));
  return dm_comm_broadcast(p->run->world, made, sizeof *made, 0);
}

dm_status dm_pairwise_keep_counts(pairwise *p, int64_t room) {
  char path[DM_SIBLING_PATH];
  dm_location at;
  dm_dataset *made = &p->made[COUNTS];
  DM_TRY(dm_file_sibling(&p->multiply->out, pairwise_endings[COUNTS], path));
  DM_TRY(pairwise_place(path, &at));
  DM_TRY(dm_pairwise_count_to_file(p, &at, room));
  dm_status status = p->run->rank == 0 ? dm_file_inspect_own(&at, made) : DM_OK;
  DM_TRY(dm_comm_agree(p->run->world, status));
  return dm_comm_broadcast(p->run->world, made, sizeof *made, 0);
}

dm_status dm_pairwise_name_kept_counts(pairwise *p) {
  dm_location at;
  dm_location *now = &p->made[COUNTS].at;
  if (!pairwise_keeps_product(p, COUNTS)) return DM_OK;
  DM_TRY(pairwise_name_product(p, COUNTS, &at));
  if (strcmp(now->file, at.file) == 0) return DM_OK;
  if (rename(now->file, at.file) != 0)
    return dm_fail(DM_E_IO, "%s cannot be renamed to %s: %s", now->file, at.file, strerror(errno));
  *now = at;
  return DM_OK;
}

dm_status dm_pairwise_check_space(const pairwise *p) {
  const dm_multiply *m = p->multiply;
  char part[DM_SIBLING_PATH];
  int64_t bytes, all = 0;
  DM_TRY(pairwise_check_counts(p));
  for (int i = 0; i <= p->count; i++) {
    const dm_dtype type = i < p->count ? DM_F64 : m->equation.type_c;
    dm_location at = m->out;
    if (i < p->count) DM_TRY(pairwise_name_product(p, i, &at));
    DM_TRY(dm_file_sibling(&at, ".part", part));
    DM_TRY(dm_bytes_of(p->m, p->n, dm_dtype_size(type), &bytes));
    const bool made = i < p->count && access(at.file, F_OK) == 0;
    if (!made && access(part, F_OK) != 0) all = dm_sat_add(all, bytes);
  }
  return dm_context(dm_output_space(&m->out, all), "C and %d products of pairs", p->count);
}

dm_status dm_pairwise_open_readers(pairwise *p) {
  for (int i = 0; i < p->count; i++)
    DM_TRY(dm_reader_open(&p->made[i], DM_DTYPE_NONE, &p->readers[i]));
  return DM_OK;
}

void dm_pairwise_close_readers(pairwise *p) {
  for (int i = 0; i < p->count; i++) {
    dm_reader_close(p->readers[i]);
    p->readers[i] = NULL;
  }
}

/* Of one matrix also the columns with these numbers, as rows. */
dm_status dm_pairwise_read(pairwise *p, int64_t row, int64_t count) {
  for (int i = 0; i < (p->relates ? p->count : PAIRWISE_FACTORS); i++) {
    const bool turned = i >= p->count;
    dm_reader *reader = p->readers[turned ? dm_pairwise_column_of(i) : i];
    if (p->room < count * p->n) {
      free(p->rows[i]);
      p->rows[i] = NULL;
      DM_TRY(dm_buffer_alloc(count * p->n * (int64_t)sizeof(double), (void **)&p->rows[i]));
    }
    dm_view view = dm_view_row_major(p->rows[i], DM_F64, count, p->n);
    if (turned) view = dm_view_transpose(view);
    DM_TRY(dm_reader_read(reader, turned ? 0 : row, turned ? row : 0, &view, 1, false));
  }
  p->room = dm_max(p->room, count * p->n);
  return DM_OK;
}

/* With KEEP without its journal only. */
static void pairwise_remove_file(const pairwise *p, int which, bool keep) {
  const dm_location *at = &p->made[which].at;
  dm_journal *journal = NULL;
  bool locked;
  if (!at->file[0]) return;
  if (!keep) (void)unlink(at->file);
  dm_status status = dm_journal_open(at, &journal, &locked);
  if (!status) status = dm_journal_remove(journal);
  dm_journal_close(journal);
  dm_status_free(status);
}

/* Before C gets its name: nothing would remove them if the run were killed after that. */
void dm_pairwise_remove_products(void *context) {
  const pairwise *p = context;
  for (int i = 0; i < p->count && p->run->rank == 0 && !p->in_memory; i++)
    pairwise_remove_file(p, i, pairwise_keeps_product(p, i));
}

void dm_pairwise_remove_all(const pairwise *p) {
  for (int i = 0; i < p->count && p->run->rank == 0 && !p->in_memory; i++)
    pairwise_remove_file(p, i, false);
}
