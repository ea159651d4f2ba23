/* ranks: 1 2 4. All ranks of a job use the tile sizes that rank 0 found, whatever the others would
 * find; the built-in ones if the file is damaged or belongs to another GPU. */
#include <unistd.h>

#include "engine/tilings.h"
#include "rank_test.h"

/* A backend that only records the tile sizes that it is told to use. */
typedef struct pretender {
  dm_backend base;
  dm_jit_facts facts;
  dm_tilings used;
  bool no_compiler;
} pretender;

static dm_status facts(dm_backend *backend, dm_jit_facts *answer) {
  const pretender *p = (const pretender *)backend;
  if (p->no_compiler) return dm_fail(DM_E_DEVICE, "no compiler");
  *answer = p->facts;
  return DM_OK;
}

static dm_status use(dm_backend *backend, const dm_tilings *tilings) {
  ((pretender *)backend)->used = *tilings;
  return DM_OK;
}

static const dm_jit_ops jit = {.facts = facts, .use = use};
static const dm_backend_ops ops = {.name = "pretender", .jit = &jit};

static const dm_jit_facts h200 = {.gpu = "NVIDIA H200",
                                  .capability = 90,
                                  .processors = 132,
                                  .driver = 13000,
                                  .compiler = 13000,
                                  .shared = 232448};

/* Every rank has its own cache, with values that differ from rank 0's. */
static dm_tilings own_tilings(int rank) {
  dm_tilings tilings = dm_tilings_built_in();
  tilings.of[0][DM_TILES_LARGE] = dm_tiling_candidates[0][rank == 0 ? 4 : 5];
  return tilings;
}

static void agree(rank_test *t, pretender *p, const dm_tilings *wanted, const char *what) {
  char name[32], wanted_name[32];
  memset(&p->used, 0, sizeof p->used);
  must(t, dm_tilings_agree(&t->run, &p->base, "jit", DM_F32, name));
  dm_tilings_name(wanted, DM_F32, wanted_name);
  CHECK(t, memcmp(&p->used, wanted, sizeof *wanted) == 0, "%s: other tile sizes", what);
  CHECK(t, strcmp(name, wanted_name) == 0, "%s: %s, wanted %s", what, name, wanted_name);
}

static void check_all(rank_test *t, const char *path) {
  pretender p = {.base.ops = &ops, .facts = h200};
  const dm_tilings built_in = dm_tilings_built_in(), tuned = own_tilings(0),
                   mine = own_tilings(t->run.rank);
  agree(t, &p, &built_in, "no file");
  must(t, dm_tilings_write(path, true, &mine, &h200));
  agree(t, &p, &tuned, "files that differ");
  if (t->run.ranks > 1) {
    if (t->run.rank == t->run.ranks - 1) strcpy(p.facts.gpu, "NVIDIA A100");
    agree(t, &p, &tuned, "another GPU than rank 0's");
    p.facts = h200;
  }
  if (t->run.rank == 0) p.facts.processors = 114;
  agree(t, &p, &built_in, "the file of another GPU");
  p.facts = h200;
  if (t->run.rank == 0 && truncate(path, 100) != 0) CHECK(t, false, "truncate");
  agree(t, &p, &built_in, "a damaged file");

  char name[32];
  must(t, dm_tilings_agree(&t->run, &p.base, "warp_tile", DM_F32, name));
  CHECK(t, strcmp(name, "warp_tile") == 0, "another kernel became %s", name);
  p.no_compiler = t->run.rank == t->run.ranks - 1;
  dm_status status = dm_tilings_agree(&t->run, &p.base, "jit", DM_F32, name);
  CHECK(t, status && status->agreed && status->code == DM_E_DEVICE, "a rank without compiler");
  dm_status_free(status);
}

TEST_PROGRAM(test_tilings) {
  rank_test test = rank_test_start();
  char directory[] = "/tmp/damier-tilings-XXXXXX", path[DM_PATH], command[64];
  if (!mkdtemp(directory)) must(&test, dm_fail(DM_E_IO, "mkdtemp"));
  setenv("XDG_CACHE_HOME", directory, 1);
  must(&test, dm_tilings_path(h200.gpu, path));
  check_all(&test, path);
  snprintf(command, sizeof command, "rm -r '%s'", directory);
  CHECK(&test, system(command) == 0, "%s", command);
  return rank_test_end(&test);
}
