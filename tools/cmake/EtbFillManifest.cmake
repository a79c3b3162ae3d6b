# SPDX-License-Identifier: Apache-2.0
# Writes OUT: MANIFEST with the entry of `libraries` that describes LIBRARY filled in.
#
# cmake -DMANIFEST=in.json -DLIBRARY=my_npu.so -DOUT=my_npu.json -DOS=linux -DARCH=x86_64 -DLIBC=glibc
#       [-DCPU=avx2;fma] [-DRANK=0] -P EtbFillManifest.cmake
#
# If the manifest has no `libraries`, this adds the list with one entry. If it has the list, the entry whose
# path is the library's file name gets sha256 and size. It also gets os, arch, libc, cpu and rank where these
# are missing. Other entries stay unchanged.
cmake_minimum_required(VERSION 3.25)

file(READ ${MANIFEST} text)
cmake_path(GET LIBRARY FILENAME path)
file(SHA256 ${LIBRARY} sha256)
file(SIZE ${LIBRARY} size)
string(JSON kind ERROR_VARIABLE error TYPE "${text}")
if(NOT kind STREQUAL "OBJECT")
  message(FATAL_ERROR "${MANIFEST}: not a JSON object: ${error}")
endif()

list(TRANSFORM CPU REPLACE "(.+)" "\"\\1\"")
list(JOIN CPU ", " cpu)
set(platform "\"os\": \"${OS}\", \"arch\": \"${ARCH}\", \"libc\": \"${LIBC}\"")
set(entry "{${platform}, \"path\": \"${path}\", \"sha256\": \"${sha256}\", \"size\": ${size}, \"cpu\": [${cpu}], \"rank\": ${RANK}}")

string(JSON count ERROR_VARIABLE missing LENGTH "${text}" libraries)
if(missing)
  # Inserted as text before the closing brace: string(JSON SET) would sort the author's keys.
  string(FIND "${text}" "}" end REVERSE)
  string(SUBSTRING "${text}" 0 ${end} head)
  string(STRIP "${head}" head)
  set(comma ",")
  if(head STREQUAL "{")
    set(comma "")
  endif()
  set(text "${head}${comma}\n  \"libraries\": [\n    ${entry}\n  ]\n}\n")
else()
  set(found FALSE)
  set(index 0)
  while(index LESS count)
    string(JSON entry_path ERROR_VARIABLE error GET "${text}" libraries ${index} path)
    if(NOT error AND entry_path STREQUAL path)
      set(found TRUE)
      string(JSON text SET "${text}" libraries ${index} sha256 "\"${sha256}\"")
      string(JSON text SET "${text}" libraries ${index} size ${size})
      foreach(key os arch libc cpu rank)
        string(JSON said ERROR_VARIABLE error TYPE "${text}" libraries ${index} ${key})
        if(error)
          string(JSON value GET "${entry}" ${key})
          string(JSON type TYPE "${entry}" ${key})
          if(type STREQUAL "STRING")
            set(value "\"${value}\"")
          endif()
          string(JSON text SET "${text}" libraries ${index} ${key} "${value}")
        endif()
      endforeach()
    endif()
    math(EXPR index "${index} + 1")
  endwhile()
  if(NOT found)
    message(FATAL_ERROR "${MANIFEST}: no entry of 'libraries' has the path '${path}'")
  endif()
endif()

string(JSON written ERROR_VARIABLE error GET "${text}" libraries)
if(error)
  message(FATAL_ERROR "${MANIFEST}: with the library's entry put in it is no longer JSON: ${error}")
endif()
file(WRITE ${OUT}.tmp "${text}")
file(RENAME ${OUT}.tmp ${OUT})
