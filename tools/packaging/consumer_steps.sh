#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the bare Debian of consumer_test.sh: installs one package, uses it, removes it.
# usage: consumer_steps.sh PACKAGE|tar.gz      /consumer has the packages, the examples and a program
set -euo pipefail
package=$1
cd /consumer
digits=/usr/share/doc/etbackend/docs/examples/digits/digits.pt2

fail() { echo "FAILED: $package: $*"; exit 1; }
# step TEXT COMMAND...: runs a command and prints its time; the log of a failed command is printed.
step() {
  local text=$1 begin=$EPOCHREALTIME
  shift
  "$@" >step.log 2>&1 || { tail -n 30 step.log; fail "$text"; }
  awk -v text="$text" -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { printf "  %6.1f s  %s\n", end - begin, text }'
}
deb() { echo ./"$1"_[0-9]*.deb; }
install_debs() { apt-get install -qq -y --no-install-recommends "$@"; }
prints() { local text=$1; shift; "$@" | tee /dev/stderr | grep -F -e "$text" >/dev/null; }

# The package with the siblings that it needs. apt installs the other dependencies from the mirror.
packages=("$package")
case $package in
  libetbackend-dev) packages=(libetbackend1 libetbackend-dev) ;;
  etbackend-plugin-*) packages=("$package" etbackend libetbackend1) ;;
esac

use_libetbackend1() {
  step "the loader finds libetbackend.so.1" prints libetbackend.so.1 ldconfig -p
  local library
  library=$(ldconfig -p | sed -n 's/.*libetbackend\.so\.1 .* => //p')
  step "its libraries are installed" bash -c "! ldd $library | grep 'not found'"
}

use_libetbackend_dev() {
  step "install a compiler, CMake, and what the package recommends" apt-get install -qq -y --no-install-recommends \
    g++ make cmake pkg-config libfmt-dev nlohmann-json3-dev
  # shellcheck disable=SC2046
  step "C consumer, with pkg-config" gcc -std=c11 run_program.c -o run_c $(pkg-config --cflags --libs etbackend)
  step "  runs a program" prints "output 0 ends with 66" ./run_c add.pte
  mkdir -p project
  cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(etbackend REQUIRED COMPONENTS api formats host partitioner_sdk conformance)
add_executable(run_cpp ../run_program.cpp)
target_link_libraries(run_cpp PRIVATE etbackend::etbackend)
add_executable(use_host ../consumer_app.cpp)
target_link_libraries(use_host PRIVATE etbackend::host ${CMAKE_DL_LIBS})
END
  step "C++ consumers, with find_package" bash -c "cmake -S project -B project/build && cmake --build project/build"
  step "  the one on libetbackend.so.1 runs a program" prints "output 0 ends with 66" project/build/run_cpp add.pte
  step "  the one on the static libraries needs no libetbackend.so" bash -c "! ldd project/build/use_host | grep libetbackend"
}

use_etbackend() {
  step "etbackend --version" prints etbackend etbackend --version
  step "compile the shipped model for portable kernels" etbackend compile "$digits" -o digits.pte
  step "run it" prints "output 0: float32 [1, 10]" etbackend run digits.pte --random 7
  step "man page and completions are there" bash -c "zcat /usr/share/man/man1/etbackend.1.gz | grep -q NAME &&
    bash -n /usr/share/bash-completion/completions/etbackend && test -s /usr/share/zsh/vendor-completions/_etbackend &&
    test -s /usr/share/fish/vendor_completions.d/etbackend.fish"
}

# use_plugin NAME: the registry finds the plugin where the package has put it.
use_plugin() {
  step "etbackend list finds the plugin" prints "org.etbackend.$1" etbackend list
  step "  in the system's folder" prints "/usr/lib/" etbackend explain "$1"
}

use_plugin_xnnpack() {
  step "compile the shipped model with xnnpack" prints "1 delegate call" etbackend compile "$digits" -b xnnpack -o digits.pte
  step "run it" prints "output 0: float32 [1, 10]" etbackend run digits.pte --random 7
}

use_plugin_opencl() {
  step "the OpenCL loader is installed with it" prints libOpenCL.so.1 ldconfig -p
}

use_plugin_vulkan() {
  step "the Vulkan loader is installed with it" prints libvulkan.so.1 ldconfig -p
}

# The archive: unpacked anywhere, with the shared libraries that it needs.
use_archive() {
  step "unpack the tar.gz, and install libfmt9 for it" bash -c "tar -xf etbackend-*.tar.gz && apt-get install -qq -y libfmt9"
  local tree
  tree=$(echo /consumer/etbackend-*/)
  step "its program finds its plugins" prints "$tree" "$tree/bin/etbackend" explain xnnpack
  step "compile the shipped model with xnnpack" prints "1 delegate call" "$tree/bin/etbackend" compile \
    "$tree$(sed 's,^/usr/,,' <<<"$digits")" -b xnnpack -o digits.pte
  step "run it" prints "output 0: float32 [1, 10]" "$tree/bin/etbackend" run digits.pte --random 7
}
if [ "$package" = tar.gz ]; then
  use_archive
  exit
fi

step "apt-get install ${packages[*]}" install_debs $(for name in "${packages[@]}"; do deb "$name"; done)
dpkg -L "${packages[@]}" | sort -u >installed.txt
case $package in
  libetbackend1) use_libetbackend1 ;;
  libetbackend-dev) use_libetbackend_dev ;;
  etbackend) use_etbackend ;;
  etbackend-plugin-*)
    use_plugin "${package#etbackend-plugin-}"
    "use_plugin_${package#etbackend-plugin-}"
    ;;
  *) fail "no step uses it" ;;
esac
step "apt-get purge" apt-get purge -qq -y "${packages[@]}"
left=$(while read -r path; do if [ -e "$path" ] && [ ! -d "$path" ]; then echo "$path"; fi; done <installed.txt)
left+=$(find / -xdev -name '*etbackend*' -not -path '/consumer/*' -not -path "$HOME/*" -not -path '/proc/*' -not -path '/sys/*' -not -path '/dev/*' -not -path '/var/log/*')
[ -z "$left" ] || fail "left after removal: $left"
echo "           nothing is left"
