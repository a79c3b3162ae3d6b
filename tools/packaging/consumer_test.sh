#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs each package, and the tar.gz, on a bare Debian (a chroot of debootstrap, one copy for each package), uses it as its users
# would (consumer_steps.sh), removes it, and checks that nothing is left. Prints the seconds of each step.
#
# usage: consumer_test.sh FOLDER [PACKAGE...]      FOLDER has the packages; without names, all are tested. The
#   name of the tar.gz is tar.gz
# environment: ETBACKEND_CACHE=DIR   cache of the bare Debian (default ~/.cache/etbackend)
# exit status: 0 all passed; 1 a step failed; 2 wrong arguments. Runs as root. Mounts end with the process.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)

say() { printf "consumers [%3d s]: %s\n" "$SECONDS" "$*" >&2; }

if [ "${1:-}" != --inside ]; then
  [ $# -ge 1 ] && [ -d "$1" ] || { sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 2; }
  [ "$(id -u)" = 0 ] || { say "debootstrap and chroot need root"; exit 1; }
  exec unshare --mount --propagation private "$0" --inside "$@"
fi
shift
debs=$(cd "$1" && pwd)
shift
# shellcheck source=tools/packaging/bare_debian.sh
. "$here/bare_debian.sh"

test_package() {
  open_chroot "$1"
  mkdir -p "$root/consumer"
  cp "$debs"/*.deb "$debs"/*.tar.gz "$here/consumer_steps.sh" "$source/docs/examples"/run_program.c* "$source/tests/fixtures/programs/add.pte" \
    "$source/tests/install/consumer_app/consumer_app.cpp" "$source/tests/install/consumer_plugin/consumer_npu.c" "$root/consumer/"
  in_chroot "$root" bash /consumer/consumer_steps.sh "$1"
  close_chroot "$1"
}

make_base
make_work
if [ $# = 0 ]; then
  for deb in "$debs"/*.deb; do set -- "$@" "$(dpkg-deb -f "$deb" Package)"; done
  set -- "$@" tar.gz
fi
for package in "$@"; do
  say "$package"
  test_package "$package"
done
say "$# packages installed, used and removed"
