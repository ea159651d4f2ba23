#include "plan/grid_cost.h"

#include <math.h>
#include <stddef.h>

#include "plan/buffers.h"
#include "plan/partition.h"
#include "plan/tiles.h"
#include "plan/volume.h"

/* Sizes at which a product runs at half its rate: blocks of rows or columns, and panels. */
static const double half_block_cpu = 8, half_panel_cpu = 4;
static const double slice_cpu = 384; /* depth of k per step of a CPU product, for any panel width
                                        (backend/cpu_blas.c SLICE) */
static const double half_block_gpu = 64, half_panel_gpu = 16;

/* Fraction of the time for reading and writing C that GPU products do not hide; approximately, bf16
 * on an H200. */
static const double seen_of_c = 0.5;

/* Sums on GPUs beside products: the cost of a strip, whose ranks synchronise through their hosts,
 * and the fraction of the sum that products hide; the sum uses memory bandwidth and multiprocessors
 * that products need. Measured with 16 strips on 2 H200, where sums took 4 to 38 ms. */
static const double strip_gpu = 1e-4, hidden_gpu = 0.25;

/* The largest block of C, the deepest layer, and sizes of an element. */
typedef struct extent {
  double rows, cols, depth, width, panels;
  double wide, added; /* cols with all accumulators, and as layers add them up */
  double work, sum;   /* bytes of an element */
  double flops;       /* per multiply-add */
} extent;

/* Bytes that one rank receives, by source. */
typedef struct traffic {
  double inside, between;
} traffic;

/* How many of a group's ranks are on one node. */
typedef struct box {
  double m, n, k;
} box;

static extent grid_cost_extent_of(const dm_plan *plan) {
  const dm_problem *p = &plan->problem;
  extent e;
  e.rows = (double)dm_range_size(dm_plan_rows(plan, 0, 0));
  e.cols = (double)dm_range_size(dm_plan_cols(plan, 0, 0));
  e.depth = (double)dm_range_size(dm_plan_layer_k(plan, 0));
  e.panels = (double)dm_range_size(dm_plan_layer(plan, 0));
  e.width = fmin((double)plan->kb, e.depth);
  e.work = (double)dm_dtype_size(p->work);
  e.sum = (double)dm_dtype_size(p->accumulator);
  const int64_t cols = dm_range_size(dm_plan_cols(plan, 0, 0));
  e.wide = (double)dm_compute_width(&p->compute, p->accumulator, cols);
  e.added = (double)dm_compute_added(&p->compute, p->accumulator, cols);
  e.flops = dm_dtype_is_complex(p->work) ? 8 : 2;
  return e;
}

/* Mean number of a group's members, including itself, on the node of a member, if N members are
 * STRIDE ranks apart in plain order and nodes have R ranks: two members at distance d share a node
 * in 1 - d/R of the possible positions. */
static double neighbours(int n, int stride, int r) {
  if ((int64_t)n * stride <= r && r % (n * stride) == 0) return n;
  if (r % stride == 0 && n % (r / stride) == 0) return r / stride;
  double reach = fmin(n - 1, (r - 1) / stride), ratio = (double)stride / r;
  double pairs = n * reach - (1 + n * ratio) * reach * (reach + 1) / 2 +
                 ratio * reach * (reach + 1) * (2 * reach + 1) / 6;
  return 1 + 2 * pairs / n;
}

static box grid_cost_box_of(const dm_plan *plan, const dm_machine *machine) {
  const int per_node = machine->ranks_per_node;
  if (dm_plan_used(plan) <= per_node) return (box){plan->pm, plan->pn, plan->pk};
  if (plan->qm * plan->qn * plan->qk > 1) return (box){plan->qm, plan->qn, plan->qk};
  return (box){.n = neighbours(plan->pn, 1, per_node),
               .m = neighbours(plan->pm, plan->pn, per_node),
               .k = neighbours(plan->pk, plan->pn * plan->pm, per_node)};
}

/* BYTES arrive in equal parts from all other members of a group of PARTS; INSIDE of them are on
 * this node. */
static void add_traffic(traffic *t, double bytes, double parts, double inside) {
  if (parts <= 1) return;
  t->inside += bytes * (inside - 1) / (parts - 1);
  t->between += bytes * (parts - inside) / (parts - 1);
}

static traffic grid_cost_gathered(const dm_plan *plan, const extent *e, box b) {
  traffic t = {0, 0};
  if (!plan->shared_a)
    add_traffic(&t, e->rows * e->depth * e->work * (1 - 1.0 / plan->pn), plan->pn, b.n);
  if (!plan->shared_b)
    add_traffic(&t, e->cols * e->depth * e->work * (1 - 1.0 / plan->pm), plan->pm, b.m);
  return t;
}

static traffic summed(const dm_plan *plan, const extent *e, box b) {
  traffic t = {0, 0};
  add_traffic(&t, e->rows * e->added * e->sum * (1 - 1.0 / plan->pk), plan->pk, b.k);
  return t;
}

double dm_plan_crossing(const dm_plan *plan, const dm_machine *machine) {
  extent e = grid_cost_extent_of(plan);
  box b = grid_cost_box_of(plan, machine);
  return grid_cost_gathered(plan, &e, b).between + summed(plan, &e, b).between;
}

/* GPUs use their links and the network adapters at once; host ranks move one message at a time. */
static double transfer_seconds(traffic t, const dm_plan *plan, const dm_machine *machine) {
  double ranks = fmin(machine->ranks_per_node, dm_plan_used(plan));
  bool staged = machine->device_links && !plan->device_links;
  double link = staged ? fmin(machine->link, machine->staged) : machine->link;
  double inside = t.inside / link, between = t.between * ranks / machine->network;
  return plan->device_links ? fmax(inside, between) : inside + between;
}

/* Number of slices in a panel of WIDTH. */
static double slices_of(double width, bool gpu) {
  return gpu ? 1 : fmax(1, ceil(width / slice_cpu));
}

double dm_product_efficiency(double rows, double cols, double width, bool gpu) {
  width /= slices_of(width, gpu);
  double block = gpu ? half_block_gpu : half_block_cpu;
  double panel = gpu ? half_panel_gpu : half_panel_cpu;
  return rows / (rows + block) * cols / (cols + block) * width / (width + panel);
}

/* Time of what PLAN's compute mode does on a GPU besides multiplying; strips prepare their part of
 * B again. */
static double mode_seconds(const dm_plan *plan, const dm_machine *machine, const extent *e) {
  const dm_problem *p = &plan->problem;
  const double again = plan->strips > 0 ? (double)(dm_plan_strips(plan) - 1) : 0;
  const dm_compute_extent of = {.work = p->work,
                                .sum = p->accumulator,
                                .rows = (int64_t)e->rows,
                                .cols = (int64_t)e->cols,
                                .depth = (int64_t)e->depth,
                                .wide = (int64_t)e->wide,
                                .prepared = 1 + again * (double)plan->stretch / e->panels};
  return dm_compute_moved(&p->compute, &of) / machine->memory;
}

static double gemm_seconds(const dm_plan *plan, const dm_machine *machine, const extent *e) {
  const double tiles = (double)dm_triangle_tiles(plan);
  const double flops = e->flops * e->rows * e->cols * e->depth * dm_triangle_fraction(plan) /
                       dm_product_efficiency(e->rows, e->cols, e->width, plan->gpu);
  double seconds = dm_machine_product_seconds(machine, &plan->problem.compute, plan->problem.work,
                                              tiles * flops) /
                   tiles;
  double block = e->sum * e->rows * e->wide;
  if (plan->gpu) { /* every panel writes C, and all but the first read it */
    const double parts =
        e->panels *
        fmax(1, ceil(e->width / dm_compute_depth(&plan->problem.compute, plan->problem.work)));
    seconds += seen_of_c * 2 * block * (parts - 1) / machine->memory;
    seconds += mode_seconds(plan, machine, e);
  } else {
    double operands = e->work * (e->rows + e->cols) * e->depth;
    double passes = 1 + e->panels * fmax(0, 1 - e->width / slice_cpu);
    seconds = fmax(seconds, (operands + 2 * block * passes) / machine->host_copy);
  }
  return seconds + e->panels * machine->latency;
}

/* LENGTH rows or columns of panels; a piece uploaded before its gather is uploaded alone. */
static double uploaded(const dm_plan *plan, dm_matrix matrix, double length) {
  const dm_route route = dm_plan_route(plan, matrix);
  if (!route.uploaded) return 0;
  return route.exposed == route.piece ? length : length / (matrix == DM_A ? plan->pn : plan->pm);
}

static double upload_seconds(const dm_plan *plan, const dm_machine *machine, const extent *e) {
  double bytes = uploaded(plan, DM_A, e->rows) * e->depth * e->work;
  bytes += uploaded(plan, DM_B, e->cols) * e->depth * e->work;
  if (dm_plan_brings(plan, DM_A)) bytes += e->depth * e->work * e->rows / plan->pn;
  if (dm_plan_brings(plan, DM_B)) bytes += e->depth * e->work * e->cols / plan->pm;
  return bytes > 0 ? bytes / machine->upload + e->panels * machine->latency : 0;
}

/* Partial blocks are sent and added (two reads and a write): in GPU memory, where only the links
 * matter, if they are device links; else on the host, after a copy from the GPU. */
static double reduce_seconds(const dm_plan *plan, const dm_machine *machine, const extent *e,
                             box b) {
  if (plan->pk == 1) return 0;
  double received = e->rows * e->added * e->sum * (1 - 1.0 / plan->pk);
  double seconds = transfer_seconds(summed(plan, e, b), plan, machine);
  seconds += (plan->pk - 1) * machine->latency;
  if (plan->device_links) return seconds;
  if (plan->gpu) seconds += e->rows * e->added * e->sum / machine->upload;
  return seconds + 3 * received / machine->host_copy;
}

/* Bytes of A or B, multiplied by the slowdown of its runs. */
static double factor_bytes(const dm_plan *plan, const dm_machine *machine, dm_matrix matrix) {
  if (!dm_plan_in_file(&plan->problem, matrix)) return 0;
  const dm_dtype type = matrix == DM_A ? plan->problem.file_a : plan->problem.file_b;
  const double times = dm_counts_runs(machine) ? dm_run_factor(dm_plan_run(plan, matrix)) : 1;
  return dm_plan_read_words(plan, matrix) * (double)dm_dtype_size(type) * times;
}

/* Reading A and B in long runs before the first product. */
static double ahead_seconds(const dm_plan *plan, const dm_machine *machine) {
  const dm_problem *p = &plan->problem;
  const double bytes = dm_plan_words_ahead(plan, DM_A) * (double)dm_dtype_size(p->file_a) +
                       dm_plan_words_ahead(plan, DM_B) * (double)dm_dtype_size(p->file_b);
  return bytes / machine->file_read;
}

/* The old C counts as long runs: its columns are those of whole blocks. */
static double read_seconds(const dm_plan *plan, const dm_machine *machine) {
  const dm_problem *p = &plan->problem;
  if (!dm_plan_has_files(p)) return 0;
  double bytes = factor_bytes(plan, machine, DM_A) + factor_bytes(plan, machine, DM_B);
  if (p->reads_c && dm_plan_in_file(p, DM_OLD))
    bytes += (double)p->m * (double)p->n * (double)dm_dtype_size(p->c);
  return bytes / machine->file_read + ahead_seconds(plan, machine);
}

/* Time until the first panel of both matrices has arrived, including everything read before and
 * with it. */
static double head_seconds(const dm_plan *plan, const dm_machine *machine) {
  if (!dm_plan_has_files(&plan->problem)) return 0;
  return (factor_bytes(plan, machine, DM_A) * dm_plan_together(plan, DM_A) +
          factor_bytes(plan, machine, DM_B) * dm_plan_together(plan, DM_B)) /
             machine->file_read / (double)dm_plan_tiles(plan) +
         ahead_seconds(plan, machine);
}

static double write_seconds(const dm_problem *p, const dm_machine *machine) {
  if (!dm_plan_in_file(p, DM_C)) return 0;
  return (double)p->m * (double)p->n * (double)dm_dtype_size(p->c) / machine->file_write;
}

double dm_plan_pages_seconds(const dm_plan *plan, const dm_machine *machine) {
  const dm_problem *p = &plan->problem;
  if (!dm_plan_in_file(p, DM_C) || machine->pages_now <= 0) return 0;
  const double bytes = (double)p->m * (double)p->n * (double)dm_dtype_size(p->c);
  return fmax(0, bytes / machine->pages_now - machine->pages_since - plan->forecast.total);
}

static double return_seconds(const dm_plan *plan, const dm_machine *machine, const extent *e) {
  if (!dm_plan_returns(plan)) return 0;
  return (double)dm_plan_tiles(plan) * e->rows * e->cols * e->sum / plan->pk / machine->upload;
}

/* Messages occupy the cores of a CPU rank with copies; network data is read and written once more.
 */
static double stolen_seconds(const dm_plan *plan, const dm_machine *machine, traffic t,
                             double fetch) {
  if (plan->gpu) return 0;
  const double copies = t.inside / machine->link;
  return fmin(fetch, copies + 2 * t.between / machine->host_copy);
}

/* Time until the first panel is complete, in panels. Between nodes, messages for all free slots are
 * posted at once and arrive in parallel, so that about half of the others have arrived, too; and
 * messages from two sides leave part of a link unused while they are few (measured with TCP: half
 * as long again). */
static double first_fetches(const dm_plan *plan, box b, double panels) {
  const int sides =
      (!plan->shared_a && b.n < plan->pn ? 1 : 0) + (!plan->shared_b && b.m < plan->pm ? 1 : 0);
  return plan->gpu || sides == 0 ? 1 : (sides + fmin(plan->slots, panels)) / 2;
}

/* The total time with products of LOOP seconds: reading and writing overlap them as far as the plan
 * allows, except HEAD, before the first product, and the last strip or tile. */
static double total_seconds(const dm_plan *plan, const dm_forecast *f, double head, double loop,
                            double panels) {
  if (plan->read_first && f->read > 0 && plan->a != DM_IN_FILE && plan->b != DM_IN_FILE) {
    dm_forecast rest = *f;
    rest.read = 0;
    return f->read + total_seconds(plan, &rest, 0, loop, panels);
  }
  const double tiles = (double)dm_triangle_tiles(plan), strips = plan->strips;
  const bool resides = plan->a != DM_IN_FILE && plan->b != DM_IN_FILE;
  const bool first =
      tiles > 1 && resides; /* tiles of resident matrices start when all of it is loaded */
  const double last =
      plan->blocks > 1 ? f->write / tiles : f->write; /* writing that does not overlap */
  if (!plan->overlap || first) return f->read + fmax(loop, f->write - last) + f->reduce + last;
  const double tail = f->read > 0 ? loop / (panels * tiles) : 0; /* products of the last panels */
  if (plan->strips == 0)
    return head + fmax(loop, f->read - head + tail + f->write - last) + f->reduce + last;
  const double end = loop * (double)plan->stretch / panels;
  const double sums =
      plan->gpu ? hidden_gpu * f->reduce : 0; /* a CPU rank's cores either sum or multiply */
  const double handshakes = plan->gpu && plan->pk > 1 ? plan->pk * strips * strip_gpu : 0;
  return handshakes + head + fmax(loop - end, f->read - head) + end / strips +
         fmax(end, fmax(f->write, sums)) * (1 - 1 / strips) + (sums + f->write) / strips +
         f->reduce - sums;
}

/* GPUs with narrow first panels: one arrives, its product hides the next one as far as it lasts,
 * and finally the products of wide panels hide the rest of MOVING. */
static double led_seconds(const dm_plan *plan, const dm_forecast *f, const extent *e,
                          double moving) {
  const double wide = e->width / e->depth;
  double rest = 1, seconds = (double)plan->ramp[0] / e->depth * (f->fetch + f->upload);
  for (int i = 0; i < dm_plan_ramp_count(plan->ramp); i++) {
    const double part = (double)plan->ramp[i] / e->depth;
    const bool last = i + 1 == dm_plan_ramp_count(plan->ramp);
    const double next = last ? wide : (double)plan->ramp[i + 1] / e->depth;
    seconds += fmax(part * f->gemm, next * moving);
    rest -= part;
  }
  return seconds + fmax(rest * f->gemm, (rest - wide) * moving + wide * f->gemm);
}

dm_forecast dm_plan_forecast(const dm_plan *plan, const dm_machine *machine) {
  extent e = grid_cost_extent_of(plan);
  box b = grid_cost_box_of(plan, machine);
  traffic t = grid_cost_gathered(plan, &e, b);
  dm_forecast f = {.read = read_seconds(plan, machine)};
  double messages =
      e.panels * ((plan->shared_b ? 0 : plan->pm - 1) + (plan->shared_a ? 0 : plan->pn - 1));
  f.write = write_seconds(&plan->problem, machine) + return_seconds(plan, machine, &e);
  f.upload = upload_seconds(plan, machine, &e);
  f.fetch = transfer_seconds(t, plan, machine) + messages * machine->latency;
  f.gemm = gemm_seconds(plan, machine, &e);
  f.reduce = reduce_seconds(plan, machine, &e, b);
  const double first = first_fetches(plan, b, e.panels) / e.panels, rest = 1 - 1 / e.panels;
  double loop = fmax(first, 1) * f.fetch + f.upload + f.gemm;
  if (plan->overlap && e.panels > 1) {
    const double busy = f.gemm + stolen_seconds(plan, machine, t, f.fetch);
    const dm_route from_a = dm_plan_route(plan, DM_A), from_b = dm_plan_route(plan, DM_B);
    const bool in_turn = from_a.exposed != from_a.piece || from_b.exposed != from_b.piece;
    const double upload = in_turn ? f.upload + f.fetch : f.upload; /* both use the same slot */
    loop = plan->ramp[0] > 0 ? led_seconds(plan, &f, &e, fmax(f.fetch, upload))
                             : first * f.fetch + (f.upload + f.gemm) / e.panels +
                                   fmax(fmax(busy, upload) * rest, f.fetch * (1 - first));
  }
  const double tiles = (double)dm_triangle_tiles(plan); /* the first is the largest */
  const double times = machine->slower > 0 ? tiles * machine->slower : tiles;
  loop *= times;
  f.fetch *= times;
  f.upload *= times;
  f.gemm *= times;
  f.reduce *= times;
  f.exposed = loop - f.gemm;
  f.total = total_seconds(plan, &f, head_seconds(plan, machine), loop, e.panels);
  return f;
}

/* One part in so many of a phase's time counts even if it is hidden. */
static const double part_counted = 16;

/* Surcharge for reading A and B once more: files are shared with others, and their rates are the
 * least certain. */
static const double again_counted = 0.02, short_counted = 0.125;

/* The least: reading every element once. */
static double read_once_seconds(const dm_problem *p, const dm_machine *machine, int pm, int pn) {
  if (!dm_plan_has_files(p)) return 0;
  double bytes = 0;
  if (dm_plan_in_file(p, DM_A))
    bytes += (double)p->m * (double)p->k * (double)dm_dtype_size(p->file_a);
  if (dm_plan_in_file(p, DM_B))
    bytes += (double)dm_problem_b_rows(p) * (double)p->n * (double)dm_dtype_size(p->file_b);
  if (dm_counts_runs(machine)) bytes = dm_run_floor(p, pm, pn);
  if (p->symmetry != DM_NO_SYMMETRY) bytes /= 2;
  if (p->reads_c && dm_plan_in_file(p, DM_OLD))
    bytes += (double)p->m * (double)p->n * (double)dm_dtype_size(p->c);
  return bytes / machine->file_read;
}

/* How often MATRIX is read; short runs count slightly more, whatever they cost here. */
static double counted_words(const dm_plan *plan, dm_matrix matrix) {
  const double slower = dm_run_factor(dm_plan_run(plan, matrix)) - 1;
  return dm_plan_read_words(plan, matrix) * (1 + short_counted * slower);
}

/* How often A and B are read again, on average over their elements. */
static double times_again(const dm_plan *plan) {
  const dm_problem *p = &plan->problem;
  const double once = (double)p->m * (double)p->k + (double)p->n * (double)dm_problem_b_rows(p);
  if (!dm_plan_streams(plan)) return 0;
  return (counted_words(plan, DM_A) + counted_words(plan, DM_B)) / once - 1;
}

double dm_plan_price(const dm_plan *plan) {
  const dm_forecast *f = &plan->forecast;
  const double price =
      f->total + (f->gemm + f->exposed + f->reduce + f->read + f->write) / part_counted;
  return price * (1 + again_counted * times_again(plan));
}

/* Bytes that a node must receive for the gathers: its R ranks form a box whose sides have a product
 * of at most R; flat boxes save most. */
static double least_crossing(double a, double b, int pm, int pn, double r) {
  double wide = fmin(pn, r), high = fmin(pm, r);
  double saved_wide = a * wide / pn + b * fmin(pm, r / wide) / pm;
  double saved_high = b * high / pm + a * fmin(pn, r / high) / pn;
  return fmax(0, a + b - fmax(saved_wide, saved_high)) * r;
}

double dm_grid_floor(const dm_problem *p, const dm_machine *machine, int pm, int pn, int pk) {
  const double rows = ceil((double)p->m / pm), cols = ceil((double)p->n / pn);
  const double depth = (double)p->k / pk, r = machine->ranks_per_node;
  const double a = rows * depth * (double)dm_dtype_size(p->work);
  const double b = cols * depth * (double)dm_dtype_size(p->work) * (double)dm_problem_entries(p);
  const double c = rows * cols * (double)dm_dtype_size(p->accumulator);
  double gemm = dm_machine_product_seconds(
      machine, &p->compute, p->work, (dm_dtype_is_complex(p->work) ? 8 : 2) * rows * cols * depth);
  if (p->symmetry != DM_NO_SYMMETRY) gemm /= 2;
  double fetch = (a * (1 - 1.0 / pn) + b * (1 - 1.0 / pm)) / (machine->link + machine->network);
  if (machine->shared_slots) fetch = 0; /* inside a node nothing moves */
  double crossing = 0;
  if ((double)pm * pn * pk > r) {
    fetch = fmax(fetch, least_crossing(a, b, pm, pn, r) / machine->network);
    crossing = c * (1 - fmin(pk, r) / pk) * r / machine->network;
  }
  const double summed = c * (1 - 1.0 / pk);
  double reduce = crossing + 3 * summed / machine->host_copy;
  if (pk > 1 && machine->gpu) reduce += c / machine->upload;
  if (machine->device_links) reduce = fmax(crossing, summed / (machine->link + machine->network));
  const double files = read_once_seconds(p, machine, pm, pn) + write_seconds(p, machine);
  const double loop = fmax(gemm, fetch);
  /* GPUs sum while others multiply, read or write. */
  const double total = machine->gpu ? fmax(files, fmax(loop, reduce)) : fmax(files, loop) + reduce;
  return total + (loop + reduce + files) / part_counted;
}

/* ---- which resource of the machine bounds each phase ---- */

static const double slower = 1.01;

/* The rates of a machine, by resource; latency and product rates are handled separately. */
#define RATE(field) offsetof(dm_machine, field)
static const size_t rates[DM_RESOURCES][2] = {
    [DM_RESOURCE_DEVICE_MEMORY] = {RATE(memory)},
    [DM_RESOURCE_HOST_MEMORY] = {RATE(host_copy)},
    [DM_RESOURCE_LINK] = {RATE(link), RATE(staged)},
    [DM_RESOURCE_NETWORK] = {RATE(network)},
    [DM_RESOURCE_UPLOAD] = {RATE(upload)},
    [DM_RESOURCE_FILES] = {RATE(file_read), RATE(file_write)},
};

static void slow_down(dm_machine *machine, dm_resource resource) {
  if (resource == DM_RESOURCE_LATENCY) machine->latency *= slower;
  for (int i = 0; i < DM_OPERANDS && resource == DM_RESOURCE_COMPUTE; i++)
    machine->flops[i] /= slower;
  for (int i = 0; i < 2 && rates[resource][i]; i++)
    *(double *)(void *)((char *)machine + rates[resource][i]) /= slower;
}

dm_limits dm_plan_limits(const dm_plan *plan, const dm_machine *machine) {
  double loss[DM_FORECAST_PHASES] = {0};
  dm_limits bound = {.of = {DM_RESOURCE_NONE}};
  const dm_forecast now = dm_plan_forecast(plan, machine);
  for (int r = DM_RESOURCE_NONE + 1; r < DM_RESOURCES; r++) {
    dm_machine worse = *machine;
    slow_down(&worse, (dm_resource)r);
    const dm_forecast then = dm_plan_forecast(plan, &worse);
    for (int i = 0; i < DM_FORECAST_PHASES; i++) {
      if (then.phase[i] - now.phase[i] <= loss[i]) continue;
      loss[i] = then.phase[i] - now.phase[i];
      bound.of[i] = (dm_resource)r;
    }
  }
  return bound;
}

const char *dm_resource_name(dm_resource resource) {
  static const char *const names[DM_RESOURCES] = {[DM_RESOURCE_NONE] = "nothing",
                                                  [DM_RESOURCE_COMPUTE] = "compute",
                                                  [DM_RESOURCE_DEVICE_MEMORY] = "GPU memory",
                                                  [DM_RESOURCE_HOST_MEMORY] = "host memory",
                                                  [DM_RESOURCE_LINK] = "links in a node",
                                                  [DM_RESOURCE_NETWORK] = "network",
                                                  [DM_RESOURCE_UPLOAD] = "host to device",
                                                  [DM_RESOURCE_LATENCY] = "latency",
                                                  [DM_RESOURCE_FILES] = "files"};
  return resource < DM_RESOURCES ? names[resource] : names[DM_RESOURCE_NONE];
}
