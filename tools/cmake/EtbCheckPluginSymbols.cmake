# SPDX-License-Identifier: Apache-2.0
# Fails unless LIBRARY exports only etb_plugin_query (ABI-SYM-01) and needs no library of the host.
#
# cmake -DLIBRARY=my_npu.so -DNM=nm -DREADELF=readelf -P EtbCheckPluginSymbols.cmake
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${NM} --dynamic --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "([^\n ]+) [^\n]*\n" "\\1;" symbols "${symbols}")
list(REMOVE_ITEM symbols "")
if(NOT symbols STREQUAL "etb_plugin_query")
  message(FATAL_ERROR "${LIBRARY} exports '${symbols}', expected 'etb_plugin_query' alone")
endif()

execute_process(COMMAND ${READELF} --dynamic --wide ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
if(dynamic MATCHES "NEEDED[^\n]*\\[(libetb[^]]*)\\]")
  message(FATAL_ERROR "${LIBRARY} needs ${CMAKE_MATCH_1}: a plugin must not depend on the host")
endif()
