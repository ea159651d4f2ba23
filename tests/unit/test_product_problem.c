/* Problems from A, B and the equation, and all refusals, with their codes. */
#include "checks.h"
#include "core/compute.h"
#include "core/residues.h"
#include "product/multiply.h"

static dm_dataset dataset(dm_dtype dtype, int64_t rows, int64_t cols) {
  dm_dataset d = {.dtype = dtype, .rows = rows, .cols = cols};
  strcpy(d.at.file, "x.h5");
  strcpy(d.at.dataset, "/x");
  return d;
}

static dm_equation plain(void) {
  return (dm_equation){.alpha = {1.0, 0.0}, .type = DM_DTYPE_NONE, .type_c = DM_DTYPE_NONE};
}

TEST(shapes) {
  for (int op_a = 0; op_a < 3; op_a++) {
    for (int op_b = 0; op_b < 3; op_b++) {
      dm_equation e = plain();
      e.op_a = (dm_op)op_a, e.op_b = (dm_op)op_b;
      dm_dataset a = op_a ? dataset(DM_F64, 7, 5) : dataset(DM_F64, 5, 7);
      dm_dataset b = op_b ? dataset(DM_F64, 3, 7) : dataset(DM_F64, 7, 3), wrong = b;
      dm_problem p;
      ok(dm_problem_of(&a, &b, NULL, &e, &p));
      assert_true(p.m == 5 && p.k == 7 && p.n == 3 && dm_plan_has_files(&p) && !p.reads_c);
      wrong.rows++, wrong.cols++;
      fails(dm_problem_of(&a, &wrong, NULL, &e, &p), DM_E_INPUT, "inner");
    }
  }
}

/* Input, --compute and --type-c; the resulting types, or DM_DTYPE_NONE for a refusal. */
TEST(types) {
  static const struct {
    dm_dtype input;
    const char *compute;
    dm_dtype type_c, work, sums, c;
  } cases[] = {
      {DM_F64, "auto", DM_DTYPE_NONE, DM_F64, DM_F64, DM_F64},
      {DM_F32, "auto", DM_DTYPE_NONE, DM_F32, DM_F32, DM_F32},
      {DM_F16, "auto", DM_DTYPE_NONE, DM_F16, DM_F32, DM_F32},
      {DM_BF16, "auto", DM_BF16, DM_BF16, DM_F32, DM_BF16},
      {DM_I8, "auto", DM_DTYPE_NONE, DM_I8, DM_I32, DM_I32},
      {DM_C64, "auto", DM_C128, DM_C64, DM_C64, DM_C128},
      {DM_C128, "f32", DM_DTYPE_NONE, DM_C64, DM_C64, DM_C128},
      {DM_C64, "f64", DM_DTYPE_NONE, DM_C128, DM_C128, DM_C64},
      {DM_F32, "f64", DM_DTYPE_NONE, DM_F64, DM_F64, DM_F32},
      {DM_F64, "f32", DM_DTYPE_NONE, DM_F32, DM_F32, DM_F64},
      {DM_BF16, "f32", DM_DTYPE_NONE, DM_BF16, DM_F32, DM_F32},
      {DM_BF16, "f64", DM_DTYPE_NONE, DM_F64, DM_F64, DM_F32},
      {DM_F32, "tf32", DM_DTYPE_NONE, DM_F32, DM_F32, DM_F32},
      {DM_F64, "auto", DM_F16, DM_F64, DM_F64, DM_F16},
      {DM_F64, "f64:int8", DM_DTYPE_NONE, DM_F64, DM_F64, DM_F64},
      {DM_F32, "f64:int8:20", DM_DTYPE_NONE, DM_F64, DM_F64, DM_F32},
      {DM_F64, "f32:int8", DM_DTYPE_NONE, DM_F32, DM_F32, DM_F64},
      {DM_C128, "f64:int8", DM_DTYPE_NONE, DM_C128, DM_C128, DM_C128},
      {DM_C64, "f64:int8:20", DM_DTYPE_NONE, DM_C128, DM_C128, DM_C64},
      {DM_F32, "f32:f16", DM_DTYPE_NONE, DM_F32, DM_F32, DM_F32},
      {DM_F64, "f32:f16", DM_DTYPE_NONE, DM_F32, DM_F32, DM_F64},
      {DM_C64, "f32:f16", DM_DTYPE_NONE, DM_C64, DM_C64, DM_C64},
      {DM_C128, "f32:f16", DM_DTYPE_NONE, DM_C64, DM_C64, DM_C128},
      {DM_F16, "f32:f16", DM_DTYPE_NONE, DM_DTYPE_NONE, 0, 0},
      {DM_C64, "f32:int8", DM_C128, DM_C64, DM_C64, DM_C128},
      {DM_C128, "tf32", DM_F64, DM_DTYPE_NONE, 0, 0},
      {DM_I8, "f64:int8", DM_DTYPE_NONE, DM_DTYPE_NONE, 0, 0},
      {DM_I32, "auto", DM_DTYPE_NONE, DM_DTYPE_NONE, 0, 0},
      {DM_I8, "f32", DM_DTYPE_NONE, DM_DTYPE_NONE, 0, 0},
      {DM_I8, "auto", DM_F32, DM_DTYPE_NONE, 0, 0},
      {DM_F64, "auto", DM_C128, DM_DTYPE_NONE, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    dm_problem p = {0};
    dm_equation e = {.type_c = cases[i].type_c};
    assert_true(dm_compute_parse(cases[i].compute, &e.compute));
    dm_status status = dm_types_of(cases[i].input, &e, &p);
    if (cases[i].work == DM_DTYPE_NONE) {
      fails(status, DM_E_USAGE, "");
      continue;
    }
    ok(status);
    if (p.work != cases[i].work || p.accumulator != cases[i].sums || p.c != cases[i].c)
      fail_msg("case %zu: %s %s %s", i, dm_dtype_name(p.work), dm_dtype_name(p.accumulator),
               dm_dtype_name(p.c));
    assert_int_equal(p.compute.operand == DM_TF32, strcmp(cases[i].compute, "tf32") == 0);
  }
}

/* Only GPUs' sums of 16-bit products go in pieces, and only if they are to. */
TEST(pieces_of_k) {
  dm_problem p = {0};
  ok(dm_types_of(DM_BF16, &(dm_equation){.accumulate = DM_ACCUMULATE_F32}, &p));
  const int64_t piece = p.compute.piece;
  assert_in_range(piece, 64, 4096);
  ok(dm_types_of(DM_BF16, &(dm_equation){.accumulate = DM_ACCUMULATE_FAST}, &p));
  assert_int_equal(p.compute.piece, 0);
  ok(dm_types_of(DM_F64, &(dm_equation){.accumulate = DM_ACCUMULATE_F32}, &p));
  assert_int_equal(p.compute.piece, 0);
  for (int a = DM_ACCUMULATE_FAST; a <= DM_ACCUMULATE_F32; a++) {
    const dm_equation e = {.accumulate = (dm_accumulate)a, .accumulate_stated = true};
    ok(dm_types_of(DM_F16, &e, &p));
    fails(dm_types_of(DM_F32, &e, &p), DM_E_USAGE, "f32 are not added in pieces");
  }
}

TEST(numbers_of_moduli) {
  static const char *const refused[] = {"f64:int8:7",   "f64:int8:21", "f64:int8:",  "f64:int8:08",
                                        "f64:int8:8 ",  "f64:int8:-8", "f64:15",     "f64:int9",
                                        "f64:int8:264", "auto:8",      "f32:int8:3", "f64:int8:8:8",
                                        "f32:f16:2"};
  static const struct {
    const char *text;
    int64_t k;
    int moduli;
  } cases[] = {{"f64:int8", 4095, 16},   {"f64:int8", 4096, 15},   {"f64:int8:8", 100, 8},
               {"f64:int8:20", 100, 20}, {"f64:int8:15", 100, 15}, {"f64", 100, 0},
               {"f32:int8", 5000, 8},    {"f32:int8:4", 100, 4}};
  dm_compute_choice choice = -1;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    assert_false(dm_compute_parse(refused[i], &choice));
  assert_int_equal(choice, -1);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[24], name[16];
    dm_compute row;
    assert_true(dm_compute_parse(cases[i].text, &choice));
    dm_compute_choice_text(choice, text);
    assert_string_equal(text, cases[i].text);
    ok(dm_compute_choose(choice, DM_F64, cases[i].k, &row));
    ok(dm_compute_check(&row));
    assert_int_equal(row.moduli, cases[i].moduli);
    if (row.moduli == 0) continue;
    snprintf(name, sizeof name, "%.8s:%d", text, row.moduli % 100);
    assert_string_equal(row.name, name);
    assert_int_equal(row.accumulators, row.moduli);
    assert_int_equal(row.products, row.moduli);
  }
}

/* Sums of complex numbers have twice as many real products, and their residues are stored side by
 * side. */
TEST(moduli_of_complex) {
  dm_compute_choice choice;
  dm_compute row;
  assert_true(dm_compute_parse("f64:int8", &choice));
  ok(dm_compute_choose(choice, DM_C128, 2047, &row));
  assert_int_equal(row.moduli, 16);
  ok(dm_compute_choose(choice, DM_C128, 2048, &row));
  assert_int_equal(row.moduli, 15);
  assert_int_equal(dm_compute_operand(&row, DM_C128), DM_I8);
  assert_int_equal(dm_compute_parts(&row, DM_C128), 2);
  assert_int_equal(dm_compute_parts(&row, DM_F64), 1);
  assert_int_equal(dm_compute_width(&row, DM_C128, 16), 15 * 32 / 16);
  choice = dm_compute_fallback(choice, &row, 18);
  assert_int_equal(dm_compute_moduli(choice), 18);
  ok(dm_compute_choose(choice, DM_C128, 2048, &row));
  assert_string_equal(row.name, "f64:int8:18");
}

/* On a GPU they take three real products instead of four, and three planes per modulus. */
TEST(residues_of_complex_on_gpus) {
  static const dm_compute_extent of = {
      .work = DM_C128, .sum = DM_C128, .rows = 100, .cols = 70, .depth = 300, .width = 300};
  const dm_compute_extent deep = {.work = DM_C128, .rows = 4096, .cols = 4096, .width = 1 << 20};
  dm_compute_choice choice;
  dm_compute row;
  assert_true(dm_compute_parse("f64:int8:15", &choice));
  ok(dm_compute_choose(choice, DM_C128, 300, &row));
  assert_true(dm_compute_share(&row, DM_C128) == 0.75);
  assert_true(dm_compute_share(&row, DM_F64) == 1.0);
  assert_true(dm_compute_share(dm_compute_by(DM_F64), DM_C128) == 1.0);
  assert_int_equal(dm_compute_scratch(&row, &of), 3 * 15 * (128 + 128) * 384);
  assert_int_equal(dm_compute_scratch(&row, &deep), 3 * 15 * 8192LL * (DM_RESIDUES_SPLIT / 2));
}

/* The row that splits operands is as accurate as f32 with so many real products. */
static bool splits(dm_dtype type, int64_t k, dm_compute *row) {
  dm_compute rows[DM_COMPUTES];
  const int count = dm_compute_alternatives(dm_compute_by((dm_operand)type), type, k, rows);
  assert_in_range(count, 1, 2);
  assert_true(rows[0].moduli > 0);
  *row = rows[count - 1];
  return row->splits;
}

TEST(split_of_complex) {
  dm_compute row;
  assert_false(splits(DM_F32, 375, &row));
  assert_true(splits(DM_F32, 376, &row));
  assert_false(splits(DM_C64, 187, &row));
  assert_true(splits(DM_C64, 188, &row));
  assert_int_equal(dm_compute_operand(&row, DM_C64), DM_F16);
  assert_int_equal(dm_compute_parts(&row, DM_C64), 1);
  assert_false(splits(DM_C128, 9999, &row));
}

/* A and B of different types, with --type. */
static void refuses_types(dm_dtype a, dm_dtype b, dm_dtype type, const char *words) {
  dm_equation e = plain();
  e.type = type;
  dm_dataset x = dataset(a, 4, 4), y = dataset(b, 4, 4);
  dm_problem p;
  dm_status status = dm_problem_of(&x, &y, NULL, &e, &p);
  if (words)
    fails(status, DM_E_USAGE, words);
  else
    ok(status);
}

TEST(input_types) {
  refuses_types(DM_F64, DM_F32, DM_DTYPE_NONE, "--type f64 converts both");
  refuses_types(DM_I32, DM_F32, DM_DTYPE_NONE, "--type f64 converts both");
  refuses_types(DM_C64, DM_F64, DM_DTYPE_NONE, "--type c128 converts both");
  refuses_types(DM_C64, DM_F64, DM_F64, "imaginary");
  refuses_types(DM_F64, DM_C64, DM_F32, "imaginary");
  refuses_types(DM_F64, DM_F64, DM_I8, "is not converted to i8");
  refuses_types(DM_I8, DM_F16, DM_I8, "is not converted to i8");
  refuses_types(DM_I32, DM_I32, DM_I32, "not factors");
  refuses_types(DM_F64, DM_F32, DM_BF16, NULL);
  refuses_types(DM_I8, DM_C64, DM_C128, NULL);
  refuses_types(DM_I8, DM_I8, DM_I8, NULL);
}

static dm_dtype promotes(dm_dtype a, dm_dtype b) {
  dm_equation e = plain();
  dm_dataset x = dataset(a, 4, 4), y = dataset(b, 4, 4);
  const dm_dtype type = dm_equation_promotes(&x, &y, &e);
  assert_int_equal(dm_equation_promotes(&y, &x, &e), type);
  e.type = DM_F32; /* as stated */
  assert_int_equal(dm_equation_promotes(&x, &y, &e), DM_DTYPE_NONE);
  return type;
}

TEST(promoted_types) {
  const dm_dtype equal[] = {DM_F64, DM_F32, DM_F16, DM_BF16, DM_C64, DM_C128, DM_I8};
  for (int i = 0; i < 7; i++) assert_int_equal(promotes(equal[i], equal[i]), DM_DTYPE_NONE);
  assert_int_equal(promotes(DM_F32, DM_F64), DM_F64);
  assert_int_equal(promotes(DM_F16, DM_F32), DM_F32);
  assert_int_equal(promotes(DM_F16, DM_BF16), DM_F32);
  assert_int_equal(promotes(DM_C64, DM_F32), DM_C64);
  assert_int_equal(promotes(DM_C64, DM_F64), DM_C128);
  assert_int_equal(promotes(DM_C64, DM_I32), DM_C128);
  assert_int_equal(promotes(DM_C64, DM_I16), DM_C64);
  assert_int_equal(promotes(DM_I16, DM_F16), DM_F32);
  assert_int_equal(promotes(DM_I8, DM_F16), DM_F16);
  assert_int_equal(promotes(DM_I32, DM_F32), DM_F64);
  assert_int_equal(promotes(DM_I64, DM_F32), DM_F64); /* dm_problem_of refuses such values */
  assert_int_equal(promotes(DM_BOOL, DM_BOOL), DM_F64);
  assert_int_equal(promotes(DM_I16, DM_I16), DM_F64);
  assert_int_equal(promotes(DM_I8, DM_U8), DM_F64);
}

static void scalars(dm_dtype dtype, double alpha, double imaginary, double beta,
                    const char *words) {
  dm_equation e = plain();
  e.alpha[0] = alpha, e.alpha[1] = imaginary, e.beta[0] = beta;
  dm_dataset x = dataset(dtype, 4, 4), c = dataset(dm_compute_sum(dtype), 4, 4);
  dm_problem p;
  dm_status status = dm_problem_of(&x, &x, &c, &e, &p);
  if (words)
    fails(status, DM_E_USAGE, words);
  else
    ok(status);
}

TEST(scalars_that_types_allow) {
  scalars(DM_F64, 1.0, 0.5, 0.0, "must be real");
  scalars(DM_C64, 1.0, 0.5, 0.5, NULL);
  scalars(DM_I8, 0.5, 0.0, 0.0, "whole");
  scalars(DM_I8, 1.0, 0.0, 1e10, "whole");
  scalars(DM_I8, -3.0, 0.0, 7.0, NULL);
}

TEST(old_c) {
  dm_equation e = plain();
  e.beta[0] = 1.0;
  dm_dataset a = dataset(DM_F64, 4, 5), b = dataset(DM_F64, 5, 6), i = dataset(DM_I8, 4, 4);
  dm_dataset right = dataset(DM_F32, 4, 6), turned = dataset(DM_F64, 6, 4);
  dm_dataset complex = dataset(DM_C64, 4, 6), square = dataset(DM_F32, 4, 4);
  dm_problem p;
  ok(dm_problem_of(&a, &b, &right, &e, &p));
  assert_true(p.reads_c);
  fails(dm_problem_of(&a, &b, NULL, &e, &p), DM_E_USAGE, "no old C");
  fails(dm_problem_of(&a, &b, &turned, &e, &p), DM_E_INPUT, "old C is");
  fails(dm_problem_of(&a, &b, &complex, &e, &p), DM_E_USAGE, "complex");
  fails(dm_problem_of(&i, &i, &square, &e, &p), DM_E_USAGE, "i32");
  e.beta[0] = 0.0; /* then it is not read */
  ok(dm_problem_of(&a, &b, &turned, &e, &p));
  assert_false(p.reads_c);
}

RUN_ALL(test_product_problem)
