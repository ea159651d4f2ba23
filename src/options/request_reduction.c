/* What is kept of C, from the options that state it. */
#include "options/request.h"

#include <math.h>

/* Options that say how a reduction is made, and of which kinds. */
static dm_status check_details(const dm_settings *s, const dm_reduction *r) {
  const bool lists = r->kind == DM_REDUCE_TOP || r->kind == DM_REDUCE_BEYOND;
  if (dm_given(s, "by") && !lists)
    return dm_hint(dm_fail(DM_E_USAGE, "--by changes nothing here"),
                   "it applies to --top, --above and --below");
  if (r->kind == DM_REDUCE_BEYOND && r->by == DM_BY_LEAST)
    return dm_hint(dm_fail(DM_E_USAGE, "--by smallest applies to --top"),
                   "--below keeps what is smaller than a number");
  if (dm_given(s, "max-elements") && r->kind != DM_REDUCE_BEYOND)
    return dm_hint(dm_fail(DM_E_USAGE, "--max-elements changes nothing here"),
                   "it applies to --above and --below");
  if (r->no_self && !s->gram)
    return dm_hint(dm_fail(DM_E_USAGE, "--no-self changes nothing here"),
                   "it applies to gram, cov and cor of one matrix");
  if (r->no_self && r->kind == DM_REDUCE_DIAGONAL)
    return dm_fail(DM_E_USAGE, "--no-self leaves out the diagonal, and nothing else is kept");
  return DM_OK;
}

/* C has no elements of its own in a file. */
static dm_status check_form(const dm_settings *s) {
  static const char *const options[] = {
      "append",   "chunk",         "deflate",    "zstd",
      "shuffle",  "triangle",      "checkpoint", "checkpoint-interval",
      "write-by", "on-corruption", NULL};
  for (int i = 0; options[i]; i++)
    if (dm_given(s, options[i]))
      return dm_hint(dm_fail(DM_E_USAGE, "--%s applies to a C that is stored", options[i]),
                     "a reduction is written as plain arrays to a file of its own");
  if (s->missing == (int)DM_MISSING_PAIRWISE)
    return dm_hint(dm_fail(DM_E_USAGE, "--missing pairwise makes a C that is stored"),
                   "--missing mean and complete can be reduced");
  if (s->verify_files || dm_given(s, "verify-written"))
    return dm_fail(DM_E_USAGE, "--verify-files and --verify-written apply to a C that is stored");
  if (s->reproducible)
    return dm_hint(dm_fail(DM_E_USAGE, "--reproducible applies to a C that is stored"),
                   "the tiles of a reduction, and with them the last bits, follow from the memory");
  return dm_output_is_npy(&s->output) ? dm_hint(dm_fail(DM_E_USAGE, "a .npy file holds one array"),
                                                "name an HDF5 file: -o C.h5")
                                      : DM_OK;
}

void dm_request_reduction_kind(const dm_settings *s, dm_reduction *r) {
  const bool above = dm_given(s, "above"), below = dm_given(s, "below");
  const dm_reduction_kind number =
      s->reduce == 0 ? DM_REDUCE_NONE : (dm_reduction_kind)(DM_REDUCE_MAX + s->reduce - 1);
  *r = (dm_reduction){.kind = s->top > 0         ? DM_REDUCE_TOP
                              : (above || below) ? DM_REDUCE_BEYOND
                                                 : number,
                      .by_columns = s->each != 0,
                      .by = (dm_reduce_by)s->by,
                      .top = s->top,
                      .threshold = above ? s->above : s->below,
                      .below = below,
                      .no_self = s->no_self,
                      .most = s->max_elements};
}

dm_status dm_request_reduction(const dm_settings *s, dm_reduction *r) {
  const bool above = dm_given(s, "above"), below = dm_given(s, "below");
  dm_request_reduction_kind(s, r);
  if ((s->top > 0) + above + below + (s->reduce != 0) > 1)
    return dm_fail(DM_E_USAGE, "only one of --top, --above, --below and --reduce can be given");
  DM_TRY(check_details(s, r));
  const char *only = dm_given(s, "each") ? "each" : r->no_self ? "no-self" : NULL;
  if (only && r->kind == DM_REDUCE_NONE)
    return dm_hint(dm_fail(DM_E_USAGE, "--%s changes nothing here", only),
                   "it applies to --top, --above, --below and --reduce");
  return r->kind == DM_REDUCE_NONE ? DM_OK : check_form(s);
}
