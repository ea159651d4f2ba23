#include "programs/gpu_memory.h"

#include <string.h>

#include "core/checked.h"
#include "io/file_queue.h"

enum { GPU_STRIP_BYTES = 1 << 25 /* that are read at once */ };

const dm_backend_ops *dm_gpu_ops(const dm_run *run, const dm_engine_options *engine, double flops,
                                 dm_dtype work) {
  const bool automatic = strcmp(engine->backend, "auto") == 0;
  const dm_backend_ops *ops = NULL;
  if (automatic && engine->once && dm_gpu_is_late(flops, work, run->cores.threads)) return NULL;
  if (!run->stays) dm_backend_use_one_gpu();
  if (!automatic) dm_status_free(dm_backend_find(engine->backend, &ops));
  if (automatic) ops = dm_backend_auto();
  return ops && ops->device_memory && dm_backend_device_count(ops) > 0 ? ops : NULL;
}

dm_status dm_gpu_open(dm_run *run, const dm_backend_ops *ops, dm_in_place *place) {
  const dm_backend_config config = {.local_rank = run->gpu,
                                    .local_ranks = run->local_ranks,
                                    .threads = run->cores.threads,
                                    .kernel = "auto",
                                    .whole = true};
  dm_run_phase(run, "starting a GPU", 1);
  DM_TRY(dm_backend_open(ops, &config, &place->gpu));
  run->has_used_gpu = true;
  return dm_backend_device(place->gpu, &place->device[1]);
}

/* Reads SET into TO, strip by strip: one is copied while the next is read. */
typedef struct gpu_loading {
  dm_run *run;
  dm_backend *backend;
  dm_reader *reader;
  dm_file_queue *queue;
  dm_view to;
  int64_t rows;         /* of a strip */
  void *strip[2];       /* pinned */
  dm_event copied[2];   /* out of these */
  dm_transfer *read[2]; /* into these */
} gpu_loading;

static dm_view gpu_strip(const gpu_loading *l, int64_t i) {
  const int64_t row = i * l->rows, rows = dm_min(l->rows, l->to.rows - row);
  return dm_view_row_major(l->strip[i % 2], l->to.dtype, rows, l->to.cols);
}

static dm_status gpu_read_strip(gpu_loading *l, int64_t i) {
  const dm_view strip = gpu_strip(l, i);
  DM_TRY(dm_backend_wait(l->backend, l->copied[i % 2]));
  return dm_file_queue_read(l->queue, l->reader, i * l->rows, 0, &strip, 1, false, &l->read[i % 2]);
}

static dm_status gpu_copy_strips(gpu_loading *l) {
  dm_backend *backend = l->backend;
  const int64_t count = dm_ceil_div(l->to.rows, l->rows);
  DM_TRY(gpu_read_strip(l, 0));
  for (int64_t i = 0; i < count; i++) {
    if (i + 1 < count) DM_TRY(gpu_read_strip(l, i + 1));
    DM_TRY(dm_transfer_wait(l->read[i % 2], &l->run->keepalive));
    const dm_view strip = gpu_strip(l, i);
    DM_TRY(dm_backend_copy(backend, dm_view_sub(l->to, i * l->rows, 0, strip.rows, strip.cols),
                           strip, &l->copied[i % 2]));
  }
  for (int i = 0; i < 2; i++) DM_TRY(dm_backend_wait(backend, l->copied[i]));
  return DM_OK;
}

static dm_status gpu_read(dm_run *run, const dm_engine_options *engine, dm_backend *backend,
                          const dm_dataset *set, int64_t host_bytes, dm_view to) {
  const int64_t row = to.cols * dm_dtype_size(to.dtype);
  gpu_loading l = {.run = run, .backend = backend, .to = to};
  const int64_t bytes = dm_min(GPU_STRIP_BYTES, host_bytes);
  l.rows = dm_min(to.rows, dm_max(1, bytes / dm_max(1, row)));
  dm_status status = dm_reader_open(set, DM_DTYPE_NONE, &l.reader);
  if (!status)
    status =
        dm_file_queue_open(dm_run_io_threads(run, engine->io_threads), DM_READ_MEMORY, &l.queue);
  for (int i = 0; i < 2 && !status; i++)
    status = dm_backend_alloc(backend, DM_HOST, l.rows * row, &l.strip[i]);
  if (!status) status = gpu_copy_strips(&l);
  dm_file_queue_close(l.queue);
  for (int i = 0; i < 2; i++) {
    if (status) dm_status_free(dm_backend_wait(backend, l.copied[i]));
    dm_backend_release(backend, DM_HOST, l.strip[i]);
  }
  dm_reader_close(l.reader);
  return status;
}

dm_status dm_gpu_load(dm_run *run, const dm_engine_options *engine, dm_backend *backend,
                      const dm_dataset *set, int64_t host_bytes, dm_memory_matrix *to,
                      void **memory) {
  const int64_t line = dm_device_stride(set->cols, set->dtype);
  int64_t bytes;
  *to = (dm_memory_matrix){.division = DM_ON_ONE,
                           .dtype = set->dtype,
                           .rows = set->rows,
                           .cols = set->cols,
                           .row_stride = line,
                           .col_stride = 1,
                           .on_gpu = true};
  DM_TRY(dm_bytes_of(set->rows, line, dm_dtype_size(set->dtype), &bytes));
  DM_TRY(dm_backend_alloc(backend, DM_DEVICE, bytes, memory));
  to->data = *memory;
  return gpu_read(run, engine, backend, set, host_bytes, dm_gpu_view(to));
}

dm_status dm_gpu_find(dm_run *run, dm_backend *backend, const dm_memory_matrix *stated,
                      const char *name, dm_memory_matrix *to, bool *on_gpu) {
  dm_distributed found;
  DM_TRY(dm_distributed_open(run->world, stated, name, &found));
  *on_gpu = found.local.space == DM_DEVICE;
  dm_status status = *on_gpu ? dm_distributed_reach(&found, backend, name) : DM_OK;
  *to = *stated;
  to->stream = NULL; /* it was waited for */
  dm_distributed_close(&found);
  return status;
}
