#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures a run time for Android and iOS with folders in place of the NDK and the SDK, which are not free to copy: CMake's own
# modules for both systems accept the project, and the build files have the right target. Nothing is compiled.
# usage: dry_run.sh REPOSITORY BUILD_FOLDER
set -euo pipefail
repository=$1 build=$2
for tool in clang-14 clang++-14 flatc; do
  command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
fail() { echo "FAILED: $*"; exit 1; }
rm -rf "$build"
mkdir -p "$build/project"
printf 'operators:\n  aten::add.out: [float32]\ndtypes: [float32]\n' >"$build/project/ops.yaml"
cat >"$build/project/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(dry LANGUAGES C CXX)
include($repository/tools/cmake/EtbRuntime.cmake)
etb_add_runtime(runtime OPS ops.yaml)
CMAKE
configure() {
  local name=$1
  shift
  "${CMAKE:-cmake}" -G Ninja -S "$build/project" -B "$build/$name" -DCMAKE_C_COMPILER_WORKS=1 -DCMAKE_CXX_COMPILER_WORKS=1 \
    -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY "$@" >"$build/$name.log" 2>&1 || { cat "$build/$name.log"; fail "$name does not configure"; }
  [ -s "$build/$name/build.ninja" ] || fail "$name has no build files"
}

ndk=$build/ndk
bin=$ndk/toolchains/llvm/prebuilt/linux-x86_64/bin
mkdir -p "$bin" "$ndk/platforms/android-26/arch-arm64"
printf 'Pkg.Desc = Android NDK\nPkg.Revision = 26.1.10909125\n' >"$ndk/source.properties"
mkdir -p "$ndk/meta" "${bin%/bin}/sysroot/usr/lib/aarch64-linux-android/26"
echo '{"min":21,"max":34}' >"$ndk/meta/platforms.json"
echo '{"arm64-v8a":{"bitness":64,"default":true,"deprecated":false,"proc":"aarch64","arch":"arm64","triple":"aarch64-linux-android","llvm_triple":"aarch64-none-linux-android"}}' >"$ndk/meta/abis.json"
for tool in clang clang++; do ln -s "$(command -v $tool-14)" "$bin/$tool"; done
configure android -DCMAKE_SYSTEM_NAME=Android "-DCMAKE_ANDROID_NDK=$ndk" -DCMAKE_SYSTEM_VERSION=26 -DCMAKE_ANDROID_ARCH_ABI=arm64-v8a
grep -q -- '-stdlib=libc++' "$build/android/build.ninja" || fail "the build files for Android do not use libc++"

sdk=$build/iPhoneOS.platform/Developer/SDKs/iPhoneOS16.0.sdk
mkdir -p "$sdk"
configure ios -DCMAKE_SYSTEM_NAME=iOS "-DCMAKE_OSX_SYSROOT=$sdk" -DCMAKE_OSX_ARCHITECTURES=arm64 -DCMAKE_OSX_DEPLOYMENT_TARGET=15.0 \
  -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14
grep -q -- '-arch arm64' "$build/ios/build.ninja" || fail "the build files for iOS are not for arm64"
echo "android and ios configure"
