#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "core/checked.h"
#include "core/crew.h"
#include "dataset/composite.h"
#include "dataset/packed_dataset.h"
#include "inspect/inspect_impl.h"

/* ---- many datasets at once ---- */

enum {
  PROCESSES = 8,
  CLAIM = 16, /* datasets that a process takes at a time */
};

typedef struct inspect_found {
  atomic_bool good;
  dm_packed_dataset dataset;
} inspect_found;

struct dm_ahead_work {
  atomic_llong next, names; /* bytes used of the names, which follow the table */
  inspect_found of[];
};

static char *inspect_names_of(const dm_ahead *ahead) {
  return (char *)&ahead->work->of[ahead->count];
}

static void inspect_examine(const dm_ahead *ahead, const dm_trust *trust, const dm_location *at,
                            inspect_found *to) {
  dm_dataset one = {.at = *at};
  dm_status status = dm_examine_at(trust, &one, NULL);
  const bool good = !status && !one.composite && !one.at.part[0];
  if (good) {
    const int64_t used = atomic_fetch_add(&ahead->work->names, dm_packed_names(&one.at));
    dm_dataset_pack(&one, inspect_names_of(ahead), used, &to->dataset);
  }
  if (!status) dm_dataset_free(&one);
  dm_status_free(status);
  atomic_store(&to->good, good);
}

static void take_part(const dm_ahead *ahead, const dm_trust *trust, dm_ahead_name *name,
                      const void *owner) {
  for (;;) {
    const int64_t begin = atomic_fetch_add(&ahead->work->next, CLAIM);
    if (begin >= ahead->count) return;
    dm_location at, before = {.file = ""};
    for (int64_t i = begin; i < dm_min(begin + CLAIM, ahead->count); i++) {
      dm_status status = name(owner, ahead->first + i, &at);
      /* One source often fills several places, one after another. */
      if (!status && memcmp(&at, &before, sizeof at) != 0)
        inspect_examine(ahead, trust, &at, &ahead->work->of[i]);
      if (!status) before = at;
      dm_status_free(status);
    }
  }
}

void dm_ahead_examine(dm_ahead *ahead, const dm_trust *trust, dm_ahead_name *name,
                      const void *owner, int64_t first, int64_t count) {
  pid_t helper[PROCESSES];
  const int64_t wanted = dm_min(dm_min(dm_cores(), PROCESSES), count / CLAIM);
  dm_trust own = *trust;
  own.alone = true;
  dm_ahead_free(ahead);
  if (wanted < 2 || trust->alone) return;
  const int64_t bytes = (int64_t)sizeof(struct dm_ahead_work) +
                        count * ((int64_t)sizeof(inspect_found) + 2 * DM_PATH);
  void *shared =
      mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;
  *ahead = (dm_ahead){.work = shared, .first = first, .count = count, .bytes = bytes};
  int helpers = 0;
  const pid_t self = getpid();
  for (; helpers < wanted - 1; helpers++) {
    helper[helpers] = fork();
    if (helper[helpers] < 0) break; /* the others do it */
    if (helper[helpers] > 0) continue;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == self)
      take_part(ahead, &own, name, owner);
    _exit(0);
  }
  take_part(ahead, &own, name, owner);
  for (int i = 0; i < helpers; i++)
    while (waitpid(helper[i], NULL, 0) < 0 && errno == EINTR) continue;
}

bool dm_ahead_find(const dm_ahead *ahead, int64_t i, dm_vector vector, dm_dataset *find) {
  if (i < ahead->first || i >= ahead->first + ahead->count) return false;
  const inspect_found *f = &ahead->work->of[i - ahead->first];
  if (!atomic_load(&f->good)) return false;
  dm_dataset_unpack(&f->dataset, inspect_names_of(ahead), find);
  return find->vector == DM_NO_VECTOR || find->vector == vector;
}

void dm_ahead_free(dm_ahead *ahead) {
  if (ahead->work) munmap(ahead->work, (size_t)ahead->bytes);
  *ahead = (dm_ahead){0};
}
