/* What is kept of C, from the options that state it. */
#include "options/request.h"

#include <math.h>

/* Options that say how a reduction is made, and of which kinds. */
static dm_status check_details(const dm_settings *s, const dm_reductions *kept) {
  bool lists = false, beyond = false, diagonal = false;
  for (int i = 0; i < kept->count; i++) {
    const dm_reduction_kind kind = kept->list[i].kind;
    beyond |= kind == DM_REDUCE_BEYOND;
    lists |= kind == DM_REDUCE_BEYOND || kind == DM_REDUCE_TOP;
    diagonal |= kind == DM_REDUCE_DIAGONAL;
  }
  if (dm_given(s, "by") && !lists)
    return dm_hint(dm_fail(DM_E_USAGE, "--by changes nothing here"),
                   "it applies to --top, --above and --below");
  if (beyond && s->by == (int)DM_BY_LEAST)
    return dm_hint(dm_fail(DM_E_USAGE, "--by smallest applies to --top"),
                   "--below keeps what is smaller than a number");
  if (dm_given(s, "max-elements") && !beyond)
    return dm_hint(dm_fail(DM_E_USAGE, "--max-elements changes nothing here"),
                   "it applies to --above and --below");
  if (s->no_self && !s->gram)
    return dm_hint(dm_fail(DM_E_USAGE, "--no-self changes nothing here"),
                   "it applies to gram, cov and cor of one matrix");
  if (s->no_self && diagonal)
    return dm_fail(DM_E_USAGE, "--no-self leaves out the diagonal, and --reduce diagonal keeps it");
  return DM_OK;
}

/* C has no elements of its own in a file. */
static dm_status check_form(const dm_settings *s) {
  static const char *const options[] = {"append",   "chunk",    "deflate",       "zstd", "shuffle",
                                        "triangle", "write-by", "on-corruption", NULL};
  for (int i = 0; options[i]; i++)
    if (dm_given(s, options[i]))
      return dm_hint(dm_fail(DM_E_USAGE, "--%s applies to a C that is stored", options[i]),
                     "a reduction is written as plain arrays to a file of its own");
  if (s->missing == (int)DM_MISSING_PAIRWISE)
    return dm_hint(dm_fail(DM_E_USAGE, "--missing pairwise makes a C that is stored"),
                   "--missing mean and complete can be reduced");
  if (s->verify_files || dm_given(s, "verify-written"))
    return dm_fail(DM_E_USAGE, "--verify-files and --verify-written apply to a C that is stored");
  return dm_output_is_npy(&s->output) ? dm_hint(dm_fail(DM_E_USAGE, "a .npy file holds one array"),
                                                "name an HDF5 or .npz file: -o C.h5")
                                      : DM_OK;
}

/* The first of a list: of distances the nearest, unless something else is stated. */
static dm_reduce_by order_of(const dm_settings *s, dm_reduction_kind kind) {
  const bool distances = s->metric.kind == DM_EUCLIDEAN || s->metric.kind == DM_SQEUCLIDEAN;
  return kind == DM_REDUCE_TOP && distances && !dm_given(s, "by") ? DM_BY_LEAST
                                                                  : (dm_reduce_by)s->by;
}

static void add_kept(const dm_settings *s, dm_reduction what, dm_reductions *kept) {
  what.by_columns = s->each != 0;
  what.by = order_of(s, what.kind);
  what.no_self = s->no_self;
  what.most = s->max_elements;
  what.sparse = what.kind == DM_REDUCE_TOP && dm_output_is_npz(&s->output);
  kept->list[kept->count++] = what;
}

void dm_request_kept(const dm_settings *s, dm_reductions *kept) {
  *kept = (dm_reductions){.count = 0};
  if (s->top > 0) add_kept(s, (dm_reduction){.kind = DM_REDUCE_TOP, .top = s->top}, kept);
  if (dm_given(s, "above"))
    add_kept(s, (dm_reduction){.kind = DM_REDUCE_BEYOND, .threshold = s->above}, kept);
  if (dm_given(s, "below"))
    add_kept(s, (dm_reduction){.kind = DM_REDUCE_BEYOND, .threshold = s->below, .below = true},
             kept);
  for (int kind = DM_REDUCE_MAX; kind <= (int)DM_REDUCE_DIAGONAL; kind++)
    if (s->reduce & 1 << kind) add_kept(s, (dm_reduction){.kind = (dm_reduction_kind)kind}, kept);
}

dm_status dm_request_reductions(const dm_settings *s, dm_reductions *kept) {
  dm_request_kept(s, kept);
  DM_TRY(check_details(s, kept));
  const char *only = dm_given(s, "each") ? "each" : s->no_self ? "no-self" : NULL;
  if (only && kept->count == 0)
    return dm_hint(dm_fail(DM_E_USAGE, "--%s changes nothing here", only),
                   "it applies to --top, --above, --below and --reduce");
  int lists = 0;
  for (int i = 0; i < kept->count; i++)
    lists += kept->list[i].kind == DM_REDUCE_TOP || kept->list[i].kind == DM_REDUCE_BEYOND;
  if (dm_output_is_npz(&s->output) && lists > 1)
    return dm_hint(dm_fail(DM_E_USAGE, "a .npz file holds one sparse matrix, not %d", lists),
                   "an HDF5 file holds all: -o C.h5");
  return kept->count == 0 ? DM_OK : check_form(s);
}
