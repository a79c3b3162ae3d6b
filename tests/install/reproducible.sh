#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds one commit in two folders and compares the files byte by byte. The builds differ in what must not matter: the
# path (also its length), the umask, the time zone, the language, the number of jobs, the time. The compiler cache is off.
# Takes two whole builds, so no test of ctest runs it.
#
# usage: reproducible.sh [--commit COMMIT] [--work FOLDER] [--against BUILD] [--targets "TARGET..."] [--jobs N]
#   --commit COMMIT    default HEAD; uncommitted changes are not built
#   --work FOLDER      for the two builds; default: a new folder below TMPDIR, removed if all files are equal
#   --against BUILD    a build folder (preset `package`, same commit) instead of the first build
#   --targets T        builds only these targets, and compares objects, archives and binaries that both builds have.
#                      Without it: all, and compares every file that is installed
# exit status: 0 all equal; 1 files differ or a build failed; 2 wrong arguments
set -euo pipefail
export PATH=/usr/bin:/bin:$PATH
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit=HEAD work='' against='' targets='' jobs=$(nproc)

say() { printf "reproducible [%4d s]: %s\n" "$SECONDS" "$*" >&2; }

while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit ;;
    --commit | --work | --against | --targets | --jobs) [ $# -ge 2 ] || { say "$1 needs a value"; exit 2; } ;;&
    --commit) commit=$2 ;;
    --work) work=$(realpath -m "$2") ;;
    --against) against=$(realpath "$2") ;;
    --targets) targets=$2 ;;
    --jobs) jobs=$2 ;;
    *) say "unknown argument $1 (--help lists them)"; exit 2 ;;
  esac
  shift 2
done
temporary=
if [ -z "$work" ]; then work=$(mktemp -d); temporary=1; fi
commit=$(git -C "$source" rev-parse --verify "$commit^{commit}")

# build_in FOLDER JOBS: builds the commit in FOLDER/build/package.
build_in() {
  local folder=$1
  say "building $(git -C "$source" rev-parse --short "$commit") in $folder (${targets:-all})"
  rm -rf "$folder"
  git clone -q --no-checkout "$source" "$folder"
  git -C "$folder" checkout -q "$commit"
  cmake -S "$folder" --preset package --log-level=NOTICE >"$folder.log" 2>&1 || { tail -n 20 "$folder.log"; exit 1; }
  # shellcheck disable=SC2086
  CCACHE_DISABLE=1 ninja -C "$folder/build/package" -j"$2" ${targets:-all} >>"$folder.log" || { tail -n 20 "$folder.log"; exit 1; }
}

# digests BUILD OUT: lines "digest  path" of the files that are compared.
digests() {
  if [ -n "$targets" ]; then
    (cd "$1" && find . -path ./cpack -prune -o -type f \
      \( -name '*.o' -o -name '*.a' -o -name '*.so' -o -name '*.so.*' -o -path './plugins.d/*' -o -path './bin/*' \) \
      ! -path './CMakeFiles/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) >"$2"
  else
    rm -rf "$2.tree"
    DESTDIR=$2.tree cmake --install "$1" >/dev/null
    (cd "$2.tree" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) >"$2"
    rm -rf "$2.tree"
  fi
}

mkdir -p "$work"
first=$against
if [ -z "$first" ]; then
  (umask 022; TZ=UTC LANG=C.UTF-8 build_in "$work/first" "$jobs")
  first=$work/first/build/package
fi
(umask 027; TZ=Pacific/Auckland LANG=C build_in "$work/a/second/and/longer/path" $((jobs + 1)))
second=$work/a/second/and/longer/path/build/package

digests "$first" "$work/first.txt"
digests "$second" "$work/second.txt"
# With targets, only files of both; else each file must be in both.
LC_ALL=C join -1 2 -2 2 "$work/first.txt" "$work/second.txt" | awk '$2 != $3 { print $1 }' >"$work/different.txt"
LC_ALL=C join -v 1 -v 2 -1 2 -2 2 "$work/first.txt" "$work/second.txt" | awk '{ print $1 }' >"$work/only_one.txt"
equal=$(LC_ALL=C join -1 2 -2 2 "$work/first.txt" "$work/second.txt" | awk '$2 == $3' | wc -l)
if [ "$equal" = 0 ]; then say "no file was compared"; exit 1; fi
if [ -z "$targets" ] && [ -s "$work/only_one.txt" ]; then sed 's/^/only in one build: /' "$work/only_one.txt"; fi
sed 's/^/different: /' "$work/different.txt"
say "$equal files equal, $(wc -l <"$work/different.txt") different$([ -n "$targets" ] || echo ", $(wc -l <"$work/only_one.txt") only in one build")"
if [ -s "$work/different.txt" ] || { [ -z "$targets" ] && [ -s "$work/only_one.txt" ]; }; then
  say "the builds are in $work"
  exit 1
fi
if [ -n "$temporary" ]; then rm -rf "$work"; fi
