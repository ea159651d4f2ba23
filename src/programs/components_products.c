/* The products of components: each is one of the pipeline, and verified. */
#include <math.h>

#include "core/copy.h"
#include "engine/dataset_input.h"
#include "product/multiply.h"
#include "programs/components_impl.h"
#include "programs/cut.h"
#include "programs/inner.h"

/* A factor: in a file (or in host memory that all ranks see), or in the memory of the ranks. */
typedef struct components_factor {
  const dm_dataset *set; /* NULL: MEMORY has it */
  dm_memory_matrix memory;
  dm_op op;
} components_factor;

static dm_memory_matrix components_on_one(dm_dtype dtype, int64_t rows, int64_t cols, void *data) {
  return (dm_memory_matrix){.division = DM_ON_ONE,
                            .dtype = dtype,
                            .rows = rows,
                            .cols = cols,
                            .data = data,
                            .row_stride = cols,
                            .col_stride = 1};
}

static dm_view components_view(const dm_memory_matrix *m) {
  return dm_view_row_major(m->data, m->dtype, m->rows, m->cols);
}

/* *SET is factor X, which MEMORY has. */
static void components_set_memory(dm_dataset *set, int x, const dm_memory_matrix *memory) {
  *set = (dm_dataset){.rows = memory->rows, .cols = memory->cols, .dtype = memory->dtype};
  strcpy(set->at.file, "memory");
  strcpy(set->at.dataset, x == 0 ? "left" : "right"); /* X in memory has another name */
}

/* Sets factor X of JOB; MEMORY has room for how it lies. */
static void components_take(const dm_components_state *c, int x, const components_factor *f,
                            dm_memory_matrix *memory, dm_multiply *job) {
  dm_dataset *set = x == 0 ? &job->a : &job->b;
  if (f->set) {
    *set = *f->set;
    *memory = dm_inner_memory(set);
    job->in_memory[x] = set->memory.base ? memory : NULL;
  } else {
    *memory = f->memory;
    components_set_memory(set, x, memory);
    if (c->run->ranks == 1) dm_dataset_set_memory(set, components_view(memory));
    job->in_memory[x] = memory;
  }
}

/* C = op(A) op(B) in TYPE. C is OUT, or if that is NULL the file that JOB names. */
typedef struct components_product {
  components_factor a, b;
  bool symmetric;
  dm_dtype type;
  const dm_memory_matrix *out;
} components_product;

static dm_status components_add_forecast(dm_components_state *c, dm_multiply *job) {
  dm_forecast one;
  int64_t host_bytes;
  job->checkpoint = false;
  job->scratch = true;
  for (int x = 0; x < 2; x++) job->equation.standard[x] = (dm_standard){.fills = false};
  job->vectors = (dm_vectors){.weights = {.rows = 0}};
  job->equation.divided = DM_NO_DIVISION;
  DM_TRY(dm_multiply_forecast(c->run, job, &one, &host_bytes));
  c->host_bytes = dm_max(c->host_bytes, host_bytes + job->engine.beside);
  c->forecast->read += one.read;
  c->forecast->gemm += one.gemm;
  c->forecast->total += one.total;
  return DM_OK;
}

/* Whether the elements that are multiplied lie in the memory of this process, as they are. */
static bool components_is_plain(const dm_components_state *c, const components_factor *f) {
  const dm_dataset *set = f->set;
  return !set || (set->memory.base && set->memory.dtype == c->work && !set->centering &&
                  !set->meaning.found);
}

/* Multiplies where A, B and C are, without copies of them, if one process can: *taken. NaN and Inf
 * are found in the result. */
static dm_status components_run_in_place(dm_components_state *c, dm_multiply *job, bool *taken) {
  dm_in_place_outcome outcome;
  const dm_level level = c->run->log.level;
  const int64_t limit = job->engine.memory_host;
  job->engine.memory_host = 0; /* no blocks are needed */
  if (level < DM_LOG_DETAIL) c->run->log.level = DM_LOG_ERROR;
  dm_status status = dm_in_place_run(&c->in_place, c->run, job, &outcome, taken);
  c->run->log.level = level;
  job->engine.memory_host = limit;
  if (!status || status->code != DM_E_UNCHECKED) return status;
  c->unchecked = true;
  dm_status_free(status);
  return DM_OK;
}

/* Multiplies in GPU memory, where X is. */
static dm_status components_on_gpu(dm_components_state *c, const components_product *p,
                                   dm_multiply *job) {
  const components_factor *const factors[2] = {&p->a, &p->b};
  dm_dataset *const sets[2] = {&job->a, &job->b};
  dm_memory_matrix in[2], out;
  bool taken;
  for (int x = 0; x < 2; x++) {
    in[x] = factors[x]->set ? dm_components_gpu_x(c, (dm_range){0, c->tall}) : factors[x]->memory;
    if (x == 1 && p->symmetric)
      in[1] = in[0];
    else
      DM_TRY(dm_components_gpu_take(c, x, p->type, &in[x]));
    components_set_memory(sets[x], x, &in[x]);
    job->in_memory[x] = &in[x];
  }
  DM_TRY(dm_components_gpu_room(c, p->type, p->out, &out));
  job->in_memory[DM_C] = &out;
  job->equation.type_c = out.dtype;
  job->engine.memory_host = job->engine.memory_device = 0;
  DM_TRY(components_run_in_place(c, job, &taken));
  if (!taken) DM_TRY(dm_inner_multiply(c->run, job, &c->unchecked));
  return dm_components_gpu_fetch(c, &out, p->out);
}

static dm_status components_multiply(dm_components_state *c, const components_product *p,
                                     dm_multiply *job) {
  bool taken = false;
  dm_memory_matrix in[2];
  job->equation.op_a = p->a.op;
  job->equation.op_b = p->b.op;
  job->equation.symmetric = p->symmetric;
  job->equation.type = p->type;
  job->checkpoint = job->checkpoint && !p->out;
  job->scratch = job->scratch || p->out;
  if (c->gpu && p->out) return components_on_gpu(c, p, job);
  components_take(c, 0, &p->a, &in[0], job);
  components_take(c, 1, &p->b, &in[1], job);
  job->equation.type_c = p->out ? p->out->dtype : DM_DTYPE_NONE;
  job->in_memory[DM_C] = p->out;
  if (p->out && c->run->ranks == 1) job->seen_c = components_view(p->out);
  if (c->forecast) return components_add_forecast(c, job);
  if (!p->out) return dm_inner_multiply(c->run, job, &c->unchecked);
  if (c->run->ranks == 1 && components_is_plain(c, &p->a) && components_is_plain(c, &p->b))
    DM_TRY(components_run_in_place(c, job, &taken));
  return taken ? DM_OK : dm_inner_multiply(c->run, job, &c->unchecked);
}

static dm_status components_product_of(dm_components_state *c, const components_product *p) {
  DM_FREED dm_multiply *job = NULL;
  DM_TRY(dm_comm_agree(c->run->world, dm_buffer_table(1, &job)));
  *job = *c->multiply;
  return components_multiply(c, p, job);
}

static dm_op components_turned(dm_op op) {
  return op == DM_OP_N ? DM_OP_T : DM_OP_N;
}

static components_factor components_x(const dm_dataset *set, dm_op op) {
  return (components_factor){.set = set, .op = op};
}

/* ---- strips of X ---- */

/* Where rows, or columns, of X become those of a strip. */
typedef struct components_loading {
  dm_view to;
  int64_t first_row;
} components_loading;

static dm_status components_take_part(void *context, dm_view part, int64_t row, int64_t col) {
  const components_loading *l = context;
  dm_copy(dm_view_sub(l->to, row - l->first_row, col, part.rows, part.cols), part, false);
  return DM_OK;
}

/* How the strip RANGE of the tall side lies in memory. */
static dm_memory_matrix components_strip_memory(const dm_components_state *c, dm_range range) {
  const int64_t size = dm_range_size(range);
  const bool by_rows = c->op == DM_OP_N;
  dm_memory_matrix x =
      components_on_one(c->work, by_rows ? size : c->small, by_rows ? c->small : size, c->x);
  x.division = DM_BY_ROWS;
  x.own_rows = dm_range_size(dm_split(x.rows, c->run->ranks, c->run->rank, 1));
  return x;
}

/* Collective: reads the strip RANGE, each rank its rows, centered. */
static dm_status components_load(dm_components_state *c, dm_range range) {
  const dm_memory_matrix x = components_strip_memory(c, range);
  const dm_dataset *set = &c->multiply->a;
  dm_range rows = dm_split(x.rows, c->run->ranks, c->run->rank, 1), cols = {0, set->cols};
  if (c->op == DM_OP_N) {
    rows.begin += range.begin;
    rows.end += range.begin;
  } else {
    cols = range;
  }
  components_loading loading = {dm_view_row_major(c->x, c->work, x.own_rows, x.cols), rows.begin};
  dm_missing_found missing = {.source = INT64_MAX, .first = INT64_MAX};
  const dm_reading how = {.as = c->work,
                          .work = c->work,
                          .threads = c->multiply->engine.io_threads,
                          .missing = &missing};
  dm_status status = dm_range_size(rows) > 0 ? dm_file_stream(c->run, set, rows, cols, &how,
                                                              components_take_part, &loading)
                                             : DM_OK;
  if (!status && missing.count > 0 && set->meaning.missing == DM_MISSING_REFUSED)
    status = dm_missing_refused(set, &missing);
  return dm_comm_agree(c->run->world, status);
}

/* A strip of X, in memory, or where it is. */
typedef struct components_part {
  dm_cut cut;
  components_factor factor;
} components_part;

static dm_status components_cut_part(const dm_components_state *c, dm_range range,
                                     components_part *p) {
  const dm_lines lines = c->op == DM_OP_N ? DM_ROW_LINES : DM_COLUMN_LINES;
  p->cut = (dm_cut){.made = false};
  DM_TRY(dm_comm_agree(c->run->world, dm_cut_lines(&c->multiply->a, lines, range, &p->cut)));
  p->factor = components_x(&p->cut.dataset, c->op);
  return DM_OK;
}

static dm_status components_open_part(dm_components_state *c, dm_range range, components_part *p) {
  if (!c->x && !c->gpu) return components_cut_part(c, range, p);
  p->cut = (dm_cut){.made = false};
  if (c->gpu) {
    p->factor = (components_factor){.memory = dm_components_gpu_x(c, range), .op = c->op};
    return DM_OK;
  }
  if (!c->loaded) DM_TRY(components_load(c, range));
  c->loaded = dm_range_size(range) == c->tall;
  p->factor = (components_factor){.memory = components_strip_memory(c, range), .op = c->op};
  return DM_OK;
}

/* X in the memory of this process is multiplied there if it is as the products take it. */
static bool components_stays(const dm_components_state *c) {
  const dm_dataset *x = &c->multiply->a;
  return x->memory.base && x->memory.dtype == c->work && !x->centering && !x->meaning.found;
}

dm_status dm_components_room(dm_components_state *c, int64_t *bytes) {
  const int64_t ranks = c->run->ranks, rows = dm_ceil_div(c->step, ranks);
  const int size = (int)dm_dtype_size(c->work);
  int64_t x_bytes = 0;
  if (c->gpu) return DM_OK;
  DM_TRY(dm_bytes_of(rows, c->width, size, bytes));
  DM_TRY(dm_buffer_alloc(*bytes, &c->y));
  if (components_stays(c)) return DM_OK;
  DM_TRY(c->op == DM_OP_N ? dm_bytes_of(rows, c->small, size, &x_bytes)
                          : dm_bytes_of(dm_ceil_div(c->small, ranks), c->step, size, &x_bytes));
  *bytes += x_bytes;
  return dm_buffer_alloc(x_bytes, &c->x);
}

/* ---- products of all pairs ---- */

static void components_add(int64_t numbers, const double *from, double *to) {
  for (int64_t i = 0; i < numbers; i++) to[i] += from[i];
}

/* Lines of op(X) whose products are added to G at once: so many strips, or, as each part costs as
 * much as G has elements, many more lines than that. */
static int64_t components_part_lines(const dm_components_state *c) {
  enum { PART_STRIPS = 32, PART_LINES = 16 };
  if (c->gpu) return c->tall;
  const int64_t strips =
      dm_max(PART_STRIPS, dm_ceil_div(dm_sat_mul(PART_LINES, c->small), c->step));
  return dm_min(c->tall, dm_sat_mul(strips, c->step));
}

/* All of X may be in memory; other parts are multiplied where they are. */
static dm_status components_multiply_part(dm_components_state *c, dm_range range, double *g) {
  const dm_memory_matrix out = components_on_one(DM_F64, c->small, c->small, g);
  components_part part = {.factor = components_x(&c->multiply->a, c->op)};
  const bool all = dm_range_size(range) == c->tall;
  if (!c->forecast && all && c->step == c->tall)
    DM_TRY(components_open_part(c, range, &part));
  else if (!all)
    DM_TRY(components_cut_part(c, range, &part));
  components_factor turned = part.factor;
  turned.op = components_turned(c->op);
  dm_status status = components_product_of(
      c, &(components_product){
             .a = turned, .b = part.factor, .symmetric = true, .type = c->work, .out = &out});
  dm_cut_free(&part.cut);
  return status;
}

/* Products leave memory to rank 0 for G, a part of it, and a copy that is verified. */
static void components_count(dm_components_state *c, int sign) {
  const int64_t copies = components_part_lines(c) < c->tall ? 3 : 2;
  dm_engine_options *engine = &c->multiply->engine;
  engine->process_bytes += sign * copies * c->small * c->small * (int64_t)sizeof *c->g;
  engine->beside = engine->process_bytes;
}

dm_status dm_components_open_gram(dm_components_state *c) {
  const int64_t numbers = c->small * c->small;
  const bool first = c->run->rank == 0;
  if (first) components_count(c, 1);
  return dm_comm_agree(c->run->world, first && !c->g ? dm_buffer_table(numbers, &c->g) : DM_OK);
}

void dm_components_close_gram(dm_components_state *c) {
  if (!c->g) return;
  components_count(c, -1);
  free(c->g);
  c->g = NULL;
}

/* In parts, so that a run that ends goes on after the last one recorded. */
dm_status dm_components_gram(dm_components_state *c) {
  const int64_t lines = c->forecast ? c->tall : components_part_lines(c);
  const int64_t numbers = c->small * c->small;
  const double each = (double)numbers;
  DM_FREED double *more = NULL;
  DM_TRY(dm_comm_agree(c->run->world, c->run->rank == 0 && lines < c->tall
                                          ? dm_buffer_table(numbers, &more)
                                          : DM_OK));
  c->done += (double)c->row * each;
  while (c->row < c->tall) {
    const dm_range range = {c->row, dm_min(c->tall, c->row + lines)};
    DM_TRY(components_multiply_part(c, range, c->row > 0 ? more : c->g));
    if (c->row > 0 && c->run->rank == 0) components_add(numbers, more, c->g);
    c->row = range.end;
    c->done += (double)dm_range_size(range) * each;
    dm_progress_show(&c->progress, (dm_standing){.done = fmin(1.0, c->done / c->all)});
    if (c->row < c->tall) DM_TRY(dm_components_record(c, false));
  }
  c->row = 0;
  return DM_OK;
}

/* ---- passes ---- */

/* How P is multiplied, and what is seen of it again. */
static void components_round(dm_components_state *c, int64_t numbers) {
  if (c->work != DM_F32) return;
  float *to = c->rounded;
  for (int64_t i = 0; i < numbers; i++) {
    to[i] = (float)c->p[i];
    c->p[i] = (double)to[i];
  }
}

/* What one strip of op(X) adds. */
typedef struct components_strip {
  dm_range rows;
  int64_t count;
  void *z; /* of rank 0, in WORK's type */
  double *pairs;
} components_strip;

static dm_status components_multiply_strip(dm_components_state *c, const components_strip *s,
                                           const components_factor *x) {
  const int64_t rows = dm_range_size(s->rows), count = s->count;
  dm_memory_matrix y = components_on_one(c->work, rows, count, c->y);
  y.division = DM_BY_ROWS;
  y.own_rows = dm_range_size(dm_split(rows, c->run->ranks, c->run->rank, 1));
  if (c->gpu) DM_TRY(dm_components_gpu_y(c, rows, count, &y));
  const dm_memory_matrix p =
      components_on_one(c->work, count, c->small, c->work == DM_F32 ? c->rounded : c->p);
  const dm_memory_matrix z = components_on_one(c->work, count, c->small, s->z);
  const dm_memory_matrix pairs = components_on_one(DM_F64, count, count, s->pairs);
  const components_factor factor_y = {.memory = y, .op = DM_OP_N},
                          turned_y = {.memory = y, .op = DM_OP_T};
  DM_TRY(components_product_of(
      c, &(components_product){
             .a = *x, .b = {.memory = p, .op = DM_OP_T}, .type = c->work, .out = &y}));
  DM_TRY(components_product_of(
      c, &(components_product){.a = turned_y, .b = *x, .type = c->work, .out = &z}));
  return components_product_of(
      c, &(components_product){
             .a = turned_y, .b = factor_y, .symmetric = true, .type = DM_F64, .out = &pairs});
}

static void components_add_of(const dm_components_state *c, int64_t numbers, const void *from,
                              double *to) {
  const float *narrow = from;
  if (c->work != DM_F32) {
    components_add(numbers, from, to);
    return;
  }
  for (int64_t i = 0; i < numbers; i++) to[i] += (double)narrow[i];
}

static dm_status components_pass_strip(dm_components_state *c, const components_strip *s) {
  components_part part;
  DM_TRY(components_open_part(c, s->rows, &part));
  dm_status status = components_multiply_strip(c, s, &part.factor);
  dm_cut_free(&part.cut);
  DM_TRY(status);
  if (c->run->rank == 0) {
    components_add_of(c, s->count * c->small, s->z, c->z);
    components_add(s->count * s->count, s->pairs, c->pairs);
  }
  c->done += 4.0 * (double)dm_range_size(s->rows) * (double)s->count * (double)c->small;
  dm_progress_show(&c->progress, (dm_standing){.done = fmin(1.0, c->done / c->all)});
  return DM_OK;
}

dm_status dm_components_pass(dm_components_state *c, int64_t count) {
  const bool first = c->run->rank == 0;
  DM_FREED double *z = NULL, *pairs = NULL;
  dm_status status = DM_OK;
  if (first) components_round(c, count * c->small);
  if (first && c->row == 0) {
    memset(c->z, 0, (size_t)(count * c->small) * sizeof *c->z);
    memset(c->pairs, 0, (size_t)(count * count) * sizeof *c->pairs);
  }
  if (first) {
    status = dm_buffer_table(count * c->small, &z);
    if (!status) status = dm_buffer_table(count * count, &pairs);
  }
  DM_TRY(dm_comm_agree(c->run->world, status));
  while (c->row < c->tall) {
    const components_strip s = {{c->row, dm_min(c->row + c->step, c->tall)}, count, z, pairs};
    DM_TRY(components_pass_strip(c, &s));
    c->row = s.rows.end;
    if (c->row < c->tall) DM_TRY(dm_components_record(c, false));
  }
  c->row = 0;
  c->passes++;
  return DM_OK;
}

/* ---- only predicted ---- */

/* Of the first strip, as often as it fits. */
dm_status dm_components_forecast_pass(dm_components_state *c, int64_t count,
                                      dm_forecast *forecast) {
  const dm_lines lines = c->op == DM_OP_N ? DM_ROW_LINES : DM_COLUMN_LINES;
  const components_strip s = {{0, c->step}, count, c->z, c->pairs};
  const double times = (double)c->tall / (double)c->step;
  dm_forecast strip = {.total = 0.0};
  dm_cut cut;
  DM_TRY(dm_comm_agree(c->run->world, dm_cut_lines(&c->multiply->a, lines, s.rows, &cut)));
  const components_factor x = components_x(&cut.dataset, c->op);
  c->forecast = &strip;
  dm_status status = components_multiply_strip(c, &s, &x);
  c->forecast = NULL;
  dm_cut_free(&cut);
  DM_TRY(status);
  *forecast = (dm_forecast){.read = times * strip.read / 2.0, .gemm = times * strip.gemm};
  forecast->total = times * strip.total - forecast->read; /* a strip is read once */
  return DM_OK;
}

dm_status dm_components_forecast_gram(dm_components_state *c, dm_forecast *forecast) {
  *forecast = (dm_forecast){.total = 0.0};
  c->forecast = forecast;
  dm_status status = dm_components_open_gram(c);
  if (!status) status = dm_components_gram(c);
  c->forecast = NULL;
  if (!status) dm_components_close_gram(c);
  return status;
}

/* ---- the other side, and scores ---- */

dm_status dm_components_lift(dm_components_state *c, int64_t count, double *vectors,
                             double *lifted) {
  const dm_memory_matrix v = components_on_one(DM_F64, count, c->small, vectors);
  const dm_memory_matrix out = components_on_one(DM_F64, count, c->tall, lifted);
  dm_dataset x = c->multiply->a;
  return components_product_of(
      c, &(components_product){.a = {.memory = v, .op = DM_OP_N},
                               .b = components_x(&x, components_turned(c->op)),
                               .type = c->work,
                               .out = &out});
}

/* Scores are of the observations as they are, without their weights. */
dm_status dm_components_score(dm_components_state *c, double *components, double *scores) {
  const dm_op op = c->over_variables ? c->op : components_turned(c->op);
  const dm_memory_matrix v = components_on_one(DM_F64, c->job->count, c->variables, components);
  const dm_memory_matrix out = components_on_one(DM_F64, c->observations, c->job->count, scores);
  dm_dataset x = c->multiply->a;
  dm_centering plain;
  DM_FREED dm_multiply *job = NULL;
  DM_TRY(dm_comm_agree(c->run->world, dm_buffer_table(1, &job)));
  if (x.centering) {
    plain = *x.centering;
    plain.weight = NULL;
    x.centering = &plain;
  }
  *job = *c->multiply;
  job->out = c->job->scores;
  job->form.npy = dm_output_is_npy(&job->out);
  job->form.zarr = dm_output_is_zarr(&job->out);
  const bool file = c->job->scores.file[0] != '\0';
  return components_multiply(c,
                             &(components_product){.a = components_x(&x, op),
                                                   .b = {.memory = v, .op = DM_OP_T},
                                                   .type = c->work,
                                                   .out = file ? NULL : &out},
                             job);
}
