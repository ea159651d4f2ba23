#include "io/transfer.h"

#include "core/buffer.h"
#include "core/checked.h"

/* Bytes, on x86-64 and most Arm systems; one for each thread is made ahead of what is posted. */
enum { TRANSFER_HUGE_PAGE = 2 << 20 };

/* A huge page that a thread makes. */
typedef struct dm_page {
  dm_pool_task task; /* first */
  dm_pool *pool;
  dm_transfer *transfer;
  void *base;
} dm_page;

static dm_status transfer_run(dm_pool_task *task, dm_scratch *scratch) {
  const dm_page *page = (const dm_page *)task;
  (void)scratch;
  (void)dm_populate(page->base, TRANSFER_HUGE_PAGE, true); /* if not, whoever uses it makes it */
  dm_pool_lock(page->pool);
  dm_transfer_arrived(page->transfer);
  dm_pool_unlock(page->pool);
  return DM_OK;
}

/* Whole huge pages of VIEW that begin in rows [first, end), from *BASE on; 0: it has gaps. */
static int64_t huge_pages(dm_view view, int64_t first, int64_t end, char **base) {
  const int64_t row = view.cols * dm_dtype_size(view.dtype);
  const int64_t before = -(int64_t)((uintptr_t)view.base % TRANSFER_HUGE_PAGE);
  const int64_t from = dm_ceil_div(first * row - before, TRANSFER_HUGE_PAGE);
  const int64_t to = dm_min(dm_ceil_div(end * row - before, TRANSFER_HUGE_PAGE),
                            (view.rows * row - before) / TRANSFER_HUGE_PAGE);
  *base = (char *)view.base + before + from * TRANSFER_HUGE_PAGE;
  return dm_view_is_packed(view) ? dm_max(0, to - from) : 0;
}

static dm_status new_tasks(dm_transfer *transfer) {
  int64_t most = 0;
  for (int64_t i = 0; i < transfer->request.count; i++) {
    char *base;
    most += huge_pages(transfer->views[i], 0, transfer->views[i].rows, &base);
  }
  return dm_buffer_table(most, &transfer->page);
}

dm_status dm_transfer_make_pages(dm_transfer *transfer, dm_pool *pool, int64_t rows) {
  const int threads = dm_pool_threads(pool);
  if (!transfer->reader || transfer->request.turned || threads < 2) return DM_OK;
  for (; transfer->parent; transfer = transfer->parent)
    rows += transfer->request.row - transfer->parent->request.part.row;
  const dm_read_request *request = &transfer->request;
  const int64_t row = request->part.cols * dm_dtype_size(transfer->views[0].dtype);
  const int64_t end =
      dm_min(request->part.rows, rows + threads * dm_ceil_div(TRANSFER_HUGE_PAGE, row));
  if (!transfer->page) DM_TRY(new_tasks(transfer));
  for (int64_t i = 0; i < request->count && end > transfer->paged_rows; i++) {
    char *base;
    int64_t left = huge_pages(transfer->views[i], transfer->paged_rows, end, &base);
    for (; left > 0; left--, base += TRANSFER_HUGE_PAGE) {
      dm_page *page = &transfer->page[transfer->pages++];
      *page = (dm_page){
          .task = {.run = transfer_run}, .pool = pool, .transfer = transfer, .base = base};
      dm_pool_lock(pool);
      dm_transfer_expect(transfer, 1);
      dm_pool_unlock(pool);
      dm_pool_post(pool, &page->task);
    }
  }
  transfer->paged_rows = dm_max(end, transfer->paged_rows);
  return DM_OK;
}
