/* The file of rates: reading back, refusals, and changes within the noise. */
#include "checks.h"
#include "engine/rates.h"

static const dm_rates_facts here = {
    .backend = "cpu", .device = "Some CPU", .library = "BLAS 1", .ranks = 4, .threads = 2};

static dm_rates example(void) {
  dm_rates r = {.flops[DM_F64] = 61.23e9,
                .flops[DM_TF32] = 1.5e11,
                .link = 2.34567e9,
                .beside = 4.5e8,
                .host_copy = 7e9,
                .transport = "host",
                .date = "2026-11-21T12:00:00Z",
                .host = "node1"};
  const dm_rates none = {0};
  return dm_rates_renewed(&none, &r);
}

TEST(rates_come_back) {
  char *text, names[2][24];
  const dm_rates before = example();
  dm_rates after;
  ok(dm_rates_format(&before, &here, &text));
  ok(dm_rates_parse(text, strlen(text), &here, &after));
  free(text);
  dm_rates_name(&before, names[0]);
  dm_rates_name(&after, names[1]);
  assert_string_equal(names[0], names[1]);
  assert_true(after.link == 2.35e9 && after.flops[DM_F64] == 61.2e9 && after.network == 0);
  assert_string_equal(after.host, "node1");
}

/* New rates within 10 % change nothing, not even the name. */
TEST(noise_changes_nothing) {
  const dm_rates old = example();
  dm_rates next = old;
  char names[2][24];
  next.link *= 1.09;
  next.flops[DM_F64] *= 0.92;
  dm_rates renewed = dm_rates_renewed(&old, &next);
  dm_rates_name(&old, names[0]);
  dm_rates_name(&renewed, names[1]);
  assert_string_equal(names[0], names[1]);
  next.link *= 1.2;
  renewed = dm_rates_renewed(&old, &next);
  dm_rates_name(&renewed, names[1]);
  assert_string_not_equal(names[0], names[1]);
  assert_true(renewed.flops[DM_F64] == old.flops[DM_F64]);
}

TEST(measured_rates_replace_stated_ones) {
  dm_machine machine;
  const dm_rates r = example();
  char name[24];
  dm_machine_stated(NULL, 2, &machine);
  const dm_machine stated = machine;
  dm_rates_apply(&r, "host", &machine);
  assert_true(machine.link == 2.35e9 && machine.flops[DM_F64] == 61.2e9);
  assert_true(stated.beside == 0 && machine.beside == 4.5e8);
  assert_true(machine.network == stated.network && machine.flops[DM_F32] == stated.flops[DM_F32]);
  dm_rates_name(&r, name);
  assert_string_equal(machine.rates, name);
  machine = stated; /* rates of links with another transport do not apply */
  dm_rates_apply(&r, "other", &machine);
  assert_true(machine.link == stated.link);
}

TEST(foreign_files_are_refused) {
  char *text;
  const dm_rates r = example();
  dm_rates got;
  ok(dm_rates_format(&r, &here, &text));
  const size_t length = strlen(text);
  dm_rates_facts other[6] = {here, here, here, here, here, here};
  strcpy(other[0].backend, "cuda");
  strcpy(other[1].device, "Other CPU");
  strcpy(other[2].library, "BLAS 2");
  other[3].ranks = 8;
  other[4].threads = 1;
  other[5].several_nodes = true;
  for (int i = 0; i < 6; i++)
    fails(dm_rates_parse(text, length, &other[i], &got), DM_E_INPUT, "it was measured");
  free(text);
}

/* Changing any byte: refused, or the same rates. */
TEST(damaged_files_are_refused) {
  char *text, names[2][24];
  const dm_rates r = example();
  dm_rates got;
  ok(dm_rates_format(&r, &here, &text));
  dm_rates_name(&r, names[0]);
  const size_t length = strlen(text);
  for (size_t i = 0; i < length; i++)
    for (int change = 1; change < 256; change += 51) {
      text[i] = (char)(text[i] ^ change);
      dm_status status = dm_rates_parse(text, length, &here, &got);
      if (status) {
        assert_int_equal(status->code, DM_E_INPUT);
        dm_status_free(status);
      } else {
        dm_rates_name(&got, names[1]);
        assert_string_equal(names[0], names[1]);
      }
      text[i] = (char)(text[i] ^ change);
    }
  fails(dm_rates_parse(text, length - 1, &here, &got), DM_E_INPUT, "not JSON");
  free(text);
}

RUN_ALL(test_job_rates)
