# SPDX-License-Identifier: Apache-2.0
# etb::executorch: the official ExecuTorch run time of a Python wheel, for the bridge (host/bridge, tests/bridge). Only
# with -DETB_BRIDGE_EXECUTORCH=<folder of the package>, the folder that has include/ and lib/libexecutorch.so.
set(ETB_BRIDGE_EXECUTORCH "" CACHE PATH "Folder of the official ExecuTorch package; builds the bridge to it")
if(NOT ETB_BRIDGE_EXECUTORCH)
  return()
endif()
foreach(file include/executorch/runtime/backend/interface.h lib/libexecutorch.so version.py)
  if(NOT EXISTS ${ETB_BRIDGE_EXECUTORCH}/${file})
    message(FATAL_ERROR "ETB_BRIDGE_EXECUTORCH: no ${file} in ${ETB_BRIDGE_EXECUTORCH}, expected the folder of ExecuTorch's Python package")
  endif()
endforeach()
# The classes of the run time have no stable layout between versions.
file(STRINGS ${ETB_BRIDGE_EXECUTORCH}/version.py line REGEX "^__version__")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" ETB_EXECUTORCH_VERSION "${line}")
if(NOT ETB_EXECUTORCH_VERSION MATCHES "^1\\.5\\.")
  message(WARNING "ETB_BRIDGE_EXECUTORCH: version ${ETB_EXECUTORCH_VERSION}, the bridge is tested with 1.5.1")
endif()
add_library(etb_executorch INTERFACE)
add_library(etb::executorch ALIAS etb_executorch)
set(headers ${ETB_BRIDGE_EXECUTORCH}/include)
target_include_directories(etb_executorch SYSTEM INTERFACE ${headers}
  ${headers}/executorch/runtime/core/portable_type/c10)
# Those that the wheel itself is built with: its event tracer changes the layout of classes.
target_compile_definitions(etb_executorch INTERFACE C10_USING_CUSTOM_GENERATED_MACROS ET_EVENT_TRACER_ENABLED)
target_link_libraries(etb_executorch INTERFACE ${ETB_BRIDGE_EXECUTORCH}/lib/libexecutorch.so)
set_property(GLOBAL APPEND PROPERTY ETB_OPTIONAL_PLUGINS "bridge to ExecuTorch on (${ETB_EXECUTORCH_VERSION})")
