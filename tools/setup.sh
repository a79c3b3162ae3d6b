#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prepares this machine to build etbackend: Debian packages (tools/debian_packages.txt) and an XNNPACK new
# enough for the xnnpack plugin (tools/xnnpack). Installs only missing parts; if none is missing, it ends in
# well under a second. It never edits apt's sources. Runs as root, or as a user with sudo.
#
# usage: setup.sh [--contributor | --target SET]
#   --contributor   also the tools for tests and checks
#   --target SET    also a set of tools for another processor (cortex_m, hexagon, aarch64 or riscv64; '' for none), and no XNNPACK
# environment: ETB_REQUIRE_XNNPACK=1   fail if XNNPACK is not available, instead of skipping the plugin
#              ETBACKEND_CACHE=DIR     cache for the built XNNPACK (default ~/.cache/etbackend)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sets=build

say() { echo "setup: $*" >&2; }

has_xnnpack=1
case ${1:-} in
  '') ;;
  --contributor) sets="build contributor" ;;
  --target)
    case ${2:-} in
      '' | cortex_m | hexagon | aarch64 | riscv64) sets="build ${2:-}" has_xnnpack= ;;
      *) say "unknown set '$2', expected cortex_m, hexagon, aarch64 or riscv64"; exit 2 ;;
    esac
    ;;
  *) say "unknown argument $1"; exit 2 ;;
esac

missing_packages() {
  local wanted
  wanted=$(awk -v sets=" $sets " '!/^#/ && NF && index(sets, " " $1 " ") { print $2 }' "$here/debian_packages.txt")
  # shellcheck disable=SC2086
  { dpkg-query -W -f='have ${Package} ${db:Status-Status}\n' $wanted 2>/dev/null || true
    printf 'want %s\n' $wanted
  } | awk '$1 == "have" && $3 == "installed" { have[$2] = 1 } $1 == "want" && !have[$2] { print $2 }'
}

as_root() {
  if [ "$(id -u)" = 0 ]; then env "$@"; else sudo env "$@"; fi
}

install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "not a Debian: what tools/debian_packages.txt lists must be installed by hand; going on"
    return
  fi
  missing=$(missing_packages | xargs)
  if [ -z "$missing" ]; then return; fi
  say "installing $(echo "$missing" | wc -w) Debian packages: $missing"
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    say "that needs root, and there is no sudo. As root: apt-get install --no-install-recommends $missing"
    exit 1
  fi
  local apt=(DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3
    -o Dpkg::Use-Pty=0)
  as_root "${apt[@]}" update
  # shellcheck disable=SC2086
  as_root "${apt[@]}" install -y --no-install-recommends $missing >/dev/null
}

provide_xnnpack() {
  local rc=0
  "$here/xnnpack/provide.sh" >/dev/null || rc=$?
  if [ "$rc" = 0 ]; then return; fi
  if [ "${ETB_REQUIRE_XNNPACK:-0}" = 1 ]; then
    say "XNNPACK is required (ETB_REQUIRE_XNNPACK=1) and could not be had"
    exit 1
  fi
  say "going on WITHOUT the xnnpack plugin: XNNPACK could not be had (see above)"
}

install_packages
if [ -n "$has_xnnpack" ]; then provide_xnnpack; fi
