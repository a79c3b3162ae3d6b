# SPDX-License-Identifier: Apache-2.0
# etb_add_custom_kernels: kernels of custom ops from a list of ops and C++ functions. `etbackend bind` writes the code that
# registers them, and checks of their parameters.
#
#   include(<repository>/tools/cmake/EtbCustomKernels.cmake)
#   etb_add_custom_kernels(my_kernels OPS ops.yaml SOURCES scale.cpp)                     # a library for `run --kernels`
#   etb_add_custom_kernels(my_kernels OPS ops.yaml SOURCES scale.cpp RUNTIME my_runtime)  # linked into a program
#
# With RUNTIME, a library of etb_add_runtime, `etb::host::KernelRows my_kernels_rows()` returns the rows for KernelRegistry::add.
# Headers that the list names are searched in the folder of the list.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/EtbRuntime.cmake)

function(etb_add_custom_kernels name)
  cmake_parse_arguments(arg "" "OPS;RUNTIME" "SOURCES" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_OPS OR NOT arg_SOURCES)
    message(FATAL_ERROR "etb_add_custom_kernels(${name}): expected OPS, SOURCES and perhaps RUNTIME")
  endif()
  if(NOT ETB_SELECT)
    message(FATAL_ERROR "etb_add_custom_kernels(${name}): the program `etbackend` is needed: set ETB_SELECT to its path")
  endif()
  cmake_path(ABSOLUTE_PATH arg_OPS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(GET arg_OPS PARENT_PATH folder)
  set(bindings ${CMAKE_CURRENT_BINARY_DIR}/etb_custom_kernels/${name}.cpp)
  set(function "")
  if(arg_RUNTIME)
    set(function --rows-function ${name}_rows)
  endif()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/etb_custom_kernels)
  add_custom_command(OUTPUT ${bindings} DEPENDS ${arg_OPS} VERBATIM
    COMMAND ${ETB_SELECT} bind ${arg_OPS} -o ${bindings} ${function})
  if(arg_RUNTIME)
    add_library(${name} STATIC ${bindings} ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC ${arg_RUNTIME})
  else()
    etb_runtime_list(values host/runtime/CMakeLists.txt "etb_add_library\\(values SOURCES")
    add_library(${name} MODULE ${bindings} ${arg_SOURCES} ${values})
    set_target_properties(${name} PROPERTIES PREFIX "")
    target_include_directories(${name} PRIVATE ${ETB_RUNTIME_ROOT} ${ETB_RUNTIME_ROOT}/api/include)
    target_compile_features(${name} PRIVATE cxx_std_20)
  endif()
  target_include_directories(${name} PRIVATE ${folder})
endfunction()
