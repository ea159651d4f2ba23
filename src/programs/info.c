#include "programs/info.h"
#include "dataset/dataset_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/harness.h"
#include "comm/comm.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/units.h"
#include "core/version.h"
#include "inspect/inspect.h"
#include "io/output_tiles.h"
#include "run/facts.h"
#include "transport/transport.h"

/* ---- GPUs ---- */

static char *path_of(char path[96], int index, const char *name) {
  snprintf(path, 96, "backends.cuda.device_%d_%s", index, name);
  return path;
}

/* Records the limits of kernels on GPU number INDEX. */
static dm_status record_limits(dm_backend *backend, int index, dm_record *record) {
  dm_harness_limits l;
  char path[96], bytes[32];
  DM_TRY(dm_harness_limits_of(backend, &l));
  dm_record_text(record, path_of(path, index, "multiprocessors"), "    multiprocessors",
                 "%d at up to %.0f MHz, compute capability %d.%d", l.processors, 1e-6 * l.clock,
                 l.capability / 10, l.capability % 10);
  dm_record_text(record, path_of(path, index, "multiprocessor"), "      each",
                 "%d threads, %d blocks, %d registers, %s shared memory", l.threads, l.blocks,
                 l.registers, dm_format_bytes(l.shared, bytes));
  dm_record_text(record, path_of(path, index, "block"), "      a block",
                 "at most %d threads, %s shared memory", l.threads_of_block,
                 dm_format_bytes(l.shared_of_block, bytes));
  dm_record_text(record, path_of(path, index, "memory"), "    memory",
                 "L2 cache %s; %d bits at %.0f MHz", dm_format_bytes(l.l2, bytes), l.memory_width,
                 1e-6 * l.memory_clock);
  return DM_OK;
}

/* ---- the program ---- */

static void join_kernels(const dm_backend_ops *ops, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  const char *const *names = ops->kernel_names();
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

/* Opens one device of a backend only to query it. */
static dm_status describe_device(const dm_backend_ops *ops, int rank, int ranks,
                                 dm_record *record) {
  dm_backend_config config = {.local_rank = rank, .local_ranks = ranks, .kernel = "auto"};
  dm_backend *backend;
  DM_TRY(dm_backend_open(ops, &config, &backend));
  dm_device device;
  dm_status status = dm_backend_device(backend, &device);
  if (!status) record_device(ops, rank, &device, record);
  if (!status && ops->device_memory) status = record_limits(backend, rank, record);
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

/* ---- files ---- */

void dm_info_listing(const dm_location *at, const dm_listing *listing, dm_record *record) {
  static const char *const names[] = {"name", "shape", "type", "layout", "refused"};
  int64_t width = 0;
  for (int64_t i = 0; i < listing->count; i++)
    width = dm_max(width, (int64_t)strlen(listing->list[i].shape));
  dm_record_text(record, "file.name", "file", "%s", at->file);
  dm_record_integer(record, "file.count", "datasets", DM_SHOWN_PLAIN, listing->all);
  for (int64_t i = 0; i < listing->count; i++) {
    const dm_listed *d = &listing->list[i];
    const char *const texts[] = {d->name, d->shape, d->type, d->layout, d->refused};
    char label[DM_PATH + 8], line[1200];
    snprintf(label, sizeof label, "  %s", d->name);
    snprintf(line, sizeof line, "%-*s%s%s%s%s", (int)width, d->shape, width ? "  " : "", d->type,
             d->type[0] && d->layout[0] ? ", " : "", d->layout);
    dm_record_object(record, "file.datasets", label, line, names, texts, 5);
    if (d->refused[0]) dm_record_line(record, "", d->refused);
  }
}

/* The shape in the program that wrote it, with the dimensions in its order. */
static void record_origin(const dm_dataset *dataset, dm_record *record) {
  char path[64], label[64], shape[DM_SHAPE_TEXT];
  const char *who = dm_origin_name(dataset->origin);
  const dm_leads *leads = &dataset->leads;
  dm_axes axes = {.count = leads->count + 2};
  if (dataset->origin == DM_ORIGIN_UNKNOWN) return;
  axes.extent[0] = dataset->cols;
  axes.extent[1] = dataset->rows / dm_leads_entries(leads);
  for (int i = 0; i < leads->count; i++) axes.extent[2 + i] = leads->extent[leads->count - 1 - i];
  int used = snprintf(path, sizeof path, "dataset.in_");
  for (; *who; who++) path[used++] = (char)tolower((unsigned char)*who);
  path[used] = '\0';
  snprintf(label, sizeof label, "in %s", dm_origin_name(dataset->origin));
  dm_record_text(record, path, label, "%s (docs/howto/order.md)%s", dm_axes_text(&axes, shape),
                 dataset->origin == DM_ORIGIN_ARMADILLO ? ", if it wrote it" : "");
}

/* The list of tiles in a file of C; a damaged one does not keep the rest from being shown. */
static dm_status record_list(const dm_dataset *dataset, dm_record *record) {
  DM_FREED dm_tile_record *tiles = NULL;
  int64_t count;
  dm_status status = dm_output_tiles_read(dataset, &tiles, &count);
  const bool damaged = status && status->code == DM_E_INPUT;
  if (status && !damaged) return status;
  dm_status_free(status);
  if (damaged) dm_record_text(record, "dataset.tiles", "tiles", "their checksums are damaged");
  if (count > 0)
    dm_record_text(record, "dataset.tiles", "tiles", "checksums of %lld tiles", (long long)count);
  return DM_OK;
}

dm_status dm_info_dataset(const dm_dataset *dataset, const dm_attributes *provenance,
                          dm_record *record) {
  char layout[200], name[DM_NAME], shape[DM_SHAPE_TEXT];
  dm_dataset_describe(dataset, layout, sizeof layout);
  dm_record_text(record, "dataset.name", "dataset", "%s", dm_location_name(&dataset->at, name));
  dm_record_text(record, "dataset.shape", "shape", "%s", dm_dataset_text(dataset, shape));
  dm_record_integer(record, "dataset.rows", NULL, DM_SHOWN_PLAIN, dataset->rows);
  dm_record_integer(record, "dataset.cols", NULL, DM_SHOWN_PLAIN, dataset->cols);
  if (dataset->vector != DM_NO_VECTOR)
    dm_record_text(record, "dataset.vector", NULL, "%s",
                   dataset->vector == DM_AS_COLUMN ? "column" : "row");
  record_origin(dataset, record);
  dm_record_text(record, "dataset.type", "type", "%s%s", dm_dtype_name(dataset->dtype),
                 dataset->swapped ? ", other byte order" : "");
  dm_record_text(record, "dataset.value_type", NULL, "%s", dm_dtype_name(dm_dataset_type(dataset)));
  dm_record_text(record, "dataset.layout", "layout", "%s", layout);
  char meaning[DM_MEANING_TEXT + 64];
  dm_dataset_describe_meaning(dataset, meaning, sizeof meaning);
  if (meaning[0]) dm_record_text(record, "dataset.meaning", "values", "%s", meaning);
  if (dataset->meaning.warning[0])
    dm_record_text(record, "dataset.beside", "beside them", "%s", dataset->meaning.warning);
  dm_record_integer(record, "dataset.stored_bytes", "stored", DM_SHOWN_BYTES,
                    dataset->stored_bytes);
  if (provenance && dm_attributes_find(provenance, DM_TILES_HASH))
    DM_TRY(record_list(dataset, record));
  for (int i = 0; provenance && i < provenance->count; i++) {
    char path[64], label[64];
    snprintf(path, sizeof path, "provenance.%s", provenance->list[i].name);
    snprintf(label, sizeof label, "  %s", provenance->list[i].name);
    const char *text = provenance->list[i].text; /* "": the option was not set */
    dm_record_text(record, path, text[0] ? label : NULL, "%s", text);
  }
  return DM_OK;
}
