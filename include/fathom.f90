! Markers for Fathom. Link with a C file that holds:
!     #define FATHOM_FORTRAN
!     #include <fathom.h>
module fathom
  use, intrinsic :: iso_c_binding, only: c_char, c_null_char
  implicit none
  private
  public :: fathom_region_begin, fathom_region_end
  interface
    subroutine region_begin(name) bind(c, name="fathom_region_begin_f")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine region_end(name) bind(c, name="fathom_region_end_f")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
  end interface
contains
  subroutine fathom_region_begin(name)
    character(len=*), intent(in) :: name
    call region_begin(trim(name)//c_null_char)
  end subroutine
  subroutine fathom_region_end(name)
    character(len=*), intent(in) :: name
    call region_end(trim(name)//c_null_char)
  end subroutine
end module
