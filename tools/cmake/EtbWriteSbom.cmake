# SPDX-License-Identifier: Apache-2.0
# Writes the bill of materials (SPDX 2.3, JSON) of the built files.
#
# usage: cmake -DINPUT=sbom_input.cmake -DOUT=sbom.spdx.json -P EtbWriteSbom.cmake
#   INPUT   written by EtbSbom.cmake: version, compiler, source, table, readelf, multiarch (Debian's name of the
#           platform), version_<key>, and for each file "installed path|built file|keys of third-party code in it"
# environment: SOURCE_DATE_EPOCH   time of creation; else that of the last commit, so that a commit makes one SBOM
#
# Shared libraries come from the ELF files. Their versions come from dpkg, where it is present.
cmake_minimum_required(VERSION 3.25)
include(${INPUT})
file(STRINGS ${table} rows REGEX "^[^#]")
set(packages "")
set(file_objects "")
set(relationships "")
set(known_packages "")
set(sha1_list "")

function(relate from type to)
  set(relationships "${relationships},\n    {\"spdxElementId\": \"SPDXRef-${from}\", \"relationshipType\": \"${type}\", \"relatedSpdxElement\": \"SPDXRef-${to}\"}" PARENT_SCOPE)
endfunction()

# Sets out to the id of a package for a row of the table, and adds the package once.
function(add_package row version purl out)
  string(REGEX MATCH "([^|]*)\\|([^|]*)\\|([^|]*)\\|([^|]*)$" _ "${row}")   # the key may contain |
  set(name "${CMAKE_MATCH_1}")
  set(licence "${CMAKE_MATCH_2}")
  set(supplier "${CMAKE_MATCH_3}")
  set(location "${CMAKE_MATCH_4}")
  string(REGEX REPLACE "[^A-Za-z0-9.]+" "-" id "Package-${name}")
  string(REGEX REPLACE "-$" "" id "${id}")
  set(${out} ${id} PARENT_SCOPE)
  if(id IN_LIST known_packages)
    return()
  endif()
  set(known_packages ${known_packages} ${id} PARENT_SCOPE)
  set(optional "")
  if(version)
    set(optional ", \"versionInfo\": \"${version}\"")
  endif()
  if(purl)
    string(APPEND optional ",\n     \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \"referenceLocator\": \"${purl}\"}]")
  endif()
  set(packages "${packages},\n    {\"SPDXID\": \"SPDXRef-${id}\", \"name\": \"${name}\"${optional}, \"supplier\": \"${supplier}\",
     \"downloadLocation\": \"${location}\", \"filesAnalyzed\": false, \"primaryPackagePurpose\": \"LIBRARY\",
     \"licenseConcluded\": \"${licence}\", \"licenseDeclared\": \"${licence}\", \"copyrightText\": \"NOASSERTION\"}" PARENT_SCOPE)
endfunction()

# Sets out_version and out_purl to those of the Debian package that a needed library comes from.
function(find_debian_package soname out_version out_purl)
  set(${out_version} "" PARENT_SCOPE)
  set(${out_purl} "" PARENT_SCOPE)
  find_program(dpkg_query dpkg-query)
  if(NOT dpkg_query)
    return()
  endif()
  # The folder distinguishes the platform's library from one for another architecture.
  cmake_path(APPEND multiarch ${soname} OUTPUT_VARIABLE path)
  execute_process(COMMAND ${dpkg_query} -S "*/${path}" OUTPUT_VARIABLE owners ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR NOT owners MATCHES "^([^ :\n]+)(:[a-z0-9]+)?: ")
    return()
  endif()
  set(package ${CMAKE_MATCH_1})
  execute_process(COMMAND ${dpkg_query} -W -f "\${Version} \${Architecture}\n" ${package} OUTPUT_VARIABLE described)
  if(described MATCHES "^([^ ]+) ([^ \n]+)")
    set(${out_version} ${CMAKE_MATCH_1} PARENT_SCOPE)
    string(REPLACE "+" "%2B" escaped "${CMAKE_MATCH_1}")
    string(REPLACE "+" "%2B" package "${package}")
    set(${out_purl} "pkg:deb/debian/${package}@${escaped}?arch=${CMAKE_MATCH_2}" PARENT_SCOPE)
  endif()
endfunction()

# Adds a file, the code in it (keys) and the shared libraries that it needs.
function(add_file installed built keys)
  string(REGEX REPLACE "[^A-Za-z0-9.]+" "-" id "File-${installed}")
  file(SHA1 ${built} sha1)
  file(SHA256 ${built} sha256)
  list(APPEND sha1_list ${sha1})
  string(APPEND file_objects ",\n    {\"SPDXID\": \"SPDXRef-${id}\", \"fileName\": \"./${installed}\", \"fileTypes\": [\"BINARY\"],
     \"checksums\": [{\"algorithm\": \"SHA1\", \"checksumValue\": \"${sha1}\"}, {\"algorithm\": \"SHA256\", \"checksumValue\": \"${sha256}\"}],
     \"licenseConcluded\": \"NOASSERTION\", \"licenseInfoInFiles\": [\"NOASSERTION\"], \"copyrightText\": \"NOASSERTION\"}")
  relate(Package-etbackend CONTAINS ${id})
  string(REPLACE "," ";" keys "${keys}")
  foreach(key IN LISTS keys)
    foreach(row IN LISTS rows)
      if(row MATCHES "^target\\|([^|]+)\\|" AND CMAKE_MATCH_1 STREQUAL key)
        add_package("${row}" "${version_${key}}" "" package)
        relate(${id} STATIC_LINK ${package})
      endif()
    endforeach()
  endforeach()
  cmake_path(GET built STEM stem)
  foreach(row IN LISTS rows)
    if(row MATCHES "^loaded\\|([^|]+)\\|" AND CMAKE_MATCH_1 STREQUAL stem)
      add_package("${row}" "" "" package)
      relate(${package} RUNTIME_DEPENDENCY_OF ${id})
    endif()
  endforeach()
  add_needed_libraries(${id} ${built})
  foreach(result packages known_packages file_objects relationships sha1_list)
    set(${result} "${${result}}" PARENT_SCOPE)
  endforeach()
endfunction()

function(add_needed_libraries id built)
  execute_process(COMMAND ${readelf} --dynamic --wide ${built} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "NEEDED[^\n]*\n" lines "${dynamic}")
  set(related "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*: .(.*).\n" "\\1" soname "${line}")
    set(package "")
    foreach(row IN LISTS rows)
      if(row MATCHES "^needed\\|(.*)\\|[^|]*\\|[^|]*\\|[^|]*\\|[^|]*$")   # the expression itself may contain |
        set(expression "${CMAKE_MATCH_1}")
        if(soname MATCHES "${expression}")
          get_property(is_known GLOBAL PROPERTY ETB_SBOM_FOUND_${soname} SET)
          if(NOT is_known)   # searching the files of all packages takes a tenth of a second
            find_debian_package(${soname} version purl)
            set_property(GLOBAL PROPERTY ETB_SBOM_FOUND_${soname} TRUE)
          endif()
          add_package("${row}" "${version}" "${purl}" package)   # adds a package once, so these are of the first file
        endif()
      endif()
    endforeach()
    if(NOT package)
      message(FATAL_ERROR "${built} needs ${soname}: add a row for it to ${table}, so that the SBOM names its licence")
    endif()
    if(NOT package IN_LIST related)   # several libraries can come from one package
      list(APPEND related ${package})
      relate(${id} DYNAMIC_LINK ${package})
    endif()
  endforeach()
  foreach(result packages known_packages relationships)
    set(${result} "${${result}}" PARENT_SCOPE)
  endforeach()
endfunction()

# Sets commit and created in the caller's scope.
function(find_commit_and_time)
  set(commit unknown)
  set(time "$ENV{SOURCE_DATE_EPOCH}")
  find_program(git git)
  if(git AND EXISTS ${source}/.git)
    execute_process(COMMAND ${git} -C ${source} log -1 "--format=%H %ct" OUTPUT_VARIABLE line ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed AND line MATCHES "^([0-9a-f]+) ([0-9]+)")
      set(commit ${CMAKE_MATCH_1})
      if(NOT time)
        set(time ${CMAKE_MATCH_2})
      endif()
    endif()
  endif()
  if(time)
    set(ENV{SOURCE_DATE_EPOCH} ${time})   # string(TIMESTAMP) reads it
  endif()
  string(TIMESTAMP created "%Y-%m-%dT%H:%M:%SZ" UTC)
  set(commit ${commit} PARENT_SCOPE)
  set(created ${created} PARENT_SCOPE)
endfunction()

foreach(entry IN LISTS files)
  string(REGEX MATCH "^([^|]*)\\|([^|]*)\\|(.*)$" _ "${entry}")
  add_file("${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}" "${CMAKE_MATCH_3}")
endforeach()
find_commit_and_time()
list(SORT sha1_list)
list(JOIN sha1_list "" sha1_text)
string(SHA1 verification "${sha1_text}")
string(REGEX REPLACE "^,\n" "" file_objects "${file_objects}")
set(text "{
  \"spdxVersion\": \"SPDX-2.3\", \"dataLicense\": \"CC0-1.0\", \"SPDXID\": \"SPDXRef-DOCUMENT\", \"name\": \"etbackend-${version}\",
  \"documentNamespace\": \"https://etbackend.org/spdx/etbackend-${version}-${verification}\",
  \"comment\": \"Compiled with ${compiler} from commit ${commit}.\",
  \"creationInfo\": {\"created\": \"${created}\", \"creators\": [\"Organization: etbackend maintainers\", \"Tool: EtbWriteSbom.cmake-${version}\"]},
  \"documentDescribes\": [\"SPDXRef-Package-etbackend\"],
  \"packages\": [
    {\"SPDXID\": \"SPDXRef-Package-etbackend\", \"name\": \"etbackend\", \"versionInfo\": \"${version}\", \"supplier\": \"Organization: etbackend maintainers\",
     \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": true, \"primaryPackagePurpose\": \"APPLICATION\",
     \"packageVerificationCode\": {\"packageVerificationCodeValue\": \"${verification}\"},
     \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"Apache-2.0\", \"licenseInfoFromFiles\": [\"NOASSERTION\"], \"copyrightText\": \"NOASSERTION\"}${packages}
  ],
  \"files\": [
${file_objects}
  ],
  \"relationships\": [
    {\"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": \"SPDXRef-Package-etbackend\"}${relationships}
  ]
}
")
string(JSON count ERROR_VARIABLE error LENGTH "${text}" packages)
if(error)
  message(FATAL_ERROR "${OUT}: the text is not JSON: ${error}")
endif()
file(WRITE ${OUT} "${text}")
message(STATUS "${OUT}: ${count} packages")
