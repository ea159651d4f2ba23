#include <stdio.h>
#include <string.h>

#include "cli/call.h"
#include "core/status.h"
#include "core/suggest.h"

/* clang-format off */
const dm_verb dm_cli_verbs[] = {
    {"multiply", DM_VERB_MULTIPLY, "A.h5[:/ds] B.h5[:/ds] -o C.h5[:/ds]", 2, 2,
     "compute C = alpha op(A) op(B) + beta C0 of matrices in HDF5, .npy or Zarr",
     "C is written as C.h5.part and renamed when it is complete and verified; its name says the format: C.h5, C.npy, C.zarr.\n"
     "A and B may also be genotypes of PLINK (G.bed). A file with one 2-D dataset needs no path; a vector is B's column or A's row, as NumPy has it.\n"
     "One process uses all cores of the computer, and the GPUs that shorten the product; mpirun -n N starts N processes, on several computers, too.\n",
     {"damier multiply A.h5 B.h5 -o C.h5",
      "damier multiply A.npy data.h5:/run/b -o C.zarr --alpha 0.5",
      "damier multiply A.h5 B.h5 --beta 1 --c C.h5 -o C.h5 --force",
      "damier multiply 'runs/*.h5:/x[0:50]' B.h5 -o C.h5"}},
    {"gram", DM_VERB_GRAM, "X.h5[:/ds] -o C.h5[:/ds]", 1, 1,
     "compute C = alpha X^H X, or alpha X X^H with --of rows: half of the work of multiply",
     "Only elements on and below the diagonal are computed; the others are stored as their mirror images,"
     " so that C is exactly symmetric.\n"
     "Neither C nor X need fit in memory.\n",
     {"damier gram X.h5:/x -o C.h5:/c", "damier gram X.h5 --of rows -o C.h5"}},
    {"cov", DM_VERB_COV, "X.h5[:/ds] [Y.h5[:/ds]] -o C.h5[:/ds]", 1, 2,
     "compute the covariances of all pairs of columns of X, or of columns of X with those of Y; of rows with --of rows",
     "As gram --center --divide n-1: means are subtracted before anything is multiplied.\n"
     "Of two matrices as multiply --op-a c with columns of both centered.\n"
     "Whole numbers are read as f64. Options of gram apply.\n",
     {"damier cov X.h5:/x -o C.h5:/cov", "damier cov genes.h5 --of rows --divide n -o C.h5",
      "damier cov 'runs/*.h5:/x' --missing pairwise -o C.h5"}},
    {"cor", DM_VERB_COR, "X.h5[:/ds] [Y.h5[:/ds]] -o C.h5[:/ds]", 1, 2,
     "compute the correlations (Pearson's r) of all pairs of columns of X, or of columns of X with those of Y; of rows with --of rows",
     "As gram --center --scale --divide n-1.\nConstant columns have no correlation: theirs are NaN, and"
     " their number is reported.\n",
     {"damier cor X.h5:/x -o C.h5:/cor", "damier cor genes.h5 --of rows -o C.h5",
      "damier cor X.h5 Y.h5 --missing pairwise -o C.h5"}},
    {"pca", DM_VERB_PCA, "X.h5[:/ds] --rank K -o P.h5[:/group]", 1, 1,
     "compute the K first principal components of X, whose columns are variables; or rows, with --of rows",
     "P.h5 gets components (K x variables), singular_values, explained_variance, explained_variance_ratio, mean, scale and residuals, all f64.\n"
     "Means are subtracted while X is read. Of each component the entry of largest magnitude is positive.\n"
     "The residuals |X v - s u| and |X^T u - s v| of all components are computed, and stored as a part of the largest singular value;"
     " where they exceed --tolerance the exit code is 10.\n",
     {"damier pca X.h5:/x --rank 50 -o P.h5", "damier pca X.h5 --rank 10 --scale --scores S.h5 -o P.h5",
      "damier pca 'runs/*.h5:/x' --rank 20 --missing mean -o P.h5"}},
    {"svd", DM_VERB_SVD, "X.h5[:/ds] --rank K -o P.h5[:/group]", 1, 1,
     "compute the K largest singular values of X and their right singular vectors",
     "As pca, but nothing is subtracted and nothing is divided by n-1.\n"
     "--scores writes X V, that is U S.\n",
     {"damier svd X.h5:/x --rank 50 -o P.h5", "damier svd X.h5 --rank 10 --scores US.h5 -o P.h5"}},
    {"plan", DM_VERB_PLAN, "[A.h5[:/ds] B.h5[:/ds] | gram|cov|cor|pca|svd [X.h5[:/ds]]]", 0, 2,
     "show how a product would be computed: grid, memory, traffic, time",
     "Needs neither MPI nor a GPU.\nWithout files, --m, --n, --k or --size state the problem.\n"
     "Keys of --machine: nodes; gpus and ranks, per node; gpu, a name; links; cores, memory,"
     " device-memory and gflops (f64; gflops-f32 and so on for other types), per rank; link, network, upload,"
     " copy, read and write in GB/s; latency in us.\n"
     "links= states how panels travel inside a node: device (GPU to GPU, the default with gpu=), shared"
     " (memory of the node, the default otherwise) or host (messages through host memory).\n",
     {"damier plan A.h5 B.h5", "damier plan gram X.h5",
      "damier plan --size 100000 --type f32 --machine \"nodes=16 gpus=8 gpu=h200\"",
      "damier plan --slurm A.h5 B.h5 --within 30m"}},
    {"generate", DM_VERB_GENERATE, "FILE.h5[:/ds] --rows N --cols N", 1, 1,
     "write a matrix whose elements depend only on seed, row and column",
     "The matrix has the same bits on any number of ranks.\n"
     "The default dataset is /a.\n",
     {"damier generate A.h5 --rows 4000 --cols 3000 --kind normal --seed 7",
      "damier generate A.npy --size 1000 --type f32"}},
    {"verify", DM_VERB_VERIFY, "[A.h5[:/ds] B.h5[:/ds] | X.h5[:/ds]] C.h5[:/ds]", 1, 3,
     "check that C is alpha op(A) op(B) + beta C0, reading each file once",
     "Options not given are taken from the provenance that multiply stored with C.\n"
     "C alone is compared with the checksums of its tiles that multiply stored in its file.\n"
     "Of components, P.h5, the residuals are computed again from X.\n",
     {"damier verify A.h5 B.h5 C.h5", "damier verify a.npy b.npy c.npy --alpha 0.5", "damier verify C.h5"}},
    {"info", DM_VERB_INFO, "[FILE.h5[:/ds] ...]", 0, 4096,
     "show this build and the hardware it finds, or the contents of files",
     "",
     {"damier info", "damier info A.h5 b.npy C.zarr G.bed"}},
    {"compare", DM_VERB_COMPARE, "A.h5[:/ds] B.h5[:/ds]", 2, 2,
     "compare two matrices element by element, with tolerances",
     "Elements are close if |a - b| <= atol + rtol |b|, as numpy.isclose has it; equal infinities are.\n"
     "Prints how many are not, and the worst place; exits with 0 if there are none, else with 1.\n"
     "The files are read in pieces: neither matrix need fit in memory.\n",
     {"damier compare C1.h5 C2.h5", "damier compare C.h5:/c ref.npy --rtol 1e-6 --atol 0", "damier compare C1.h5 C2.h5 --rtol 0 --atol 0 -q"}},
    {"run", DM_VERB_RUN, "JOBS.txt", 1, 1,
     "run many products, one a line, in one start",
     "A line has the words of a command: multiply A1.h5 B.h5 -o C1.h5. Empty lines are left out, and the rest of a line from a word that begins with #; words may be quoted. The list - is standard input.\n"
     "Products whose C is complete are skipped, as with --if-needed; another C is only replaced if the line says --force or --if-needed.\n"
     "A job that fails does not end the others: the lines that failed are listed, and the exit code is the first one's.\n"
     "The same command goes on where an earlier one ended.\n",
     {"damier run jobs.txt", "damier run jobs.txt --jobs-of $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"}},
    {"clean", DM_VERB_CLEAN, "[FOLDER | C.h5 ...]", 0, 4096,
     "remove what killed runs left beside their outputs",
     "Those are C.h5.part, C.h5.journal and C.h5.damier-*, of the outputs named, or of all in a folder; the default is this one.\n"
     "Stays: what is not recognised as damier's, what a run is using, and, without --resumable, what the same command would go on from.\n",
     {"damier clean --dry-run", "damier clean out", "damier clean C.h5 --resumable"}},
    {"bench multiply", DM_VERB_BENCH_MULTIPLY, "", 0, 0,
     "measure the multiplication of generated matrices in memory",
     "Runs the engine of multiply without files.\n",
     {"damier bench multiply --size 2000", "damier bench multiply --size 16384 --type f32 --repetitions 10"}},
    {"bench scale", DM_VERB_BENCH_SCALE, "", 0, 0,
     "measure how the multiplication scales over the ranks of this job",
     "The options state the product of the smallest run, the base.\nStrong scaling keeps it.\nWith memory"
     " all dimensions grow with the square root of the number of ranks, with work with the cube root.\n"
     "The first ranks multiply, filling whole nodes first, each with its share of cores and memory; the"
     " others sleep.\n"
     "Efficiency is the rate per rank divided by the rate per rank of the base.\nWith --json and --csv, each"
     " measurement is a record of its own.\n",
     {"mpirun -n 2 damier bench scale --size 2000",
      "mpirun -n 8 damier bench scale --size 8192 --series strong,work --ranks 2,4,8"}},
    {"bench links", DM_VERB_BENCH_LINKS, "", 0, 0,
     "measure the bandwidth of each transport between pairs of ranks",
     "Rank 0 and each other rank are measured in one direction and in both at once while"
     " all others rest; then all ranks in pairs in both directions at once.\nTwo messages are in flight, as for panels.\n"
     "The bytes received are checked before anything is timed.\nWith shared memory, receiving means copying out of"
     " it.\n"
     "With --json and --csv, each transport and size is a record of its own.\n",
     {"mpirun -n 2 damier bench links", "mpirun -n 8 damier bench links --bytes 64KiB:64MiB:x4"}},
    {"bench rates", DM_VERB_BENCH_RATES, "", 0, 0,
     "measure the rates that the planner uses",
     "All ranks measure products, memory and links at once; the rates hold for this number of ranks"
     " per node.\n"
     "The file has the words of --machine and may be edited; --machine @FILE uses it.\n"
     "With --files, reading and writing in a folder are measured, too; each rank needs 128 MiB there.\n",
     {"damier bench rates -o rates.txt", "mpirun -n 2 damier bench rates --files /scratch -o rates.txt",
      "damier multiply A.h5 B.h5 -o C.h5 --machine @rates.txt"}},
    {"bench kernels", DM_VERB_BENCH_KERNELS, "", 0, 0,
     "check and measure each kernel by itself on one GPU",
     "Each kernel is first checked against sums of twice the precision of f64; kernels that fail are not"
     " timed.\n"
     "Products are compared with cuBLAS, transpositions and additions with a copy, dot products with"
     " plain reading, alternating on the same matrices.\n"
     "With --json and --csv, each kernel in each type and size is a record of its own.\n",
     {"damier bench kernels --list",
      "damier bench kernels --kernel 'warp_tile,double*' --type f32 --sizes 128:4096:x2"}},
};
/* clang-format on */

enum { VERB_LIST_COUNT = sizeof dm_cli_verbs / sizeof dm_cli_verbs[0] };
const int dm_cli_verb_count = VERB_LIST_COUNT;

const dm_verb dm_cli_no_verb = {
    .name = "",
    .bit = DM_VERB_NONE,
    .operands = "VERB ...",
    .about =
        "multiplies matrices in HDF5, .npy, Zarr and PLINK .bed files, on the CPUs or GPUs of one "
        "computer or of an MPI job",
    .more = "",
    .examples = {"damier multiply A.h5 B.h5 -o C.h5", "damier plan A.h5 B.h5", "damier verify C.h5",
                 "damier info"}};

const dm_exit_code dm_cli_exit_codes[] = {
    {0, "done"},
    {1, "the verification, or the check of a kernel, failed"},
    {2, "wrong usage; also if the output exists or is an input, or a kernel does not support the "
        "type"},
    {3, "an input was rejected"},
    {4, "a file could not be read or written"},
    {5, "does not fit in memory or on the disk"},
    {6, "GPU, backend or transport failed"},
    {7, "parts of C were wrong, were computed again, and are wrong again"},
    {8, "the watchdog found a hang"},
    {9, "MPI or the launcher failed"},
    {10, "done, but part of C could not be verified (--allow-unchecked: 0), C is wrong (see "
         "--on-corruption), or components did not converge"},
    {70, "a bug in damier"},
    {75, "stopped early; run again to resume"},
    {0, NULL},
};

/* The first words of all verbs; "bench" appears twice, which does no harm. */
static int first_words(char words[VERB_LIST_COUNT][32], const char *names[VERB_LIST_COUNT]) {
  for (int i = 0; i < VERB_LIST_COUNT; i++) {
    snprintf(words[i], 32, "%.*s", (int)strcspn(dm_cli_verbs[i].name, " "), dm_cli_verbs[i].name);
    names[i] = words[i];
  }
  return VERB_LIST_COUNT;
}

/* What other programs call a verb; WORD itself where none is known. */
static const char *verb_list_synonym_of(const char *word) {
  static const char *const synonyms[][2] = {
      {"mul", "multiply"}, {"matmul", "multiply"}, {"gemm", "multiply"}, {"product", "multiply"},
      {"ls", "info"},      {"inspect", "info"},    {"check", "verify"},  {"create", "generate"},
      {"dot", "multiply"}, {"mm", "multiply"},     {"syrk", "gram"},     {"random", "generate"}};
  for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
    if (strcmp(word, synonyms[i][0]) == 0) return synonyms[i][1];
  return word;
}

static dm_status unknown_verb(const char *word) {
  char words[VERB_LIST_COUNT][32];
  const char *names[VERB_LIST_COUNT];
  dm_status status =
      dm_hint(dm_fail(DM_E_USAGE, "unknown verb '%s'", word), "'damier --help' lists the verbs");
  if (strpbrk(word, "./")) /* a file */
    return dm_hint(status, "the verb comes first: damier multiply A.h5 B.h5 -o C.h5");
  return dm_suggest(status, verb_list_synonym_of(word), names, first_words(words, names));
}

/* WORD was recognised and wants a second word, which is missing or wrong. */
static dm_status incomplete_verb(const char *word, const char *second) {
  char all[240] = "";
  const char *seconds[VERB_LIST_COUNT];
  int count = 0;
  size_t length = strlen(word);
  for (int i = 0; i < VERB_LIST_COUNT; i++) {
    const char *name = dm_cli_verbs[i].name;
    if (strncmp(name, word, length) != 0 || name[length] != ' ') continue;
    seconds[count++] = name + length + 1;
    size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s%s", count > 1 ? ", " : "", seconds[count - 1]);
  }
  if (!second)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' needs a second word: %s", word, all),
                   "'damier --help' describes them");
  int nearest = dm_closest(second, seconds, count);
  dm_status status = dm_fail(DM_E_USAGE, "unknown verb '%s %s'", word, second);
  if (nearest < 0) return dm_hint(status, "the second words are %s", all);
  return dm_hint(status, "did you mean '%s %s'?", word, seconds[nearest]);
}

dm_status dm_cli_verb_find(int argc, char **argv, const dm_verb **verb, int *used) {
  bool first_fits = false;
  const char *second = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
  for (int i = 0; i < VERB_LIST_COUNT; i++) {
    const char *name = dm_cli_verbs[i].name;
    size_t length = strcspn(name, " ");
    if (strlen(argv[0]) != length || strncmp(argv[0], name, length) != 0) continue;
    first_fits = true;
    if (name[length] == ' ' && (!second || strcmp(second, name + length + 1) != 0)) continue;
    *verb = &dm_cli_verbs[i];
    *used = name[length] == ' ' ? 2 : 1;
    return DM_OK;
  }
  if (first_fits && !second && argc > 1 &&
      (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    *verb = &dm_cli_no_verb;
    *used = 1;
    return DM_OK;
  }
  return first_fits ? incomplete_verb(argv[0], second) : unknown_verb(argv[0]);
}
