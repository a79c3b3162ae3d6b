# SPDX-License-Identifier: Apache-2.0
# cmake --install: headers, static libraries, the program, plugins, schemas, the CMake package and pkg-config
# files.
#
#   include/etb/                            the C ABI and its C++ wrappers          etbackend::api
#   lib/libetbackend.so                     the C API of applications               etbackend::etbackend
#   include/etbackend/host/...              headers of the libraries, included as in this repository
#   lib/libetb_*.a                          etb_add_library's targets               etbackend::<name>
#   lib/cmake/etbackend/                    find_package(etbackend), etb_add_plugin()
#   lib/pkgconfig/etbackend{,-api,-host}.pc
#   lib/etbackend/plugins.d/                plugins, each with its manifest
#   share/etbackend/schema/                 FlatBuffers schemas
#   share/doc/etbackend/                    README.md and the other pages at the top, docs/
#   bin/etbackend
#
# Parts of the tree, as COMPONENTs for packages (EtbPackages.cmake): `runtime`, libetbackend.so.N; `program`, the
# program, its man pages and the documents; `plugins`; `development`, everything else.
#
# A library belongs to the component of its top folder: formats (api/), host, partitioner_sdk, conformance.
# There is no list of libraries: every static or interface library etb_* of those folders is installed, unless
# it was added with TEST_SUPPORT. External dependencies of a library must be in the table of
# etb_external_dependency.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(ETB_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/etbackend)
set(ETB_COMPONENTS formats host partitioner_sdk conformance)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

function(etb_install_package)
  install(DIRECTORY api/include/etb DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(TARGETS etb_api EXPORT etbackend-api)
  install(TARGETS etb_shared EXPORT etbackend-library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT runtime NAMELINK_COMPONENT development)
  foreach(component ${ETB_COMPONENTS})
    set(folder ${component})
    if(component STREQUAL "formats")
      set(folder api)
    endif()
    etb_install_component(${component} ${folder})
  endforeach()
  if(TARGET etbackend)
    install(TARGETS etbackend RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  endif()
  install(DIRECTORY api/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/etbackend OPTIONAL FILES_MATCHING PATTERN "*.fbs")
  install(CODE "execute_process(COMMAND \${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
    -DDESTINATION=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}
    -P ${PROJECT_SOURCE_DIR}/tools/cmake/EtbInstallDocs.cmake COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
  etb_install_cmake_package()
  etb_install_pkg_config()
endfunction()

# Installs libraries and headers of one top folder. Sets in the caller's scope: ETB_<component>_LIBRARIES
# (targets in link order, dependents first), _FIND (find_package lines for the package), _PC_REQUIRES and
# _PC_LIBS (for pkg-config).
function(etb_install_component component folder)
  etb_libraries_below(${PROJECT_SOURCE_DIR}/${folder} libraries)
  set(find "")
  set(pc_requires "")
  set(pc_libs "")
  foreach(library IN LISTS libraries)
    install(TARGETS ${library} EXPORT etbackend-${component} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    target_include_directories(${library} INTERFACE
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/etbackend>)
    set_property(TARGET ${library} APPEND PROPERTY INTERFACE_COMPILE_FEATURES cxx_std_20)
    get_target_property(linked ${library} INTERFACE_LINK_LIBRARIES)
    if(NOT linked)
      set(linked "")
    endif()
    foreach(item IN LISTS linked)
      etb_external_dependency(${library} "${item}" find pc_requires pc_libs)
    endforeach()
  endforeach()
  if(libraries)
    install(EXPORT etbackend-${component} NAMESPACE etbackend:: DESTINATION ${ETB_PACKAGE_DIR})
    # Headers keep their include paths ("host/registry/registry.hpp"), but not at the top of the system's
    # include path.
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/etbackend FILES_MATCHING
      PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.def" PATTERN "*_test.hpp" EXCLUDE PATTERN "include" EXCLUDE)
  endif()
  list(REMOVE_DUPLICATES find)
  list(REMOVE_DUPLICATES pc_requires)
  list(REMOVE_DUPLICATES pc_libs)
  foreach(result libraries find pc_requires pc_libs)
    string(TOUPPER ${result} upper)
    set(ETB_${component}_${upper} "${${result}}" PARENT_SCOPE)
  endforeach()
endfunction()

function(etb_libraries_below directory out)
  set(libraries "")
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(test_support ${target} ETB_TEST_SUPPORT)
    if(target MATCHES "^etb_" AND NOT target STREQUAL "etb_api" AND type MATCHES "^(STATIC|INTERFACE)_LIBRARY$"
       AND NOT test_support)
      list(APPEND libraries ${target})
    endif()
  endforeach()
  get_property(subdirectories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory IN LISTS subdirectories)
    etb_libraries_below(${subdirectory} below)
    list(APPEND libraries ${below})
  endforeach()
  set(${out} "${libraries}" PARENT_SCOPE)
endfunction()

# Maps an external link item to the needs of users of our static libraries: a find_dependency line, a
# pkg-config module or a linker flag. Appends to the three lists.
function(etb_external_dependency library item find_list requires_list libs_list)
  # target; find_package arguments, or pkg:<PREFIX>:<module> for pkg_check_modules; pkg-config module; linker
  # flags
  set(table
    "Threads::Threads|Threads||-pthread"
    "fmt::fmt|fmt|fmt|"
    "nlohmann_json::nlohmann_json|nlohmann_json|nlohmann_json|"
    "tl::expected|tl-expected||"
    "flatbuffers::flatbuffers|Flatbuffers|flatbuffers|"
    "dl|||-ldl" "m|||-lm" "rt|||-lrt")
  # Targets of pkg_check_modules(<prefix> IMPORTED_TARGET <module>): prefix, module.
  foreach(pair "sodium libsodium" "libsodium libsodium" "libzip libzip" "zip libzip")
    string(REPLACE " " ";" pair "${pair}")
    list(POP_FRONT pair prefix module)
    string(TOUPPER ${prefix} upper)
    list(APPEND table "PkgConfig::${prefix}|pkg:${prefix}:${module}|${module}|"
      "PkgConfig::${upper}|pkg:${upper}:${module}|${module}|")
  endforeach()
  string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
  if(item MATCHES "^(etb::|etb_|\\$<BUILD_INTERFACE:)" OR item STREQUAL "")
    return()
  endif()
  # A private dependency that only the build needs, wrapped twice.
  if(item MATCHES "^\\$<")
    message(FATAL_ERROR "${library}: etb_install cannot tell what '${item}' means to a user of the installed library")
  endif()
  if(item STREQUAL CMAKE_DL_LIBS)
    set(item dl)
  endif()
  foreach(row IN LISTS table)
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 name)
    if(name STREQUAL item)
      list(GET row 1 row_find)
      list(GET row 2 row_requires)
      list(GET row 3 row_libs)
      foreach(kind find requires libs)
        if(row_${kind})
          set(${${kind}_list} ${${${kind}_list}} ${row_${kind}} PARENT_SCOPE)
        endif()
      endforeach()
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${library} links '${item}': add a row for it to etb_external_dependency (EtbInstall.cmake), so that "
    "the installed package can find it")
endfunction()

function(etb_install_cmake_package)
  foreach(export api library)
    install(EXPORT etbackend-${export} NAMESPACE etbackend:: DESTINATION ${ETB_PACKAGE_DIR})
  endforeach()
  # One find_package line per component, each in its own macro, so that packages of unwanted components are
  # not searched.
  set(ETB_COMPONENT_RULES "")
  foreach(component ${ETB_COMPONENTS})
    if(ETB_${component}_LIBRARIES)
      set(targets ${ETB_${component}_LIBRARIES})
      list(TRANSFORM targets REPLACE "^etb_" "etbackend::")
      string(APPEND ETB_COMPONENT_RULES
        "set(etbackend_${component}_targets ${targets})\nset(etbackend_${component}_packages ${ETB_${component}_FIND})\n")
      list(APPEND ETB_INSTALLED_COMPONENTS ${component})
    endif()
  endforeach()
  configure_package_config_file(tools/cmake/package/etbackendConfig.cmake.in
    ${PROJECT_BINARY_DIR}/package/etbackendConfig.cmake INSTALL_DESTINATION ${ETB_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/etbackendConfigVersion.cmake
    COMPATIBILITY SameMajorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/etbackendConfig.cmake ${PROJECT_BINARY_DIR}/package/etbackendConfigVersion.cmake
    tools/cmake/EtbPlugin.cmake tools/cmake/EtbHardening.cmake tools/cmake/EtbFillManifest.cmake tools/cmake/EtbCheckPluginSymbols.cmake
    tools/cmake/plugin_exports.map DESTINATION ${ETB_PACKAGE_DIR})
endfunction()

function(etb_install_pkg_config)
  # Path from lib/pkgconfig to the prefix, so that the installed tree can be moved.
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
    OUTPUT_VARIABLE ETB_PC_PREFIX)
  set(ETB_PC_ARCHIVES "")
  set(requires ${ETB_formats_PC_REQUIRES} ${ETB_host_PC_REQUIRES})
  set(libs ${ETB_formats_PC_LIBS} ${ETB_host_PC_LIBS})
  foreach(library ${ETB_host_LIBRARIES} ${ETB_formats_LIBRARIES})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      string(REGEX REPLACE "^etb_" "-letb_" flag ${library})
      string(APPEND ETB_PC_ARCHIVES " ${flag}")
    endif()
  endforeach()
  foreach(list requires libs)
    list(REMOVE_DUPLICATES ${list})
    list(JOIN ${list} " " ${list})
  endforeach()
  set(ETB_PC_REQUIRES ${requires})
  set(ETB_PC_LIBS ${libs})
  foreach(module etbackend etbackend-api etbackend-host)
    configure_file(tools/cmake/package/${module}.pc.in ${PROJECT_BINARY_DIR}/package/${module}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/package/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endforeach()
endfunction()
