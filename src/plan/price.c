#include "plan/price.h"

#include <math.h>

#include "plan/grid_cost.h"
#include "plan/runs.h"
#include "plan/tiles.h"

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
    bytes += (double)p->k * (double)p->n * (double)dm_dtype_size(p->file_b);
  if (dm_counts_runs(machine)) bytes = dm_run_floor(p, pm, pn);
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
  const double once = ((double)p->m + (double)p->n) * (double)p->k;
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
  const double b = cols * depth * (double)dm_dtype_size(p->work);
  const double c = rows * cols * (double)dm_dtype_size(p->accumulator);
  double rate = dm_machine_flops(machine, &p->compute, p->work);
  double gemm = (dm_dtype_is_complex(p->work) ? 8 : 2) * rows * cols * depth / rate;
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
  const double files = read_once_seconds(p, machine, pm, pn) + dm_plan_write_seconds(p, machine);
  const double loop = fmax(gemm, fetch);
  /* GPUs sum while others multiply, read or write. */
  const double total = machine->gpu ? fmax(files, fmax(loop, reduce)) : fmax(files, loop) + reduce;
  return total + (loop + reduce + files) / part_counted;
}
