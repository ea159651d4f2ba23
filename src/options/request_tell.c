/* What a product is told to do to the numbers of its files, noted for the user. */
#include "dataset/dataset_text.h"
#include "options/request.h"

static bool tell_in_file(const dm_dataset *x) {
  return x->inode != 0 || x->stack;
}

bool dm_request_may_be_complex(const dm_dataset *x) {
  const dm_axes axes = dm_dataset_axes(x);
  const bool deep = axes.count > 2 || x->leads.count > 0;
  return deep && x->parts == DM_PARTS_TOGETHER && axes.extent[axes.count - 1] == 2 &&
         (x->dtype == DM_F32 || x->dtype == DM_F64) && x->at.complex_axis == DM_COMPLEX_AUTO;
}

/* LINES of X are taken as variables, or centered and scaled. OTHERWISE: what takes the others. */
static void tell_side(const dm_log *log, const dm_dataset *x, bool rows, const char *as,
                      const char *otherwise) {
  static const char *const lines[2] = {"columns", "rows"};
  const char *who = dm_origin_name(x->origin);
  const bool sure = x->origin != DM_ORIGIN_ARMADILLO;
  char name[DM_NAME];
  if (x->origin == DM_ORIGIN_UNKNOWN) return;
  dm_log_applied(log, DM_LOG_NOTE, "%s: its %s are %s; %s%s%s they are %s%s%s",
                 dm_location_name(&x->at, name), lines[rows], as, sure ? "in " : "if ", who,
                 sure ? "" : " wrote it,", lines[!rows], otherwise[0] ? "; " : "", otherwise);
}

static void tell_values(const dm_settings *s, const dm_log *log, const dm_dataset *x) {
  char text[DM_MEANING_TEXT + 128], name[DM_NAME];
  if (!tell_in_file(x)) return;
  dm_dataset_describe_meaning(x, text, sizeof text);
  if (text[0] && !x->meaning.text[0] && x->at.fold.way != DM_NOT_FOLDED)
    dm_log_line(log, DM_LOG_DETAIL, "%s: %s", dm_location_name(&x->at, name), text);
  else if (text[0])
    dm_log_applied(log, DM_LOG_DETAIL, "%s: %s", dm_location_name(&x->at, name), text);
  else if (dm_request_may_be_complex(x) && !s->raw)
    dm_log_applied(log, DM_LOG_NOTE,
                   "%s: its last axis of 2 is taken as it is; --complex-axis last takes it as real "
                   "and imaginary parts",
                   dm_location_name(&x->at, name));
}

void dm_request_tell(const dm_settings *s, const dm_log *log, const dm_dataset *a,
                     const dm_dataset *b) {
  const dm_equation equation = dm_request_equation(s);
  const bool rows = s->gram && s->op_a == (int)DM_OP_N;
  tell_values(s, log, a);
  if (!s->gram) tell_values(s, log, b);
  if (s->gram)
    tell_side(log, a, rows, s->covariance ? "the variables" : "multiplied with each other",
              rows ? "--of columns takes the others" : "--of rows takes the others");
  for (int x = 0; x < 2 && !s->gram; x++) {
    const dm_lines lines = dm_standard_lines(&equation.standard[x]);
    if (lines != DM_NO_LINES)
      tell_side(log, x == 0 ? a : b, lines == DM_ROW_LINES, "centered or scaled", "");
  }
}

void dm_request_tell_types(const dm_settings *s, const dm_log *log, dm_level level,
                           const dm_dataset *a, const dm_dataset *b, const dm_problem *problem) {
  const dm_dataset *const sets[2] = {a, b};
  char name[DM_NAME];
  if (dm_given(s, "type")) return; /* as the user says */

  /* A metric states it, too. */
  const bool stated = dm_request_equation(s).type != DM_DTYPE_NONE;
  const dm_dtype both = stated ? DM_DTYPE_NONE : dm_request_equation_of(s, a, b).type;
  const bool promotes = both != DM_DTYPE_NONE;
  const dm_dtype as = promotes ? both : problem->work;
  for (int x = 0; x < 2; x++) {
    const dm_dtype type = dm_dataset_type(sets[x]);
    if ((tell_in_file(sets[x]) || promotes) && type != as)
      dm_log_applied(log, promotes ? level : DM_LOG_DETAIL, "%s: %s is multiplied as %s",
                     tell_in_file(sets[x]) ? dm_location_name(&sets[x]->at, name)
                                           : sets[x]->at.dataset,
                     dm_dtype_name(type), dm_dtype_name(as));
  }
}
