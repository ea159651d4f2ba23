#include "product/center_product.h"
#include "product/in_place_impl.h"

#include <stdio.h>
#include <string.h>

#include "backend/whole_product.h"
#include "core/buffer.h"
#include "core/clock.h"
#include "engine/scaling.h"
#include "product/symmetric.h"

/* ---- which products ---- */

/* Whether nothing was asked for that takes the plan's shares and blocks. */
static bool in_place_is_plain(const dm_multiply *m) {
  const dm_wishes *w = &m->engine.wishes;
  return !m->verify_files && !m->equation.own && w->pm == 0 && w->panel == 0 && w->tiles_m == 0 &&
         m->engine.memory_host == 0 && m->engine.memory_device == 0;
}

/* One rank's matrices are in one memory. */
static bool is_in_memory(const dm_multiply *m, int ranks) {
  const dm_memory_matrix *c = m->in_memory[DM_C], *old = m->in_memory[DM_OLD];
  if (!c || !m->in_memory[DM_A] || !m->in_memory[DM_B] || (m->has_c && old != c)) return false;
  return ranks > 1 ||
         (m->in_memory[DM_A]->on_gpu == c->on_gpu && m->in_memory[DM_B]->on_gpu == c->on_gpu);
}

/* Of a copy in host memory: bytes, more than a few of which should have rows of some elements, as
 * each row takes a thread's turn. */
static const double largest_copy = 256 << 20, few_bytes = 2 << 20;
enum { LEAST_ROW = 32 };

static bool is_copied_on_host(const dm_memory_matrix *of, int ranks) {
  const double bytes = 8.0 * (double)of->rows * (double)of->cols;
  return ranks == 1 && bytes <= largest_copy && (of->cols >= LEAST_ROW || bytes <= few_bytes);
}

/* Copies that are centered where A and B are; of others in host memory pieces are centered by
 * turns, like those of files. NaN that is not that of whole lines is for the pipeline. */
static bool is_centered_whole(const dm_multiply *m, int ranks) {
  for (int x = 0; x < 2; x++) {
    const dm_memory_matrix *of = m->in_memory[x];
    if (of->data && !of->on_gpu && !is_copied_on_host(of, ranks)) return false;
  }
  return !(m->a.meaning.found && m->a.meaning.missing == DM_MISSING_NAN);
}

/* On the host without GPUs, or small entries of a batch. */
static bool is_for_backend(const dm_multiply *m, bool on_gpu) {
  const char *name = m->engine.backend;
  const bool automatic = strcmp(name, "auto") == 0;
  if (on_gpu) return automatic || strcmp(name, "cuda") == 0;
  if (!automatic) return strcmp(name, "cpu") == 0;
  if (!dm_backend_has_driver()) return true;
  const dm_memory_matrix *a = m->in_memory[DM_A], *b = m->in_memory[DM_B];
  if (!dm_entries_are_small(m->a.batch, a->rows / dm_max(1, m->a.batch), b->cols, a->cols))
    return false;
  for (int x = 0; x < 3; x++) /* what is stated as host memory may be a GPU's */
    if (!dm_memory_is_readable(m->in_memory[x]->data)) return false;
  return true;
}

/* Whether the backend has products of P's mode by the kernel that is asked for. */
static bool has_mode(const dm_multiply *m, const dm_problem *p, bool on_gpu) {
  const char *kernel = m->engine.kernel;
  if (on_gpu)
    return dm_backend_kernel_multiplies(dm_backend_for_gpus(), kernel, p->work, &p->compute, NULL);
  return strcmp(kernel, "auto") == 0 && dm_compute_is_plain(&p->compute);
}

/* Whether GPUs multiply operands of FILE where they are. */
static bool reads_type(const dm_problem *p, dm_dtype file, bool widens) {
  const bool narrower = dm_dtype_real(file) == DM_F32 && dm_dtype_real(p->work) == DM_F64 &&
                        dm_dtype_is_complex(file) == dm_dtype_is_complex(p->work);
  return file == p->work || (widens && narrower);
}

/* Whether the product is of such a type. */
static bool is_native(const dm_multiply *m, const dm_problem *p, bool on_gpu, int ranks) {
  const bool alone = on_gpu && ranks == 1;
  if (m->verify && m->equation.alpha[0] == 0 && m->equation.alpha[1] == 0)
    return false; /* the bounds would vanish; the pipeline verifies before it applies alpha */
  /* A wrong C could not be computed again: on the host the pipeline keeps it until its verdict. */
  if (m->verify && p->reads_c && !on_gpu) return false;
  if (p->reads_c && p->symmetry != DM_NO_SYMMETRY && !on_gpu) return false; /* its reader checks */
  return has_mode(m, p, on_gpu) && !p->fastest && !p->no_k && p->file_a == p->file_b &&
         reads_type(p, p->file_a, alone) &&
         (p->c == p->accumulator || p->c == p->work ||
          (alone && dm_backend_has_epilogue(p->c, p->accumulator))) &&
         (m->equation.type == DM_DTYPE_NONE || m->equation.type == p->work);
}

/* Whether this rank states the matrices as in the product before. */
static bool in_place_is_like(const dm_in_place *cached, const dm_multiply *m, int ranks) {
  const dm_in_place_places *places = &cached->places;
  const dm_equation *e = &m->equation;
  const dm_workspace *space = &cached->workspace;
  bool like = places->open && places->turned[DM_A] == (e->op_a != DM_OP_N) &&
              places->turned[DM_B] == (e->op_b != DM_OP_N) && places->symmetric == e->symmetric;
  for (int x = 0; x < 3 && like; x++)
    like = dm_memory_matrix_is_like(&places->stated[x], m->in_memory[x]);
  if (ranks == 1 || !like) return like;
  return space->transport && strcmp(space->tried, m->engine.transport) == 0;
}

/* *takes: all ranks do; *like: and as before. */
static dm_status agree_to_take(const dm_in_place *cached, const dm_run *run, const dm_multiply *m,
                               bool *takes, bool *like) {
  const bool several = run->ranks > 1;
  bool refuses = !in_place_is_plain(m) || !is_in_memory(m, run->ranks);
  /* Several ranks must multiply on GPUs, and be counted as they are. */
  if (several)
    refuses |= m->a.batch > 1 || m->engine.require_gpu_per_rank || m->engine.pretend_nodes >= 2;
  if (!refuses && dm_multiply_centers(m)) refuses = !is_centered_whole(m, run->ranks);
  if (!refuses) refuses = !is_for_backend(m, several || m->in_memory[DM_C]->on_gpu);
  bool in_gpus = false; /* any of the matrices */
  for (int x = 0; x < 3; x++)
    in_gpus |= m->in_memory[x] && m->in_memory[x]->data && m->in_memory[x]->on_gpu;
  /* Matrices that are all in the host memory of several processes are moved to their GPUs. One
   * process reads and writes host memory like files. */
  const bool lacks_gpu =
      !refuses && several && !in_gpus &&
      (dm_comm_is_one_process(run->world) || dm_backend_device_count(dm_backend_auto()) == 0);
  int64_t all[] = {refuses, refuses || !in_place_is_like(cached, m, run->ranks), in_gpus,
                   lacks_gpu};
  if (several) DM_TRY(dm_comm_max_i64(run->world, all, 4));
  *takes = !all[0] && (!several || all[2] || !all[3]);
  *like = !all[1];
  return DM_OK;
}

/* ---- opening ---- */

static dm_backend **backend_of(dm_in_place *cached, const dm_in_place_outcome *outcome) {
  return outcome->on_gpu ? &cached->gpu : &cached->host;
}

static dm_status in_place_open_backend(dm_in_place *cached, const dm_run *run,
                                       const dm_in_place_outcome *outcome) {
  const bool on_gpu = outcome->on_gpu;
  dm_backend **one = backend_of(cached, outcome);
  const dm_backend_ops *ops;
  const dm_backend_config config = {.local_rank = run->gpu,
                                    .local_ranks = run->local_ranks,
                                    .threads = run->cores.threads,
                                    .kernel = "auto",
                                    .whole = true};
  if (*one) return DM_OK;
  DM_TRY(dm_backend_find(on_gpu ? "cuda" : "cpu", &ops));
  DM_TRY(dm_backend_open(ops, &config, one));
  return dm_backend_device(*one, &cached->device[on_gpu]);
}

/* The name of a kernel as the backend lists it, which outlives the product. */
static const char *listed_kernel(const char *name) {
  const char *const *names = dm_backend_kernel_names(dm_backend_for_gpus());
  while (*names && strcmp(*names, name) != 0) names++;
  return *names;
}

static bool is_in_mode(const dm_in_place *cached, const dm_in_place_product *p) {
  const dm_in_place_mode *mode = &cached->mode;
  return !p->outcome->on_gpu ||
         (mode->known && strcmp(mode->compute.name, p->outcome->problem.compute.name) == 0 &&
          strcmp(mode->kernel, p->multiply->engine.kernel) == 0 &&
          mode->reproducible == p->outcome->reproducible);
}

/* The GPU's backend multiplies as the product asks for. */
static dm_status set_mode(dm_in_place *cached, const dm_in_place_product *p) {
  const char *kernel = p->multiply->engine.kernel;
  const dm_compute *compute = &p->outcome->problem.compute;
  dm_in_place_mode *mode = &cached->mode;
  if (is_in_mode(cached, p)) return DM_OK;
  const bool cuts = p->outcome->reproducible && !dm_compute_is_exact(compute);
  *mode = (dm_in_place_mode){.compute = *compute,
                             .kernel = listed_kernel(kernel),
                             .reproducible = p->outcome->reproducible};
  DM_TRY(dm_backend_set_mode(cached->gpu,
                             &(dm_backend_mode){.compute = compute,
                                                .kernel = kernel,
                                                .tile = cuts ? DM_BORDER : 0,
                                                .depth = cuts ? DM_REPRODUCIBLE_PANEL : 0}));
  mode->known = true;
  return DM_OK;
}

static void close_places(dm_in_place_places *places) {
  dm_layout_choice_close(&places->arranged);
  for (int x = 0; x < 3; x++) dm_distributed_close(&places->matrix[x]);
  *places = (dm_in_place_places){.open = false};
}

static dm_status open_matrices(dm_in_place_product *p) {
  const dm_equation *e = &p->multiply->equation;
  dm_in_place_places *places = p->places;
  for (int x = 0; x < 3; x++) {
    places->stated[x] = *p->multiply->in_memory[x];
    DM_TRY(dm_distributed_open(p->run->world, &places->stated[x], dm_matrix_name(x),
                               &places->matrix[x]));
  }
  places->turned[DM_A] = e->op_a != DM_OP_N;
  places->turned[DM_B] = e->op_b != DM_OP_N;
  places->symmetric = e->symmetric;
  for (int x = 0; x < 2; x++)
    if (places->turned[x]) dm_distributed_transpose(&places->matrix[x]);
  return DM_OK;
}

/* Of several ranks only a C that must be. */
static bool in_place_is_symmetric(const dm_in_place_product *p) {
  return p->outcome->problem.symmetry != DM_NO_SYMMETRY &&
         (p->run->ranks == 1 || p->multiply->equation.symmetric);
}

static void set_whole(dm_in_place_product *p) {
  const dm_equation *e = &p->multiply->equation;
  const dm_distributed *matrix = p->places->matrix;
  p->whole = (dm_whole_product){.a = matrix[DM_A].local,
                                .b = matrix[DM_B].local,
                                .c = matrix[DM_C].local,
                                .entries = p->outcome->problem.batch,
                                .piece = p->outcome->problem.compute.piece,
                                .conjugate_a = e->op_a == DM_OP_C,
                                .conjugate_b = e->op_b == DM_OP_C,
                                .symmetric = in_place_is_symmetric(p)};
  memcpy(p->whole.alpha, e->alpha, sizeof e->alpha);
  memcpy(p->whole.beta, e->beta, sizeof e->beta);
}

/* Of several ranks. */
static dm_status in_place_arrange(dm_in_place *cached, dm_in_place_product *p, bool *fits) {
  p->places->arranged = (dm_layout_choice){.space = &cached->workspace,
                                           .run = p->run,
                                           .backend = p->backend,
                                           .transport = p->multiply->engine.transport,
                                           .callers = p->places->matrix};
  return dm_layout_choice_open(&p->places->arranged, &p->whole, p->outcome->problem.reads_c, fits);
}

/* A line may be seen either way. */
static bool seen_by_rows(dm_view v) {
  if (v.cols == 1) v.col_stride = 1;
  return dm_view_is_empty(v) || dm_blas_by_rows(v);
}

/* Residues are of C, or, where ranks have it by columns, of C^T. *fits: all have it alike. */
static dm_status agree_scanned(dm_in_place_product *p, bool *fits) {
  const dm_view c =
      p->run->ranks > 1 ? p->places->arranged.used[DM_C].local : p->places->matrix[DM_C].local;
  int64_t which[2] = {!seen_by_rows(dm_view_transpose(c)), !seen_by_rows(c)};
  if (!p->outcome->problem.compute.scans) return DM_OK;
  if (p->run->ranks > 1) DM_TRY(dm_comm_max_i64(p->run->world, which, 2));
  p->by_columns = which[1] != 0;
  *fits = !(which[0] && which[1]);
  return DM_OK;
}

/* Finds the matrices, as before if LIKE. *fits: they are multiplied where they are. */
static dm_status find_matrices(dm_in_place *cached, dm_in_place_product *p, bool like, bool *fits) {
  dm_in_place_places *places = p->places;
  const bool several = p->run->ranks > 1;
  for (int x = 0; x < 3 && like; x++)
    dm_distributed_move(p->multiply->in_memory[x], &places->matrix[x]);
  if (!like) {
    close_places(places);
    DM_TRY(open_matrices(p));
    DM_TRY(dm_comm_agree(p->run->world, in_place_open_backend(cached, p->run, p->outcome)));
  }
  p->backend = *backend_of(cached, p->outcome);
  DM_TRY(dm_comm_agree(p->run->world, set_mode(cached, p)));
  set_whole(p);
  *fits = like;
  if (!several)
    *fits = dm_backend_can_multiply(p->backend, &p->whole);
  else if (!like)
    DM_TRY(in_place_arrange(cached, p, fits));
  if (*fits) DM_TRY(agree_scanned(p, fits));
  if (several && *fits) dm_layout_choice_renew(&places->arranged, &p->whole);
  const dm_distributed *used = several && *fits ? places->arranged.used : places->matrix;
  for (int x = 0; x < 3; x++)
    (void)dm_distribution_extent(&used[x].of, p->run->rank, &places->at[x]);
  places->open = *fits;
  return DM_OK;
}

static void tell_ways(const dm_in_place *cached, const dm_in_place_product *p) {
  const dm_broadcast *broadcast = &p->places->arranged.broadcast;
  if (p->run->ranks == 1) return;
  memcpy(p->outcome->moved, p->places->arranged.moved, sizeof p->outcome->moved);
  p->outcome->turned = broadcast->turned;
  p->outcome->both = broadcast->both;
  p->outcome->summed = broadcast->split_k.parts != NULL;
  p->outcome->strips = p->outcome->summed ? 0 : dm_broadcast_items(broadcast);
  p->outcome->transport = cached->workspace.links.chosen->name;
}

/* The old C must be symmetric, too. */
static bool adds_symmetric(const dm_in_place_product *p) {
  return p->outcome->problem.reads_c && p->outcome->problem.symmetry != DM_NO_SYMMETRY;
}

/* Waits for the caller's streams, but not for that in which the product is posted. */
static dm_status in_place_reach(dm_in_place_product *p) {
  dm_distributed *matrix = p->places->matrix;
  const bool posts = !p->multiply->verify && p->run->ranks == 1 && !p->centered &&
                     dm_backend_takes_stream(p->backend, &p->whole) && !adds_symmetric(p);
  p->stream = posts ? matrix[DM_C].stream : NULL;
  for (int x = 0; x < 3; x++) {
    const bool awaited = x > 0 && matrix[x].stream == matrix[0].stream;
    if (awaited || (p->stream && matrix[x].stream == p->stream)) matrix[x].stream = NULL;
    DM_TRY(dm_distributed_reach(&matrix[x], p->backend, dm_matrix_name(x)));
  }
  return dm_stop_check(&p->run->stop);
}

/* Whether the bits of C, if they are to be the same on all grids, are those of the pipeline: our
 * own kernels' do not depend on where C is cut. */
static bool is_reproduced(const dm_in_place_product *p) {
  const dm_in_place_outcome *o = p->outcome;
  const bool ours = !(o->kernel && strncmp(o->kernel, "cublas", strlen("cublas")) == 0);
  return !o->reproducible || dm_compute_is_exact(&o->problem.compute) ||
         (o->on_gpu && (ours || p->run->ranks == 1));
}

/* ---- all ---- */

/* Collective: makes centered copies of A and B, which stand for them from now on. */
static dm_status in_place_center(dm_in_place *cached, dm_in_place_product *p, bool *like) {
  dm_multiply *m = p->centered;
  dm_in_place_outcome *outcome = p->outcome;
  DM_TRY(dm_comm_agree(p->run->world, in_place_open_backend(cached, p->run, outcome)));
  for (int x = 0; x < 2; x++) {
    dm_centered_room *room = &cached->rooms[x];
    if (room->backend != *backend_of(cached, outcome)) dm_centered_room_release(room);
    room->backend = *backend_of(cached, outcome);
  }
  DM_TRY(dm_center_product(p->run, m, cached->rooms, &p->copies));
  dm_centering_text(m->a.centering, outcome->centering[DM_A]);
  dm_centering_text(m->b.centering, outcome->centering[DM_B]);
  memcpy(outcome->standard, m->equation.standard, sizeof outcome->standard);
  int64_t unlike = !in_place_is_like(cached, m, p->run->ranks); /* of the copies */
  if (p->run->ranks > 1) DM_TRY(dm_comm_max_i64(p->run->world, &unlike, 1));
  *like = !unlike;
  return DM_OK;
}

/* Whether copies do not fit in GPU memory beside A and B: then they go through host memory. */
static bool lacks_room(const dm_in_place_product *p, dm_status status) {
  if (!status || status->code != DM_E_FIT || !status->agreed) return false;
  dm_log_line(&p->run->log, DM_LOG_NOTE, "%s: host memory has it", status->message);
  dm_status_free(status);
  return true;
}

/* C in GPU memory is never dereferenced here, and complete before it is changed. */
static dm_status in_place_correlate(const dm_in_place_product *p) {
  dm_distributed c = p->places->matrix[DM_C];
  if (p->outcome->problem.correlates == 0.0) return DM_OK;
  if (p->multiply->in_memory[DM_C]->on_gpu) {
    c.backend = p->backend;
    c.local.space = DM_DEVICE;
    if (p->stream) DM_TRY(dm_backend_await(p->backend, p->stream));
  }
  return dm_distributed_correlate(p->run, &c, &p->outcome->problem);
}

static bool in_place_is_same_kind(const dm_problem *one, const dm_problem *other) {
  return one->m == other->m && one->n == other->n && one->k == other->k &&
         one->batch == other->batch && one->work == other->work && one->c == other->c &&
         one->symmetry == other->symmetry && one->reads_c == other->reads_c &&
         strcmp(one->compute.name, other->compute.name) == 0;
}

/* Collective: "fastest" becomes the mode that the planner takes. */
static dm_status settle_fastest(dm_in_place *cached, const dm_in_place_product *p,
                                dm_problem *problem) {
  dm_in_place_fastest *fastest = &cached->fastest;
  dm_setup setup;
  if (!fastest->known || !in_place_is_same_kind(&fastest->asked, problem)) {
    fastest->known = false;
    fastest->asked = *problem;
    dm_problem_set_home(problem, DM_HOME_DEVICE);
    dm_status status = dm_setup_open(p->run, &p->multiply->engine, problem, &setup);
    if (status && !status->agreed) return status;
    fastest->taken = status ? fastest->asked.compute : setup.plan.problem.compute;
    dm_setup_close(&setup);
    if (status && status->code != DM_E_FIT) return status;
    fastest->known = true;
    dm_status_free(status); /* without room for a plan's copies natively, where they are */
  }
  *problem = fastest->asked;
  problem->compute = fastest->taken;
  problem->fastest = false;
  return DM_OK;
}

static dm_status multiply_in_place(dm_in_place *cached, dm_in_place_product *p, bool like,
                                   bool *taken);

/* Scans A and B for the exponents of residues. *fits: residues suit them. */
static dm_status scan_operands(dm_in_place *cached, dm_in_place_product *p, bool *fits) {
  dm_problem of = p->outcome->problem;
  const dm_problem *problem = &p->outcome->problem;
  const dm_extent *at = p->places->at;
  dm_scaled_part ab[2] = {{p->whole.a, at[DM_A].rows.begin, at[DM_A].cols.begin},
                          {p->whole.b, at[DM_B].rows.begin, at[DM_B].cols.begin}};
  int64_t row = at[DM_C].rows.begin, col = at[DM_C].cols.begin;
  dm_scaling *scaling = &cached->scaling;
  if (!problem->compute.scans) return DM_OK;
  if (p->run->ranks > 1) DM_TRY(dm_layout_choice_bring(&p->places->arranged, problem->reads_c));
  p->brought = true;
  if (p->by_columns) {
    ab[0] =
        (dm_scaled_part){dm_view_transpose(p->whole.b), at[DM_B].cols.begin, at[DM_B].rows.begin};
    ab[1] =
        (dm_scaled_part){dm_view_transpose(p->whole.a), at[DM_A].cols.begin, at[DM_A].rows.begin};
    of.m = problem->n, of.n = problem->m;
    row = at[DM_C].cols.begin, col = at[DM_C].rows.begin;
  }
  DM_TRY(dm_scale_parts(p->backend, p->run->world, &of, ab, scaling));
  *fits = !scaling->unfit;
  const int64_t parts = dm_compute_parts(&problem->compute, problem->accumulator);
  const dm_exponents of_lines = {scaling->passed.rows + row, scaling->passed.cols + parts * col};
  p->whole.exponents = p->by_columns ? (dm_exponents){of_lines.cols, of_lines.rows} : of_lines;
  p->whole.row_parts = p->by_columns;
  if (p->run->ranks > 1) dm_layout_choice_renew(&p->places->arranged, &p->whole);
  return DM_OK;
}

/* A and B do not suit the compute mode: with more moduli, or natively. */
static dm_status in_place_instead(dm_in_place *cached, dm_in_place_product *p, bool *taken) {
  DM_FREED dm_multiply *other = NULL;
  dm_in_place_outcome *outcome = p->outcome;
  const dm_scaling *scaling = &cached->scaling;
  const dm_compute mode = outcome->problem.compute;
  const dm_compute_choice wanted = p->multiply->equation.compute;
  char text[24];
  *taken = false;
  if (p->centered) return DM_OK; /* the pipeline says why */
  DM_TRY(dm_buffer_table(1, &other));
  *other = *p->multiply;
  other->equation.compute = dm_compute_fallback(wanted, &mode, scaling->moduli);
  outcome->moduli = dm_compute_moduli(other->equation.compute);
  dm_compute_choice_text(other->equation.compute, text);
  dm_status why = dm_scaling_refused(scaling, &mode);
  dm_log_line(&p->run->log, DM_LOG_NOTE, "%s: multiplied in %s", why->message, text);
  snprintf(outcome->instead, sizeof outcome->instead, "%.150s", why->message);
  dm_status_free(why);
  p->multiply = other;
  return multiply_in_place(cached, p, false, taken);
}

/* Half of a small C is sooner natively than all of it in another mode, but for rows of f32, half of
 * whose C is multiplied by f32:f16, too. */
static bool is_native_soonest(const dm_multiply *m, const dm_problem *problem, int ranks) {
  const dm_memory_matrix *x = m->in_memory[DM_B];
  const bool split =
      ranks == 1 && problem->work == DM_F32 && problem->k == x->rows && x->col_stride == 1;
  return problem->symmetry != DM_NO_SYMMETRY && dm_whole_is_deep(problem->m, problem->k) && !split;
}

static dm_status multiply_in_place(dm_in_place *cached, dm_in_place_product *p, bool like,
                                   bool *taken) {
  const dm_multiply *m = p->multiply;
  const dm_comm *world = p->run->world;
  dm_problem *problem = &p->outcome->problem;
  p->brought = false;
  DM_TRY(dm_problem_of(&m->a, &m->b, m->has_c ? &m->c : NULL, &m->equation, problem));
  p->outcome->on_gpu = p->run->ranks > 1 || m->in_memory[DM_C]->on_gpu;
  if (problem->fastest && p->outcome->on_gpu && is_native_soonest(m, problem, p->run->ranks))
    problem->fastest = false;
  else if (problem->fastest && p->outcome->on_gpu)
    DM_TRY(settle_fastest(cached, p, problem));
  const bool named = strcmp(m->engine.kernel, "auto") != 0;
  p->outcome->kernel = named ? listed_kernel(m->engine.kernel) : NULL;
  p->outcome->reproducible = m->engine.wishes.reproducible;
  if (!is_native(m, problem, p->outcome->on_gpu, p->run->ranks) || !is_reproduced(p) ||
      (p->run->ranks > 1 && adds_symmetric(p)))
    return DM_OK;
  dm_status centered = p->centered ? in_place_center(cached, p, &like) : DM_OK;
  if (lacks_room(p, centered)) return DM_OK;
  DM_TRY(centered);
  if (dm_in_place_has_nan(p) && !in_place_is_symmetric(p)) return DM_OK; /* all of C may be NaN */
  like &= *backend_of(cached, p->outcome) && is_in_mode(cached, p);
  DM_TRY(find_matrices(cached, p, like, taken));
  if (!*taken) return DM_OK;
  tell_ways(cached, p);
  if (p->run->on_progress) p->run->on_progress(p->run->progress_context, 0, 1); /* may stop it */
  DM_TRY(dm_comm_agree(world, in_place_reach(p)));
  DM_TRY(scan_operands(cached, p, taken));
  if (!*taken) return in_place_instead(cached, p, taken);
  if (adds_symmetric(p))
    DM_TRY(dm_old_is_symmetric_there(p->run, problem, dm_whole_by_rows(&p->whole).c, p->backend));
  p->outcome->verified = m->verify;
  memcpy(p->outcome->alpha, m->equation.alpha, sizeof m->equation.alpha);
  memcpy(p->outcome->beta, m->equation.beta, sizeof m->equation.beta);
  DM_TRY(dm_in_place_multiply(cached, p));
  DM_TRY(in_place_correlate(p));
  if (p->run->on_progress) p->run->on_progress(p->run->progress_context, 1, 1);
  return DM_OK;
}

enum { IN_PLACE_KEPT = 16 }; /* of the GPU's memory, for the next copies */

/* A and B are described as their copies will be. */
static dm_status run_centered(dm_in_place *cached, dm_in_place_product *p, bool *taken) {
  DM_FREED dm_multiply *m = NULL;
  DM_TRY(dm_buffer_table(1, &m));
  *m = *p->multiply;
  dm_dataset *const sets[2] = {&m->a, &m->b};
  for (int x = 0; x < 2; x++)
    if (dm_standard_changes(&m->equation.standard[x]) || sets[x]->meaning.found)
      sets[x]->dtype = dm_centered_type(&m->equation, sets[x], x);
  p->multiply = p->centered = m;
  dm_status status = multiply_in_place(cached, p, false, taken);
  dm_centered_free(&p->copies);
  for (int x = 0; x < 2; x++) /* large ones are missed elsewhere */
    if (!*taken || cached->rooms[x].bytes > cached->device[1].memory_total / IN_PLACE_KEPT)
      dm_centered_room_release(&cached->rooms[x]);
  return status;
}

dm_status dm_in_place_run(dm_in_place *cached, dm_run *run, const dm_multiply *multiply,
                          dm_in_place_outcome *outcome, bool *taken) {
  dm_in_place_product p = {
      .run = run, .multiply = multiply, .outcome = outcome, .places = &cached->places};
  const double start = dm_now();
  *taken = false;
  *outcome = (dm_in_place_outcome){.on_gpu = false};
  bool takes, like;
  DM_TRY(agree_to_take(cached, run, multiply, &takes, &like));
  if (!takes) return DM_OK;
  dm_status status = dm_multiply_centers(multiply) ? run_centered(cached, &p, taken)
                                                   : multiply_in_place(cached, &p, like, taken);
  outcome->seconds = dm_now() - start;
  return status;
}

void dm_in_place_close(dm_in_place *cached) {
  for (int x = 0; x < 2; x++) dm_centered_room_release(&cached->rooms[x]);
  dm_freivalds_free(cached->check); /* before the backend whose sums it may await */
  dm_scaling_close(&cached->scaling, cached->gpu);
  close_places(&cached->places);
  dm_workspace_close(&cached->workspace);
  dm_backend_close(cached->host);
  dm_backend_close(cached->gpu);
  *cached = (dm_in_place){0};
}
