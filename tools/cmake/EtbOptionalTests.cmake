# SPDX-License-Identifier: Apache-2.0
# Decides if tests and benchmarks are built. ETB_BUILD_TESTS and ETB_BUILD_BENCHMARKS are AUTO (built if their
# packages are found), ON (an error without) or OFF (not searched). AUTO is resolved here: the rest of the build
# reads ON or OFF from the same name. One line of the output of configure reports the result.

# etb_optional_part(name default "text"): the option ETB_BUILD_<name>. Sets out_wanted to false for OFF.
function(etb_optional_part name default text out_wanted)
  set(ETB_BUILD_${name} ${default} CACHE STRING "${text}: AUTO builds them when their packages are found")
  set_property(CACHE ETB_BUILD_${name} PROPERTY STRINGS AUTO ON OFF)
  set(${out_wanted} FALSE PARENT_SCOPE)
  if(ETB_BUILD_${name})   # AUTO or ON
    set(${out_wanted} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Sets ETB_BUILD_<name> in the caller's scope to ON or OFF. `missing` lists packages as "name (Debian package)".
function(etb_decide_part name text missing)
  string(TOLOWER ${name} key)
  if(NOT missing)
    set(ETB_BUILD_${name} ON PARENT_SCOPE)
    message(STATUS "${text}: on")
    return()
  endif()
  list(JOIN missing ", " missing)
  if(NOT ETB_BUILD_${name} STREQUAL "AUTO")
    message(FATAL_ERROR "ETB_BUILD_${name} is ${ETB_BUILD_${name}}, but a package that ${key} need is missing: ${missing}. "
      "Install it (tools/setup.sh --contributor installs all), or set ETB_BUILD_${name} to AUTO or OFF.")
  endif()
  set(ETB_BUILD_${name} OFF PARENT_SCOPE)
  # A notice, not a status line: without tests, an empty run of ctest would look like a success.
  message(NOTICE "${text}: off, missing: ${missing}")
endfunction()

set(default OFF)   # a project that contains this one wants its own tests only
if(PROJECT_IS_TOP_LEVEL)
  set(default AUTO)
endif()
etb_optional_part(TESTS ${default} "Build the tests" wanted)
if(wanted)
  set(missing "")
  find_package(GTest QUIET)
  if(NOT TARGET GTest::gmock OR NOT TARGET GTest::gtest_main)
    list(APPEND missing "GoogleTest (Debian: libgtest-dev libgmock-dev)")
  endif()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(sodium QUIET IMPORTED_TARGET libsodium)
  endif()
  if(NOT sodium_FOUND)
    list(APPEND missing "libsodium (Debian: libsodium-dev pkg-config)")
  endif()
  etb_decide_part(TESTS "Tests" "${missing}")
endif()

etb_optional_part(BENCHMARKS OFF "Build the benchmarks" wanted)
if(wanted)
  set(missing "")
  find_package(benchmark QUIET)
  if(NOT TARGET benchmark::benchmark_main)
    list(APPEND missing "Google Benchmark (Debian: libbenchmark-dev)")
  endif()
  etb_decide_part(BENCHMARKS "Benchmarks" "${missing}")
endif()
