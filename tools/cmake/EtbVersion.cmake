# SPDX-License-Identifier: Apache-2.0
# Reads the version from api/include/etb/version.h, the only file that states it.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../../api/include/etb/version.h lines REGEX "^#define ETB_(VERSION|ABI)_[A-Z]+ [0-9]+")
foreach(line IN LISTS lines)
  string(REGEX MATCH "ETB_([A-Z_]+) ([0-9]+)" _ "${line}")
  set(ETB_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()
set(ETB_VERSION ${ETB_VERSION_MAJOR}.${ETB_VERSION_MINOR}.${ETB_VERSION_PATCH})
