# SPDX-License-Identifier: Apache-2.0
# Settings of CPack: `cpack` in the build folder makes a tar.gz of the installed tree (generator TGZ) and, on Debian,
# one .deb for each part of it (generator External, which runs tools/packaging/make_debs.sh).
# tools/packaging/build_packages.sh configures, builds and packs with the right settings.
#
# Not with CPack's generator DEB: it does not process symbols files, compress man pages or change modes, so lintian
# rejects its packages.
set(CPACK_PACKAGE_NAME etbackend)
set(CPACK_PACKAGE_VENDOR "etbackend maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME etbackend-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
string(TOLOWER ${CPACK_PACKAGE_FILE_NAME} CPACK_PACKAGE_FILE_NAME)
set(CPACK_GENERATOR TGZ)
find_program(ETB_DPKG_GENCONTROL dpkg-gencontrol)
if(ETB_DPKG_GENCONTROL AND CMAKE_INSTALL_PREFIX STREQUAL "/usr")   # another prefix has other folders for libraries
  list(APPEND CPACK_GENERATOR External)
endif()
set(CPACK_COMPONENTS_ALL runtime program plugins development)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/tools/packaging/cpack_generator.cmake)
set(CPACK_EXTERNAL_PACKAGE_SCRIPT ${PROJECT_SOURCE_DIR}/tools/packaging/cpack_external.cmake)
set(CPACK_EXTERNAL_ENABLE_STAGING ON)
set(CPACK_ETB_SOURCE_DIR ${PROJECT_SOURCE_DIR})   # names with this prefix reach the scripts of CPack
set(CPACK_ETB_BINARY_DIR ${PROJECT_BINARY_DIR})
set(CPACK_VERBATIM_VARIABLES ON)
# Modes of folders do not depend on the umask of the machine.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# No strip: the manifest of a plugin holds the digest of its library. The preset `package` links with -s instead.
set(CPACK_STRIP_FILES OFF)
include(CPack)
