! C = A B of matrices in memory: rank r has some rows of A and C; B is on rank 0.
!     mpifort $(pkg-config --variable=includedir damier)/damier.f90 product.f90 \
!       $(pkg-config --libs damier) && mpirun -n 3 ./a.out
program product
  use mpi
  use damier
  implicit none
  integer(c_int64_t), parameter :: m = 300, n = 200, k = 400
  integer :: provided, rank, ranks, own, failed, ierr
  real(c_double), allocatable, target :: a(:, :), b(:, :), c(:, :)
  type(damier_matrix) :: ma, mb, mc
  type(damier_error) :: error
  type(c_ptr) :: context
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  own = int(m) * (rank + 1) / ranks - int(m) * rank / ranks
  allocate (a(own, k), b(k, n), c(own, n)) ! B is used on rank 0 alone
  a = 1
  b = 2
  ma = damier_by_rows(DAMIER_F64, m, k, int(own, c_int64_t), c_loc(a), 0_c_int64_t)
  mb = damier_on_one(DAMIER_F64, k, n, 0, c_loc(b), 0_c_int64_t)
  mc = damier_by_rows(DAMIER_F64, m, n, int(own, c_int64_t), c_loc(c), 0_c_int64_t)
  call damier_by_columns(ma, own)
  call damier_by_columns(mb, int(k))
  call damier_by_columns(mc, own)
  failed = damier_open(MPI_COMM_WORLD, context, error)
  if (failed == DAMIER_OK) failed = damier_multiply(context, ma, mb, mc, error)
  if (failed /= DAMIER_OK) then
    print '(a)', damier_text(error%message), damier_text(error%hint)
    call MPI_Abort(MPI_COMM_WORLD, failed, ierr)
  end if
  if (rank == 0) print '(a, i0)', 'C(0, 0) = ', nint(c(1, 1)) ! 800
  call damier_close(context)
  call MPI_Finalize(ierr)
end program
