/* The table of all options. */
#include "options/option.h"

#include "core/units.h"

/* ---- setters of the program's own options ---- */

static void *option_place(const dm_value *value, void *settings) {
  return (char *)settings + value->at;
}

static dm_status set_step(const dm_value *value, const char *text, void *settings) {
  int *steps = option_place(value, settings);
  int64_t number = 1;
  if (text && (!dm_parse_count(text, &number) || number > 9))
    return dm_fail(DM_E_USAGE, "'%s' is not a number from 0 to 9", text);
  *steps = text ? (int)number : *steps + 1;
  return DM_OK;
}

static dm_status set_shell(const dm_value *value, const char *text, void *settings) {
  DM_TRY(dm_value_set_choice(value, text, settings));
  ++*(int *)option_place(value, settings);
  return DM_OK;
}

static dm_status set_paths(const dm_value *value, const char *text, void *settings) {
  dm_report_paths *paths = option_place(value, settings);
  if (paths->count == DM_REPORTS)
    return dm_fail(DM_E_USAGE, "given more than %d times", DM_REPORTS);
  DM_TRY(dm_value_copy(text, paths->path[paths->count], DM_PATH));
  paths->count++;
  return DM_OK;
}

/* ---- the table ---- */

#define SETS(of, settings, field, setter, ...)                                                     \
  .owner = of, .value = {.set = setter,                                                            \
                         .at = offsetof(settings, field),                                          \
                         .room = sizeof(((settings *)0)->field),                                   \
                         __VA_ARGS__}
#define OF_COMMAND(setter, field, ...)                                                             \
  SETS(DM_OF_COMMAND, dm_command_settings, field, setter, __VA_ARGS__)
#define OF_JOB(setter, field, ...) SETS(DM_OF_JOB, dm_settings, field, setter, __VA_ARGS__)
#define OF_PRODUCT(setter, field, ...) SETS(DM_OF_PRODUCT, dm_settings, field, setter, __VA_ARGS__)
#define AS_ABOVE .value = {.set = NULL} /* the value of the first row of that name */
#define NO_KEYWORD ""

enum {
  TIMES = DM_VERB_MULTIPLY, /* of two matrices */
  COV = DM_VERB_COV,
  COR = DM_VERB_COR,
  GRAM = DM_VERB_GRAM | COV | COR, /* of a matrix with itself */
  MULTIPLY = DM_VERBS_PRODUCT,
  PCA = DM_VERB_PCA,
  SVD = DM_VERB_SVD,
  OPTION_FACTORS = PCA | SVD, /* components */
  PLAN = DM_VERB_PLAN,
  GENERATE = DM_VERB_GENERATE,
  VERIFY = DM_VERB_VERIFY,
  INFO = DM_VERB_INFO,
  COMPARE = DM_VERB_COMPARE,
  RUN = DM_VERB_RUN,
  CLEAN = DM_VERB_CLEAN,
  BENCH_M = DM_VERB_BENCH_MULTIPLY,
  BENCH_R = DM_VERB_BENCH_RATES,
  BENCH_K = DM_VERB_BENCH_KERNELS,
  BENCH_L = DM_VERB_BENCH_LINKS,
  BENCH_S = DM_VERB_BENCH_SCALE,
  BENCH_P = BENCH_M | BENCH_S, /* products */
  OPTION_NONE = DM_VERB_NONE,
  OPTION_READERS =
      MULTIPLY | OPTION_FACTORS | PLAN | VERIFY | INFO | COMPARE, /* verbs that open inputs */
  REPORTING = MULTIPLY | OPTION_FACTORS | PLAN | GENERATE | VERIFY | INFO | COMPARE | BENCH_M |
              BENCH_K | BENCH_L | BENCH_S | BENCH_R, /* verbs with records */
  VERBS = REPORTING | RUN | CLEAN,
  ENGINE = MULTIPLY | OPTION_FACTORS | BENCH_P,
  STORING = MULTIPLY | GENERATE,
  STOPPABLE = DM_VERBS_STOPPABLE,
};

/* Each list is in the order of the enum that it stands for. */
static const char *const ops[] = {"n", "t", "c", NULL};
static const char *const value_types[] = {"f64",  "f32", "f16", "bf16", "c64",
                                          "c128", "i8",  "i32", "i64",  NULL};
static const char *const value_accumulate[] = {"auto", "f32", "fast", NULL};
static const char *const backends[DM_BACKEND_CHOICES + 1] = {
    [DM_BACKEND_AUTO] = "auto", [DM_BACKEND_CPU] = "cpu", [DM_BACKEND_CUDA] = "cuda"};
static const char *const transports[] = {"auto", "self", "host",     "shared",
                                         "ipc",  "nccl", "ipc+nccl", NULL};
static const char *const read_ways[] = {"auto", "pread", NULL};
static const char *const option_ways[] = {"pwrite", "mapped", "auto", NULL};
static const char *const reactions[] = {"repair", "stop", "warn", NULL};
static const char *const option_modes[] = {"auto", "always", "never", NULL};
static const char *const value_missing[] = {"refuse",   "nan",      "zero", "mean",
                                            "pairwise", "complete", NULL};
static const char *const value_lines[] = {"none", "columns", "rows", NULL};
static const char *const metrics[] = {"none",        "cosine",    "euclidean",
                                      "sqeuclidean", "rbf:GAMMA", NULL};
static const char *const divisors[] = {"1", "n", "n-1", NULL};
static const char *const halves[] = {"both", "lower", "upper", NULL};
static const char *const value_reductions[] = {"none", "max",  "min",   "argmax",   "argmin", "sum",
                                               "mean", "norm", "count", "diagonal", NULL};
static const char *const value_each[] = {"row", "column", NULL};
static const char *const orders[] = {"value", "abs", "smallest", NULL};
static const char *const methods[] = {"auto", "gram", "passes", NULL};
static const char *const weights_are[] = {"reliability", "frequency", NULL};
static const char *const value_stack[] = {"rows", "columns", NULL};
static const char *const complex_axes[] = {"auto", "last", "first", "none", NULL};
static const char *const option_kinds[] = {"uniform", "normal",   "ozaki",   "identity",
                                           "integer", "constant", "hilbert", NULL};
static const char *const option_lines[] = {"columns", "rows", NULL};
static const char *const option_places[] = {"auto", "host", "device", NULL};
static const char *const kernel_ops[] = {"all", "gemm", "transpose", "add", "dot", NULL};
static const char *const shells[] = {"bash", "zsh", "fish", NULL};

/* clang-format off */
const dm_option dm_options[] = {
    /* files */
    {"output", 'o', "C.h5[:/ds]", MULTIPLY, DM_GROUP_FILES, "dataset /c",
     "file and dataset of C, also C.npy or C.zarr; of what is kept of C also R.npz", OF_JOB(dm_value_set_location, output), .python = NO_KEYWORD, .flags_only = true, .usual = MULTIPLY},
    {"output", 'o', "FILE", BENCH_R, DM_GROUP_FILES, NULL,
     "write the rates to FILE, as words of --machine", OF_COMMAND(dm_value_set_text, rates_file), .flags_only = true, .usual = BENCH_R},
    {"output", 'o', "P.h5[:/group]", OPTION_FACTORS, DM_GROUP_FILES, "group /pca or /svd",
     "file and group of the result, or P.npz", AS_ABOVE, .flags_only = true, .usual = OPTION_FACTORS},
    {"scores", 0, "S.h5[:/ds]", OPTION_FACTORS, DM_GROUP_FILES, NULL,
     "also write X, centered and scaled, times the components: a row for each observation", OF_PRODUCT(dm_value_set_location, scores), .python = NO_KEYWORD, .flags_only = true, .usual = OPTION_FACTORS},
    {"files", 0, "FOLDER", BENCH_R, DM_GROUP_FILES, NULL,
     "also measure reading and writing in FOLDER", OF_COMMAND(dm_value_set_text, files), .flags_only = true, .usual = BENCH_R},
    {"if-needed", 0, NULL, MULTIPLY | OPTION_FACTORS, DM_GROUP_FILES, NULL,
     "do nothing if the output is the complete result of the same inputs, options and version; else replace it as --force does", OF_PRODUCT(dm_value_set_flag, if_needed), .flags_only = true, .usual = MULTIPLY | OPTION_FACTORS},
    {"dry-run", 0, NULL, CLEAN, DM_GROUP_FILES, NULL,
     "list the files; remove nothing", OF_COMMAND(dm_value_set_flag, dry_run), .python = NO_KEYWORD, .flags_only = true, .usual = CLEAN},
    {"resumable", 0, NULL, CLEAN, DM_GROUP_FILES, NULL,
     "also remove what a run of the same command would go on from", OF_COMMAND(dm_value_set_flag, resumable), .flags_only = true, .usual = CLEAN},
    {"jobs-of", 0, "I/N", RUN, DM_GROUP_FILES, "all",
     "run only every N-th job, beginning with the I-th: --jobs-of $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT", OF_COMMAND(dm_value_set_text, jobs_of), .flags_only = true, .usual = RUN},
    {"at-once", 0, "N", RUN, DM_GROUP_FILES, "for small jobs, of which none reads what another one writes, 2 per core, at most 16; else 1",
     "run N jobs at the same time, each with its part of the cores and of the memory, unless its line states --threads and --memory", OF_COMMAND(dm_value_set_count, at_once, .least = 1), .flags_only = true, .usual = RUN},
    {"dry-run", 0, NULL, MULTIPLY | OPTION_FACTORS, DM_GROUP_FILES, NULL,
     "check the files and show the plan for this number of ranks; compute nothing", OF_COMMAND(dm_value_set_flag, dry_run), .python = NO_KEYWORD, .flags_only = true, .usual = MULTIPLY | OPTION_FACTORS},
    {"c", 0, "C0.h5[:/ds]", TIMES | DM_VERB_GRAM | PLAN | VERIFY, DM_GROUP_FILES, NULL,
     "the old C, read when beta is not 0; may be the output with --force", OF_PRODUCT(dm_value_set_location, old_c), .python = NO_KEYWORD, .flags_only = true, .usual = TIMES | VERIFY},
    {"force", 0, NULL, MULTIPLY | OPTION_FACTORS | GENERATE, DM_GROUP_FILES, NULL,
     "replace an existing output if it holds only that dataset", OF_PRODUCT(dm_value_set_flag, force), .flags_only = true, .usual = MULTIPLY | OPTION_FACTORS | GENERATE},
    {"append", 0, NULL, MULTIPLY, DM_GROUP_FILES, NULL,
     "add C to an existing file as a new dataset, or with --force in place of one; the file may hold A and B, and is copied", OF_PRODUCT(dm_value_set_flag, append), .flags_only = true, .usual = MULTIPLY},
    {"chunk", 0, "RxC", STORING, DM_GROUP_FILES, "contiguous",
     "store the output in chunks of R rows and C columns", OF_PRODUCT(dm_value_set_chunk, chunk), .python = "str | Sequence[int]", .usual = TIMES | DM_VERB_GRAM | GENERATE},
    {"deflate", 0, "1..9", STORING, DM_GROUP_FILES, NULL,
     "compression level; without --chunk, chunks of about 1 MiB are used", OF_PRODUCT(dm_value_set_level, deflate), .python = "SupportsIndex", .usual = MULTIPLY | GENERATE},
    {"zstd", 0, "1..22", STORING, DM_GROUP_FILES, NULL,
     "the same with zstd, which readers need as a plug-in", OF_PRODUCT(dm_value_set_count, zstd, .least = 1), .flags_only = true},
    {"shuffle", 0, NULL, STORING, DM_GROUP_FILES, NULL,
     "apply HDF5's shuffle filter before compression", OF_PRODUCT(dm_value_set_flag, shuffle)},

    /* the matrices, where no file says it */
    {"m", 0, "N", PLAN | BENCH_P, DM_GROUP_MATRIX, NULL,
     "rows of op(A) and C", OF_COMMAND(dm_value_set_count, m, .least = 1), .usual = PLAN | BENCH_P},
    {"n", 0, "N", PLAN | BENCH_P, DM_GROUP_MATRIX, NULL,
     "columns of op(B) and C", OF_COMMAND(dm_value_set_count, n, .least = 1), .usual = PLAN | BENCH_P},
    {"k", 0, "N", PLAN | BENCH_P, DM_GROUP_MATRIX, NULL,
     "columns of op(A), rows of op(B)", OF_COMMAND(dm_value_set_count, k, .least = 1), .usual = PLAN | BENCH_P},
    {"rows", 0, "N", GENERATE, DM_GROUP_MATRIX, NULL,
     "rows of the matrix", OF_COMMAND(dm_value_set_count, rows, .least = 1), .usual = GENERATE},
    {"cols", 0, "N", GENERATE, DM_GROUP_MATRIX, NULL,
     "columns of the matrix", OF_COMMAND(dm_value_set_count, cols, .least = 1), .usual = GENERATE},
    {"size", 0, "N", PLAN | GENERATE | BENCH_P, DM_GROUP_MATRIX, "bench: 2048",
     "all dimensions that are not given", OF_COMMAND(dm_value_set_count, size, .least = 1), .usual = PLAN | GENERATE | BENCH_P},
    {"bytes", 0, "LIST", BENCH_L, DM_GROUP_MATRIX, NULL,
     "message sizes: SIZE, LOW:HIGH:STEP or LOW:HIGH:xFACTOR, separated by ','", OF_COMMAND(dm_value_set_text, pieces, .initial = "8,64KiB,1MiB,16MiB"), .flags_only = true, .usual = BENCH_L},
    {"kind", 0, NULL, GENERATE, DM_GROUP_MATRIX, NULL,
     "kind of elements", OF_COMMAND(dm_value_set_choice, kind, .choices = option_kinds, .initial = "uniform"), .usual = GENERATE},
    {"sizes", 0, "LIST", BENCH_M, DM_GROUP_MATRIX, NULL,
     "several products, one after the other: a list as for bench kernels, or a FILE.csv of M,N,K", OF_COMMAND(dm_value_set_text, bench.sizes), .flags_only = true, .usual = BENCH_M},
    {"sizes", 0, "LIST", BENCH_K, DM_GROUP_MATRIX, NULL,
     "sizes: N, M,N,K, LOW:HIGH:STEP or LOW:HIGH:xFACTOR, separated by ';'; or a FILE.csv of M,N,K", OF_COMMAND(dm_value_set_text, bench.sizes, .initial = "4096"), .flags_only = true, .usual = BENCH_K},
    {"pad", 0, "N", BENCH_K, DM_GROUP_MATRIX, NULL,
     "padding at the end of each row, in elements", OF_COMMAND(dm_value_set_count, bench.pad, .initial = "0")},
    {"rank", 0, "K", OPTION_FACTORS | PLAN, DM_GROUP_EQUATION, NULL,
     "number of components", OF_PRODUCT(dm_value_set_count, rank, .least = 1), .python = NO_KEYWORD, .flags_only = true, .usual = OPTION_FACTORS},
    {"method", 0, NULL, OPTION_FACTORS | PLAN, DM_GROUP_EQUATION, NULL,
     "gram: eigenvectors of X^H X or X X^H, confirmed by a pass over X, passes: random vectors that passes over X improve; auto: what is predicted to be faster", OF_PRODUCT(dm_value_set_choice, method, .initial = "auto", .choices = methods), .flags_only = true, .usual = OPTION_FACTORS},
    {"tolerance", 0, "X", OPTION_FACTORS | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "largest residual of a component, as a part of the largest singular value", OF_PRODUCT(dm_value_set_real, tolerance, .initial = "1e-5"), .flags_only = true, .usual = OPTION_FACTORS},
    {"passes", 0, "N", OPTION_FACTORS | PLAN, DM_GROUP_EQUATION, NULL,
     "passes over X that improve the components, at most", OF_PRODUCT(dm_value_set_count, passes, .initial = "20", .least = 1), .flags_only = true, .usual = OPTION_FACTORS},
    {"oversampling", 0, "N", OPTION_FACTORS | PLAN, DM_GROUP_EQUATION, NULL,
     "vectors of a pass beyond K, with --method passes", OF_PRODUCT(dm_value_set_count, oversampling, .initial = "10"), .flags_only = true},
    {"seed", 0, "N", OPTION_FACTORS, DM_GROUP_EQUATION, NULL,
     "seed of the random vectors", OF_PRODUCT(dm_value_set_count, seed, .initial = "1"), .flags_only = true},
    {"seed", 0, "N", GENERATE | BENCH_P | BENCH_K, DM_GROUP_MATRIX, NULL,
     "seed of the random elements", OF_COMMAND(dm_value_set_count, seed, .initial = "1"), .usual = GENERATE},
    {"phi", 0, "X", GENERATE, DM_GROUP_MATRIX, NULL,
     "kind ozaki: elements are (rand - 0.5) exp(phi randn)", OF_COMMAND(dm_value_set_real, phi, .initial = "1"), .flags_only = true},
    {"range", 0, "N", GENERATE, DM_GROUP_MATRIX, NULL,
     "kind integer: elements are whole numbers in [-N, N]", OF_COMMAND(dm_value_set_count, range, .least = 1, .initial = "8"), .flags_only = true, .usual = GENERATE},
    {"value", 0, "X", GENERATE, DM_GROUP_MATRIX, NULL,
     "kind constant: value of every element", OF_COMMAND(dm_value_set_real, value, .initial = "1"), .flags_only = true, .usual = GENERATE},

    /* C = alpha op(A) op(B) + beta C0 */
    {"op-a", 0, NULL, TIMES | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "use A as it is, transposed, or conjugate transposed", OF_PRODUCT(dm_value_set_choice, op_a, .initial = "n", .choices = ops), .usual = TIMES | PLAN | VERIFY},
    {"op-b", 0, NULL, TIMES | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "the same for B", OF_PRODUCT(dm_value_set_choice, op_b, .initial = "n", .choices = ops), .usual = TIMES | PLAN | VERIFY},
    {"of", 0, NULL, GRAM | OPTION_FACTORS | PLAN, DM_GROUP_EQUATION, NULL,
     "products of all pairs of columns of X, or of rows",
     OF_COMMAND(dm_value_set_choice, of_rows, .initial = "columns", .choices = option_lines), .python = NO_KEYWORD, .usual = GRAM | OPTION_FACTORS},
    {"center", 0, NULL, DM_VERB_GRAM, DM_GROUP_EQUATION, NULL,
     "subtract from these columns, or rows, their mean", OF_PRODUCT(dm_value_set_flag, center_x), .usual = GRAM},
    {"scale", 0, NULL, DM_VERB_GRAM | PCA, DM_GROUP_EQUATION, NULL,
     "divide these columns, or rows, by their standard deviation", OF_PRODUCT(dm_value_set_flag, scale_x), .usual = DM_VERB_GRAM | PCA},
    {"center-a", 0, NULL, TIMES | VERIFY, DM_GROUP_EQUATION, NULL,
     "subtract from the columns, or rows, of A in its file their mean; or the numbers in a file: [rows:]V.h5[:/ds]", OF_PRODUCT(dm_value_set_lines, center[0], .initial = "none", .choices = value_lines), .python = "Any", .usual = 0},
    {"center-b", 0, NULL, TIMES | VERIFY, DM_GROUP_EQUATION, NULL,
     "the same for B", OF_PRODUCT(dm_value_set_lines, center[1], .initial = "none", .choices = value_lines), .python = "Any", .usual = 0},
    {"scale-a", 0, NULL, TIMES | VERIFY, DM_GROUP_EQUATION, NULL,
     "divide the columns, or rows, of A in its file by their standard deviation; or by the numbers in a file", OF_PRODUCT(dm_value_set_lines, scale[0], .initial = "none", .choices = value_lines), .python = "Any", .usual = 0},
    {"scale-b", 0, NULL, TIMES | VERIFY, DM_GROUP_EQUATION, NULL,
     "the same for B", OF_PRODUCT(dm_value_set_lines, scale[1], .initial = "none", .choices = value_lines), .python = "Any", .usual = 0},
    {"metric", 0, NULL, TIMES | DM_VERB_GRAM | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "C has the cosine of each pair of lines, their product divided by their lengths; or the euclidean distance, its square (sqeuclidean), or "
     "exp(-GAMMA d^2) (rbf:GAMMA), in f64 unless --type-c says otherwise", OF_PRODUCT(dm_value_set_metric, metric, .initial = "none", .choices = metrics), .python = "str", .flags_only = true},
    {"grm", 0, NULL, DM_VERB_GRAM | VERIFY, DM_GROUP_EQUATION, NULL,
     "of genotypes (G.bed): the genomic relationship of samples, standardised by allele frequency; each pair is divided by the variants known in both, or with --missing mean by all; C_counts.h5 has these counts", OF_PRODUCT(dm_value_set_flag, grm), .flags_only = true, .usual = DM_VERB_GRAM},
    {"nonfounders", 0, NULL, DM_VERB_GRAM | VERIFY, DM_GROUP_EQUATION, NULL,
     "--grm: allele frequencies of all samples, not only of those without parents in G.fam", OF_PRODUCT(dm_value_set_flag, nonfounders), .flags_only = true},
    {"weights", 0, "W.h5[:/ds]", MULTIPLY | OPTION_FACTORS | VERIFY, DM_GROUP_EQUATION, NULL,
     "weights of the terms of every sum, one for each: C = alpha op(A) diag(w) op(B); means and deviations are weighted, too", OF_PRODUCT(dm_value_set_location, weights), .python = "Any", .flags_only = true},
    {"weights-are", 0, NULL, MULTIPLY | PCA | VERIFY, DM_GROUP_EQUATION, NULL,
     "how --divide counts weighted terms: as numpy.cov with aweights, or with fweights", OF_PRODUCT(dm_value_set_choice, weights_are, .initial = "reliability", .choices = weights_are), .flags_only = true},
    {"divide", 0, NULL, TIMES | DM_VERB_GRAM | VERIFY, DM_GROUP_EQUATION, "1",
     "divide the product by its number of terms, or by one less", OF_PRODUCT(dm_value_set_choice, divide, .choices = divisors), .usual = DM_VERB_GRAM},
    {"divide", 0, NULL, COV | PCA, DM_GROUP_EQUATION, "n-1",
     "divide the product by its number of terms, or by one less", AS_ABOVE, .usual = COV},
    {"triangle", 0, NULL, GRAM | VERIFY, DM_GROUP_EQUATION, NULL,
     "elements of C that are stored, besides the diagonal; the others are 0", OF_PRODUCT(dm_value_set_choice, half, .initial = "both", .choices = halves), .usual = GRAM},
    {"top", 0, "K", MULTIPLY | PLAN, DM_GROUP_REDUCTION, NULL,
     "store only the K largest elements of each row, and where they are", OF_PRODUCT(dm_value_set_count, top, .least = 1), .flags_only = true, .usual = COR},
    {"above", 0, "T", MULTIPLY | PLAN, DM_GROUP_REDUCTION, NULL,
     "store only the elements above T, as a sparse matrix (CSR, as scipy and anndata read it)", OF_PRODUCT(dm_value_set_real, above), .flags_only = true},
    {"below", 0, "T", MULTIPLY | PLAN, DM_GROUP_REDUCTION, NULL,
     "store only the elements below T", OF_PRODUCT(dm_value_set_real, below), .flags_only = true},
    {"reduce", 0, NULL, MULTIPLY | PLAN, DM_GROUP_REDUCTION, NULL,
     "store only a number for each row of C; several are separated by commas", OF_PRODUCT(dm_value_set_reductions, reduce, .initial = "none", .choices = value_reductions), .python = "str", .flags_only = true},
    {"each", 0, NULL, MULTIPLY | PLAN, DM_GROUP_REDUCTION, NULL,
     "reduce each row of C, or each column", OF_PRODUCT(dm_value_set_choice, each, .initial = "row", .choices = value_each), .flags_only = true},
    {"by", 0, NULL, MULTIPLY | PLAN, DM_GROUP_REDUCTION, NULL,
     "compare elements, their magnitudes, or take the smallest first, as for distances without it", OF_PRODUCT(dm_value_set_choice, by, .initial = "value", .choices = orders), .flags_only = true},
    {"no-self", 0, NULL, GRAM | PLAN, DM_GROUP_REDUCTION, NULL,
     "leave out the diagonal of C, what a line has in common with itself", OF_PRODUCT(dm_value_set_flag, no_self), .flags_only = true},
    {"max-elements", 0, "N", MULTIPLY | PLAN, DM_GROUP_REDUCTION, "as many as fit in memory",
     "end with an error if more than N elements are beyond the threshold", OF_PRODUCT(dm_value_set_count, max_elements, .least = 1), .flags_only = true},
    {"as-column", 0, NULL, OPTION_READERS, DM_GROUP_EQUATION, NULL,
     "read a 1-D dataset as a matrix with one column", OF_PRODUCT(dm_value_set_flag, as_column), .flags_only = true},
    {"as-row", 0, NULL, OPTION_READERS, DM_GROUP_EQUATION, NULL,
     "read a 1-D dataset as a matrix with one row", OF_PRODUCT(dm_value_set_flag, as_row), .flags_only = true},
    {"row-axes-a", 0, "N", COMPARE | MULTIPLY | OPTION_FACTORS | PLAN | VERIFY | INFO, DM_GROUP_EQUATION, NULL,
     "flatten A, or X: its first N dimensions are the rows, the others the columns; all of them: one column", OF_PRODUCT(dm_value_set_count, row_axes[0], .least = 1), .flags_only = true},
    {"row-axes-b", 0, "N", COMPARE | TIMES | COV | COR | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "the same for B", OF_PRODUCT(dm_value_set_count, row_axes[1], .least = 1), .flags_only = true},
    {"shape-a", 0, "MxN", COMPARE | MULTIPLY | OPTION_FACTORS | PLAN | VERIFY | INFO, DM_GROUP_EQUATION, NULL,
     "A, or X, is a 1-D dataset of M x N numbers, row after row; MxN,columns: column after column", OF_PRODUCT(dm_value_set_shape, fold[0]), .python = "str | Sequence[int]", .flags_only = true},
    {"shape-b", 0, "MxN", COMPARE | TIMES | COV | COR | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "the same for B", OF_PRODUCT(dm_value_set_shape, fold[1]), .python = "str | Sequence[int]", .flags_only = true},
    {"packed-a", 0, "TRIANGLE", COMPARE | MULTIPLY | OPTION_FACTORS | PLAN | VERIFY | INFO, DM_GROUP_EQUATION, NULL,
     "A, or X, is a 1-D dataset of the lower or upper triangle of a symmetric matrix, row after row, with its diagonal", OF_PRODUCT(dm_value_set_packed, fold[0]), .python = "Literal[\"lower\", \"upper\"]", .flags_only = true},
    {"packed-b", 0, "TRIANGLE", COMPARE | TIMES | COV | COR | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "the same for B", OF_PRODUCT(dm_value_set_packed, fold[1]), .python = "Literal[\"lower\", \"upper\"]", .flags_only = true},
    {"complex-axis", 0, NULL, OPTION_READERS, DM_GROUP_EQUATION, NULL,
     "the axis of 2 with the real and imaginary parts of complex numbers; auto: the last one, if the file says so (attribute __complex__, PETSc's complex, a dimension scale named complex or ri)", OF_PRODUCT(dm_value_set_choice, complex_axis, .initial = "auto", .choices = complex_axes), .flags_only = true},
    {"complex-axis-a", 0, NULL, COMPARE | MULTIPLY | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "the same for A, or X, alone", OF_PRODUCT(dm_value_set_choice, complex_axes[0], .initial = "auto", .choices = complex_axes), .flags_only = true},
    {"complex-axis-b", 0, NULL, COMPARE | TIMES | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "the same for B alone", OF_PRODUCT(dm_value_set_choice, complex_axes[1], .initial = "auto", .choices = complex_axes), .flags_only = true},
    {"batch", 0, "N", PLAN, DM_GROUP_EQUATION, NULL,
     "without files: plan N products of these sizes, as of datasets of three dimensions", OF_PRODUCT(dm_value_set_count, batch, .initial = "1", .least = 1), .python = NO_KEYWORD, .flags_only = true},
    {"stack", 0, NULL, OPTION_READERS, DM_GROUP_EQUATION, NULL,
     "how many files become one matrix ('runs/*.h5:/x', or @list.txt with a location in each line): one above another, or side by side", OF_PRODUCT(dm_value_set_choice, stack, .initial = "rows", .choices = value_stack), .flags_only = true},
    {"alpha", 0, "RE[,IM]", MULTIPLY | VERIFY, DM_GROUP_EQUATION, NULL,
     "factor of the product", OF_PRODUCT(dm_value_set_complex, alpha, .initial = "1"), .python = "complex | SupportsFloat", .usual = MULTIPLY | VERIFY},
    {"beta", 0, "RE[,IM]", TIMES | DM_VERB_GRAM | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "factor of the old C (see --c); 0 does not read it", OF_PRODUCT(dm_value_set_complex, beta, .initial = "0"), .python = "complex | SupportsFloat", .usual = TIMES | VERIFY},
    {"type", 0, NULL, MULTIPLY | OPTION_FACTORS | PLAN | GENERATE | VERIFY | BENCH_P, DM_GROUP_EQUATION, "the files', else f64",
     "element type; inputs of another type are converted first", OF_PRODUCT(dm_value_set_type, type, .choices = value_types), .python = "TypeName", .usual = MULTIPLY | PLAN | GENERATE | VERIFY | BENCH_P},
    {"type", 0, "T[,T...]", BENCH_K, DM_GROUP_EQUATION, NULL,
     "element types; tf32 is f32 multiplied in TF32", OF_COMMAND(dm_value_set_text, bench.types, .initial = "all"), .flags_only = true, .usual = BENCH_K},
    {"missing", 0, NULL, OPTION_READERS, DM_GROUP_EQUATION, NULL,
     "what becomes of missing values; they are what the file names (_FillValue, NA of R...), and NaN in cov and cor, or if this is given; complete leaves out whole observations; pairwise: cov and cor only", OF_PRODUCT(dm_value_set_choice, missing, .initial = "refuse", .choices = value_missing), .flags_only = true, .usual = COV | COR | PCA},
    {"missing-value", 0, "NUMBER", OPTION_READERS, DM_GROUP_EQUATION, NULL,
     "the number, or nan, that is a missing value in files that do not name one", OF_PRODUCT(dm_value_set_number_text, missing_value), .python = "SupportsFloat | Literal[\"nan\"]", .flags_only = true},
    {"raw", 0, NULL, OPTION_READERS, DM_GROUP_EQUATION, NULL,
     "take the stored numbers, whatever attributes say about them (scale_factor, _FillValue, _Unsigned, ...)", OF_PRODUCT(dm_value_set_flag, raw), .flags_only = true},
    {"allow-rounding", 0, NULL, MULTIPLY | PLAN, DM_GROUP_EQUATION, NULL,
     "allow --type to round integers that it cannot hold exactly", OF_PRODUCT(dm_value_set_flag, rounding), .flags_only = true},
    {"strict-types", 0, NULL, MULTIPLY | PLAN | VERIFY, DM_GROUP_EQUATION, NULL,
     "refuse A and B of different types, and integers other than i8, instead of converting them to the narrowest type that holds both", OF_PRODUCT(dm_value_set_flag, strict_types), .flags_only = true},
    {"accumulate", 0, NULL, BENCH_K, DM_GROUP_EQUATION, NULL,
     "C += A B instead of C = A B", OF_COMMAND(dm_value_set_flag, bench.accumulate), .usual = BENCH_K},
    {"type-c", 0, NULL, MULTIPLY | PLAN | BENCH_P, DM_GROUP_EQUATION, "the inputs'; 16 bit: f32, i8: i32",
     "element type of the result", OF_PRODUCT(dm_value_set_type, type_c, .choices = value_types), .python = "TypeName", .usual = MULTIPLY},
    {"compute", 0, NULL, MULTIPLY | PLAN | VERIFY | BENCH_P, DM_GROUP_EQUATION, NULL,
     "precision of the products; auto never goes below that of the inputs; f64:int8 and f32:int8 compute products of f64 or f32 from int8 products, with the same bits of C on any number of ranks and any grid; a suffix, as in f64:int8:14, sets their number, by default chosen from the data; f32:f16 computes products of f32 from three f16 products; fastest selects one of these on GPUs where it is faster and not less accurate", OF_PRODUCT(dm_value_set_compute, compute, .initial = "auto", .choices = dm_compute_names), .python = "str"},
    {"accumulate", 0, NULL, MULTIPLY | PLAN | BENCH_P, DM_GROUP_EQUATION, NULL,
     "how GPUs sum products of f16 and bf16, which their units cut off toward zero; f32: in short pieces of k, whose sums are added in f32, with a mean error of at most 1e-5 for numbers of one sign at any k; fast: as the units do, about 6e-9 k too small; auto: f32 for gram, cov and cor, else fast", OF_PRODUCT(dm_value_set_choice, accumulate, .initial = "auto", .choices = value_accumulate)},

    /* compare */
    {"rtol", 0, "X", COMPARE, DM_GROUP_EQUATION, NULL,
     "elements are close if |a - b| <= atol + rtol |b|, as numpy.isclose has it; b is of the second file", OF_COMMAND(dm_value_set_real, rtol, .initial = "1e-5"), .flags_only = true, .usual = COMPARE},
    {"atol", 0, "X", COMPARE, DM_GROUP_EQUATION, NULL,
     "the same, absolute; 0 and --rtol 0 ask for equal numbers", OF_COMMAND(dm_value_set_real, atol, .initial = "1e-8"), .flags_only = true, .usual = COMPARE},
    {"equal-nan", 0, NULL, COMPARE, DM_GROUP_EQUATION, NULL,
     "NaN is close to NaN", OF_COMMAND(dm_value_set_flag, equal_nan), .flags_only = true, .usual = COMPARE},

    /* bench, verify */
    {"from", 0, NULL, BENCH_P, DM_GROUP_MEASURE, NULL,
     "where the operands are; auto: in GPU memory as far as they fit, the rest, and then C too, in host memory", OF_COMMAND(dm_value_set_choice, from, .choices = option_places, .initial = "auto"), .usual = BENCH_P},
    {"repetitions", 0, "N", BENCH_P, DM_GROUP_MEASURE, "10 or more, see --precision and --time",
     "measure exactly N runs", OF_COMMAND(dm_value_set_count, runs, .least = 1), .usual = BENCH_P},
    {"precision", 0, "PERCENT", BENCH_P, DM_GROUP_MEASURE, NULL,
     "repeat until the 95 % interval of the median is within +-PERCENT of it", OF_COMMAND(dm_value_set_percent, precision, .initial = "2"), .flags_only = true},
    {"time", 0, "SECONDS", BENCH_M, DM_GROUP_MEASURE, NULL,
     "time limit for repetitions (at least 3 run)", OF_COMMAND(dm_value_set_real, budget, .initial = "60"), .flags_only = true, .usual = BENCH_M},
    {"time", 0, "SECONDS", BENCH_S, DM_GROUP_MEASURE, "10",
     "time limit for the repetitions of each measurement (at least 3 run)", OF_COMMAND(dm_value_set_real, budget), .flags_only = true, .usual = BENCH_S},
    {"repetitions", 0, "N", BENCH_L, DM_GROUP_MEASURE, NULL,
     "number of measured runs", OF_COMMAND(dm_value_set_count, repetitions, .least = 1, .initial = "5"), .flags_only = true, .usual = BENCH_L},
    {"warmup", 0, "N", BENCH_P, DM_GROUP_MEASURE, NULL,
     "number of runs before the first measured one", OF_COMMAND(dm_value_set_count, warmup, .initial = "1")},
    {"against-library", 0, NULL, BENCH_M, DM_GROUP_MEASURE, NULL,
     "alternate with one BLAS call per rank on its whole block of C, all ranks at once", OF_COMMAND(dm_value_set_flag, against_library), .usual = BENCH_M},
    {"repetitions", 0, "N", BENCH_K, DM_GROUP_MEASURE, NULL,
     "measurements of each kernel, alternating with its reference", OF_COMMAND(dm_value_set_count, bench.pairs, .least = 3, .initial = "20"), .flags_only = true, .usual = BENCH_K},
    {"along-k", 0, NULL, BENCH_K, DM_GROUP_MEASURE, NULL,
     "give cuBLAS a transposed B, its fastest case in i8 and TF32; the kernels still get B by rows", OF_COMMAND(dm_value_set_flag, bench.along_k)},
    {"settle", 0, "SECONDS", BENCH_K, DM_GROUP_MEASURE, NULL,
     "longest warm-up; it ends early when two quarters of it differ by less than 1 %", OF_COMMAND(dm_value_set_real, bench.settle, .initial = "1")},
    {"limit", 0, "SECONDS", BENCH_K, DM_GROUP_MEASURE, NULL,
     "time limit for measuring one kernel (at least 3 repetitions run)", OF_COMMAND(dm_value_set_real, bench.limit, .initial = "5")},
    {"check", 0, NULL, BENCH_K, DM_GROUP_MEASURE, NULL,
     "check the results without timing", OF_COMMAND(dm_value_set_flag, bench.check), .flags_only = true, .usual = BENCH_K},
    {"list", 0, NULL, BENCH_K, DM_GROUP_MEASURE, NULL,
     "list the kernels; needs no GPU", OF_COMMAND(dm_value_set_flag, bench.list), .flags_only = true, .usual = BENCH_K},
    {"series", 0, "LIST", BENCH_S, DM_GROUP_MEASURE, NULL,
     "the same product (strong), or constant memory or work per rank", OF_COMMAND(dm_value_set_text, series, .initial = "strong,memory,work"), .flags_only = true, .usual = BENCH_S},
    {"full", 0, NULL, VERIFY, DM_GROUP_MEASURE, NULL,
     "recompute in higher precision and compare every element", OF_PRODUCT(dm_value_set_flag, full), .usual = VERIFY},

    /* how */
    {"ranks", 0, "N", PLAN, DM_GROUP_ENGINE, "those of the machine or job",
     "plan for N MPI ranks", OF_COMMAND(dm_value_set_count, ranks, .least = 1), .usual = PLAN},
    {"ranks", 0, "N[,N...]", BENCH_S, DM_GROUP_ENGINE, "1, 2, 4, ... and all",
     "numbers of ranks to measure; the others wait", OF_COMMAND(dm_value_set_text, sizes), .flags_only = true, .usual = BENCH_S},
    {"machine", 0, "WORDS", PLAN, DM_GROUP_ENGINE, "this computer",
     "machine to plan for, such as \"nodes=16 gpus=8 gpu=h200\" (links= and other keys: --help-all); @FILE reads the words from a file", OF_PRODUCT(dm_value_set_machine, machine), .python = "str", .usual = PLAN},
    {"machine", 0, "WORDS", ENGINE, DM_GROUP_ENGINE, "stated rates",
     "rates for the planner, as for plan, or @FILE from 'damier bench rates'; words that are not rates have no effect", AS_ABOVE},
    {"slurm", 0, NULL, PLAN, DM_GROUP_ENGINE, NULL,
     "print #SBATCH lines for the smallest sufficient number of nodes", OF_COMMAND(dm_value_set_flag, slurm), .python = NO_KEYWORD, .flags_only = true, .usual = PLAN},
    {"partition", 0, "NAME", PLAN, DM_GROUP_ENGINE, "Slurm's own default",
     "partition for --slurm; sinfo describes its nodes unless --machine does", OF_COMMAND(dm_value_set_text, partition), .usual = PLAN},
    {"within", 0, "TIME", PLAN, DM_GROUP_ENGINE, "the partition's limit",
     "longest time that --slurm may request", OF_COMMAND(dm_value_set_duration, within, .least = 1), .usual = PLAN},
    {"grid", 0, "PMxPNxPK", MULTIPLY | BENCH_M | PLAN, DM_GROUP_ENGINE, NULL,
     "process grid; surplus ranks stay idle", OF_PRODUCT(dm_value_set_grid, grid, .initial = "auto"), .python = "str | Sequence[int]", .usual = BENCH_M},
    {"panel", 0, "[FIRST,]...N", ENGINE | PLAN, DM_GROUP_ENGINE, NULL,
     "width of the panels of k, a multiple of 64, after up to two narrower ramp-up panels", OF_PRODUCT(dm_value_set_panel, panel, .initial = "auto"), .python = "str | int | Sequence[int]"},
    {"backend", 0, NULL, ENGINE | BENCH_R | BENCH_L, DM_GROUP_ENGINE, NULL,
     "where products are computed; auto: on GPUs if every rank sees one, except for small products that the CPU finishes before a GPU has started", OF_PRODUCT(dm_value_set_choice, backend, .initial = "auto", .choices = backends), .usual = MULTIPLY | BENCH_P},
    {"gpus", 0, "N|LIST|none", MULTIPLY | PLAN, DM_GROUP_ENGINE, "all that help",
     "GPUs of this computer to use without mpirun or srun; a number, a list of indices or UUIDs such as 0,2 ('2,' is a single one), or none", OF_COMMAND(dm_value_set_text, gpus), .python = NO_KEYWORD, .usual = MULTIPLY},
    {"gpus", 0, "N|LIST|none", BENCH_P | BENCH_R | BENCH_L, DM_GROUP_ENGINE, "one",
     "GPUs of this computer to use without mpirun or srun, each a rank; a number, a list, or none", OF_COMMAND(dm_value_set_text, gpus), .python = NO_KEYWORD, .usual = BENCH_P | BENCH_L},
    {"kernel", 0, "NAME", ENGINE | BENCH_R, DM_GROUP_ENGINE, NULL,
     "kernel of the backend; 'damier info' lists them", OF_PRODUCT(dm_value_set_text, kernel, .initial = "auto"), .usual = BENCH_K},
    {"kernel", 0, "NAME[,NAME...]", BENCH_K, DM_GROUP_ENGINE, NULL,
     "kernels to measure; wildcards such as 'mma*' are allowed", OF_COMMAND(dm_value_set_text, bench.kernels, .initial = "*"), .flags_only = true, .usual = BENCH_K},
    {"op", 0, NULL, BENCH_K, DM_GROUP_ENGINE, NULL,
     "only kernels of this operation", OF_COMMAND(dm_value_set_choice, bench.op, .choices = kernel_ops, .initial = "all"), .usual = BENCH_K},
    {"transport", 0, NULL, ENGINE | BENCH_R, DM_GROUP_ENGINE, NULL,
     "how panels travel between ranks; each is tested before it is used", OF_PRODUCT(dm_value_set_choice, transport, .initial = "auto", .choices = transports), .usual = BENCH_L},
    {"transport", 0, NULL, BENCH_L, DM_GROUP_ENGINE, NULL,
     "transport to measure; auto: all that work here", AS_ABOVE, .usual = BENCH_L},
    {"pretend-nodes", 0, "N", MULTIPLY | BENCH_P | BENCH_L, DM_GROUP_ENGINE, NULL,
     "treat the ranks of one computer as N nodes, for tests", OF_JOB(dm_value_set_count, pretend_nodes, .initial = "1", .least = 1)},
    {"threads", 0, "N", ENGINE | BENCH_R, DM_GROUP_ENGINE, "its share of the cores",
     "threads per rank for the CPU product", OF_PRODUCT(dm_value_set_count, threads, .least = 1)},
    {"io-threads", 0, "N", STORING | OPTION_FACTORS | VERIFY, DM_GROUP_ENGINE, "as many as help",
     "threads per rank that read, unpack and pack files; 0: no such threads", OF_PRODUCT(dm_value_set_count, io_threads)},
    {"read-by", 0, NULL, MULTIPLY | OPTION_FACTORS, DM_GROUP_ENGINE, NULL,
     "how A and B are read; auto: pread, but a single rank on the CPU multiplies cached files in place, without a copy", OF_JOB(dm_value_set_choice, read_by, .initial = "auto", .choices = read_ways)},
    {"write-by", 0, NULL, MULTIPLY, DM_GROUP_ENGINE, NULL,
     "how C is written; mapped: by mmap; auto: mapped on a tmpfs with 4 or more writing threads, else pwrite", OF_PRODUCT(dm_value_set_choice, write_by, .initial = "auto", .choices = option_ways)},
    {"write-by", 0, NULL, GENERATE, DM_GROUP_ENGINE, NULL,
     "how the matrix is written, as for multiply; pwrite leaves it in the page cache for the next reader", OF_COMMAND(dm_value_set_choice, generate_by, .choices = option_ways, .initial = "pwrite")},
    {"memory", 0, "host=SIZE,device=SIZE", ENGINE | PLAN, DM_GROUP_ENGINE, "its share of the node",
     "memory that one rank may use; SIZE alone is the host's", OF_PRODUCT(dm_value_set_memory, memory), .python = "str | int | Mapping[str, str | int]", .usual = MULTIPLY | PLAN},
    {"reproducible", 0, NULL, ENGINE | PLAN, DM_GROUP_ENGINE, NULL,
     "compute the same bits of C on any number of ranks and any grid", OF_PRODUCT(dm_value_set_flag, reproducible), .usual = MULTIPLY},
    {"verify", 0, NULL, ENGINE | PLAN, DM_GROUP_ENGINE, NULL,
     "check C with a random vector", OF_PRODUCT(dm_value_set_flag, verify, .initial = "yes"), .negatable = true, .usual = MULTIPLY},
    {"verify-seed", 0, "N", MULTIPLY | OPTION_FACTORS | VERIFY | BENCH_M, DM_GROUP_ENGINE, "random",
     "seed of the check's random vector, to repeat a check: the report states it", OF_PRODUCT(dm_value_set_seed, verify_seed), .python = "SupportsIndex", .flags_only = true},
    {"verify-files", 0, NULL, MULTIPLY, DM_GROUP_ENGINE, NULL,
     "read A, B and C again to check C, so that errors of reading are found, too", OF_PRODUCT(dm_value_set_flag, verify_files)},
    {"verify-written", 0, NULL, MULTIPLY, DM_GROUP_ENGINE, NULL,
     "read C again before it gets its name and compare the checksums of its tiles; auto: if that takes at most 1 % of the run's time", OF_PRODUCT(dm_value_set_choice, verify_written, .initial = "auto", .choices = option_modes)},
    {"protect", 0, NULL, MULTIPLY, DM_GROUP_ENGINE, NULL,
     "take checksums of A and B in memory, and of the tiles of C; --no-protect also turns checkpoints off, but not --verify", OF_PRODUCT(dm_value_set_flag, protect, .initial = "yes"), .negatable = true},
    {"on-corruption", 0, NULL, MULTIPLY, DM_GROUP_ENGINE, NULL,
     "what to do if C fails its check: compute the wrong tiles again, and exit with 7 if they are wrong again; stop with 1; or warn, publish C and exit with 10", OF_PRODUCT(dm_value_set_choice, on_corruption, .initial = "repair", .choices = reactions)},
    {"allow-unchecked", 0, NULL, MULTIPLY | OPTION_FACTORS | VERIFY, DM_GROUP_ENGINE, NULL,
     "exit with 0 instead of 10 when only part of C can be verified, or components did not converge", OF_PRODUCT(dm_value_set_flag, allow_unchecked)},
    {"overlap", 0, NULL, ENGINE | PLAN, DM_GROUP_ENGINE, NULL,
     "move the next panels while the current one is multiplied", OF_PRODUCT(dm_value_set_flag, overlap, .initial = "yes"), .negatable = true},
    {"require-gpu-per-rank", 0, NULL, ENGINE, DM_GROUP_ENGINE, NULL,
     "refuse to let ranks share a GPU", OF_PRODUCT(dm_value_set_flag, require_gpu_per_rank)},

    {"time-limit", 0, "TIME", STOPPABLE, DM_GROUP_ENGINE, "Slurm's, if known",
     "stop early after TIME, as on SIGUSR1, and exit with 75", OF_COMMAND(dm_value_set_duration, time_limit, .least = 1), .usual = MULTIPLY},
    {"checkpoint", 0, NULL, MULTIPLY | OPTION_FACTORS, DM_GROUP_ENGINE, NULL,
     "record finished tiles of C, or how far the search for components is, so that an interrupted run can resume", OF_PRODUCT(dm_value_set_flag, checkpoint, .initial = "yes"), .negatable = true},
    {"checkpoint-interval", 0, "TIME", MULTIPLY | OPTION_FACTORS, DM_GROUP_ENGINE, NULL,
     "how often finished tiles, or searches, are synced and recorded; 0: each one when it is written", OF_PRODUCT(dm_value_set_duration, checkpoint_interval, .initial = "60s", .least = 1, .zero_is_off = true)},
    {"hang-timeout", 0, "TIME", STOPPABLE, DM_GROUP_ENGINE, NULL,
     "exit with 8 after TIME without progress; 0: never; the default is 6 times as long while files are written, and a sync may take 10 minutes at least", OF_JOB(dm_value_set_duration, hang_timeout, .initial = "10m", .least = 1, .zero_is_off = true)},

    /* what is accepted beyond the safe default */
    {"allow-external", 0, NULL, OPTION_READERS, DM_GROUP_TRUST, NULL,
     "accept external storage and links into other files", OF_PRODUCT(dm_value_set_flag, external), .flags_only = true, .usual = INFO},
    {"allow-virtual", 0, NULL, OPTION_READERS, DM_GROUP_TRUST, NULL,
     "accept sources of virtual datasets outside of their folder", OF_PRODUCT(dm_value_set_flag, virtual), .flags_only = true, .usual = INFO},
    {"allow-filters", 0, NULL, OPTION_READERS, DM_GROUP_TRUST, NULL,
     "accept filters that are not built in, by HDF5; may load plug-ins", OF_PRODUCT(dm_value_set_flag, filters), .flags_only = true, .usual = INFO},
    {"allow-no-data", 0, NULL, OPTION_READERS, DM_GROUP_TRUST, NULL,
     "accept a dataset that was never written; it reads as its fill value", OF_PRODUCT(dm_value_set_flag, no_data), .flags_only = true},
    {"swmr", 0, NULL, OPTION_READERS, DM_GROUP_TRUST, NULL,
     "read what has been flushed of a file that another program is writing in SWMR mode", OF_PRODUCT(dm_value_set_flag, swmr), .flags_only = true},

    /* what is said, and where */
    {"json", 0, "FILE", REPORTING, DM_GROUP_REPORT, NULL,
     "write the record as JSON; NAME.json is replaced, other files get one more line; '-' is stdout, with the table on stderr; repeatable", OF_COMMAND(set_paths, json), .usual = REPORTING},
    {"csv", 0, "FILE", REPORTING, DM_GROUP_REPORT, NULL,
     "append the record as a line of CSV; '-' is stdout, as for --json; repeatable", OF_COMMAND(set_paths, csv)},
    {"trace", 0, "FILE", MULTIPLY | BENCH_M, DM_GROUP_REPORT, NULL,
     "write a timeline of all ranks for Perfetto or chrome://tracing", OF_COMMAND(dm_value_set_text, trace), .flags_only = true},
    {"progress", 0, NULL, ENGINE | GENERATE | VERIFY | COMPARE | BENCH_R | BENCH_L, DM_GROUP_REPORT, NULL,
     "show progress; auto: a bar on a terminal, else lines after 1, 2, 5, 10, 30 s and every 30 s", OF_COMMAND(dm_value_set_choice, progress, .choices = option_modes, .initial = "auto")},
    {"verbose", 'v', NULL, VERBS | OPTION_NONE, DM_GROUP_REPORT, NULL,
     "the whole report, and more messages; twice: from every rank", OF_COMMAND(set_step, verbose), .usual = VERBS},
    {"quiet", 'q', NULL, VERBS, DM_GROUP_REPORT, NULL,
     "only warnings and the last line; twice: only errors", OF_COMMAND(set_step, quiet), .usual = VERBS},

    /* general */
    {"help", 'h', NULL, VERBS | OPTION_NONE, DM_GROUP_GENERAL, NULL,
     "show the usual options", OF_COMMAND(dm_value_set_flag, asked.help), .flags_only = true, .usual = OPTION_NONE},
    {"help-all", 0, NULL, VERBS | OPTION_NONE, DM_GROUP_GENERAL, NULL,
     "show all options", OF_COMMAND(dm_value_set_flag, asked.help_all), .flags_only = true, .usual = OPTION_NONE},
    {"version", 0, NULL, VERBS | OPTION_NONE, DM_GROUP_GENERAL, NULL,
     "show version, commit and what is built in; with -v also the libraries", OF_COMMAND(dm_value_set_flag, asked.version), .flags_only = true, .usual = OPTION_NONE},
    {"man-page", 0, NULL, OPTION_NONE, DM_GROUP_GENERAL, NULL,
     "print the man page (mdoc)", OF_COMMAND(dm_value_set_flag, asked.man_page), .flags_only = true},
    {"completion", 0, NULL, OPTION_NONE, DM_GROUP_GENERAL, NULL,
     "print the completion script of a shell", OF_COMMAND(set_shell, asked.completion, .choices = shells), .flags_only = true},
};
/* clang-format on */

enum { OPTION_COUNT = sizeof dm_options / sizeof dm_options[0] };
const int dm_option_count = OPTION_COUNT;
_Static_assert((int)OPTION_COUNT <= (int)DM_OPTIONS, "given is too short");
