#include "measure/info.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "comm/comm.h"
#include "core/buffer.h"
#include "core/version.h"
#include "engine/tilings.h"
#include "io/inspect.h"
#include "measure/info_kernels.h"
#include "run/facts.h"
#include "transport/transport.h"

static void join_kernels(const dm_backend_ops *ops, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  const char *const *names = ops->kernels();
  for (int i = 0; names[i] && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
}

static void record_device(const dm_backend_ops *ops, int rank, const dm_device *device,
                          dm_record *record) {
  char path[64], memory[32] = "";
  snprintf(path, sizeof path, "backends.%s.device_%d", ops->name, rank);
  if (ops->device_memory)
    snprintf(memory, sizeof memory, ", %.0f GiB", (double)device->memory_total / 0x1p30);
  dm_record_text(record, path, "  device", "%s%s%s%s; %s", device->name, memory,
                 device->id[0] ? ", " : "", device->id, device->library);
  snprintf(path, sizeof path, "backends.%s.advice_%d", ops->name, rank);
  if (device->advice[0]) dm_record_text(record, path, "  advice", "%s", device->advice);
}

/* One device of a backend: opened only to be asked. */
static dm_status describe_device(const dm_backend_ops *ops, int rank, int ranks,
                                 dm_record *record) {
  dm_backend_config config = {.local_rank = rank, .local_ranks = ranks, .kernel = "auto"};
  dm_backend *backend;
  DM_TRY(dm_backend_open(ops, &config, &backend));
  dm_device device;
  dm_status status = dm_backend_device(backend, &device);
  if (!status) record_device(ops, rank, &device, record);
  char path[64];
  snprintf(path, sizeof path, "backends.%s.tilings_%d", ops->name, rank);
  if (!status && ops->jit) dm_tilings_describe(backend, path, record);
  if (!status && ops->device_memory) status = dm_info_limits(backend, rank, record);
  /* The GPUs of a node are alike. */
  if (!status && ops->device_memory && rank == 0) dm_info_kernels(backend, record);
  dm_backend_close(backend);
  return status;
}

static dm_status describe_backend(const dm_backend_ops *ops, dm_record *record) {
  char path[64], label[64];
  snprintf(path, sizeof path, "backends.%s.about", ops->name);
  snprintf(label, sizeof label, "backend %s", ops->name);
  if (ops->not_built) {
    dm_record_text(record, path, label, "not built: %s", ops->not_built);
    return DM_OK;
  }
  char kernels[1024];
  join_kernels(ops, kernels, sizeof kernels);
  dm_record_text(record, path, label, "%s; kernels %s", ops->about, kernels);
  int count = ops->device_memory ? dm_backend_device_count(ops) : 1;
  if (count == 0) dm_record_text(record, path, "  device", "no GPU is visible");
  for (int i = 0; i < count; i++) DM_TRY(describe_device(ops, i, count, record));
  return DM_OK;
}

dm_status dm_info_program(dm_record *record) {
  dm_record_text(record, "build.version", "damier", "%s (git %s)", DM_VERSION, DM_GIT);
  dm_facts_record(NULL, true, record);
  dm_record_integer(record, "machine.memory_free_bytes", "  free", DM_SHOWN_BYTES,
                    dm_memory_available());
  for (int i = 0; dm_backend_all()[i]; i++) DM_TRY(describe_backend(dm_backend_all()[i], record));
  for (int i = 0; dm_transport_all()[i]; i++) {
    const dm_transport_ops *ops = dm_transport_all()[i];
    char path[64], label[64];
    snprintf(path, sizeof path, "transports.%s", ops->name);
    snprintf(label, sizeof label, "transport %s", ops->name);
    dm_record_text(record, path, label, "%s%s", ops->not_built ? "not built: " : "",
                   ops->not_built ? ops->not_built : ops->about);
  }
  return DM_OK;
}

dm_status dm_info_dataset(const dm_dataset *dataset, const dm_attributes *provenance,
                          dm_record *record) {
  char layout[200];
  dm_io_describe(dataset, layout, sizeof layout);
  dm_record_text(record, "dataset.name", "dataset", "%s:%s", dataset->at.file, dataset->at.dataset);
  dm_record_text(record, "dataset.shape", "shape", "%lld x %lld", (long long)dataset->rows,
                 (long long)dataset->cols);
  dm_record_integer(record, "dataset.rows", NULL, DM_SHOWN_PLAIN, dataset->rows);
  dm_record_integer(record, "dataset.cols", NULL, DM_SHOWN_PLAIN, dataset->cols);
  dm_record_text(record, "dataset.type", "type", "%s%s", dm_dtype_name(dataset->dtype),
                 dataset->swapped ? ", other byte order" : "");
  dm_record_text(record, "dataset.layout", "layout", "%s", layout);
  dm_record_integer(record, "dataset.stored_bytes", "stored", DM_SHOWN_BYTES,
                    dataset->stored_bytes);
  for (int i = 0; provenance && i < provenance->count; i++) {
    char path[64], label[64];
    snprintf(path, sizeof path, "provenance.%s", provenance->list[i].name);
    snprintf(label, sizeof label, "  %s", provenance->list[i].name);
    dm_record_text(record, path, label, "%s", provenance->list[i].text);
  }
  return DM_OK;
}
