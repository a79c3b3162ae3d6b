# SPDX-License-Identifier: Apache-2.0
# Read by scripts that test on a bare Debian: a chroot made by debootstrap from the mirror that this machine's apt uses.
# Callers run in a mount namespace of their own (unshare --mount), so what is mounted here ends with their process.
# Needs say(). Sets `base` to the bare Debian, which is made once, and `work` to a folder in memory.
# shellcheck shell=bash
suite=bookworm
cache=${ETBACKEND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/etbackend}
base=$cache/debian-$suite

# The mirror of this machine's own release, as apt knows it.
mirror_uri() {
  apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 !~ /[-\/]/ { print $2; exit }'
}

make_base() {
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

# In memory: it is fast, and an overlay cannot store its changes in another overlay.
make_work() {
  work=$(mktemp -d "$cache/chroot-XXXXXX")
  mount -t tmpfs tmpfs "$work" -o "size=${1:-3g}"
  trap 'umount -l "$work"; rmdir "$work"' EXIT
}

# open_chroot NAME: makes $work/NAME, a bare Debian, and sets `root` to it.
open_chroot() {
  root=$work/$1
  mkdir -p "$root" "$work/$1.changes" "$work/$1.overlay"
  if ! mount -t overlay overlay -o "lowerdir=$base,upperdir=$work/$1.changes,workdir=$work/$1.overlay" "$root" 2>/dev/null; then
    cp -a --reflink=auto "$base/." "$root/"
  fi
  local folder
  for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
  cp /etc/resolv.conf "$root/etc/resolv.conf"
}

in_chroot() {
  local into=$1
  shift
  chroot "$into" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# close_chroot NAME
close_chroot() {
  local folder
  for folder in dev sys proc; do umount -R -l "$work/$1/$folder"; done
  umount -l "$work/$1" 2>/dev/null || true
  rm -rf --one-file-system "${work:?}/$1" "$work/$1.changes" "$work/$1.overlay"
}
