# The Debian package (./dev package). What it depends on is read from the programs by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heaptap)
set(CPACK_PACKAGE_VENDOR "The heaptap authors")
set(CPACK_PACKAGE_CONTACT "The heaptap authors <heaptap@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "heap tracer for C and C++ programs")
set(CPACK_PACKAGE_DESCRIPTION
    "heaptap shows where the memory of a C or C++ program goes, who still holds it,\nand what leaks: of a program that it starts, and of one that already runs.\nNothing is recompiled.")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Loaded where they are there: for names from the servers of $DEBUGINFOD_URLS, and for --push over TLS.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libdebuginfod1)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libcurl4 | libcurl3-gnutls")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# For libheaptap.so.1, which other packages' programs may be linked with.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# What Debian wants beside the programs, made of LICENSE and CHANGELOG.md.
set(debian ${PROJECT_BINARY_DIR}/debian)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
string(REGEX REPLACE "^MIT License\n\nCopyright[^\n]*\n\n" "" license "${license}")
string(REGEX REPLACE "\n$" "" license "${license}")
string(REPLACE "\n\n" "\n.\n" license "${license}")
string(REPLACE "\n" "\n " license "${license}")
file(CONFIGURE OUTPUT ${debian}/copyright @ONLY CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: heaptap

Files: *
Copyright: 2026 The heaptap authors
License: Expat

License: Expat
 @license@
")
file(STRINGS ${PROJECT_SOURCE_DIR}/CHANGELOG.md release REGEX "^## \\[${PROJECT_VERSION}\\] - ")
string(REGEX REPLACE ".* - " "" release "${release}")
execute_process(COMMAND date --utc --rfc-email --date=${release} OUTPUT_VARIABLE release OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
file(CONFIGURE OUTPUT ${debian}/changelog.Debian @ONLY CONTENT
"heaptap (@PROJECT_VERSION@-@CPACK_DEBIAN_PACKAGE_RELEASE@) unstable; urgency=medium

  * The changes of version @PROJECT_VERSION@ are in changelog.gz.

 -- @CPACK_PACKAGE_CONTACT@  @release@
")
execute_process(COMMAND gzip -9n INPUT_FILE ${debian}/changelog.Debian OUTPUT_FILE ${debian}/changelog.Debian.gz
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND gzip -9n INPUT_FILE ${PROJECT_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${debian}/changelog.gz
                COMMAND_ERROR_IS_FATAL ANY)
install(FILES cmake/lintian-overrides DESTINATION share/lintian/overrides RENAME heaptap)
install(FILES ${debian}/copyright ${debian}/changelog.Debian.gz ${debian}/changelog.gz DESTINATION share/doc/heaptap)
include(CPack)
