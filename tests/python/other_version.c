/* A library with the functions of libdamier and a different version. */
#define STUB(name)                                                                                 \
  __attribute__((visibility("default"))) int name(void);                                           \
  int name(void) {                                                                                 \
    return 0;                                                                                      \
  }

STUB(damier_open_f)
STUB(damier_open_gpus)
STUB(damier_choose_kernels)
STUB(damier_close)
STUB(damier_set)
STUB(damier_old_c)
STUB(damier_set_vector)
STUB(damier_on_progress)
STUB(damier_multiply)
STUB(damier_gram)
STUB(damier_cov)
STUB(damier_cor)
STUB(damier_cov_two)
STUB(damier_pca)
STUB(damier_svd)
STUB(damier_cor_two)
STUB(damier_plan)
STUB(damier_verify)
STUB(damier_info)
STUB(damier_kept_array)
STUB(damier_record)
STUB(damier_warnings)

__attribute__((visibility("default"))) const char *damier_version(void);

const char *damier_version(void) {
  return "7.1.0";
}
