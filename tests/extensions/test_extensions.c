/* ranks: 1 2. The pipeline multiplies matrices of the toy format by the toy transport, first in the
 * toy mode, then by the toy backend, and verifies C. */
#include <stdlib.h>
#include <unistd.h>

#include "extensions/toys.h"
#include "product/multiply.h"
#include "ranks/rank_test.h"

enum { N = 130 };

static dm_dataset matrix(rank_test *test, const char *folder, char name) {
  static double elements[N * N];
  dm_inspection question = {0};
  static dm_finding finding;
  snprintf(question.at.file, sizeof question.at.file, "%s/%c.toy", folder, name);
  for (int i = 0; i < N * N; i++) elements[i] = (i * 7 + name) % 17 - 8;
  if (test->run.rank == 0) {
    FILE *file = fopen(question.at.file, "w");
    if (!file) abort();
    toy_file_write(file, N, N, elements);
    if (fclose(file) != 0) abort();
  }
  must(test, dm_comm_barrier(test->run.world));
  finding = (dm_finding){0};
  must(test, dm_examine(&question, &finding));
  CHECK(test, finding.dataset.rows == N && finding.dataset.cols == N, "another shape");
  return finding.dataset;
}

/* By BACKEND, in MODE or, if it is NULL, in f64, to a new file NAME. */
static void multiply(rank_test *test, const char *folder, const char *name, const char *backend,
                     const dm_compute *mode) {
  dm_multiply job = {
      .a = matrix(test, folder, 'a'),
      .b = matrix(test, folder, 'b'),
      .equation = {.alpha = {1.0}, .type = DM_DTYPE_NONE, .type_c = DM_DTYPE_NONE, .own = mode},
      .engine = {.backend = backend,
                 .kernel = "auto",
                 .transport = test->run.ranks > 1 ? "toy" : "auto",
                 .threads = 1,
                 .io_threads = -1,
                 .compute = mode ? &toy_calls : NULL},
      .verify = true};
  dm_record *record;
  snprintf(job.out.file, sizeof job.out.file, "%s/%s", folder, name);
  snprintf(job.out.dataset, sizeof job.out.dataset, "/c");
  must(test, dm_record_new("multiply", "", &record));
  dm_status status = dm_multiply_run(&test->run, &job, record);
  CHECK(test, !status, "%s", status->message);
  dm_status_free(status);
  dm_record_free(record);
}

TEST_PROGRAM(test_extensions) {
  static rank_test test;
  char folder[] = "/tmp/damier-test-XXXXXX";
  test = (rank_test){0};
  must(&test, dm_run_start(&test.run, NULL, DM_LOG_ERROR, DM_PROGRESS_NEVER, "test"));
  if (test.run.rank == 0 && !mkdtemp(folder)) abort();
  must(&test, dm_comm_broadcast(test.run.world, folder, sizeof folder, 0));
  toy_gathers = toy_products = 0;
  multiply(&test, folder, "mode.h5", "cpu", &toy_mode);
  CHECK(&test, toy_products == 0, "the CPU's products are the toy's");
  multiply(&test, folder, "backend.h5", "toy", NULL);
  CHECK(&test, toy_products > 0, "nothing was multiplied by the toy");
  CHECK(&test, test.run.ranks == 1 || toy_gathers > 0, "nothing was gathered by the toy");
  must(&test, dm_comm_barrier(test.run.world));
  static const char *const made[] = {"a.toy", "b.toy", "mode.h5", "backend.h5"};
  for (int i = 0; i < 4 && test.run.rank == 0; i++) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, made[i]);
    unlink(path);
  }
  if (test.run.rank == 0) CHECK(&test, rmdir(folder) == 0, "%s is not empty", folder);
  return rank_test_end(&test);
}
