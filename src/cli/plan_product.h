/* plan_product: plans a product, and prints and records the plan, without computing it. */
#ifndef DM_CLI_PLAN_PRODUCT_H
#define DM_CLI_PLAN_PRODUCT_H

#include "cli/call.h"

/* Plans the product that CALL's operands and settings state, as "plan" and --dry-run do. */
dm_status dm_cli_plan_of(dm_call *call);

/* The same, with the exit code; only one rank of a job prints. */
int dm_cli_plan_product(dm_call *call);

#endif
