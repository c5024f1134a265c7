! Fortran: arrays, matrix product, formatted output, a line in the file COUNTED
program fortran
  implicit none
  integer, parameter :: n = 300
  real(8), allocatable :: a(:, :), b(:, :), c(:, :)
  character(len=4096) :: path
  integer :: i, j, length, status
  call get_environment_variable('COUNTED', path, length, status)
  if (status == 0) then
    open (unit=10, file=path(1:length), position='append', action='write')
    write (10, '(a)') 'once'
    close (10)
  end if
  allocate (a(n, n), b(n, n), c(n, n))
  do j = 1, n
    do i = 1, n
      a(i, j) = mod(i * 7 + j, 13)
      b(i, j) = mod(i + j * 11, 17)
    end do
  end do
  do i = 1, 40
    c = matmul(a, b)
    a = mod(c, 13d0)
  end do
  print '(f16.2, 2(1x, i0))', sum(c), maxloc(c)
end program fortran
