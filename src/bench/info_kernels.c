#include "bench/info_kernels.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda.h"
#include "bench/bench_kernels_impl.h"
#include "core/units.h"

enum { SIDE = 1024, SHOWN = 2 }; /* SHOWN: types in the table; the record has all */

/* Records one kernel in one type, and, unless NULL, adds a few words to LINE. */
static dm_status add_type(dm_backend *backend, dm_lab *lab, const dm_kernel *kernel,
                          dm_operand type, char *line, dm_record *record) {
  const dm_bench_kernels plain = {0};
  const char *name = dm_operand_name(type);
  dm_lab_occupancy o = {0};
  dm_bed bed = {
      .backend = backend, .lab = lab, .op = kernel->op, .type = type, .size = {SIDE, SIDE, SIDE}};
  dm_status status = dm_bed_open(&plain, NULL, 1, &bed);
  if (!status) {
    dm_lab_work work = bed.works[0];
    work.kernel = kernel;
    status = dm_lab_occupancy_of(lab, &work, &o);
  }
  dm_bed_close(&bed);
  DM_TRY(status);
  if (!o.known) return DM_OK;
  char path[128], shared[32];
  const char *const names[] = {"registers", "threads", "shared_bytes", "blocks"};
  const int64_t values[] = {o.registers, o.threads, o.shared, o.blocks};
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "backends.cuda.kernels.%s.%s.%s", kernel->name, name, names[i]);
    dm_record_integer(record, path, NULL, DM_SHOWN_PLAIN, values[i]);
  }
  snprintf(path, sizeof path, "backends.cuda.kernels.%s.%s.occupancy", kernel->name, name);
  dm_record_real(record, path, NULL, DM_SHOWN_PLAIN, o.occupancy);
  if (!line) return DM_OK;
  const size_t used = strlen(line);
  snprintf(line + used, 400 - used, "%s%s %.0f %% (%d x %d threads, %d registers, %s)",
           used ? "; " : "", name, 100.0 * o.occupancy, o.blocks, o.threads, o.registers,
           dm_format_bytes(o.shared, shared));
  return DM_OK;
}

static dm_status add_kernel(dm_backend *backend, dm_lab *lab, const dm_kernel *kernel,
                            dm_record *record) {
  char line[400] = "", label[64], path[96];
  snprintf(label, sizeof label, "  %s", kernel->name);
  snprintf(path, sizeof path, "backends.cuda.kernels.%s.about", kernel->name);
  if (kernel->maker == DM_BY_JIT) { /* compiling takes a second per type */
    dm_record_text(record, path, label, "compiled when it is asked for");
    return DM_OK;
  }
  for (int i = 0, count = 0; i < DM_KERNEL_TYPES; i++) {
    const dm_operand type = dm_kernel_types[i];
    if (!dm_kernel_takes(kernel, type)) continue;
    DM_TRY(add_type(backend, lab, kernel, type, count++ < SHOWN ? line : NULL, record));
  }
  dm_record_text(record, path, label, "%s", line[0] ? line : "not to be seen");
  return DM_OK;
}

void dm_info_kernels(dm_backend *backend, dm_record *record) {
  dm_lab *lab = NULL;
  dm_lab_limits limits;
  dm_status status = dm_lab_open(backend, &lab);
  if (!status) status = dm_lab_limits_of(backend, &limits);
  if (!status)
    dm_record_text(record, "backends.cuda.kernels.title", "kernels",
                   "occupancy (blocks x threads on a multiprocessor, registers of a thread, "
                   "shared memory of a block)");
  for (int i = 0; !status && i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (limits.capability >= kernel->first && limits.capability <= kernel->last)
      status = add_kernel(backend, lab, kernel, record);
  }
  dm_lab_close(lab);
  if (status)
    dm_record_text(record, "backends.cuda.kernels.failed", "  not known", "%s", status->message);
  dm_status_free(status);
}
