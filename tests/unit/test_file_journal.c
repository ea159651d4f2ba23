/* The journal of finished tiles: records are read back, a torn end is dropped, all damage is
 * detected, and two runs never hold it at the same time. */
#include <fcntl.h>
#include <sys/stat.h>

#include "file/journal.h"
#include "file_cases.h"

enum { RECORDS = 3, SIZE = DM_JOURNAL_HEADER + RECORDS * 64 };

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
  ok(dm_journal_begin(journal, facts()));
  dm_tile_record list[] = {tile(0), tile(1), tile(2)};
  ok(dm_journal_append(journal, list, 1));
  ok(dm_journal_append(journal, list + 1, 2));
  dm_journal_close(journal);
  return location;
}

static void expect_records(const dm_journal *journal, int64_t wanted) {
  int64_t count;
  const dm_tile_record *list = dm_journal_records(journal, &count);
  assert_int_equal(count, wanted);
  for (int i = 0; i < count; i++) {
    dm_tile_record one = tile(i);
    assert_true(list[i].sequence == i && list[i].row == one.row && list[i].col == one.col &&
                list[i].rows == one.rows && list[i].cols == one.cols &&
                list[i].checksum == one.checksum);
  }
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
    if (present) expect_records(journal, (length - DM_JOURNAL_HEADER) / 64);
    dm_journal_close(journal);
  }
}

TEST(test_going_on_after_a_torn_end) {
  char path[DM_PATH + 16];
  for (int length = DM_JOURNAL_HEADER; length < SIZE; length++) {
    dm_location location = written(*state, path);
    assert_int_equal(truncate(path, length), 0);
    for (int i = (length - DM_JOURNAL_HEADER) / 64; i < RECORDS; i++) {
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
    const int behind = flip - DM_JOURNAL_HEADER,
              byte = behind < 0 ? flip : DM_JOURNAL_HEADER + behind / 8;
    unsigned char good, bad;
    dm_journal *journal;
    bool locked;
    assert_int_equal(pread(fd, &good, 1, byte), 1);
    bad = (unsigned char)(good ^ 1 << (behind < 0 ? flip * 5 % 8 : behind % 8));
    assert_int_equal(pwrite(fd, &bad, 1, byte), 1);
    if (byte < 8) { /* not even recognised as a journal */
      fails(dm_journal_open(&location, &journal, &locked), DM_E_USAGE, "not made by damier");
      assert_int_equal(pwrite(fd, &good, 1, byte), 1);
      continue;
    }
    journal = opened(&location);
    if (behind < 0) {
      assert_int_equal(dm_journal_state_of(journal), DM_JOURNAL_DAMAGED);
    } else {
      assert_int_equal(dm_journal_state_of(journal), DM_JOURNAL_PRESENT);
      expect_records(journal, behind / 8 / 64);
    }
    dm_journal_close(journal);
    assert_int_equal(pwrite(fd, &good, 1, byte), 1);
  }
  close(fd);
}

/* Records of another journal, and records lost in a power failure. */
TEST(test_strange_ends) {
  char path[DM_PATH + 16], first[64], zeros[DM_JOURNAL_HEADER] = {0};
  dm_location location = written(*state, path);
  int fd = open(path, O_RDWR);
  assert_int_equal(pread(fd, first, 64, DM_JOURNAL_HEADER), 64);
  assert_int_equal(pwrite(fd, first, 64, DM_JOURNAL_HEADER + 64),
                   64); /* it belongs in the first place, not the second */
  dm_journal *journal = opened(&location);
  expect_records(journal, 1);
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

/* In memory, if there is such a file system: thousands of syncs. */
TEST_PROGRAM(test_file_journal) {
  char folder[64] = "/dev/shm/damier-unit-XXXXXX";
  if (!mkdtemp(folder)) new_folder(folder);
  const int failed = run_all(folder);
  remove_folder(folder);
  return failed;
}
