# etb_add_operator_views(target schemas directory): an interface target that writes directory/ops/<op>.hpp for every op of the
# file `schemas` before its users compile. A header is touched only when its text changes.
function(etb_add_operator_views target schemas directory)
  cmake_path(ABSOLUTE_PATH schemas)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${schemas})
  # The names of ops: "\naten.add_.", "\ntorchao.dequantize_affine.".
  file(READ ${schemas} text)
  string(REGEX MATCHALL "\n[a-zA-Z_0-9]+\\.[a-zA-Z_0-9]+\\." headers "\n${text}")
  list(TRANSFORM headers REPLACE "^\n([^.]+)\\.(.+)\\.$" "\\1/\\2")
  list(TRANSFORM headers REPLACE "^aten/" "")
  list(TRANSFORM headers REPLACE "(^|/)([^_/][^/]*|_[^_/][^/]*)_$" "\\1\\2")  # add_ shares a header with add
  list(REMOVE_DUPLICATES headers)
  list(TRANSFORM headers REPLACE "(.+)" "${directory}/ops/\\1.hpp")
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${target}.stamp)
  add_custom_command(OUTPUT ${stamp} BYPRODUCTS ${headers} DEPENDS make_argument_views ${schemas} VERBATIM
    COMMAND make_argument_views ${schemas} ${directory} ${stamp})
  add_custom_target(${target}_headers DEPENDS ${stamp})
  add_library(${target} INTERFACE)
  target_include_directories(${target} INTERFACE ${directory})
  add_dependencies(${target} ${target}_headers)
endfunction()
