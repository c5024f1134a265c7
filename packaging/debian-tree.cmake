# Debian's rules for the files of a package, applied to the installed tree before CPack packs it: compressed manual and
# changelogs, completions of zsh where Debian's zsh looks.
set(share ${CPACK_TEMPORARY_DIRECTORY}/usr/share)
set(source ${CMAKE_CURRENT_LIST_DIR}/..)

# compress FILE...: into FILE.gz, without name and time, so that the same content gives the same file
function(compress)
  execute_process(COMMAND gzip -9n ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(GLOB pages ${share}/man/man1/*.1)
compress(${pages})

file(MAKE_DIRECTORY ${share}/zsh)
file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)

# Debian reads changelog.gz in its own format; CHANGELOG.md has the text
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${share}/doc/fathom/changelog
"fathom (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; CHANGELOG.md.gz lists the changes.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${now}
")
configure_file(${source}/CHANGELOG.md ${share}/doc/fathom/CHANGELOG.md COPYONLY)
compress(${share}/doc/fathom/changelog ${share}/doc/fathom/CHANGELOG.md)
file(GLOB_RECURSE documents ${share}/man/*.gz ${share}/doc/*)
file(CHMOD ${documents} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
