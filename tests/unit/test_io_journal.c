/* The journal of finished tiles: records are read back, a tile counts when all of its parts are
 * there, what is torn or damaged is dropped, and two runs never hold it at the same time. */
#include <fcntl.h>
#include <sys/stat.h>

#include "file_cases.h"
#include "io/journal.h"

/* The second and third record are appended together, and begin a block. */
enum { RECORDS = 3, BLOCK = 4096, SECOND = DM_JOURNAL_HEADER + BLOCK, SIZE = SECOND + 2 * 64 };

static dm_tile_record tile(int i) {
  return (dm_tile_record){
      .row = 100 * i, .col = 7, .rows = 100, .cols = 50, .checksum = ~0u + 5 * i};
}

static dm_attributes *facts(void) {
  static dm_attributes list;
  list.count = 0;
  ok(dm_attributes_add(&list, "m", "%d", 300));
  ok(dm_attributes_add(&list, "empty", "%s", ""));
  ok(dm_attributes_add(&list, "a_file", "line\nbreak M\xc3\xbc %01200d", 7));
  return &list;
}

static dm_journal *opened(const dm_location *location) {
  dm_journal *journal = NULL;
  bool locked = false;
  ok(dm_journal_open(location, &journal, &locked));
  assert_true(locked);
  return journal;
}

/* Writes a journal of three records; returns its path in PATH. */
static dm_location written(const char *folder, char path[DM_PATH + 16]) {
  dm_location location = at(folder, "C.h5:/c");
  snprintf(path, DM_PATH + 16, "%s.journal", location.file);
  unlink(path);
  dm_journal *journal = opened(&location);
  assert_int_equal(dm_journal_state_of(journal), DM_JOURNAL_NEW);
  assert_false(dm_journal_existed(journal));
  fails(dm_journal_append(journal, (dm_tile_record[1]){{0}}, 1), DM_E_BUG, "appended");
  assert_int_equal(dm_journal_last_run(journal), -1);
  ok(dm_journal_begin(journal, facts()));
  dm_tile_record list[] = {tile(0), tile(1), tile(2)};
  ok(dm_journal_append(journal, list, 1));
  ok(dm_journal_append(journal, list + 1, 2));
  dm_journal_close(journal);
  return location;
}

static bool is_tile(const dm_tile_record *record, int i) {
  const dm_tile_record one = tile(i);
  return record->row == one.row && record->col == one.col && record->rows == one.rows &&
         record->cols == one.cols && record->checksum == one.checksum;
}

/* All records but LOST, or the first COUNT. */
static void expect_records_but(const dm_journal *journal, int64_t wanted, int lost) {
  int64_t count;
  const dm_tile_record *list = dm_journal_tiles(journal, &count);
  assert_int_equal(count, wanted);
  for (int i = 0; i < count; i++) assert_true(is_tile(&list[i], i + (i >= lost)));
}

static void expect_records(const dm_journal *journal, int64_t wanted) {
  expect_records_but(journal, wanted, RECORDS);
}

/* Records in the first LENGTH bytes. */
static int records_in(int length) {
  return (length >= DM_JOURNAL_HEADER + 64) + (length >= SECOND + 64) + (length >= SIZE);
}

/* Its space is reserved before the work, and still there when the first tile is recorded. */
TEST(test_reserved) {
  dm_location location = at(*state, "reserved.h5:/c");
  struct stat info;
  dm_journal *journal = opened(&location);
  char path[DM_PATH + 16];
  snprintf(path, sizeof path, "%s.journal", location.file);
  assert_int_equal(stat(path, &info), 0);
  assert_true(info.st_size == 0 && info.st_blocks * 512 >= DM_JOURNAL_HEADER);
  const blkcnt_t blocks = info.st_blocks;
  ok(dm_journal_begin(journal, facts()));
  assert_int_equal(stat(path, &info), 0);
  assert_true(info.st_size == DM_JOURNAL_HEADER && info.st_blocks >= blocks);
  ok(dm_journal_remove(journal));
  dm_journal_close(journal);
}

TEST(test_round_trip) {
  char path[DM_PATH + 16];
  dm_location location = written(*state, path);
  dm_journal *journal = opened(&location);
  assert_int_equal(dm_journal_state_of(journal), DM_JOURNAL_PRESENT);
  expect_records(journal, RECORDS);
  assert_memory_equal(dm_journal_fields(journal), facts(), sizeof(dm_attributes));
  assert_true(dm_journal_existed(journal));
  ok(dm_journal_remove(journal));
  dm_journal_close(journal);
  assert_true(access(path, F_OK) < 0);
}

/* Truncated at every length: all complete records count; records appended later are found. */
TEST(test_torn_ends) {
  char path[DM_PATH + 16];
  dm_location location = written(*state, path);
  for (int length = SIZE; length >= 0; length -= length > DM_JOURNAL_HEADER ? 1 : FEWER) {
    assert_int_equal(truncate(path, length), 0);
    dm_journal *journal = opened(&location);
    bool present = length >= DM_JOURNAL_HEADER;
    assert_int_equal(dm_journal_state_of(journal), present ? DM_JOURNAL_PRESENT : DM_JOURNAL_NEW);
    if (present) expect_records(journal, records_in(length));
    dm_journal_close(journal);
  }
}

TEST(test_going_on_after_a_torn_end) {
  char path[DM_PATH + 16];
  for (int length = DM_JOURNAL_HEADER; length < SIZE;
       length += length < DM_JOURNAL_HEADER + 64 || length >= SECOND ? 1 : 63) {
    dm_location location = written(*state, path);
    assert_int_equal(truncate(path, length), 0);
    for (int i = records_in(length); i < RECORDS; i++) {
      dm_journal *journal = opened(&location);
      dm_tile_record next = tile(i);
      expect_records(journal, i);
      ok(dm_journal_append(journal, &next, 1));
      dm_journal_close(journal);
    }
    dm_journal *journal = opened(&location);
    expect_records(journal, RECORDS);
    dm_journal_close(journal);
  }
}

/* One bit in every byte of the header, every bit of every byte of the records. */
TEST(test_flipped_bits) {
  char path[DM_PATH + 16];
  dm_location location = written(*state, path);
  int fd = open(path, O_RDWR);
  for (int flip = 0; flip < DM_JOURNAL_HEADER + 8 * RECORDS * 64;
       flip += flip < DM_JOURNAL_HEADER ? FEWER : 1) {
    const int behind = flip - DM_JOURNAL_HEADER, lost = behind / 8 / 64;
    const int start = lost == 0 ? DM_JOURNAL_HEADER : SECOND - 64;
    const int byte = behind < 0 ? flip : start + behind / 8;
    unsigned char good, bad;
    dm_journal *journal;
    bool locked;
    assert_int_equal(pread(fd, &good, 1, byte), 1);
    bad = (unsigned char)(good ^ 1 << (behind < 0 ? flip * 5 % 8 : behind % 8));
    assert_int_equal(pwrite(fd, &bad, 1, byte), 1);
    if (byte < 7) { /* not even recognised as a journal */
      fails(dm_journal_open(&location, &journal, &locked), DM_E_USAGE, "not made by damier");
      assert_int_equal(pwrite(fd, &good, 1, byte), 1);
      continue;
    }
    journal = opened(&location);
    if (behind < 0) {
      assert_int_equal(dm_journal_state_of(journal),
                       byte == 7 ? DM_JOURNAL_STRANGE : DM_JOURNAL_DAMAGED);
    } else {
      assert_int_equal(dm_journal_state_of(journal), DM_JOURNAL_PRESENT);
      expect_records_but(journal, RECORDS - 1, lost);
    }
    dm_journal_close(journal);
    assert_int_equal(pwrite(fd, &good, 1, byte), 1);
  }
  close(fd);
}

/* Records of another journal or place, and records lost in a power failure. */
TEST(test_strange_ends) {
  char path[DM_PATH + 16], first[64], zeros[DM_JOURNAL_HEADER] = {0};
  dm_location location = written(*state, path);
  int fd = open(path, O_RDWR);
  assert_int_equal(pread(fd, first, 64, DM_JOURNAL_HEADER), 64);
  assert_int_equal(pwrite(fd, first, 64, SECOND), 64); /* it belongs in the first place */
  dm_journal *journal = opened(&location);
  expect_records_but(journal, RECORDS - 1, 1);
  ok(dm_journal_begin(journal, &(dm_attributes){0}));
  assert_int_equal(pwrite(fd, first, 64, DM_JOURNAL_HEADER),
                   64); /* from a journal with another header */
  dm_journal_close(journal);
  journal = opened(&location);
  expect_records(journal, 0);
  dm_journal_close(journal);
  assert_int_equal(ftruncate(fd, 0), 0);
  assert_int_equal(pwrite(fd, zeros, sizeof zeros, 0), sizeof zeros);
  journal = opened(&location);
  assert_int_equal(dm_journal_state_of(journal), DM_JOURNAL_NEW);
  dm_journal_close(journal);
  bool locked;
  assert_int_equal(pwrite(fd, "a list of things to do", 22, 0), 22);
  fails(dm_journal_open(&location, &journal, &locked), DM_E_USAGE, "not made by damier");
  fails(dm_journal_inspect(&location, &locked), DM_E_USAGE, "not made by damier");
  close(fd);
}

TEST(test_second_run) {
  char path[DM_PATH + 16];
  bool present, locked;
  dm_location location = written(*state, path);
  dm_journal *journal = opened(&location), *second = NULL;
  fails(dm_journal_open(&location, &second, &locked), DM_E_IO, "another run");
  fails(dm_journal_inspect(&location, &present), DM_E_IO, "another run");
  dm_journal_close(journal);
  ok(dm_journal_inspect(&location, &present));
  assert_true(present);
  unlink(path);
  ok(dm_journal_inspect(&location, &present));
  assert_false(present);
  assert_int_equal(symlink("elsewhere", path), 0);
  fails(dm_journal_inspect(&location, &present), DM_E_IO, "not a file");
  fails(dm_journal_open(&location, &second, &locked), DM_E_IO, "opened");
  unlink(path);
}

/* What one rank wrote of the tile I, in RUN. */
static dm_tile_record part_of(int i, int64_t run, uint64_t checksum) {
  dm_tile_record record = tile(i);
  record.checksum = checksum;
  record.run = run;
  return record;
}

/* The COUNT tiles of which all parts are recorded, from tile FIRST on, have the checksum SUM. */
static void expect_tiles(const dm_location *location, int64_t count, int first, uint64_t sum,
                         int64_t last_run) {
  dm_journal *journal = opened(location);
  int64_t met;
  const dm_tile_record *list = dm_journal_tiles(journal, &met);
  assert_int_equal(met, count);
  for (int i = 0; i < count; i++)
    assert_true(list[i].row == 100 * (first + i) && list[i].checksum == sum && list[i].part == 0 &&
                list[i].parts == 1);
  assert_int_equal(dm_journal_last_run(journal), last_run);
  dm_journal_close(journal);
}

static dm_journal_part *part_opened(const dm_location *location, const dm_journal_place *place,
                                    int part, int parts) {
  dm_journal_part *opened = NULL;
  ok(dm_journal_part_open(location, place, part, parts, &opened));
  return opened;
}

/* Ranks append at different times, more than a block each. A tile counts once all have recorded
 * it, by the last run of which that is true. */
TEST(test_parts) {
  enum { PARTS = 3, TILES = 150 };
  char path[DM_PATH + 16];
  dm_location location = written(*state, path);
  dm_journal *journal = opened(&location);
  dm_journal_place place;
  ok(dm_journal_begin(journal, facts()));
  ok(dm_journal_place_of(journal, facts(), &place));
  for (int r = 0; r < PARTS; r++) {
    dm_journal_part *part = part_opened(&location, &place, r, PARTS);
    dm_tile_record list[TILES];
    for (int i = 0; i < TILES; i++) list[i] = part_of(i, 0, 1u << r);
    for (int i = 0, step; i < TILES; i += step) {
      step = 1 + 29 * r < TILES - i ? 1 + 29 * r : TILES - i;
      ok(dm_journal_part_append(part, list + i, step));
    }
    dm_journal_part_close(part);
    int64_t count;
    ok(dm_journal_count(journal, 0, &count));
    assert_int_equal(count, r < PARTS - 1 ? 0 : TILES);
    ok(dm_journal_count(journal, 1, &count));
    assert_int_equal(count, 0);
  }
  dm_journal_close(journal);
  expect_tiles(&location, TILES, 0, 7, 0);

  journal = opened(&location); /* of the next run one part is there, then the other */
  ok(dm_journal_place_of(journal, facts(), &place));
  for (int r = 1; r >= 0; r--) {
    dm_journal_part *part = part_opened(&location, &place, r, 2);
    for (int i = 0; i < TILES; i++) {
      dm_tile_record one = part_of(i, 1, 32u >> r);
      ok(dm_journal_part_append(part, &one, 1));
    }
    dm_journal_part_close(part);
    dm_journal_close(journal);
    expect_tiles(&location, TILES, 0, r ? 7 : 48, 1);
    journal = opened(&location);
  }
  dm_tile_record whole = part_of(TILES, 2, 48);
  ok(dm_journal_append(journal, &whole, 1));
  dm_journal_close(journal);
  expect_tiles(&location, TILES + 1, 0, 48, 2);
}

/* The others append nothing before the header is on the disk, which the first record of part 0
 * says. */
TEST(test_parts_wait) {
  char path[DM_PATH + 16];
  dm_location location = written(*state, path);
  dm_journal *journal = opened(&location);
  dm_journal_place place;
  bool ready;
  ok(dm_journal_clear(journal));
  ok(dm_journal_place_of(journal, facts(), &place));
  assert_false(place.begun);
  dm_journal_part *first = part_opened(&location, &place, 0, 2);
  dm_journal_part *second = part_opened(&location, &place, 1, 2);
  ok(dm_journal_part_ready(first, &ready));
  assert_true(ready);
  ok(dm_journal_part_ready(second, &ready));
  assert_false(ready);
  ok(dm_journal_begin(journal, facts()));
  ok(dm_journal_part_ready(second, &ready));
  assert_false(ready);
  dm_tile_record one = part_of(0, 0, 1), two = part_of(0, 0, 2);
  ok(dm_journal_part_append(first, &one, 1));
  ok(dm_journal_part_ready(second, &ready));
  assert_true(ready);
  ok(dm_journal_part_append(second, &two, 1));
  dm_journal_part_close(first);
  dm_journal_part_close(second);
  dm_journal_close(journal);
  expect_tiles(&location, 1, 0, 3, 0);
}

TEST(test_part_of_another_journal) {
  char path[DM_PATH + 16], other[DM_PATH + 32];
  dm_location location = written(*state, path);
  dm_journal *journal = opened(&location);
  dm_journal_place place;
  dm_journal_part *part;
  ok(dm_journal_place_of(journal, facts(), &place));
  snprintf(other, sizeof other, "%s.other", path);
  assert_int_equal(rename(path, other), 0);
  fails(dm_journal_part_open(&location, &place, 1, 2, &part), DM_E_IO, "opened");
  assert_int_equal(close(open(path, O_WRONLY | O_CREAT, 0600)), 0);
  fails(dm_journal_part_open(&location, &place, 1, 2, &part), DM_E_IO, "not the file that rank 0");
  assert_int_equal(rename(other, path), 0);
  dm_journal_part_close(part_opened(&location, &place, 1, 2));
  dm_journal_close(journal);
}

/* What an older or a newer version wrote is neither read nor taken for a file of the user. */
TEST(test_other_versions) {
  char path[DM_PATH + 16];
  dm_location location = written(*state, path);
  bool present, complete;
  for (char digit = '1'; digit <= '9'; digit += 2) {
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, &digit, 1, 7), 1);
    close(fd);
    dm_journal *journal = opened(&location);
    assert_int_equal(dm_journal_state_of(journal), DM_JOURNAL_STRANGE);
    expect_records(journal, 0);
    dm_journal_close(journal);
    ok(dm_journal_inspect(&location, &present));
    assert_true(present);
    ok(dm_journal_inspect_complete(&location, 300, 50, &complete));
    assert_false(complete);
  }
}

/* In memory, if there is such a file system: thousands of syncs. */
TEST_PROGRAM(test_io_journal) {
  char folder[64] = "/dev/shm/damier-unit-XXXXXX";
  if (!mkdtemp(folder)) new_folder(folder);
  const int failed = run_all(folder);
  remove_folder(folder);
  return failed;
}
