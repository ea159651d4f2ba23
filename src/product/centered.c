#include "product/centered.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "file/read.h"
#include "plan/partition.h"
#include "product/file_stream.h"
#include "product/moments.h"

enum { GROUPS = 16 }; /* of rows: their moments are joined in order, whatever rank has them */

/* ---- moments of a matrix in a file ---- */

typedef struct taking {
  dm_crew *crew;
  dm_moments *moments;
  int group;
} taking;

static dm_status take_strip(void *context, dm_view strip, int64_t row, int64_t col) {
  const taking *t = context;
  dm_moments_add(t->moments, t->crew, t->group, strip, row, col);
  return DM_OK;
}

/* A type that holds all values of TYPE; the smaller, the faster. */
static dm_dtype type_for(dm_dtype type) {
  if (dm_dtype_is_complex(type)) return type;
  return dm_dtype_holds(DM_F32, type) ? DM_F32 : DM_F64;
}

/* Adds this rank's groups of rows. Missing values are read as NaN, which dm_moments leaves out,
 * unless they are 0. */
static dm_status take_groups(dm_run *run, int io_threads, const dm_dataset *set, dm_moments *m) {
  taking t = {.moments = m};
  dm_dataset read = *set;
  if (read.meaning.missing != DM_MISSING_ZERO) read.meaning.missing = DM_MISSING_NAN;
  const dm_reading how = {.as = DM_DTYPE_NONE, .work = type_for(dm_dataset_type(set))};
  const dm_range mine = dm_split(GROUPS, run->ranks, run->rank, 1);
  DM_TRY(dm_crew_new(run->cores.threads, &t.crew));
  dm_status status = DM_OK;
  for (int64_t g = mine.begin; g < mine.end && !status; g++) {
    t.group = m->by_rows ? 0 : (int)g;
    status = dm_file_stream(run, io_threads, &read, dm_split(set->rows, GROUPS, g, 1),
                            (dm_range){0, set->cols}, &how, take_strip, &t, NULL);
  }
  dm_crew_free(t.crew);
  return status;
}

/* ---- what follows from them ---- */

static int64_t count_missing(const dm_moments *m) {
  int64_t count = 0;
  for (int64_t i = 0; i < m->lines; i++) count += dm_moments_missing(m, i);
  return count;
}

static dm_status allocate(const dm_moments *m, dm_centering **centering, double *arrays[3]) {
  const int64_t numbers = m->parts * m->lines;
  char *memory;
  DM_TRY(dm_buffer_zeroed(2 * numbers + m->lines + (int64_t)(sizeof **centering / sizeof(double)),
                          sizeof(double), (void **)&memory));
  *centering = (dm_centering *)memory;
  arrays[0] = (double *)(*centering + 1);
  arrays[1] = arrays[0] + numbers;
  arrays[2] = arrays[1] + numbers;
  return DM_OK;
}

_Static_assert(sizeof(dm_centering) % sizeof(double) == 0, "arrays follow it");

static dm_status make(const dm_moments *m, const dm_standard *standard, dm_centering **centering) {
  double *arrays[3] = {NULL};
  DM_TRY(allocate(m, centering, arrays));
  double *shift = arrays[0], *fill = arrays[1], *factor = arrays[2];
  const double divisor = (double)(m->length - 1);
  int64_t constant = 0, empty = 0;
  for (int64_t i = 0; i < m->lines; i++) {
    const double squares = dm_moments_squares(m, i);
    const bool gaps = !standard->fills && dm_moments_missing(m, i) > 0;
    const bool none = dm_moments_missing(m, i) == m->length;
    dm_moments_mean(m, i, fill + i * m->parts);
    for (int64_t p = 0; p < m->parts; p++) /* a NaN that stays makes the mean NaN */
      shift[i * m->parts + p] = gaps ? (double)NAN : fill[i * m->parts + p];
    empty += none;
    constant += !none && squares == 0.0;
    factor[i] = squares == 0.0 || gaps ? (double)NAN : 1.0 / sqrt(squares / divisor);
  }
  const bool scales = standard->scale != DM_NO_LINES;
  **centering = (dm_centering){.lines = m->by_rows ? DM_ROW_LINES : DM_COLUMN_LINES,
                               .count = m->lines,
                               .constant = scales ? constant : 0,
                               .empty = standard->fills ? empty : 0,
                               .filled = standard->fills ? count_missing(m) : 0,
                               .shift = standard->center != DM_NO_LINES ? shift : NULL,
                               .factor = scales ? factor : NULL,
                               .fill = standard->fills ? fill : NULL};
  return DM_OK;
}

/* SET may be missing values only if it is stated what becomes of them. */
static dm_status check_missing(const dm_dataset *set, const dm_moments *m) {
  const int64_t missing = count_missing(m);
  return missing == 0 || set->meaning.missing != DM_MISSING_REFUSED
             ? DM_OK
             : dm_missing_refused(set, &(dm_missing_found){.count = missing,
                                                           .source = INT64_MAX,
                                                           .first = m->first_missing});
}

static dm_status find(dm_run *run, int io_threads, const dm_dataset *set,
                      const dm_standard *standard, dm_centering **centering) {
  dm_moments m;
  dm_status status =
      dm_moments_open(set->rows, set->cols, dm_standard_lines(standard) == DM_ROW_LINES,
                      dm_dtype_is_complex(dm_dataset_type(set)), GROUPS, &m);
  status = dm_comm_agree(run->world, status);
  if (!status) status = dm_comm_agree(run->world, take_groups(run, io_threads, set, &m));
  if (!status) status = dm_moments_join(&m, run->world);
  if (!status) status = dm_comm_agree(run->world, check_missing(set, &m));
  if (!status) status = dm_comm_agree(run->world, make(&m, standard, centering));
  dm_moments_close(&m);
  return status;
}

static void warn(const dm_run *run, const dm_dataset *set) {
  const dm_centering *c = set->centering;
  char name[DM_NAME];
  dm_location_name(&set->at, name);
  if (c->constant > 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: %lld of %lld %s are constant: they cannot be scaled and become NaN", name,
                (long long)c->constant, (long long)c->count, dm_lines_name(c->lines));
  if (c->empty > 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: %lld of %lld %s have no values: they have no mean and become NaN", name,
                (long long)c->empty, (long long)c->count, dm_lines_name(c->lines));
}

dm_status dm_center_inputs(dm_run *run, int io_threads, const dm_standard standard[2],
                           dm_dataset *a, dm_dataset *b, dm_centering *made[2]) {
  dm_dataset *const sets[2] = {a, b};
  made[0] = made[1] = NULL;
  for (int x = 0; x < 2; x++) {
    if (dm_standard_lines(&standard[x]) == DM_NO_LINES) continue;
    if (x == 1 && made[0] && dm_dataset_is_same(a, b) &&
        dm_standard_is_same(&standard[0], &standard[1])) {
      b->centering = made[0];
      continue;
    }
    DM_TRY(find(run, io_threads, sets[x], &standard[x], &made[x]));
    sets[x]->centering = made[x];
    warn(run, sets[x]);
  }
  return DM_OK;
}

void dm_centering_record(const dm_dataset *const sets[2], dm_record *record) {
  static const char *const paths[] = {"files.a_centering", "files.b_centering"};
  static const char *const labels[] = {"  centering of A", "  centering of B"};
  for (int x = 0; x < 2; x++) {
    const dm_centering *c = sets[x]->centering;
    char constant[48] = "", filled[64] = "";
    if (!c) continue;
    if (c->constant > 0)
      snprintf(constant, sizeof constant, "; %lld are constant", (long long)c->constant);
    if (c->fill)
      snprintf(filled, sizeof filled, "%s%lld missing values replaced by the mean",
               c->shift || c->factor ? ", " : ": ", (long long)c->filled);
    dm_record_text(record, paths[x], labels[x], "%s%s%s%s%s%s%s", dm_lines_name(c->lines),
                   c->shift || c->factor ? " " : "", c->shift ? "centered" : "",
                   c->shift && c->factor ? ", " : "", c->factor ? "scaled" : "", filled, constant);
  }
}
