# cmake --install: headers, libraries, CLI, plugins, the CMake package and pkg-config files.
include(GNUInstallDirs)
function(etb_install_package)
endfunction()
