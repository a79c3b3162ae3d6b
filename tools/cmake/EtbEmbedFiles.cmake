# SPDX-License-Identifier: Apache-2.0
# etb_embed_files(out.inc <macro> lang path file ...): writes one line <macro>("lang", "path", R"(text)") for
# each triple to out.inc. So a program contains the files and needs no path at run time. If a file changes,
# CMake runs again.
function(etb_embed_files out macro)
  set(text "// Made by etb_embed_files.\n")
  set(triples ${ARGN})
  while(triples)
    list(POP_FRONT triples lang path file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    # Read as bytes: a semicolon or bracket in the file must not become a list separator.
    file(READ ${file} content)
    if(content MATCHES "\\)etb_file\"")
      message(FATAL_ERROR "${file}: has the end mark )etb_file\" in it")
    endif()
    if(lang STREQUAL "any")
      set(lang "")
    endif()
    string(APPEND text "${macro}(\"${lang}\", \"${path}\", R\"etb_file(${content})etb_file\")\n")
  endwhile()
  file(WRITE ${out}.tmp "${text}")
  file(COPY_FILE ${out}.tmp ${out} ONLY_IF_DIFFERENT)
endfunction()
