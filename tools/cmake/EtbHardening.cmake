# SPDX-License-Identifier: Apache-2.0
# etb_harden(target): compiles and links a target so that memory errors are harder to exploit. All libraries
# and programs of this repository use it, and so does each vendor's plugin (etb_add_plugin).
#
#   compiler   -fstack-protector-strong, -fstack-clash-protection, -fcf-protection=full (x86) or
#              -mbranch-protection=standard (AArch64), _FORTIFY_SOURCE=3 (2 if the C library does not support 3),
#              the last with optimisation and without sanitizers only
#   linker     full RELRO (-z relro -z now), -z noexecstack, -z separate-code
#
# Flags that the compiler or the linker rejects are omitted. Platforms without ELF get none.
# tests/install/check_hardening.sh reads the result from the files. ETB_HARDENING=OFF disables all of it, to
# measure the cost.
include_guard(GLOBAL)
include(CheckCompilerFlag)
include(CheckLinkerFlag)
include(CheckSourceCompiles)
set(etb_hardening_default ON)
if(CMAKE_SYSTEM_NAME STREQUAL "Generic")   # no operating system: nothing maps pages, and the C library has no stack guard
  set(etb_hardening_default OFF)
endif()
option(ETB_HARDENING "Compile and link with the protections of tools/cmake/EtbHardening.cmake" ${etb_hardening_default})

function(etb_harden target)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language C CXX)
    if(language IN_LIST languages)
      etb_hardening_flags(${language} compile link)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:${language}>:${compile}>")
      target_link_options(${target} PRIVATE "$<$<LINK_LANGUAGE:${language}>:${link}>")
    endif()
  endforeach()
endfunction()

# Sets out_compile and out_link to the flags for this language that its compiler accepts.
function(etb_hardening_flags language out_compile out_link)
  set(${out_compile} "" PARENT_SCOPE)
  set(${out_link} "" PARENT_SCOPE)
  if(NOT ETB_HARDENING OR APPLE OR WIN32)
    return()
  endif()
  set(wanted -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64|i[3-6]86")
    list(APPEND wanted -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
    list(APPEND wanted -mbranch-protection=standard)
  endif()
  set(compile "")
  foreach(flag IN LISTS wanted)
    string(MAKE_C_IDENTIFIER "ETB_${language}_ACCEPTS${flag}" result)
    check_compiler_flag(${language} ${flag} ${result})
    if(${result})
      list(APPEND compile ${flag})
    endif()
  endforeach()
  etb_fortify_flags(${language} fortify)
  set(${out_compile} "${compile};${fortify}" PARENT_SCOPE)

  set(link "")
  foreach(flag relro now noexecstack separate-code)
    string(MAKE_C_IDENTIFIER "ETB_${language}_LINKS_Z_${flag}" result)
    check_linker_flag(${language} LINKER:-z,${flag} ${result})
    if(${result})
      list(APPEND link LINKER:-z,${flag})
    endif()
  endforeach()
  set(${out_link} "${link}" PARENT_SCOPE)
endfunction()

# The C library checks sizes only in optimised code, and warns elsewhere. Sanitizers replace its functions
# with their own checks.
function(etb_fortify_flags language out)
  set(configurations ${CMAKE_CONFIGURATION_TYPES})
  if(NOT configurations)
    set(configurations "${CMAKE_BUILD_TYPE}")
  endif()
  set(result "")
  foreach(configuration IN LISTS configurations)
    string(TOUPPER ${configuration} upper)
    set(flags " ${CMAKE_${language}_FLAGS} ${CMAKE_${language}_FLAGS_${upper}}")
    string(REGEX MATCHALL " -O[^ ]*" optimisations "${flags}")
    set(last "")
    list(POP_BACK optimisations last)
    if(ETB_SANITIZE OR "${flags}" MATCHES "-fsanitize=" OR "${last}" MATCHES "^( -O0)?$")
      continue()
    endif()
    etb_fortify_level(${language} level)
    list(APPEND result "$<$<CONFIG:${configuration}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${level}>")
  endforeach()
  set(${out} "${result}" PARENT_SCOPE)
endfunction()

function(etb_fortify_level language out)
  set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_source_compiles(${language} "
#include <string.h>
#if defined(__USE_FORTIFY_LEVEL) && __USE_FORTIFY_LEVEL < 3
#error \"3 is treated like 2\"
#endif
int main(void) { return 0; }" ETB_${language}_FORTIFIES_3)
  set(${out} 2 PARENT_SCOPE)
  if(ETB_${language}_FORTIFIES_3)
    set(${out} 3 PARENT_SCOPE)
  endif()
endfunction()
