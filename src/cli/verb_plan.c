#include <string.h>

#include "cli/call.h"
#include "cli/plan_product.h"
#include "cli/session.h"
#include "options/request.h"

/* A C that is not stored, or of distances: what --dry-run of the product says, on the ranks that
 * there are. PRODUCT: "gram", ..., or "" of two matrices. */
static int plan_reduced(dm_call *call, const char *product) {
  static const char *const others[] = {"ranks", "machine", "slurm", "partition", "within"};
  const bool one = product[0] != '\0';
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (dm_cli_given(call, others[i]))
      return dm_cli_finish(
          call, dm_hint(dm_fail(DM_E_USAGE, "--%s does not apply to what is kept of C", others[i]),
                        "it is planned for this job: mpirun -n 4 damier plan ..."));
  if (call->operand_count != 2)
    return dm_cli_finish(call,
                         dm_hint(dm_fail(DM_E_USAGE, "what is kept of C is planned for files"),
                                 one ? "damier plan %s X.h5" : "damier plan A.h5 B.h5", product));
  if (one) {
    call->operands++;
    call->operand_count = 1;
  }
  call->own.dry_run = true;
  return strcmp(product, "gram") == 0  ? dm_cli_gram(call)
         : strcmp(product, "cov") == 0 ? dm_cli_cov(call)
         : strcmp(product, "cor") == 0 ? dm_cli_cor(call)
                                       : dm_cli_multiply(call);
}

/* "damier plan gram [X.h5]", or cov or cor: the product of X with itself. The pass of X for its
 * means is not forecast. */
static dm_status plan_itself(dm_call *call, const char *product) {
  const bool named = call->operand_count == 2;
  const char *x = named ? call->operands[1] : NULL, *twice[] = {x, x, NULL};
  call->operands = twice;
  call->operand_count = named ? 2 : 0;
  if (strcmp(product, "gram") == 0)
    dm_request_gram(&call->settings, call->own.of_rows != 0);
  else
    dm_request_covariance(&call->settings, call->own.of_rows != 0, strcmp(product, "cor") == 0,
                          false);
  return dm_cli_plan_of(call);
}

int dm_cli_plan(dm_call *call) {
  const char *first = call->operand_count > 0 ? call->operands[0] : "";
  const bool of_itself =
      strcmp(first, "gram") == 0 || strcmp(first, "cov") == 0 || strcmp(first, "cor") == 0;
  if (strcmp(first, "pca") == 0 || strcmp(first, "svd") == 0) return dm_cli_plan_components(call);
  if (dm_cli_is_reduced(call)) return plan_reduced(call, of_itself ? first : "");
  if (!dm_cli_speaks(call)) return 0; /* only one rank under mpirun */
  return dm_cli_finish(call, of_itself ? plan_itself(call, first) : dm_cli_plan_of(call));
}
