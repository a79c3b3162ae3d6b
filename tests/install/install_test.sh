#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the build tree into a prefix, moves the prefix, and uses it as an outside project would.
# usage: install_test.sh BUILD_DIR SOURCE_DIR      environment: CMAKE CC CXX SANITIZE
set -euo pipefail
build=$1 source=$2
here=$source/tests/install
work=$build/tests/install/work
prefix=$work/moved
sanitize=()
if [ -n "${SANITIZE:-}" ]; then sanitize=("-fsanitize=$SANITIZE"); fi

step() { echo "== $*"; }
fail() { echo "FAILED: $*"; exit 1; }

step "install, then move the installed tree"
rm -rf "$work"
mkdir -p "$work"
DESTDIR='' "$CMAKE" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$prefix"
lib=$(dirname "$(dirname "$(find "$prefix" -name etbackend-api.pc)")")
export PKG_CONFIG_PATH=$lib/pkgconfig

step "no file of the installed tree knows where it was built"
if grep -rlF -e "$source/" -e "$build/" -e "$work/first" "$lib/cmake" "$lib/pkgconfig" "$prefix/include"; then
  fail "the files above name the build machine's folders"
fi
if find "$prefix/include" -name '*_test.*' -o -name '*_fuzz.*' | grep .; then fail "the files above are tests"; fi

step "each manifest carries the digest and size of the library beside it"
for manifest in "$lib"/etbackend/plugins.d/*.json; do
  [ -e "$manifest" ] || continue
  library=${manifest%.json}.so
  grep -q "$(sha256sum "$library" | cut -d' ' -f1)" "$manifest" || fail "$manifest: digest"
  grep -q "\"size\" *: *$(stat -c %s "$library")\b" "$manifest" || fail "$manifest: size"
done

step "a plugin, with CMake"
"$CMAKE" -S "$here/consumer_plugin" -B "$work/plugin" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_C_FLAGS="${sanitize[*]}" -DCMAKE_INSTALL_PREFIX="$work/plugin_prefix" >"$work/plugin.log"
"$CMAKE" --build "$work/plugin" >>"$work/plugin.log" || { cat "$work/plugin.log"; exit 1; }
"$CMAKE" --build "$work/plugin" --target test >>"$work/plugin.log" || { cat "$work/plugin.log"; exit 1; }
grep -q 'plugin_symbols_consumer_npu' "$work/plugin.log" || fail "etb_add_plugin gave the project no test of its symbols"
"$CMAKE" --install "$work/plugin" --strip >>"$work/plugin.log"
installed=$(find "$work/plugin_prefix" -name consumer_npu.so)
grep -q "$(sha256sum "$installed" | cut -d' ' -f1)" "${installed%.so}.json" || fail "installing changed the plugin"

step "a changed manifest is filled in again"
sed 's/"description": "[^"]*"/"description": "changed"/' "$here/consumer_plugin/manifest.json" >"$work/changed.json"
"$CMAKE" "$work/plugin" -DCONSUMER_MANIFEST="$work/changed.json" >>"$work/plugin.log"
"$CMAKE" --build "$work/plugin" >>"$work/plugin.log"
grep -q '"changed"' "$work/plugin/plugins.d/consumer_npu.json" || fail "the manifest beside the library is old"
grep -q '"sha256"' "$work/plugin/plugins.d/consumer_npu.json" || fail "the manifest beside the library lacks its digest"

step "a plugin that leaks a symbol is caught"
if "$CMAKE" -DLIBRARY="$(find "$prefix" /usr/lib -name 'libfmt.so*' | head -n 1)" -DNM=nm -DREADELF=readelf \
  -P "$lib/cmake/etbackend/EtbCheckPluginSymbols.cmake" >"$work/leak.log" 2>&1; then
  fail "EtbCheckPluginSymbols.cmake accepted a library with many symbols"
fi
grep -q "expected 'etb_plugin_query' alone" "$work/leak.log" || { cat "$work/leak.log"; fail "not the expected reason"; }

step "a plugin, with pkg-config"
# shellcheck disable=SC2046
"$CC" -std=c11 -shared -fPIC -fvisibility=hidden "${sanitize[@]}" -o "$work/by_hand.so" \
  "$here/consumer_plugin/consumer_npu.c" $(pkg-config --cflags etbackend-api)

step "an application, with CMake, that loads the plugin and links it statically"
"$CMAKE" -S "$here/consumer_app" -B "$work/app" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
  -DPLUGIN_DIR="$here/consumer_plugin" -DCMAKE_C_FLAGS="${sanitize[*]}" -DCMAKE_CXX_FLAGS="${sanitize[*]}" >"$work/app.log"
"$CMAKE" --build "$work/app" >>"$work/app.log" || { cat "$work/app.log"; exit 1; }
"$work/app/consumer_app" "$work/plugin/plugins.d/consumer_npu.so"
"$work/app/consumer_app" "$work/by_hand.so"
"$work/app/consumer_app"

step "an application, with pkg-config"
# shellcheck disable=SC2046
"$CXX" -std=c++20 "${sanitize[@]}" -o "$work/by_hand" "$here/consumer_app/consumer_app.cpp" \
  $(pkg-config --cflags --libs etbackend-host) -ldl
"$work/by_hand" "$work/plugin/plugins.d/consumer_npu.so"

step "a C application, with pkg-config --static and a C compiler"
# shellcheck disable=SC2046
"$CC" -std=c11 "${sanitize[@]}" -o "$work/run_program" "$source/docs/examples/run_program.c" \
  $(pkg-config --static --cflags --libs etbackend-host)
"$work/run_program" "$source/tests/fixtures/programs/add.pte"

step "no link of the installed pages is dead"
"$source/tests/docs/links.sh" "$(dirname "$(find "$prefix" -path '*doc*' -name README.md)")"

step "an application in C and in C++ on libetbackend, with pkg-config and with CMake"
examples=$source/docs/examples
# shellcheck disable=SC2046
"$CC" -std=c11 "${sanitize[@]}" -o "$work/run_c" "$examples/run_program.c" $(pkg-config --cflags --libs etbackend)
# shellcheck disable=SC2046
"$CXX" -std=c++20 "${sanitize[@]}" -o "$work/run_cpp" "$examples/run_program.cpp" $(pkg-config --cflags --libs etbackend)
mkdir -p "$work/shared_app"
cat >"$work/shared_app/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(shared_app C)
find_package(etbackend REQUIRED COMPONENTS api)
add_executable(run_cmake "$examples/run_program.c")
target_link_libraries(run_cmake PRIVATE etbackend::etbackend)
END
"$CMAKE" -S "$work/shared_app" -B "$work/shared_app/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_C_FLAGS="${sanitize[*]}" >"$work/shared_app.log"
"$CMAKE" --build "$work/shared_app/build" >>"$work/shared_app.log" || { cat "$work/shared_app.log"; exit 1; }
for program in "$work/run_c" "$work/run_cpp" "$work/shared_app/build/run_cmake"; do
  LD_LIBRARY_PATH=$lib "$program" "$source/tests/fixtures/programs/add.pte" >"$work/output" || fail "$program"
  grep -qx 'output 0 ends with 66' "$work/output" || { cat "$work/output"; fail "$program: not the expected output"; }
done
if [ -e "$lib/etbackend/plugins.d/xnnpack.so" ]; then
  step "they find the installed plugin by themselves"
  for program in "$work/run_c" "$work/run_cpp"; do
    env -u ETBACKEND_PATH LD_LIBRARY_PATH="$lib" "$program" "$source/tests/fixtures/programs/delegate_inline.pte" >"$work/output" || fail "$program"
    grep -qx 'XnnpackBackend runs on org.etbackend.xnnpack' "$work/output" || { cat "$work/output"; fail "$program: no plugin"; }
  done
fi

step "a component that does not exist is refused by name"
mkdir -p "$work/unknown"
cat >"$work/unknown/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(unknown C CXX)
find_package(etbackend REQUIRED COMPONENTS nonsense)
END
if "$CMAKE" -S "$work/unknown" -B "$work/unknown/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/unknown.log" 2>&1; then
  fail "find_package accepted a component that does not exist"
fi
grep -q nonsense "$work/unknown.log" || { cat "$work/unknown.log"; fail "the message does not name the component"; }

if [ -x "$prefix/bin/etbackend" ]; then
  step "the installed program runs"
  "$prefix/bin/etbackend" --version
fi
echo "== all good"
