/* Names of matrices, and tables of attributes. */
#include <sys/stat.h>

#include "file_cases.h"

static void expect(const char *text, const char *file, const char *dataset) {
  dm_location location;
  ok(dm_location_parse(text, &location));
  assert_string_equal(location.file, file);
  assert_string_equal(location.dataset, dataset);
}

TEST(test_names) {
  expect("a.h5", "a.h5", "");
  expect("a.h5:/m", "a.h5", "/m");
  expect("/x/a.h5:/g/h/m", "/x/a.h5", "/g/h/m");
  expect("odd:/a.h5:/m", "odd:/a.h5", "/m");
  expect("a.h5://g/.//m/", "a.h5", "/g/m");
  expect("a.h5:/", "a.h5", "/");
  expect("a:m", "a:m", "");
  expect("a.h5:/..m/.n", "a.h5", "/..m/.n");
}

/* Files and folders whose names hold a colon. */
TEST(test_colons) {
  char folder[512], path[600], inside[700];
  snprintf(folder, sizeof folder, "%s/x:", (const char *)*state);
  assert_int_equal(mkdir(folder, 0777), 0);
  snprintf(path, sizeof path, "%s/new.h5", folder);
  expect(path, path, "");
  snprintf(inside, sizeof inside, "%s:/g/m", path);
  expect(inside, path, "/g/m");
  write_text(path, "x");
  snprintf(inside, sizeof inside, "%s:/g:/m", path);
  expect(inside, path, "/g:/m");
  dm_location location;
  folder[strlen(folder) - 1] = '\0'; /* a file beside the folder */
  write_text(folder, "x");
  fails(dm_location_parse(path, &location), DM_E_USAGE, "names a dataset, or a file in");
  snprintf(path, sizeof path, "%s/y.h5:m", (const char *)*state);
  fails(dm_location_parse(path, &location), DM_E_USAGE, "begins with a slash");
  write_text(path, "x");
  expect(path, path, "");
}

TEST(test_refused_names) {
  dm_location location;
  char longest[2 * DM_PATH];
  fails(dm_location_parse("", &location), DM_E_USAGE, "names no file");
  fails(dm_location_parse(":/m", &location), DM_E_USAGE, "names no file");
  memset(longest, 'x', sizeof longest);
  longest[DM_PATH] = '\0';
  fails(dm_location_parse(longest, &location), DM_E_USAGE, "more than 1023");
  longest[DM_PATH - 1] = '\0';
  ok(dm_location_parse(longest, &location));
  memset(longest, 'x', sizeof longest);
  memcpy(longest + 4, ":/", 2);
  longest[sizeof longest - 1] = '\0';
  fails(dm_location_parse(longest, &location), DM_E_USAGE, "more than 1023");
}

TEST(test_attributes) {
  static dm_attributes table;
  char text[2 * DM_ATTRIBUTE_TEXT];
  memset(text, 'y', sizeof text);
  text[sizeof text - 1] = '\0';
  ok(dm_attributes_add(&table, "shape", "%d x %d", 3, 4));
  fails(dm_attributes_add(&table, "longer", "%s", text), DM_E_BUG, "more than");
  text[DM_ATTRIBUTE_TEXT - 1] = '\0';
  ok(dm_attributes_add(&table, "long", "%s", text));
  assert_string_equal(dm_attributes_find(&table, "shape"), "3 x 4");
  assert_int_equal(strlen(dm_attributes_find(&table, "long")), DM_ATTRIBUTE_TEXT - 1);
  assert_null(dm_attributes_find(&table, "other"));
  while (table.count < DM_ATTRIBUTES) ok(dm_attributes_add(&table, "more", "x"));
  fails(dm_attributes_add(&table, "last", "x"), DM_E_BUG, "no room");
}

TEST(test_cleaning) {
  char plain[] = "M\xc3\xbcller \xe2\x82\xac", escape[] = "\x1b[2J\n\x7f", broken[] = "a\xff\xc3",
       control[] = "\xc2\x9b"
                   "1m";
  assert_true(dm_text_clean(plain));
  assert_false(dm_text_clean(escape));
  assert_string_equal(escape, "?[2J??");
  assert_false(dm_text_clean(broken));
  assert_string_equal(broken, "a??");
  assert_false(dm_text_clean(control));
  assert_string_equal(control, "??1m");
}

RUN_ALL_IN_FOLDER(test_dataset_location)
