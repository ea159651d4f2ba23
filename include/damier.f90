! damier.f90: the interface of damier.h for Fortran 2003 and newer; compile it with your program.
! Texts that go to the library end with c_null_char; damier_text makes one of Fortran's of its own.
module damier
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int), parameter :: DAMIER_OK = 0, DAMIER_E_VERIFY = 1, DAMIER_E_USAGE = 2, DAMIER_E_INPUT = 3, &
    DAMIER_E_IO = 4, DAMIER_E_FIT = 5, DAMIER_E_DEVICE = 6, DAMIER_E_CORRUPT = 7, DAMIER_E_MPI = 9, &
    DAMIER_E_UNCHECKED = 10, DAMIER_E_BUG = 70, DAMIER_E_STOPPED = 75
  integer(c_int), parameter :: DAMIER_F64 = 0, DAMIER_F32 = 1, DAMIER_F16 = 2, DAMIER_BF16 = 3, &
    DAMIER_C64 = 4, DAMIER_C128 = 5, DAMIER_I8 = 6, DAMIER_I32 = 7

  type, bind(c) :: damier_error
    integer(c_int) :: code, agreed, rank
    character(c_char) :: message(600), hint(600)
  end type

  type, bind(c) :: damier_matrix
    integer(c_int) :: division
    type(c_ptr) :: file
    integer(c_int) :: type
    integer(c_int64_t) :: rows, cols
    type(c_ptr) :: data
    integer(c_int64_t) :: row_stride, col_stride, own_rows
    integer(c_int) :: rank, grid_rows, grid_cols, column_major
    integer(c_int64_t) :: row_block, col_block
    integer(c_int) :: first_row, first_col
    integer(c_int) :: memory
    type(c_ptr) :: stream
    type(c_ptr) :: parts
    integer(c_int) :: part_count
  end type

  type, bind(c) :: damier_array
    type(c_ptr) :: of, name ! see damier_string
    integer(c_int) :: whole, type
    integer(c_int64_t) :: rows, cols
    type(c_ptr) :: data ! row-major: c_f_pointer with [cols, rows]
  end type

  interface
    integer(c_int) function damier_open(comm, context, error) bind(c, name='damier_open_f')
      import
      integer(c_int), value :: comm ! as of use mpi; of mpi_f08: comm%mpi_val
      type(c_ptr), intent(out) :: context
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_open_local(context, error) bind(c) ! this process alone, without MPI
      import
      type(c_ptr), intent(out) :: context
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_open_gpus(gpus, context, error) bind(c)
      import
      integer(c_int), value :: gpus
      type(c_ptr), intent(out) :: context
      type(damier_error), intent(out) :: error
    end function
    subroutine damier_close(context) bind(c)
      import
      type(c_ptr), value :: context
    end subroutine
    integer(c_int) function damier_set(context, option, value, error) bind(c)
      import
      type(c_ptr), value :: context
      character(c_char), intent(in) :: option(*), value(*)
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_set_vector(context, option, of_rows, type, count, numbers, error) bind(c)
      import
      type(c_ptr), value :: context, numbers ! c_loc of the numbers, which are copied
      character(c_char), intent(in) :: option(*)
      integer(c_int), value :: of_rows, type
      integer(c_int64_t), value :: count
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_old_c(context, c, error) bind(c)
      import
      type(c_ptr), value :: context, c ! c_loc of a damier_matrix; c_null_ptr: the default
      type(damier_error), intent(out) :: error
    end function
    subroutine damier_on_progress(context, progress, argument) bind(c)
      import
      type(c_ptr), value :: context, argument
      type(c_funptr), value :: progress ! of a function with bind(c), or c_null_funptr
    end subroutine
    integer(c_int) function damier_multiply(context, a, b, c, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: a, b, c
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_gram(context, x, of_rows, c, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: x, c
      integer(c_int), value :: of_rows
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_cov(context, x, of_rows, c, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: x, c
      integer(c_int), value :: of_rows
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_cor(context, x, of_rows, c, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: x, c
      integer(c_int), value :: of_rows
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_pca(context, x, of_rows, kept, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: x, kept
      integer(c_int), value :: of_rows
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_svd(context, x, of_rows, kept, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: x, kept
      integer(c_int), value :: of_rows
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_cov_two(context, x, y, of_rows, c, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: x, y, c
      integer(c_int), value :: of_rows
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_cor_two(context, x, y, of_rows, c, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: x, y, c
      integer(c_int), value :: of_rows
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_plan(context, a, b, c, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: a, b, c
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_verify(context, a, b, c, error) bind(c)
      import
      type(c_ptr), value :: context
      type(damier_matrix), intent(in) :: a, b, c
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_info(context, location, error) bind(c)
      import
      type(c_ptr), value :: context
      character(c_char), intent(in) :: location(*)
      type(damier_error), intent(out) :: error
    end function
    integer(c_int) function damier_kept_array(context, index, array) bind(c) ! 1: there is one
      import
      type(c_ptr), value :: context
      integer(c_int), value :: index ! from 0 on
      type(damier_array), intent(inout) :: array
    end function
    type(c_ptr) function damier_record(context) bind(c) ! see damier_string
      import
      type(c_ptr), value :: context
    end function
    type(c_ptr) function damier_warnings(context) bind(c) ! see damier_string
      import
      type(c_ptr), value :: context
    end function
    type(c_ptr) function damier_version() bind(c) ! see damier_string
      import
    end function
    subroutine damier_choose_kernels() bind(c)
    end subroutine
    type(damier_matrix) function damier_file(location) bind(c)
      import
      character(c_char), intent(in) :: location(*) ! must stay as long as the matrix
    end function
    type(damier_matrix) function damier_kept() bind(c) ! a C that is not stored
      import
    end function
    type(damier_matrix) function damier_by_rows(type, rows, cols, own_rows, data, stride) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int64_t), value :: rows, cols, own_rows, stride
      type(c_ptr), value :: data
    end function
    type(damier_matrix) function damier_on_one(type, rows, cols, rank, data, stride) bind(c)
      import
      integer(c_int), value :: type, rank
      integer(c_int64_t), value :: rows, cols, stride
      type(c_ptr), value :: data
    end function
    type(damier_matrix) function damier_on_all(type, rows, cols, data, stride) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int64_t), value :: rows, cols, stride
      type(c_ptr), value :: data
    end function
    type(damier_matrix) function damier_scalapack(type, desc, grid_rows, grid_cols, column_major, data) bind(c)
      import
      integer(c_int), value :: type, grid_rows, grid_cols, column_major
      integer(c_int), intent(in) :: desc(9)
      type(c_ptr), value :: data
    end function
    type(damier_matrix) function damier_in_gpu(matrix, stream) bind(c)
      import
      type(damier_matrix), value :: matrix
      type(c_ptr), value :: stream
    end function
    type(damier_matrix) function damier_in_parts(parts, count) bind(c)
      import
      type(damier_matrix), intent(in) :: parts(*) ! must stay as long as the matrix
      integer(c_int), value :: count
    end function
  end interface

contains

  ! The array behind the matrix is Fortran's: LEADING elements from column to column.
  subroutine damier_by_columns(matrix, leading)
    type(damier_matrix), intent(inout) :: matrix
    integer, intent(in) :: leading
    matrix%row_stride = 1
    matrix%col_stride = leading
  end subroutine

  ! The text that damier_record or damier_version returns.
  function damier_string(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(c_char), pointer :: chars(:)
    interface
      integer(c_size_t) function strlen(text) bind(c)
        import
        type(c_ptr), value :: text
      end function
    end interface
    call c_f_pointer(address, chars, [strlen(address)])
    text = damier_text(chars)
  end function

  function damier_text(chars) result(text)
    character(c_char), intent(in) :: chars(:)
    character(:), allocatable :: text
    integer :: i
    text = ''
    do i = 1, size(chars)
      if (chars(i) == c_null_char) exit
      text = text // chars(i)
    end do
  end function
end module
