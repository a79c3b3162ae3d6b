# SPDX-License-Identifier: Apache-2.0
# etb_add_plugin: adds a plugin, in this repository and in a vendor's project (find_package(etbackend)).
#
#   etb_add_plugin(my_npu SOURCES my_npu.cpp ... MANIFEST manifest.json
#                  [DEPS targets] [CPU avx2 fma ...] [RANK 10] [OUTPUT_DIRECTORY dir] [NO_INSTALL] [STATIC])
#
# adds two targets from the same sources:
#   etb_plugin_my_npu         the shared library my_npu.so. It exports only etb_plugin_query, has no undefined
#                             symbols, binds at load, and finds its own libraries beside itself. It is
#                             hardened (EtbHardening.cmake).
#   etb_plugin_my_npu_static  the same plugin for linking into a program (see etb/static_plugins.h); built
#                             only if used.
#
# The library and its manifest my_npu.json are written to OUTPUT_DIRECTORY, by default <build>/plugins.d. So a
# build tree can be searched for plugins like an installed one. The author writes MANIFEST, except the entry
# of `libraries` for this file (os, arch, libc, path, sha256, size, cpu, rank): each link fills that in. A
# MANIFEST that ends in .in is first passed through configure_file(@ONLY). CPU lists the CPU features that the
# library requires. RANK orders variants that all fit (higher wins). Both are written to the manifest.
#
#   etb_link_static_plugins(app my_npu ...)
#
# links the static form of these plugins into a program, and writes the header "etb_static_plugins.h" for its sources: the
# array `etb_static_plugins` for etb_registry_options. The delegate ids are those of the manifests.
include_guard(GLOBAL)
include(GNUInstallDirs)
include(${CMAKE_CURRENT_LIST_DIR}/EtbHardening.cmake)
set(ETB_PLUGIN_MODULE_DIR ${CMAKE_CURRENT_LIST_DIR})
set(ETB_PLUGIN_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR}/etbackend/plugins.d)

function(etb_add_plugin name)
  cmake_parse_arguments(arg "NO_INSTALL;STATIC" "MANIFEST;RANK;OUTPUT_DIRECTORY" "SOURCES;DEPS;CPU" ${ARGN})
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "etb_add_plugin: name '${name}', expected lower-case letters, digits and underscores")
  endif()
  if(NOT arg_SOURCES OR NOT arg_MANIFEST)
    message(FATAL_ERROR "etb_add_plugin(${name}): SOURCES and MANIFEST are needed")
  endif()
  if(NOT arg_RANK)
    set(arg_RANK 0)
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins.d)
  endif()

  set(target etb_plugin_${name})
  set(kinds ${target}_static)
  add_library(${target}_static STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_compile_definitions(${target}_static PRIVATE ETB_PLUGIN_STATIC_NAME=${name})
  etb_plugin_read_manifest(manifest ${name} "${arg_MANIFEST}")
  set_target_properties(${target}_static PROPERTIES ETB_PLUGIN_MANIFEST ${manifest})
  if(NOT arg_STATIC)
    add_library(${target} MODULE ${arg_SOURCES})
    list(PREPEND kinds ${target})
  endif()
  foreach(kind ${kinds})
    set_target_properties(${kind} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    if(NOT CMAKE_CXX_STANDARD)   # the headers' minimum; a project may set a newer one
      set_target_properties(${kind} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
    endif()
    if(NOT CMAKE_C_STANDARD)
      set_target_properties(${kind} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON)
    endif()
    if(TARGET etb::api)   # in this repository
      target_include_directories(${kind} PRIVATE ${PROJECT_SOURCE_DIR})
      target_link_libraries(${kind} PRIVATE etb::api etb_warnings etb_sanitizers)
    else()
      target_link_libraries(${kind} PRIVATE etbackend::api)
    endif()
    target_link_libraries(${kind} PRIVATE ${arg_DEPS})
    etb_harden(${kind})
  endforeach()
  if(arg_STATIC)
    return()
  endif()

  # The library is installed byte for byte as linked, because the manifest holds its digest. So its run path
  # must already be final.
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${arg_OUTPUT_DIRECTORY} BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  etb_plugin_link_options(${target})
  etb_plugin_fill_manifest(${target} ${name} ${manifest} "${arg_OUTPUT_DIRECTORY}" "${arg_CPU}" ${arg_RANK})
  if(NOT TARGET etb::api)   # a test for a vendor's project; this repository has one for all plugins
    add_test(NAME plugin_symbols_${name} COMMAND ${CMAKE_COMMAND} -DLIBRARY=$<TARGET_FILE:${target}>
      -DNM=${CMAKE_NM} -DREADELF=${CMAKE_READELF} -P ${ETB_PLUGIN_MODULE_DIR}/EtbCheckPluginSymbols.cmake)
  endif()

  if(NOT arg_NO_INSTALL)
    set_property(GLOBAL APPEND PROPERTY ETB_INSTALLED_PLUGINS ${target})
    install(PROGRAMS $<TARGET_FILE:${target}> DESTINATION ${ETB_PLUGIN_INSTALL_DIR} COMPONENT plugins)
    install(FILES ${arg_OUTPUT_DIRECTORY}/${name}.json DESTINATION ${ETB_PLUGIN_INSTALL_DIR} COMPONENT plugins)
  endif()
endfunction()

function(etb_link_static_plugins program)
  set(declarations "")
  set(rows "")
  foreach(name IN LISTS ARGN)
    if(NOT TARGET etb_plugin_${name}_static)
      message(FATAL_ERROR "etb_link_static_plugins(${program}): no plugin '${name}', expected names given to etb_add_plugin before")
    endif()
    get_target_property(manifest etb_plugin_${name}_static ETB_PLUGIN_MANIFEST)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifest})
    file(READ ${manifest} text)
    string(JSON count LENGTH "${text}" provides)
    math(EXPR last "${count} - 1")
    set(ids "")
    foreach(index RANGE ${last})
      string(JSON id GET "${text}" provides ${index} id)
      list(APPEND ids ${id})
    endforeach()
    list(JOIN ids " " ids)
    string(APPEND declarations "ETB_DECLARE_STATIC_PLUGIN(${name});\n")
    string(APPEND rows "    ETB_STATIC_PLUGIN(${name}, \"${ids}\"),\n")
    target_link_libraries(${program} PRIVATE etb_plugin_${name}_static)
  endforeach()
  if(NOT rows)
    message(FATAL_ERROR "etb_link_static_plugins(${program}): no plugin given")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/static_plugins/${program})
  file(CONFIGURE OUTPUT ${folder}/etb_static_plugins.h @ONLY CONTENT [[
// Written by etb_link_static_plugins: the plugins that are linked into this program.
#include "etb/static_plugins.h"

#ifdef __cplusplus
extern "C" {
#endif
@declarations@#ifdef __cplusplus
}
#endif

static const etb_static_plugin etb_static_plugins[] = {
@rows@};
]])
  target_include_directories(${program} PRIVATE ${folder})
endfunction()

function(etb_plugin_link_options target)
  if(APPLE OR WIN32)
    return()
  endif()
  # Hidden visibility alone is not enough: the C++ library marks its templates visible. An exported unique
  # symbol prevents unloading of the plugin.
  set(exports ${ETB_PLUGIN_MODULE_DIR}/plugin_exports.map)
  target_link_options(${target} PRIVATE LINKER:--version-script=${exports} LINKER:--exclude-libs,ALL)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})
  # Clang leaves a sanitizer's runtime to the program, so a sanitized plugin has undefined symbols.
  if(NOT (ETB_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()

# Sets `out` to the manifest's path, after configure_file() for one that ends in .in.
function(etb_plugin_read_manifest out name manifest)
  cmake_path(ABSOLUTE_PATH manifest BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  if(manifest MATCHES "\\.in$")
    set(configured ${CMAKE_CURRENT_BINARY_DIR}/${name}.json)
    configure_file(${manifest} ${configured} @ONLY)
    set(manifest ${configured})
  endif()
  set(${out} ${manifest} PARENT_SCOPE)
endfunction()

function(etb_plugin_fill_manifest target name manifest directory cpu rank)
  string(TOLOWER "${CMAKE_SYSTEM_NAME}" os)
  string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" arch)
  etb_plugin_libc(libc)
  set(script ${ETB_PLUGIN_MODULE_DIR}/EtbFillManifest.cmake)
  # Runs after each link; a changed manifest causes a new link.
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${manifest} ${script})
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM BYPRODUCTS ${directory}/${name}.json
    COMMAND ${CMAKE_COMMAND} -DMANIFEST=${manifest} -DLIBRARY=$<TARGET_FILE:${target}> -DOUT=${directory}/${name}.json
      -DOS=${os} -DARCH=${arch} -DLIBC=${libc} "-DCPU=${cpu}" -DRANK=${rank} -P ${script})
endfunction()

function(etb_plugin_libc out)
  set(libc glibc)
  if(ANDROID)
    set(libc bionic)
  elseif(CMAKE_C_LIBRARY_ARCHITECTURE MATCHES "musl" OR CMAKE_CXX_LIBRARY_ARCHITECTURE MATCHES "musl")
    set(libc musl)
  elseif(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(libc system)
  endif()
  set(${out} ${libc} PARENT_SCOPE)
endfunction()
