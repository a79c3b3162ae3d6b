# SPDX-License-Identifier: Apache-2.0
# CPack has installed each component into a folder of CPACK_TEMPORARY_DIRECTORY: packs them as .debs.
execute_process(COMMAND ${CPACK_ETB_SOURCE_DIR}/tools/packaging/make_debs.sh
  ${CPACK_TEMPORARY_DIRECTORY} ${CPACK_ETB_SOURCE_DIR} ${CPACK_ETB_BINARY_DIR} ${CPACK_TOPLEVEL_DIRECTORY}/debs RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "make_debs.sh failed (exit code ${result}); see its output above")
endif()
file(GLOB CPACK_EXTERNAL_BUILT_PACKAGES ${CPACK_TOPLEVEL_DIRECTORY}/debs/*.deb)
