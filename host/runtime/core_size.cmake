# SPDX-License-Identifier: Apache-2.0
# Measures the core (code and constants) in a program built for size with link-time
# optimisation, less an empty program.
# `cmake --build ... --target core_size` prints the size, a test limits it. Includes the core's own ops and
# the whole verifier, but no kernels.
#
# The limit of each processor in bytes. A processor without one is measured and not limited.
set(core_size_limit_x86_64 53248)
set(core_size_limit_aarch64 53248)
set(core_sources "")
foreach(target etb_program etb_values etb_runtime_core)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source ${sources})
    if(source MATCHES "\\.cpp$")
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
      list(APPEND core_sources ${source})
    endif()
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/empty_app.cpp CONTENT "int main() { return 0; }\n")
add_executable(core_size_app EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/core_size_app.cpp ${core_sources})
add_executable(core_size_empty EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/empty_app.cpp)
foreach(app core_size_app core_size_empty)
  # Measured without the protections of EtbHardening, because a firmware that counts bytes chooses its own.
  # docs/building.md has the size with them.
  set_target_properties(${app} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(${app} PRIVATE etb::program operator_views)
  target_compile_options(${app} PRIVATE -Os -g0 -fno-pie -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -fno-unwind-tables
    -ffunction-sections -fdata-sections -DNDEBUG -flto)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)  # a firmware knows its processor: no choice of atomic instructions at run time
    target_compile_options(${app} PRIVATE -mno-outline-atomics)
    target_link_options(${app} PRIVATE -mno-outline-atomics)
  endif()
  target_link_options(${app} PRIVATE -no-pie -Os -flto -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -Wl,--gc-sections)
endforeach()
add_dependencies(core_size_app etb_program)
add_custom_target(core_size VERBATIM DEPENDS core_size_app core_size_empty
  COMMAND ${CMAKE_COMMAND} -DAPP=$<TARGET_FILE:core_size_app> -DEMPTY=$<TARGET_FILE:core_size_empty> -DLIMIT=${core_size_limit_${CMAKE_SYSTEM_PROCESSOR}}
          -DNM=${CMAKE_NM} -P ${CMAKE_CURRENT_LIST_DIR}/print_core_size.cmake)
