# SPDX-License-Identifier: Apache-2.0
# Read by cpack for each generator. The tar.gz holds the tree below one folder; the .debs hold it below /usr.
if(CPACK_GENERATOR STREQUAL "External")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
else()
  set(CPACK_COMPONENTS_ALL "")   # one archive, of what `cmake --install` installs
endif()
