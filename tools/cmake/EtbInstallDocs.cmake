# SPDX-License-Identifier: Apache-2.0
# Installs README.md, CHANGELOG.md, SECURITY.md and docs/ side by side, so that their links work. A link to a file that is not
# installed (sources, tests) becomes its text.
# usage: cmake -DSOURCE=DIR -DDESTINATION=DIR -P EtbInstallDocs.cmake

# CMake splits lists at brackets and semicolons, so texts have these words instead.
set(open "<OPEN>")
set(close "<CLOSE>")
set(semicolon "<SEMICOLON>")

function(read_page file out)
  file(READ ${file} text)
  string(REPLACE "[" "${open}" text "${text}")
  string(REPLACE "]" "${close}" text "${text}")
  string(REPLACE ";" "${semicolon}" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(write_page file text)
  string(REPLACE "${open}" "[" text "${text}")
  string(REPLACE "${close}" "]" text "${text}")
  string(REPLACE "${semicolon}" ";" text "${text}")
  file(WRITE ${file} "${text}")
endfunction()

# True if the installed tree has the target of a link in the page.
function(is_installed page target out)
  set(${out} TRUE PARENT_SCOPE)
  string(REGEX REPLACE "#.*$" "" path "${target}")
  if(path STREQUAL "" OR target MATCHES "^[a-z]+:")
    return()
  endif()
  cmake_path(GET page PARENT_PATH folder)
  cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY ${folder} NORMALIZE)
  cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${SOURCE} OUTPUT_VARIABLE name)
  if(NOT EXISTS ${path} OR NOT name MATCHES "^(README\\.md|CHANGELOG\\.md|SECURITY\\.md|LICENSE|docs(/.*)?)$")
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

function(install_page name)
  read_page(${SOURCE}/${name} text)
  string(REGEX MATCHALL "${close}\\([^) \n]+\\)" links "${text}")
  list(REMOVE_DUPLICATES links)
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^${close}\\((.*)\\)$" "\\1" target "${link}")
    is_installed(${SOURCE}/${name} "${target}" installed)
    if(NOT installed)
      string(REGEX REPLACE "([.^$*+?|()])" "\\\\\\1" pattern "${target}")
      string(REGEX REPLACE "${open}([^<\n]*)${close}\\(${pattern}\\)" "\\1" text "${text}")
    endif()
  endforeach()
  write_page(${DESTINATION}/${name} "${text}")
endfunction()

file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/docs/*)
foreach(name README.md CHANGELOG.md SECURITY.md LICENSE ${files})
  if(name MATCHES "\\.md$")
    install_page(${name})
  else()
    cmake_path(GET name PARENT_PATH folder)
    file(COPY ${SOURCE}/${name} DESTINATION ${DESTINATION}/${folder})
  endif()
endforeach()
