# The Debian package: settings of CPack. scripts/deb makes it; packaging/debian-tree.cmake prepares its files.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fathom)
set(CPACK_PACKAGE_VERSION ${FATHOM_VERSION})
set(CPACK_PACKAGE_VENDOR "Fathom")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "performance analysis of the memory hierarchy")
set(CPACK_STRIP_FILES TRUE)
# the umask of the builder is not the package's
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/debian-tree.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Fathom developers <fathom@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Fathom shows how a program uses the memory hierarchy: whether latency,
bandwidth, capacity or sharing limits it, in which source lines, and the
changes to try. It needs no hardware counters and uses them where they exist.
.
Simulated machines (--machine) and the emulator run programs in the
recommended package qemu-user. Everything else works without it.")
# libraries: read from the programs by dpkg-shlibdeps
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS TRUE)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS qemu-user)
# for programs marked with fathom.h, and for those who read the manual
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "man-db, pkg-config")
include(CPack)
