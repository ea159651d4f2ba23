#include "bench/kernel_table.h"

#include <math.h>
#include <string.h>

#include "backend/cuda.h"
#include "core/units.h"

enum { NAME_WIDTH = 26 };

static bool same_group(const dm_kernel_result *a, const dm_kernel_result *b) {
  return a->kernel->op == b->kernel->op && a->type == b->type &&
         memcmp(&a->size, &b->size, sizeof a->size) == 0;
}

static void print_title(const dm_kernel_result *r, FILE *out) {
  const dm_kernel_size *s = &r->size;
  fprintf(out, "\n%s %s, %lld x %lld", dm_kernel_op_name(r->kernel->op), dm_operand_name(r->type),
          (long long)s->m, (long long)s->n);
  if (r->kernel->op == DM_GEMM) fprintf(out, " x %lld", (long long)s->k);
  if (r->wanted->pad > 0) fprintf(out, ", rows padded by %lld", (long long)r->wanted->pad);
  if (r->kernel->op == DM_GEMM && r->wanted->accumulate) fputs(", C += A B", out);
  if (r->kernel->op == DM_GEMM && r->wanted->along_k) fputs(", cublas with B along k", out);
  fputs(r->check.rows < r->check.of_rows ? ", checked in a sample of rows\n" : "\n", out);
  fprintf(out, "%-*s  %-5s %9s %9s", NAME_WIDTH, "kernel", "check", "error", "of limit");
  if (r->wanted->check_only) {
    fputc('\n', out);
    return;
  }
  fprintf(out, " %10s %16s %7s [%6s, %6s] %8s %5s %5s %4s %s\n", "time", "rate",
          dm_kernel_yardstick(r->kernel->op, false), "95 %", "", "of bound", "MHz", "W", "C",
          "timed by");
}

/* VALUE in WIDTH characters, or a dash if it is unknown. */
static void print_number(double value, int width, int digits, FILE *out) {
  if (isfinite(value))
    fprintf(out, " %*.*f", width, digits, value);
  else
    fprintf(out, " %*s", width, "-");
}

static void print_timing(const dm_kernel_result *r, FILE *out) {
  const dm_timing *t = &r->timing;
  char time[32], rate[32];
  if (r->kernel->op == DM_GEMM)
    dm_format_flops(r->load.flops / t->kernel.median, rate);
  else
    dm_format_rate(r->load.bytes / t->kernel.median, rate);
  fprintf(out, " %10s %16s %7.4f [%6.4f, %6.4f]", dm_format_seconds(t->kernel.median, time), rate,
          t->share.median, t->share.low, t->share.high);
  print_number(100.0 * r->bound_s / t->kernel.median, 6, 1, out);
  fputs(isfinite(r->bound_s) ? " %" : "  ", out);
  print_number(1e-6 * t->sensors.clock, 5, 0, out);
  print_number(t->sensors.power, 5, 0, out);
  print_number(t->sensors.temperature, 4, 0, out);
  fprintf(out, " %s%s", t->graph ? "graph" : "launches", t->settled ? "" : ", not settled");
}

void dm_cli_print_kernel(const dm_kernel_result *r, const dm_kernel_result *last, FILE *out) {
  if (!last || !same_group(r, last)) print_title(r, out);
  const double of_limit = r->check.most == 0.0 ? 0.0 : r->check.most / r->check.bound;
  fprintf(out, "%-*s  %-5s %9.3g %9.2g", NAME_WIDTH, r->kernel->name,
          dm_kernel_result_pass(r) ? "ok" : "WRONG", r->check.most, of_limit);
  if (r->timing.done) print_timing(r, out);
  fputc('\n', out);
  fflush(out);
}

void dm_cli_print_kernel_list(const bool chosen[DM_KERNEL_COUNT], FILE *out) {
  fprintf(out, "%-*s  %-9s %-34s %-13s %s\n", NAME_WIDTH, "kernel", "op", "types", "capability",
          "description");
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    char types[64], capability[32];
    if (!chosen[i]) continue;
    const char *limits = kernel->limits ? kernel->limits : "";
    fprintf(out, "%-*s  %-9s %-34s %-13s %s%s%s\n", NAME_WIDTH, kernel->name,
            dm_kernel_op_name(kernel->op), dm_kernel_types_text(kernel->types, types),
            dm_kernel_capability(kernel, capability), kernel->about, limits[0] ? "; " : "", limits);
  }
}
