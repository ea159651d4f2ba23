#include "plan/plan_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "core/units.h"
#include "plan/buffers.h"
#include "plan/grid_cost.h"
#include "plan/partition.h"
#include "plan/tiles.h"
#include "plan/volume.h"

typedef char text32[32];

static const char *plan_text_bytes(double count, text32 text) {
  return count < 0x1p63 ? dm_format_bytes((int64_t)count, text) : "too many";
}

static const char *grid_text(const dm_plan *p, text32 text) {
  snprintf(text, sizeof(text32), "%dx%dx%d", p->pm, p->pn, p->pk);
  return text;
}

static const char *ratio_text(const dm_plan *p, text32 text) {
  if (!(p->bound_words > 0)) return "n/a";
  snprintf(text, sizeof(text32), "%.2f", p->received_words / p->bound_words);
  return text;
}

/* ---- the problem ---- */

static void write_matrix(const char *name, int64_t rows, int64_t cols, dm_dtype type, FILE *out) {
  text32 size;
  double count = (double)rows * (double)cols * (double)dm_dtype_size(type);
  fprintf(out, "  %s  %lld x %lld %s, %s\n", name, (long long)rows, (long long)cols,
          dm_dtype_name(type), plan_text_bytes(count, size));
}

static void write_problem(const dm_problem *p, FILE *out) {
  fprintf(out, "Problem%s\n", dm_plan_has_files(p) ? "" : " (in memory, without files)");
  const int64_t m = dm_problem_entry_rows(p);
  if (dm_problem_entries(p) > 1)
    fprintf(out, "  %lld products, each of\n", (long long)dm_problem_entries(p));
  write_matrix("A", m, p->k, p->file_a, out);
  write_matrix("B", p->k, p->n, p->file_b, out);
  write_matrix("C", m, p->n, p->c, out);
  fprintf(out, "  multiplied in %s, summed in %s%s%s\n\n",
          dm_compute_products(&p->compute, p->work), dm_dtype_name(p->accumulator),
          p->reads_c ? ", old C added" : "", p->verify ? ", verified" : "");
}

/* ---- the machine ---- */

static void write_rate(const char *what, const char *value, const char *of, FILE *out) {
  fprintf(out, "  %-20s %14s   %s\n", what, value, of);
}

static void write_machine(const dm_plan *p, const dm_machine *m, FILE *out) {
  text32 text, long_text;
  char of[64];
  const double flops = dm_machine_flops(m, &p->problem.compute, p->problem.work);
  const double lasting = dm_machine_lasting_flops(m, &p->problem.compute, p->problem.work);
  snprintf(of, sizeof of, lasting < flops ? "per rank, %s in long products" : "per rank",
           dm_format_flops(lasting, long_text));
  fprintf(out, "Machine: %d %s of %d %s, each with %d %s%s%s\n", m->nodes,
          m->nodes == 1 ? "node" : "nodes", m->ranks_per_node,
          m->ranks_per_node == 1 ? "rank" : "ranks", m->cores_per_rank,
          m->cores_per_rank == 1 ? "core" : "cores", m->gpu ? " and a GPU: " : "",
          m->gpu ? m->name : "");
  fprintf(out, "Rates (%s)\n", m->rates_of_user ? "as --machine states" : "stated, not measured");
  write_rate("product", dm_format_flops(flops, text), of, out);
  if (m->gpu)
    write_rate("upload", dm_format_rate(m->upload, text), "host to device, per rank", out);
  write_rate("link", dm_format_rate(m->link, text),
             m->device_links ? "device to device in a node, per rank"
                             : "host to host in a node, per rank",
             out);
  if (m->nodes > 1) write_rate("network", dm_format_rate(m->network, text), "into a node", out);
  write_rate("latency", dm_format_seconds(m->latency, text), "per message", out);
  write_rate("host memory", dm_format_rate(m->host_copy, text), "per rank", out);
  if (dm_plan_has_files(&p->problem)) {
    write_rate("read", dm_format_rate(m->read_now > 0 ? m->read_now : m->file_read, text),
               "all ranks together", out);
    write_rate("write", dm_format_rate(m->write_now > 0 ? m->write_now : m->file_write, text),
               "all ranks together", out);
  }
  fprintf(out, "\n");
}

/* ---- candidates ---- */

static void write_candidate(const dm_plan *p, bool chosen, FILE *out) {
  text32 grid, time, host, device, received, ratio;
  double moved = p->received_words * (double)dm_dtype_size(p->problem.work);
  fprintf(out, "%c %-12s %8lld %10s %11s %11s %11s %8s\n", chosen ? '*' : ' ', grid_text(p, grid),
          (long long)p->kb, dm_format_seconds(p->forecast.total, time),
          plan_text_bytes((double)p->host_bytes, host),
          p->gpu ? plan_text_bytes((double)p->device_bytes, device) : "-",
          plan_text_bytes(moved, received), ratio_text(p, ratio));
}

static void write_candidates(const dm_plan *best, const dm_plan *plans, int count, FILE *out) {
  bool found = false;
  fprintf(out, "  %-12s %8s %10s %11s %11s %11s %8s\n", "grid", "panel", "time", "host", "device",
          "received", "x bound");
  for (int i = 0; i < count; i++) {
    bool chosen = plans[i].pm == best->pm && plans[i].pn == best->pn && plans[i].pk == best->pk;
    found |= chosen;
    write_candidate(&plans[i], chosen, out);
  }
  if (!found) write_candidate(best, true, out);
  fprintf(out,
          "  memory and received: of the rank that needs most; x bound: received, relative to the\n"
          "  tight lower bound for any algorithm (arXiv 2205.13407)\n\n");
}

/* ---- the plan ---- */

static const char *residence(const dm_plan *p, dm_residence where) {
  if (where == DM_IN_FILE) return "in the file";
  return p->gpu && where == DM_IN_DEVICE ? "on the GPUs" : "on the host";
}

static void write_held(const char *name, dm_residence where, int64_t held, FILE *out) {
  if (where == DM_IN_FILE)
    fprintf(out, "  of %s %lld panels of each layer stay from tile to tile\n", name,
            (long long)held);
}

static void write_tiles(const dm_plan *p, FILE *out) {
  const dm_tile first = dm_plan_tile(p, 0);
  if (dm_plan_has_runs(p))
    fprintf(out, "  C in %lld runs of %lld products, one after the other\n", (long long)p->tiles_m,
            (long long)dm_plan_run_entries(p, 0));
  else if (dm_plan_tiles(p) > 1)
    fprintf(out, "  C in %lld x %lld tiles of %lld x %lld, by %s in alternating directions\n",
            (long long)p->tiles_m, (long long)p->tiles_n, (long long)dm_range_size(first.rows),
            (long long)dm_range_size(first.cols), p->down ? "columns" : "rows");
  write_held("A", p->a, p->held_a, out);
  write_held("B", p->b, p->held_b, out);
}

/* Of a symmetric product A and B are one matrix. */
static void write_shares(const dm_plan *p, FILE *out) {
  const char *moves = p->overlap ? "panels travel during products" : "one step after the other";
  const bool once = dm_triangle_shares(p, DM_A) || dm_triangle_shares(p, DM_B);
  if (once)
    fprintf(out, "  X is held once, %s, as op(A) and op(B); %s\n", residence(p, p->a), moves);
  else
    fprintf(out, "  shares of A %s, of B %s%s%s; %s\n", residence(p, p->a), residence(p, p->b),
            p->in_place ? ", in place" : "",
            p->problem.symmetry != DM_NO_SYMMETRY ? ": X is held twice" : "", moves);
}

static const char *a_and_b(bool a, bool b) {
  return a && b ? "A and B" : a ? "A" : "B";
}

static void write_choice(const dm_plan *p, FILE *out) {
  const dm_route a = dm_plan_route(p, DM_A), b = dm_plan_route(p, DM_B);
  const bool up_a = a.exposed != a.piece, up_b = b.exposed != b.piece;
  char recipe[DM_RECIPE];
  int idle = p->ranks - dm_plan_used(p);
  const int64_t panels = dm_range_size(dm_plan_layer(p, 0)) - dm_plan_ramp_count(p->ramp);
  char ramp[32];
  dm_plan_ramp_text(p, ramp);
  dm_plan_recipe(p, recipe);
  fprintf(out, "Plan: grid %dx%dx%d, %d of %d ranks%s\n  k per layer in %s%s%lld x %lld, %d %s\n",
          p->pm, p->pn, p->pk, dm_plan_used(p), p->ranks, idle ? " (the others are idle)" : "",
          ramp, ramp[0] ? ", then " : "", (long long)panels, (long long)p->kb, p->slots,
          p->slots == 1 ? "slot" : "slots");
  if (p->qm * p->qn * p->qk > 1)
    fprintf(out, "  the ranks of a node form a box of %dx%dx%d\n", p->qm, p->qn, p->qk);
  write_shares(p, out);
  if (p->shared_a || p->shared_b)
    fprintf(out, "  panels of %s lie in memory that the ranks of a node share\n",
            a_and_b(p->shared_a, p->shared_b));
  if (up_a || up_b)
    fprintf(out, "  each rank uploads its pieces of %s, and the others take them from its GPU\n",
            a_and_b(up_a, up_b));
  write_tiles(p, out);
  if (p->strips > 0)
    fprintf(out, "  the last %lld panels in %d strips of rows, each written when it is done\n",
            (long long)p->stretch, p->strips);
  fprintf(out, "  recipe: %s\n\n", recipe);
}

static void write_memory_row(const char *name, int64_t host, int64_t device, bool gpu, FILE *out) {
  text32 a, b;
  if (gpu)
    fprintf(out, "  %-20s %14s %14s\n", name, host ? dm_format_bytes(host, a) : "-",
            device ? dm_format_bytes(device, b) : "-");
  else
    fprintf(out, "  %-20s %14s\n", name, host ? dm_format_bytes(host, a) : "-");
}

static void write_memory(const dm_plan *p, const dm_machine *m, FILE *out) {
  dm_memory_need need = dm_plan_memory(p);
  text32 disk;
  fprintf(out, "%-22s %14s%s\n", "Memory per rank", "host", p->gpu ? "         device" : "");
  for (int part = 0; part < DM_MEMORY_PARTS; part++) {
    int64_t host = need.part[DM_HOST][part], device = need.part[DM_DEVICE][part];
    if (host || device)
      write_memory_row(dm_memory_part_name((dm_memory_part)part), host, device, p->gpu, out);
  }
  write_memory_row("together", need.total[DM_HOST], need.total[DM_DEVICE], p->gpu, out);
  if (m->host_bytes || m->device_bytes)
    write_memory_row("there is", m->host_bytes, m->device_bytes, p->gpu, out);
  if (p->disk_bytes)
    fprintf(out, "  %-20s %14s\n", "disk, for C", dm_format_bytes(p->disk_bytes, disk));
  fprintf(out, "\n");
}

static double plan_text_words_of(const dm_plan *p, dm_matrix matrix) {
  if (!dm_plan_in_file(&p->problem, matrix)) return 0;
  return dm_plan_read_words(p, matrix) + dm_plan_words_ahead(p, matrix);
}

static void write_files(const dm_plan *p, FILE *out) {
  text32 text;
  if (!(p->file_words > 0)) return;
  fprintf(out, "Files\n");
  fprintf(
      out, "  %-20s %14s\n", "read",
      plan_text_bytes(plan_text_words_of(p, DM_A) * (double)dm_dtype_size(p->problem.file_a) +
                          plan_text_words_of(p, DM_B) * (double)dm_dtype_size(p->problem.file_b),
                      text));
  fprintf(out, "  %-20s %14.4g   elements", "read and written", p->file_words);
  if (p->file_bound_words > 0)
    fprintf(out, "; lower bound %.4g, ratio %.2f", p->file_bound_words,
            p->file_words / p->file_bound_words);
  fprintf(out, "\n\n");
}

static void write_moved(const dm_plan *p, FILE *out) {
  text32 all, net, ratio;
  fprintf(out, "Moved between ranks\n");
  fprintf(out, "  %-20s %14.4g   elements; lower bound %.4g, ratio %s\n", "into one rank, most",
          p->received_words, p->bound_words, ratio_text(p, ratio));
  fprintf(out, "  %-20s %14s\n", "all together", plan_text_bytes(p->received_bytes_total, all));
  fprintf(out, "  %-20s %14s\n\n", "between nodes", plan_text_bytes(p->between_nodes_bytes, net));
}

static void write_phase(const char *name, double seconds, dm_resource bound, const char *note,
                        FILE *out) {
  text32 text;
  if (seconds > 0)
    fprintf(out, "  %-20s %14s   %-*s%s\n", name, dm_format_seconds(seconds, text), *note ? 18 : 0,
            dm_resource_name(bound), note);
}

static void write_times(const dm_plan *p, const dm_machine *machine, FILE *out) {
  const dm_forecast *f = &p->forecast;
  const dm_limits by = dm_plan_limits(p, machine);
  text32 text;
  double flops = (dm_dtype_is_complex(p->problem.work) ? 8.0 : 2.0) * (double)p->problem.m *
                 (double)p->problem.n * (double)p->problem.k;
  fprintf(out, "%-22s %14s   %s\n", "Predicted time", "", "bound by");
  if (f->start > 0)
    fprintf(out, "  %-20s %14s   of libraries, MPI and GPUs\n", "start",
            dm_format_seconds(f->start, text));
  write_phase("read", f->read, by.read, "", out);
  write_phase("fetch", f->fetch, by.fetch, "panels from other ranks", out);
  write_phase("upload", f->upload, by.upload, "panels to the device", out);
  write_phase("multiply", f->gemm, by.gemm, "", out);
  write_phase("not hidden", f->exposed, by.exposed, "of fetch and upload, added to multiply", out);
  write_phase("reduce", f->reduce, by.reduce, "sum over the layers", out);
  write_phase("write", f->write, by.write, "", out);
  write_phase("together", f->start + f->total, by.total, "", out);
  fprintf(out, "  %-20s %14s   without the files\n", "rate",
          dm_format_flops(flops / (f->gemm + f->exposed + f->reduce), text));
}

dm_status dm_plan_report(const dm_plan *best, const dm_plan *candidates, int count,
                         const dm_machine *machine, FILE *out) {
  write_problem(&best->problem, out);
  write_machine(best, machine, out);
  write_candidates(best, candidates, count, out);
  write_choice(best, out);
  write_memory(best, machine, out);
  write_moved(best, out);
  write_files(best, out);
  write_times(best, machine, out);
  if (fflush(out) != 0 || ferror(out))
    return dm_fail(DM_E_IO, "the plan cannot be written: %s", strerror(errno));
  return DM_OK;
}

/* ---- the recipe, which determines the bits of C, and the hash, equal on all ranks ---- */

static uint64_t hash_of_row(const dm_compute *row) {
  const int64_t fields[] = {row->inputs,   row->results,     row->work,         row->operand,
                            row->products, row->accumulator, row->accumulators, row->sum,
                            row->finish,   row->panel_bytes, row->tile_bytes,   row->truncates,
                            row->moduli,   row->falls_back,  row->piece};
  const double errors[] = {row->roundoff, row->shortening};
  return XXH3_64bits(fields, sizeof fields) ^ XXH3_64bits(errors, sizeof errors) ^
         XXH3_64bits(row->name, strlen(row->name));
}

static uint64_t hash_of_todo(const dm_plan *plan) {
  const dm_todo *todo = plan->todo;
  return todo ? XXH3_64bits(todo->tiles, (size_t)todo->count * sizeof *todo->tiles) : 0;
}

/* Every field that controls a rank, as numbers in a fixed order: structures have padding. */
uint64_t dm_plan_hash(const dm_plan *plan) {
  const dm_problem *p = &plan->problem;
  const int64_t todo = dm_plan_todo(plan), tiles = (int64_t)hash_of_todo(plan);
  const int64_t compute = (int64_t)hash_of_row(&p->compute);
  const int64_t kernel = (int64_t)XXH3_64bits(plan->kernel, strlen(plan->kernel));
  /* clang-format off */
  const int64_t fields[] = {
      p->m, p->n, p->k, p->batch, p->file_a, p->file_b, p->work, p->accumulator, p->c, compute, p->reads_c,
      p->scales, p->home[DM_A], p->home[DM_B], p->home[DM_C], p->home[DM_OLD], p->verify, p->op_a, p->op_b, p->chunk_a, p->chunk_b, p->chunk_c,
      plan->ranks, plan->pm, plan->pn, plan->pk, plan->qm, plan->qn, plan->qk, plan->kb, plan->ramp[0],
      plan->ramp[1], plan->panels, plan->slots, plan->border, plan->tiles_m, plan->tiles_n,
      plan->blocks, plan->down, todo, tiles, plan->held_a, plan->held_b, plan->reads, plan->strips,
      plan->stretch, plan->reproducible, plan->overlap, plan->read_first, plan->gpu, plan->device_links,
      plan->in_place, plan->shared_a, plan->shared_b, plan->copies_a, plan->copies_b, plan->a,
      plan->b, plan->host_bytes, plan->device_bytes, plan->disk_bytes, kernel};
  /* clang-format on */
  return XXH3_64bits(fields, sizeof fields);
}

const char *dm_problem_batch_text(const dm_problem *problem, char text[32]) {
  text[0] = '\0';
  if (dm_problem_entries(problem) > 1)
    snprintf(text, 32, " batch=%lld", (long long)dm_problem_entries(problem));
  return text;
}

const char *dm_problem_sizes(const dm_problem *problem, char text[DM_SIZES_TEXT]) {
  char batch[32];
  snprintf(text, DM_SIZES_TEXT, "m=%lld n=%lld k=%lld%s", (long long)dm_problem_entry_rows(problem),
           (long long)problem->n, problem->no_k ? 0LL : (long long)problem->k,
           dm_problem_batch_text(problem, batch));
  return text;
}

void dm_plan_ramp_text(const dm_plan *plan, char text[32]) {
  const long long first = plan->ramp[0], second = plan->ramp[1];
  text[0] = '\0';
  if (second > 0)
    snprintf(text, 32, "%lld,%lld", first, second);
  else if (first > 0)
    snprintf(text, 32, "%lld", first);
}

void dm_plan_recipe(const dm_plan *plan, char text[DM_RECIPE]) {
  const dm_problem *p = &plan->problem;
  char cuts[96];
  /* with fixed borders the bits do not depend on grid and tiles */
  if (plan->border > 0)
    snprintf(cuts, sizeof cuts, "border=%lld", (long long)plan->border);
  else if (dm_plan_tiles(plan) > 1)
    snprintf(cuts, sizeof cuts, "tiles=%lldx%lld grid=%dx%dx%d", (long long)plan->tiles_m,
             (long long)plan->tiles_n, plan->pm, plan->pn, plan->pk);
  else
    snprintf(cuts, sizeof cuts, "grid=%dx%dx%d", plan->pm, plan->pn, plan->pk);
  char ramp[32], end[32] = "";
  dm_plan_ramp_text(plan, ramp);
  if (plan->strips > 0 && plan->border == 0)
    snprintf(end, sizeof end, " end=%lldx%d", (long long)plan->stretch, plan->strips);
  snprintf(text, DM_RECIPE, "%s kb=%lld%s%s%s work=%s sums=%s c=%s%s%s", cuts, (long long)plan->kb,
           ramp[0] ? " ramp=" : "", ramp, end, dm_compute_products(&p->compute, p->work),
           dm_dtype_name(p->accumulator), dm_dtype_name(p->c), plan->kernel[0] ? " kernel=" : "",
           plan->kernel);
}
