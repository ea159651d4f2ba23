/* ranks: 1 2 3 4 */
/* In whole products ranks allocate from their backends exactly the buffers listed by their plans,
 * byte by byte; unlisted buffers cannot be allocated. */
#include "backend/backend.h"
#include "backend/cuda.h"
#include "engine/execute.h"
#include "engine/links.h"
#include "plan/choose.h"
#include "plan/tiles.h"
#include "small_product.h"

/* The backend's table, and the allocations made through a copy of it. */
typedef struct counter {
  const dm_backend_ops *ops;
  int64_t taken[2];
} counter;

static _Thread_local counter count; /* of this rank */

static dm_status counting_alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory) {
  count.taken[space] += bytes;
  return count.ops->alloc(backend, space, bytes, memory);
}

static int64_t listed(const dm_rank_memory *memory, dm_space space, dm_life last) {
  int64_t sum = 0;
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    const dm_buffer *buffer = &memory->list.of[kind];
    const bool counts = buffer->where == DM_PINNED || buffer->where == DM_ON_DEVICE;
    const dm_life life = dm_buffer_life((dm_buffer_kind)kind);
    if (counts && dm_where_space(buffer->where) == space &&
        (life == DM_LIFE_RANK || (last == DM_LIFE_SUM && life == DM_LIFE_SUM)))
      sum += buffer->bytes;
  }
  return sum;
}

static void compare(rank_test *t, const product *p, dm_life last, const char *when) {
  for (int space = 0; space < 2; space++) {
    const int64_t want = listed(&p->local.memory, (dm_space)space, last);
    CHECK(t, count.taken[space] == want,
          "grid %dx%dx%d %s: %lld bytes of space %d taken %s, %lld listed", p->plan.pm, p->plan.pn,
          p->plan.pk, dm_dtype_name(p->plan.problem.work), (long long)count.taken[space], space,
          when, (long long)want);
  }
}

static dm_status generate(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  const dm_generator *from = context;
  return dm_backend_fill(local->backend, dm_rank_piece(local, matrix, panel), from,
                         dm_rank_piece_rows(local, matrix, panel).begin,
                         dm_rank_piece_cols(local, matrix, panel).begin);
}

/* Buffers that the plan lacks, and those that ranks do not allocate. */
static void refuse(rank_test *t, product *p) {
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    void *at = NULL;
    const bool none = p->local.memory.list.of[kind].where == DM_NOWHERE;
    if (!none && dm_buffer_life((dm_buffer_kind)kind) != DM_LIFE_COUNTED) continue;
    dm_status status = dm_rank_memory_take(&p->local.memory, (dm_buffer_kind)kind, &at);
    CHECK(t, status && status->code == DM_E_BUG && !at, "%s could be had",
          dm_buffer_kinds[(dm_buffer_kind)kind].name);
    dm_status_free(status);
  }
}

static void multiply(rank_test *t, product *p, const dm_transport_ops *ops) {
  const dm_generator from = {.kind = DM_UNIFORM, .seed = 5};
  static const dm_source_ops source = {.load = generate};
  const dm_step_calls calls = {.source = {{&source, (void *)&from}, {&source, (void *)&from}}};
  dm_backend_ops counting = *p->backend->ops;
  count = (counter){.ops = p->backend->ops};
  counting.alloc = counting_alloc;
  p->backend->ops = &counting;
  must(t, dm_rank_open(&t->run, &p->plan, p->backend, ops, &p->local));
  compare(t, p, DM_LIFE_RANK, "when opened");
  must(t, dm_execute(&p->local, DM_ALL_STEPS, &calls));
  compare(t, p, DM_LIFE_SUM, "in the end");
  refuse(t, p);
  dm_rank_close(&p->local);
  p->backend->ops = count.ops;
}

static product open_on(rank_test *t, const dm_backend_ops *ops, dm_machine machine,
                       dm_problem problem, dm_wishes wishes) {
  product p = {.test = t};
  const dm_backend_config config = {.local_ranks = 1, .threads = 1, .kernel = "auto"};
  must(t, dm_plan_choose(&problem, &machine, t->run.ranks, &wishes, &p.plan));
  must(t, dm_backend_open(ops, &config, &p.backend));
  return p;
}

/* In one tile and, if possible, from the second of several on, as in a resumed run. */
static void each_way(rank_test *t, const dm_backend_ops *backend, dm_machine machine,
                     const dm_transport_ops *ops, int turn) {
  static const dm_dtype types[] = {DM_F64, DM_BF16, DM_C128, DM_I8, DM_F32};
  for (int pm = 1; pm <= t->run.ranks; pm++)
    for (int pn = 1; pm * pn <= t->run.ranks; pn++)
      for (int pk = 1; pm * pn * pk <= t->run.ranks; pk++, turn++) {
        const dm_problem problem =
            product_problem(101 + turn, 203 - turn, 64 * 7 + turn, types[turn % 5]);
        const dm_wishes wishes = {.pm = pm, .pn = pn, .pk = pk, .panel = 64 * (1 + turn % 3)};
        product p = open_on(t, backend, machine, problem, wishes);
        const bool links = p.plan.device_links;
        multiply(t, &p, links || machine.shared_slots ? ops : NULL);
        if (!p.plan.shared_a && !p.plan.shared_b && !links) {
          p.plan.tiles_m = 2;
          p.plan.tiles_n = 3;
          const bool there[6] = {true, true};
          dm_todo *todo;
          must(t, dm_todo_new(6, there, &todo));
          p.plan.todo = todo;
          multiply(t, &p, NULL);
          dm_todo_free(todo);
        }
        dm_backend_close(p.backend);
      }
}

static void on_cpu(rank_test *t) {
  for (int shared = 0; shared < 2; shared++)
    each_way(t, &dm_backend_cpu, one_node(t, NULL, shared), dm_transport_find("shared"), shared);
}

static void on_gpu(rank_test *t) {
  const dm_transport_ops *ipc = dm_transport_find("ipc");
  for (int links = 0; links < 2; links++) {
    dm_machine machine = one_node(t, "H200", false);
    machine.device_links = links;
    if (!links || !ipc->not_built) each_way(t, &dm_backend_cuda, machine, ipc, links);
  }
}

TEST_PROGRAM(test_buffers) {
  rank_test t = rank_test_start();
  on_cpu(&t);
  if (!dm_backend_cuda.not_built && dm_backend_device_count(&dm_backend_cuda) > 0) on_gpu(&t);
  return rank_test_end(&t);
}
