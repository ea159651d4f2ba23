/* Cancelled reads by threads: destinations are not written any more. */
#include "file_cases.h"
#include "io/file_queue.h"

enum { MEMORY = 1 << 24 };

static dm_status stop_at_once(void *context) {
  ++*(int *)context;
  return dm_fail(DM_E_STOPPED, "enough");
}

/* Reads that were posted but not awaited write nothing after the queue is closed. */
TEST(test_cancelling) {
  enum { SIDE = 3000 };
  dm_location location = at(*state, "long.h5");
  write_file(location.file, DM_F64, SIDE, SIDE, &(file_form){.swapped = true});
  dm_dataset d = inspected(&location);
  double *got = calloc(SIDE, SIDE * sizeof *got), *then = malloc(SIDE * SIDE * sizeof *got);
  dm_view view = dm_view_row_major(got, DM_F64, SIDE, SIDE);
  for (int threads = 0; threads < 4; threads++) {
    dm_file_queue *ahead;
    dm_reader *reader;
    dm_transfer *reading;
    int beats = 0;
    ok(dm_file_queue_open(threads, MEMORY, &ahead));
    ok(dm_reader_open(&d, DM_DTYPE_NONE, &reader));
    memset(got, 0, SIDE * SIDE * sizeof *got);
    ok(dm_file_queue_read(ahead, reader, 0, 0, &view, 1, false, &reading));
    fails(dm_transfer_wait(reading, &(dm_keepalive){stop_at_once, &beats}), DM_E_STOPPED, "enough");
    assert_int_equal(beats, 1);
    if (threads % 2) dm_file_queue_cancel(ahead);
    if (!(threads % 2)) dm_file_queue_close(ahead);
    memcpy(then, got, SIDE * SIDE * sizeof *got);
    usleep(20000);
    assert_memory_equal(then, got, SIDE * SIDE * sizeof *got);
    if (threads % 2) {
      dm_reader_share_threads(reader, ahead);
      fails(dm_reader_read(reader, 0, 0, &view, 1, false), DM_E_BUG, "cancelled");
      dm_file_queue_close(ahead);
    }
    dm_reader_close(reader);
  }
  free(got);
  free(then);
}

RUN_ALL_IN_FOLDER(test_io_cancel)
