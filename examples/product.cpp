// C = A B of matrices in memory: rank r has some rows of A and C; B is on rank 0.
//     mpicxx product.cpp $(pkg-config --cflags --libs damier) && mpirun -n 3 ./a.out
#include <cstdint>
#include <damier.h>
#include <iostream>
#include <vector>

struct Context {
  damier_context *handle = nullptr;
  damier_error error{};
  explicit Context(MPI_Comm comm) { check(damier_open(comm, &handle, &error)); }
  ~Context() { damier_close(handle); }
  void check(int code) const {
    if (code == DAMIER_OK) return;
    std::cerr << error.message << '\n' << error.hint << '\n';
    MPI_Abort(MPI_COMM_WORLD, code);
  }
};

int main() {
  const std::int64_t m = 300, n = 200, k = 400;
  int provided, rank, ranks;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto own = m * (rank + 1) / ranks - m * rank / ranks;
  std::vector<double> a(own * k, 1.0), b(rank == 0 ? k * n : 0, 2.0), c(own * n);
  {
    Context context(MPI_COMM_WORLD);
    const auto ma = damier_by_rows(DAMIER_F64, m, k, own, a.data(), 0);
    const auto mb = damier_on_one(DAMIER_F64, k, n, 0, b.data(), 0);
    const auto mc = damier_by_rows(DAMIER_F64, m, n, own, c.data(), 0);
    context.check(damier_multiply(context.handle, &ma, &mb, &mc, &context.error));
  }
  if (rank == 0) std::cout << "C(0, 0) = " << c[0] << '\n'; // 800
  MPI_Finalize();
}
