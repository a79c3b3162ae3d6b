#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Downloads the sources listed in sources.txt into DIR/<name>, and keeps their tarballs in DOWNLOADS.
# usage: fetch.sh DIR DOWNLOADS
#
# Uses the Debian mirror of this machine, but with apt's configuration, lists and cache in a separate folder.
# So the system's apt sources and lists are not changed, and only the mirror's address is read from them. Root
# is not needed. Only upstream tarballs are downloaded ("--tar-only"): mirrors often lack the packaging part
# of a source.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$1 downloads=$2
apt_root=$(mktemp -d)
trap 'rm -rf "$apt_root"' EXIT
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { echo "xnnpack: $*" >&2; }

# The mirror of the machine's own release; suites with a suffix (-updates, -security) may use another.
mirror_uri() {
  if [ -n "${ETB_DEBIAN_MIRROR:-}" ]; then echo "$ETB_DEBIAN_MIRROR"; return; fi
  apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 !~ /[-\/]/ { print $2; exit }'
}

# Runs apt-get with the state of one suite. The index may be old (a mirror may lag, a clock may be wrong): its
# signature is checked, and downloads must have the digest in sources.txt.
apt_in_suite() {
  local suite=$1 root=$apt_root/$1
  shift
  apt-get -qq -o Dir::Etc::sourcelist="$root/suite.sources" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$root/lists" -o Dir::Cache="$root/cache" -o Acquire::Languages=none \
    -o APT::Sandbox::User= -o Acquire::Retries=3 -o Acquire::Check-Valid-Until=false -o Acquire::Check-Date=false "$@"
}

open_suite() {
  local suite=$1 root=$apt_root/$1
  if [ -e "$root/failed" ]; then return 1; fi
  if [ -e "$root/ready" ]; then return 0; fi
  mkdir -p "$root/lists/partial" "$root/cache/archives/partial"
  printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$uri" "$suite" "$keyring" \
    >"$root/suite.sources"
  say "loading the index of Debian $suite's sources (into a folder of our own)"
  # apt reports a failed index download as a warning: only a usable list counts.
  if apt_in_suite "$suite" update >"$root/log" 2>&1 && ls "$root"/lists/*Sources* >/dev/null 2>&1; then
    touch "$root/ready"
  else
    say "  no index: $(tail -n 1 "$root/log")"
    touch "$root/failed"
    return 1
  fi
}

# fetch_one NAME VERSION SUITES SHA256: stores the tarball in DOWNLOADS under its digest.
fetch_one() {
  local name=$1 version=$2 suites=$3 sha256=$4 suite tarball
  local kept=$downloads/$name-${version//[^A-Za-z0-9.]/_}.orig.tar
  if [ -e "$kept" ] && echo "$sha256  $kept" | sha256sum --status -c -; then
    unpack "$name" "$version" "$kept"
    return
  fi
  if [ -z "$uri" ]; then return 1; fi
  for suite in ${suites//,/ }; do
    open_suite "$suite" || continue
    local got=$apt_root/$suite/$name
    rm -rf "$got"
    mkdir -p "$got"
    (cd "$got" && apt_in_suite "$suite" source --tar-only --download-only "$name=$version" >log 2>&1) || true
    tarball=$(find "$got" -name '*.orig.tar.*' ! -name '*.asc' | head -n 1)
    if [ -n "$tarball" ] && echo "$sha256  $tarball" | sha256sum --status -c -; then
      mkdir -p "$downloads"
      cp "$tarball" "$kept.$$"
      mv "$kept.$$" "$kept"
      unpack "$name" "$version" "$kept"
      return
    fi
    say "  Debian $suite does not serve $name $version"
  done
  return 1
}

# Some tarballs have a top folder and some have none.
unpack() {
  local name=$1 version=$2 tarball=$3 entries
  rm -rf "${dir:?}/$name"
  mkdir -p "$dir/$name"
  tar -C "$dir/$name" -xf "$tarball"
  if [ ! -e "$dir/$name/CMakeLists.txt" ]; then
    entries=("$dir/$name"/*)
    mv "${entries[0]}"/* "$dir/$name/"
  fi
  echo "$name=$version" >>"$dir/versions.txt"
}

uri=
if command -v apt-get >/dev/null && [ -e "$keyring" ]; then uri=$(mirror_uri); fi
mkdir -p "$dir"
: >"$dir/versions.txt"
fetched=" "
while read -r name version suites sha256; do
  case $name in '' | '#'*) continue ;; esac
  case $fetched in *" $name "*) continue ;; esac
  if fetch_one "$name" "$version" "$suites" "$sha256"; then
    say "source: $name $version"
    fetched="$fetched$name "
  fi
done <"$here/sources.txt"
for name in $(awk '!/^#/ && NF { print $1 }' "$here/sources.txt" | sort -u); do
  case $fetched in
    *" $name "*) ;;
    *)
      say "no source of $name could be had"
      exit 1
      ;;
  esac
done
