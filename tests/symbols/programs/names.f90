module grid
  implicit none
  real(8) :: heights(100)
contains
  subroutine relax(n)
    integer, intent(in) :: n
    integer :: i
    do i = 2, n
      heights(i) = heights(i - 1) * 0.5d0 + heights(i)
    end do
  end subroutine relax
end module grid

subroutine outside(x)
  real(8), intent(inout) :: x
  x = x * 2
end subroutine outside

program erosion
  use grid
  implicit none
  real(8) :: x
  x = 1
  call relax(100)
  call outside(x)
  print *, x, heights(3)
end program erosion
