#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every command block of a guide, in order, in one shell: blocks that begin with ```sh, and for one
# template those that begin with ```sh <flavour>. HOME is an empty folder with the SDK in it. A block that
# fails ends the test and is printed.
# usage: run_guide.sh GUIDE.md FLAVOUR BUILD_DIR      environment: CMAKE CC CXX SANITIZE
set -euo pipefail
guide=$1 flavour=$2 build=$3
work=$build/tests/docs/$flavour
rm -rf "$work"
mkdir -p "$work/home"
DESTDIR='' "$CMAKE" --install "$build" --prefix "$work/home/etbackend-sdk" >"$work/install.log" || { cat "$work/install.log"; exit 1; }

# Joins all blocks into one script. Each prints its line number first, so that a failure names its line in the
# guide.
awk -v flavour="$flavour" '
  !inside && /^```sh/ { inside = 1; wanted = ($2 == "" || $2 == flavour); if (wanted) { print "echo \"== line " NR "\" >&2"; blocks++ } next }
  inside && /^```$/ { inside = 0; next }
  inside && wanted { print }
  END { if (blocks < 5) { print "no blocks found in the guide" > "/dev/stderr"; exit 1 } }' "$guide" >"$work/guide.sh"

sanitize=
if [ -n "${SANITIZE:-}" ]; then sanitize=-fsanitize=$SANITIZE; fi
cd "$work/home"
# The registry rejects folders that other users may write, so the umask is that of a new Debian user.
umask 022
env -i HOME="$work/home" PATH="$(dirname "$CMAKE"):/usr/bin:/bin" CC="$CC" CXX="$CXX" CFLAGS="$sanitize" CXXFLAGS="$sanitize" \
  ASAN_OPTIONS="${ASAN_OPTIONS:-}" bash -euxo pipefail "$work/guide.sh" >"$work/output.txt" 2>&1 || { cat "$work/output.txt"; echo "FAILED: $guide, the last line above"; exit 1; }

expect() { grep -qE "$1" "$work/output.txt" || { cat "$work/output.txt"; echo "FAILED: $guide: expected $1"; exit 1; }; }
expect 'etbackend [0-9]+\.[0-9]+\.[0-9]+, C ABI 1\.'
expect '100% tests passed'
expect 'com\.example\.my-npu +my_npu +0\.1\.0 .* ok '
expect "device cpu 'this processor'"
expect 'chosen, only candidate'
expect 'com.example.my-npu 0.1.0: executed on the plugin / claimed: [1-9]'
expect '^PASS, [0-9]+ checks and cases$'
expect "ident.manifest: version '0.1.0' in the library, '0.2.0' in the manifest"
expect 'com\.example\.my-npu +my_npu +0\.2\.0 .* ok '

# The commands of both CI jobs, with the shortest profile: the script of GitLab's, the last two `run:` of GitHub's.
# They are the same for both templates, so one of them is enough.
run_ci_jobs() {
  cd my_npu
  sed -n '/^  script:$/,/^  [a-z]*:$/s/^    - //p' .gitlab-ci.yml >"$work/gitlab.sh"
  sed -n 's/^        run: \([^|].*\)$/\1/p' .github/workflows/ci.yml >"$work/github.sh"
  [ "$(wc -l <"$work/gitlab.sh")" = 2 ] || { cat "$work/gitlab.sh"; echo "FAILED: expected two commands in .gitlab-ci.yml"; exit 1; }
  cmp "$work/gitlab.sh" "$work/github.sh" || { echo "FAILED: the two CI jobs have different commands"; exit 1; }
  env -i HOME="$work/home" PATH="$work/home/etbackend-sdk/bin:$(dirname "$CMAKE"):/usr/bin:/bin" CMAKE_PREFIX_PATH="$work/home/etbackend-sdk" CC="$CC" CXX="$CXX" \
    CFLAGS="$sanitize" CXXFLAGS="$sanitize" ASAN_OPTIONS="${ASAN_OPTIONS:-}" VERIFY_PROFILE=smoke bash -eux "$work/gitlab.sh" >"$work/ci.txt" 2>&1 ||
    { cat "$work/ci.txt"; echo "FAILED: the commands of the CI jobs"; exit 1; }
  for report in verify.xml verify.html; do [ -s "$report" ] || { cat "$work/ci.txt"; echo "FAILED: the CI jobs wrote no $report"; exit 1; }; done
}
if [ "$flavour" = c ]; then run_ci_jobs; fi
echo "$(grep -c '^== line' "$work/output.txt") blocks of $(basename "$guide") ran ($flavour)"
