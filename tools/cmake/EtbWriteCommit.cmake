# SPDX-License-Identifier: Apache-2.0
# Writes the commit of a source tree as a constant. Leaves the file alone if nothing changed, so that nothing is
# compiled again. Without git, or in an archive of the sources, the commit is "unknown".
# usage: cmake -DSOURCE=dir -DOUT=commit.inc -P EtbWriteCommit.cmake
set(commit unknown)
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --abbrev=12 OUTPUT_VARIABLE found
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND found MATCHES "^[0-9A-Za-z._-]+$")
    set(commit ${found})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "constexpr const char* kCommit = \"@commit@\";\n" @ONLY)
