#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds all packages: .debs, a tar.gz of the same tree, and the bill of materials (SPDX 2.3) of their binaries.
#
# usage: build_packages.sh [--output FOLDER] [--build FOLDER] [--test]
#   --output FOLDER   folder for the packages, by default build/packages; its older packages are removed
#   --build FOLDER    packs this build folder instead of configuring and building the preset `package`
#   --test            then runs lintian, the check of protections, the check of the SBOM by spdx-tools (where Python and
#                     a package index are available), and the consumer tests in a bare Debian (root; debootstrap)
# exit status: 0 all built, and all tests passed; 1 a step failed; 2 wrong arguments
# Needs tools/setup.sh and the Debian package dpkg-dev; --test also needs lintian and debootstrap.
set -euo pipefail
export PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH   # Debian's own cmake, ninja and compilers, before other installations
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
output=$root/build/packages
build=
test=

say() { printf "packages [%3d s]: %s\n" "$SECONDS" "$*" >&2; }
wrong() { say "$*"; exit 2; }

while [ $# -gt 0 ]; do
  case $1 in
    --output | --build)
      [ $# -ge 2 ] || wrong "$1 needs a folder"
      if [ "$1" = --output ]; then output=$(realpath -m "$2"); else build=$(realpath -m "$2"); fi
      shift
      ;;
    --test) test=1 ;;
    -h | --help) sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit ;;
    *) wrong "unknown argument $1 (--help lists them)" ;;
  esac
  shift
done

need() { command -v "$1" >/dev/null || { say "$1 is missing; as root: apt-get install --no-install-recommends $2"; exit 1; }; }
need dpkg-gencontrol dpkg-dev
if [ -n "$test" ]; then need lintian lintian; need debootstrap debootstrap; fi

if [ -z "$build" ]; then
  build=$root/build/package
  say "building (preset package)"
  cmake -S "$root" --preset package --log-level=NOTICE >/dev/null
fi
cmake --build "$build" --target all etb_sbom >"$build/build.log" || { tail -n 30 "$build/build.log"; exit 1; }

say "packing"
rm -rf "$build/cpack"
(cd "$build" && cpack -G "External;TGZ" -B "$build/cpack") >"$build/cpack.log" 2>&1 || { tail -n 30 "$build/cpack.log"; exit 1; }
mkdir -p "$output"
rm -f "$output"/*etbackend*.deb "$output"/etbackend-*.tar.gz "$output"/sbom.spdx.json "$output"/SHA256SUMS
cp "$build"/cpack/*.deb "$build"/cpack/*.tar.gz "$build/package/sbom.spdx.json" "$output/"
(cd "$output" && sha256sum -- *.deb *.tar.gz sbom.spdx.json >SHA256SUMS)
(cd "$output" && du -k --apparent-size -- * | awk '{ printf "%8d kB  %s\n", $1, $2 }')

if [ -n "$test" ]; then
  say "lintian"
  # As root, lintian only warns that it is root.
  lintian --fail-on error,warning --tag-display-limit 0 "$output"/*.deb
  say "protections of the installed files"
  CMAKE=cmake CC=cc CXX=c++ "$root/tests/install/hardening_test.sh" "$build" "$root" >"$build/hardening.log" || { tail -n 20 "$build/hardening.log"; exit 1; }
  grep 'files hardened' "$build/hardening.log"
  say "SBOM, by spdx-tools"
  "$here/check_sbom.sh" "$output/sbom.spdx.json" || [ $? = 77 ]
  say "consumers in a bare Debian"
  "$here/consumer_test.sh" "$output"
fi
say "done: $output"
