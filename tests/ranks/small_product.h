/* small_product: multiplies generated matrices in memory with the executor. */
#ifndef DM_TESTS_SMALL_PRODUCT_H
#define DM_TESTS_SMALL_PRODUCT_H

#include "lib/product_problem.h"
#include "plan/partition.h"
#include "rank_test.h"

#include "backend/backend.h"
#include "backend/cpu.h"
#include "backend/cuda.h"
#include "core/copy.h"
#include "core/element.h"
#include "engine/execute.h"
#include "engine/rank_state.h"
#include "plan/choose.h"

typedef struct product {
  rank_test *test;
  dm_plan plan;
  dm_backend *backend;
  dm_rank_state local;
  dm_generator a, b;
  const dm_transport_ops *transport; /* NULL: host */
} product;

static inline void fill_panel(const product *p, dm_matrix matrix, int64_t panel) {
  const dm_rank_state *local = &p->local;
  dm_fill(dm_rank_piece(local, matrix, panel), matrix == DM_A ? &p->a : &p->b,
          dm_rank_piece_rows(local, matrix, panel).begin,
          dm_rank_piece_cols(local, matrix, panel).begin);
}

static inline void fill_share(const product *p, dm_matrix matrix) {
  for (int64_t panel = p->local.panels.begin; panel < p->local.panels.end; panel++)
    fill_panel(p, matrix, panel);
}

/* One node of CPUs, or of GPUs named GPU. */
static inline dm_machine one_node(const rank_test *test, const char *gpu, bool shared_slots) {
  dm_machine machine;
  dm_machine_stated(gpu, 1, &machine);
  machine.ranks_per_node = test->run.ranks;
  machine.shared_slots = shared_slots;
  return machine;
}

/* Plans for MACHINE, with shared slots if it has them; on its GPUs, if it has some. CALLS: of the
 * problem's compute mode. */
static inline product product_open_with(rank_test *test, const dm_machine *machine,
                                        dm_problem problem, dm_wishes wishes, dm_kind kind,
                                        uint64_t seed, const dm_compute_calls *calls) {
  const double parameter = kind == DM_INTEGER ? 8.0 : kind == DM_OZAKI ? 2.0 : 0.1;
  product p = {.test = test,
               .a = {.kind = kind, .seed = 2 * seed, .parameter = parameter},
               .b = {.kind = kind, .seed = 2 * seed + 1, .parameter = parameter},
               .transport = machine->shared_slots ? dm_transport_find("shared") : NULL};
  must(test, dm_plan_choose(&problem, machine, test->run.ranks, &wishes, &p.plan));
  dm_backend_config config = {.local_rank = test->run.local_rank,
                              .local_ranks = test->run.local_ranks,
                              .threads = 1,
                              .compute = &problem.compute,
                              .calls = calls,
                              .kernel = "auto",
                              .tile = wishes.reproducible ? DM_BORDER : 0};
  must(test,
       dm_backend_open(machine->gpu ? &dm_backend_cuda : &dm_backend_cpu, &config, &p.backend));
  return p;
}

static inline product product_open_on(rank_test *test, const dm_machine *machine,
                                      dm_problem problem, dm_wishes wishes, dm_kind kind,
                                      uint64_t seed) {
  return product_open_with(test, machine, problem, wishes, kind, seed, NULL);
}

static inline product product_open(rank_test *test, dm_problem problem, dm_wishes wishes,
                                   dm_kind kind, uint64_t seed) {
  const dm_machine machine = one_node(test, NULL, false);
  return product_open_on(test, &machine, problem, wishes, kind, seed);
}

/* Call after product_open, once the product is at its final address. */
static inline void product_fill(product *p) {
  must(p->test, dm_rank_open(&p->test->run, &p->plan, p->backend, p->transport, &p->local));
  fill_share(p, DM_A);
  fill_share(p, DM_B);
}

static inline void product_run(product *p, unsigned kinds) {
  const dm_step_calls none = {0};
  must(p->test, dm_execute(&p->local, kinds, &none));
}

static inline void product_close(product *p) {
  dm_rank_close(&p->local);
  dm_backend_close(p->backend);
}

/* This rank's finished sums and their rows of C; empty on an idle rank. */
static inline dm_view product_sums(const product *p, dm_range *rows) {
  return dm_rank_result(&p->local, rows);
}

/* ROWS x COLS elements from (row, col) of a generated matrix; free() the base. */
static inline dm_view generated(rank_test *test, const dm_generator *generator, dm_dtype dtype,
                                dm_range rows, dm_range cols) {
  int64_t m = dm_range_size(rows), n = dm_range_size(cols);
  dm_view view = dm_view_row_major(memory_of(test, m * n * dm_dtype_size(dtype)), dtype, m, n);
  dm_fill(view, generator, rows.begin, cols.begin);
  return view;
}

#endif
