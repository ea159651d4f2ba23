#include "product/job.h"

#include <string.h>

#include "core/checked.h"
#include "io/file_queue.h"
#include "plan/buffers.h"
#include "plan/partition.h"
#include "product/symmetric.h"

/* Memory for large chunks, as the planner counted it. */
static int64_t read_memory(const dm_problem *p) {
  const int64_t kept = dm_sat_add(
      dm_chunks_cached(p->chunk_a, dm_sat_bytes(p->m, p->k, dm_dtype_size(p->file_a))),
      dm_sat_add(dm_chunks_cached(p->chunk_b, dm_sat_bytes(dm_problem_b_rows(p), p->n,
                                                           dm_dtype_size(p->file_b))),
                 dm_chunks_cached(p->chunk_c, dm_sat_bytes(p->m, p->n, dm_dtype_size(p->c)))));
  return dm_max(DM_READ_MEMORY, kept);
}

static dm_op op_of(const dm_job *job, int matrix) {
  const dm_equation *e = &job->multiply->equation;
  return matrix == DM_A ? e->op_a : matrix == DM_B ? e->op_b : DM_OP_N;
}

dm_status dm_job_describe_memory(dm_job *j) {
  for (int x = 0; x < DM_HOMES; x++) {
    if (!dm_job_in_memory(j, x) || (x == DM_OLD && (!j->problem.reads_c || dm_job_replaces_old(j))))
      continue;
    DM_TRY(dm_distributed_open(j->run->world, j->multiply->in_memory[x], dm_matrix_name(x),
                               &j->memory[x]));
    if (op_of(j, x) != DM_OP_N) dm_distributed_transpose(&j->memory[x]);
  }
  return DM_OK;
}

dm_status dm_job_reach_memory(dm_job *j) {
  for (int x = 0; x < DM_HOMES; x++)
    if (dm_job_in_memory(j, x))
      DM_TRY(dm_distributed_reach(&j->memory[x], j->setup.backend, dm_matrix_name(x)));
  return DM_OK;
}

typedef struct job_summing {
  uint64_t sum;
  int64_t cols;
} job_summing;

static dm_status add_elements(void *context, dm_view part, int64_t row, int64_t col) {
  job_summing *s = context;
  s->sum += dm_checksum_view(part, row, col, s->cols);
  return DM_OK;
}

dm_status dm_job_identify_memory(dm_job *j) {
  if (dm_job_in_memory(j, DM_C) || !j->own.checkpoint) return DM_OK;
  for (int x = 0; x < 4; x++) {
    if (!dm_job_in_memory(j, x)) continue;
    job_summing s = {.cols = j->memory[x].of.cols.total};
    DM_TRY(dm_comm_agree(j->run->world,
                         dm_distributed_each(&j->memory[x], j->run->rank, add_elements, &s)));
    j->own.elements[x] = s.sum;
    DM_TRY(dm_comm_sum_i64(j->run->world, (int64_t *)&j->own.elements[x], 1));
  }
  return DM_OK;
}

static dm_status open_input(dm_job *j, const dm_dataset *dataset, int matrix) {
  dm_dataset_input *input = &j->source.inputs[matrix];
  if (!dm_job_in_file(j, matrix)) return DM_OK;
  *input = (dm_dataset_input){.op = op_of(j, matrix),
                              .chunked = dataset->chunk_rows > 0,
                              .integral = dm_problem_is_integral(&j->problem)};
  DM_TRY(dm_reader_open(dataset, j->multiply->equation.type, &input->reader));
  dm_reader_share_threads(input->reader, j->ahead);
  input->ahead = j->ahead;
  return DM_OK;
}

dm_status dm_job_open_inputs(dm_job *j) {
  const dm_multiply *m = j->multiply;
  j->source.copies = m->engine.read_copies;
  DM_TRY(dm_file_queue_open(dm_run_io_threads(j->run, m->engine.io_threads),
                            read_memory(&j->problem), &j->ahead));
  DM_TRY(open_input(j, &m->a, DM_A));
  DM_TRY(open_input(j, &m->b, DM_B));
  dm_source_datasets.set_keepalive(&j->source, &j->run->keepalive);
  if (!j->problem.reads_c || !dm_job_in_file(j, DM_OLD)) return DM_OK;
  DM_TRY(dm_reader_open(&m->c, DM_DTYPE_NONE, &j->old));
  dm_reader_share_threads(j->old, j->ahead);
  return DM_OK;
}

dm_status dm_job_check_old(const dm_job *j) {
  const dm_problem *p = &j->problem;
  if (p->symmetry == DM_NO_SYMMETRY || !p->reads_c) return DM_OK;
  /* A C that replaced it cannot be verified from the matrices. */
  if (!j->old || (dm_job_replaces_old(j) && j->basis == DM_BASIS_REREAD))
    return dm_comm_agree(
        j->run->world,
        dm_hint(dm_fail(DM_E_USAGE, "a symmetric product adds an old C in a file, or in the host "
                                    "memory of one process that has room for all of C"),
                "a product of X with itself, with an op, adds any old C"));
  return dm_old_is_symmetric(j->run, p, j->old);
}

/* Completes FORM and counts the disk space it needs. */
static dm_status complete_form(dm_output_form *form, dm_problem *problem) {
  DM_TRY(dm_output_form_complete(form, problem->c, problem->m, problem->n));
  if (!dm_output_is_chunked(form)) return DM_OK;
  return dm_output_form_bytes(form, problem->c, problem->m, problem->n, &problem->more_bytes);
}

dm_named_files dm_job_files(const dm_multiply *m) {
  const char *const in[] = {m->a.at.file, m->b.at.file, NULL, m->has_c ? m->c.at.file : NULL};
  dm_named_files names = {.writes = dm_multiply_in_file(m, DM_C) ? m->out.file : NULL,
                          .writes_memory = m->seen_c.base != NULL};
  for (int x = 0, i = 0; x < 4; x++) {
    if (x == DM_C || !in[x] || !dm_multiply_is_read(m, x)) continue;
    if (dm_multiply_in_file(m, x))
      names.reads[i++] = in[x];
    else
      names.reads_memory = true;
  }
  return names;
}

/* Whether this rank's GPU has all of X, which is in memory, in contiguous rows or columns. */
static bool lies_on_gpu(const dm_job *j, int x) {
  const dm_memory_matrix *m = j->multiply->in_memory[x];
  return j->run->ranks == 1 && m && m->on_gpu && m->data &&
         (m->division == DM_BY_ROWS || m->division == DM_ON_ONE) &&
         (m->row_stride == 1 || m->col_stride == 1);
}

/* Operands of the type that is multiplied; what is conjugated is transposed, too. */
static bool is_operand_there(const dm_job *j, int x) {
  const dm_memory_matrix *m = j->multiply->in_memory[x];
  return lies_on_gpu(j, x) && m->dtype == j->problem.work &&
         (op_of(j, x) != DM_OP_C || m->row_stride != 1);
}

/* C, and what beta multiplies, where sums become elements of C without the host. */
static bool is_result_there(const dm_job *j) {
  const dm_problem *p = &j->problem;
  const dm_memory_matrix *c = j->multiply->in_memory[DM_C], *old = j->multiply->in_memory[DM_OLD];
  return lies_on_gpu(j, DM_C) && dm_backend_has_epilogue(c->dtype, p->accumulator) &&
         (!p->reads_c || (lies_on_gpu(j, DM_OLD) && old->dtype == c->dtype));
}

static dm_home home_of(const dm_job *j, int x) {
  const dm_multiply *m = j->multiply;
  if (m->measurement) return DM_HOME_SHARES;
  if (!m->in_memory[x]) return DM_HOME_FILE;
  if (x == DM_C ? m->seen_c.base != NULL : dm_multiply_is_read(m, x)) return DM_HOME_SEEN;
  const bool there = x == DM_C ? is_result_there(j) : x != DM_OLD && is_operand_there(j, x);
  return there ? DM_HOME_DEVICE : DM_HOME_HOST;
}

static dm_status job_describe(dm_job *j) {
  const dm_multiply *m = j->multiply;
  dm_problem *p = &j->problem;
  DM_TRY(dm_problem_of(&m->a, &m->b, m->has_c ? &m->c : NULL, &m->equation, p));
  for (int x = 0; x < DM_HOMES; x++) p->home[x] = j->home[x] = home_of(j, x);
  if (m->measurement && m->measurement->from_host) dm_problem_set_home(p, DM_HOME_HOST);
  if (dm_job_is_moved(j, DM_A)) p->op_a = DM_OP_N;
  if (dm_job_is_moved(j, DM_B)) p->op_b = DM_OP_N;
  j->form = m->form;
  return j->home[DM_C] == DM_HOME_FILE ? complete_form(&j->form, p) : DM_OK;
}

dm_status dm_job_describe(dm_job *j) {
  const dm_problem *p = &j->problem;
  const dm_engine_options *engine = &j->multiply->engine;
  DM_TRY(job_describe(j));
  if (!dm_runs_suit(p) || p->work == p->accumulator || strcmp(engine->backend, "cuda") == 0 ||
      strcmp(engine->kernel, "auto") != 0)
    return DM_OK;
  j->own.equation.type = p->accumulator; /* 16 bits, widened while they are read */
  j->own.equation.compute = 0;
  j->own.equation.accumulate_stated = false;
  return job_describe(j);
}

void dm_job_set_ends(dm_job *j) {
  const dm_multiply *m = j->multiply;
  const dm_distributed *operands[2] = {dm_job_is_moved(j, DM_A) ? &j->memory[DM_A] : NULL,
                                       dm_job_is_moved(j, DM_B) ? &j->memory[DM_B] : NULL};
  const bool conjugate[2] = {m->equation.op_a == DM_OP_C, m->equation.op_b == DM_OP_C};
  const bool old = j->problem.reads_c && dm_job_is_moved(j, DM_OLD) && !dm_job_replaces_old(j);
  const bool on_gpu[2] = {j->home[DM_A] == DM_HOME_DEVICE, j->home[DM_B] == DM_HOME_DEVICE};
  if (operands[DM_A] || operands[DM_B])
    dm_memory_operands_open(j->run, operands, conjugate, on_gpu, &j->operands);
  j->result = (dm_memory_result){.run = j->run,
                                 .matrix = &j->memory[DM_C],
                                 .replaces = dm_job_replaces_old(j),
                                 .old = old ? &j->memory[DM_OLD] : NULL,
                                 .on_gpu = j->home[DM_C] == DM_HOME_DEVICE};
  memcpy(j->result.alpha, m->equation.alpha, sizeof j->result.alpha);
  memcpy(j->result.beta, m->equation.beta, sizeof j->result.beta);
  j->sink.correlates = dm_job_in_memory(j, DM_C) ? 0.0 : j->problem.correlates;
  memcpy(j->sink.alpha, m->equation.alpha, sizeof j->sink.alpha);
  memcpy(j->sink.beta, m->equation.beta, sizeof j->sink.beta);
}

dm_status dm_job_deliver(dm_job *j) {
  if (!j->held) return DM_OK;
  j->held = false;
  if (!j->sink.holds) return dm_memory_result_deliver(&j->result, &j->product.local, 0);
  return dm_comm_agree(j->run->world, dm_file_sink_release(&j->sink, &j->product.local));
}

dm_status dm_job_unchanged(const dm_job *j) {
  if (!dm_job_in_memory(j, DM_A)) DM_TRY(dm_dataset_unchanged(&j->multiply->a));
  if (!dm_job_in_memory(j, DM_B)) DM_TRY(dm_dataset_unchanged(&j->multiply->b));
  return j->problem.reads_c && !dm_job_in_memory(j, DM_OLD) ? dm_dataset_unchanged(&j->multiply->c)
                                                            : DM_OK;
}
