#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs each package on a bare Debian (a chroot of debootstrap, one copy for each package), uses it as its users
# would (consumer_steps.sh), removes it, and checks that nothing is left. Prints the seconds of each step.
#
# usage: consumer_test.sh FOLDER [PACKAGE...]      FOLDER has the .debs; without names, all packages in it are tested
# environment: ETBACKEND_CACHE=DIR   cache of the bare Debian (default ~/.cache/etbackend)
# exit status: 0 all passed; 1 a step failed; 2 wrong arguments. Runs as root. Mounts end with the process.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
suite=bookworm
cache=${ETBACKEND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/etbackend}

say() { printf "consumers [%3d s]: %s\n" "$SECONDS" "$*" >&2; }

# A namespace of mounts: what is mounted here disappears when this process ends.
if [ "${1:-}" != --inside ]; then
  [ $# -ge 1 ] && [ -d "$1" ] || { sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 2; }
  [ "$(id -u)" = 0 ] || { say "debootstrap and chroot need root"; exit 1; }
  exec unshare --mount --propagation private "$0" --inside "$@"
fi
shift
debs=$(cd "$1" && pwd)
shift

# The mirror of this machine's own release, as apt knows it.
mirror_uri() {
  apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 !~ /[-\/]/ { print $2; exit }'
}

# A bare Debian that uses the apt settings of this machine, made once.
make_base() {
  local base=$1
  if [ -e "$base.ready" ]; then return; fi
  say "debootstrap $suite (once)"
  rm -rf "$base"
  mkdir -p "$cache"
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$base" "$(mirror_uri)" >"$base.log" 2>&1 ||
    { tail -n 5 "$base.log"; exit 1; }
  rm -f "$base/etc/apt/sources.list"
  cp -a /etc/apt/sources.list.d/. "$base/etc/apt/sources.list.d/"
  if [ -e /etc/apt/sources.list ]; then cp /etc/apt/sources.list "$base/etc/apt/"; fi
  cp -a /etc/apt/apt.conf.d/*proxy* "$base/etc/apt/apt.conf.d/" 2>/dev/null || true
  chroot "$base" apt-get -qq update
  touch "$base.ready"
}

# in_chroot ROOT COMMAND...
in_chroot() {
  local root=$1
  shift
  chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

test_package() {
  local package=$1 root=$work/$1 folder
  mkdir -p "$root"
  if ! { mkdir "$work/upper" "$work/mounted" && mount -t overlay overlay -o "lowerdir=$base,upperdir=$work/upper,workdir=$work/mounted" "$root"; } 2>/dev/null; then
    cp -a --reflink=auto "$base/." "$root/"
  fi
  for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir -p "$root/consumer"
  cp "$debs"/*.deb "$here/consumer_steps.sh" "$source/docs/examples"/run_program.c* "$source/tests/fixtures/programs/add.pte" \
    "$source/tests/install/consumer_app/consumer_app.cpp" "$source/tests/install/consumer_plugin/consumer_npu.c" "$root/consumer/"
  in_chroot "$root" bash /consumer/consumer_steps.sh "$package"
  for folder in dev sys proc; do umount -R -l "$root/$folder"; done
  umount -l "$root" 2>/dev/null || true
  rm -rf --one-file-system "$work/upper" "$work/mounted" "$root"
}

base=$cache/debian-$suite
make_base "$base"
work=$(mktemp -d "$cache/consumer-XXXXXX")
mount -t tmpfs tmpfs "$work" -o size=3g   # an overlay over an overlay is not possible; in memory it is fast, too
trap 'umount -l "$work"; rmdir "$work"' EXIT
if [ $# = 0 ]; then
  for deb in "$debs"/*.deb; do set -- "$@" "$(dpkg-deb -f "$deb" Package)"; done
fi
for package in "$@"; do
  say "$package"
  test_package "$package"
done
say "$# packages installed, used and removed"
