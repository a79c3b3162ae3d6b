#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Executes the instructions of Containerfile without a container engine: each stage is a chroot of a bare Debian. Then
# runs the entry point as the image's user: it compiles and runs the shipped digit classifier on XNNPACK.
#
# usage: container_test.sh [--packages FOLDER]
#   --packages FOLDER   skips the build stage, and uses these packages as its result (the build takes most of the time)
# exit status: 0 passed; 1 an instruction failed; 2 wrong arguments. Runs as root; needs debootstrap.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)

say() { printf "container [%3d s]: %s\n" "$SECONDS" "$*" >&2; }
fail() { say "FAILED: $*"; exit 1; }

if [ "${1:-}" != --inside ]; then
  case ${1:-} in
    '') ;;
    --packages) [ $# = 2 ] && [ -d "$2" ] || { say "--packages needs a folder"; exit 2; } ;;
    -h | --help) sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit ;;
    *) say "unknown argument $1 (--help lists them)"; exit 2 ;;
  esac
  [ "$(id -u)" = 0 ] || fail "debootstrap and chroot need root"
  exec unshare --mount --propagation private "$0" --inside "$@"
fi
packages=${3:-}
# shellcheck source=tools/packaging/bare_debian.sh
. "$here/bare_debian.sh"
make_base
make_work 12g

user=root folder=/ entry='' stage=''
# copy_files ARGUMENT...: COPY of the context, or of a stage.
copy_files() {
  case $1 in
    --from=*)
      [ -d "$work/${1#--from=}$2" ] || fail "COPY $*: stage ${1#--from=} has no $2"
      mkdir -p "$root$3"
      cp -a "$work/${1#--from=}$2/." "$root$3/"
      ;;
    .) mkdir -p "$root$2" && git -C "$source" archive HEAD | tar -x -C "$root$2" ;;
    *) fail "COPY $*: only '.' or --from=STAGE is understood" ;;
  esac
}

# execute INSTRUCTION REST
execute() {
  if [ "$stage" = build ] && [ -n "$packages" ] && [ "$1" != FROM ]; then return; fi
  case $1 in
    FROM)
      stage=final
      if [[ $2 =~ \ AS\ ([a-z]+)$ ]]; then stage=${BASH_REMATCH[1]}; fi
      open_chroot "$stage"
      rm -f "$root/usr/sbin/policy-rc.d"
      if [ "$stage" = build ] && [ -n "$packages" ]; then mkdir "$root/packages" && cp "$packages"/*.deb "$root/packages/"; fi
      ;;
    # shellcheck disable=SC2086
    COPY) copy_files $2 ;;
    RUN) in_chroot "$root" bash -c "cd $folder && $2" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "RUN $2"; } ;;
    USER) user=$2 ;;
    WORKDIR) folder=$2 ;;
    ENTRYPOINT) entry=$(tr -d '[]",' <<<"$2") ;;
    *) fail "unknown instruction $1" ;;
  esac
  say "$stage: $1 $2"
}

# Lines that end in a backslash continue.
while read -r instruction rest; do
  execute "$instruction" "$rest"
done < <(sed -e :a -e '/\\$/{N;s/\\\n *//;ta' -e '}' "$here/Containerfile" | grep -vE '^(#|$)')

# image ARGUMENT...: what `podman run etbackend ARGUMENT...` does.
image() { in_chroot "$root" setpriv --reuid "$user" --regid "$user" --init-groups env HOME="$folder" bash -c "cd $folder && exec $entry $*"; }
cp "$source/docs/examples/digits/digits.pt2" "$root$folder/"
image --version
image compile digits.pt2 -b xnnpack -o digits.pte | tee "$work/log"
grep -q '1 delegate call' "$work/log" || fail "XNNPACK did not claim the classifier"
image run digits.pte --random 7 | tee "$work/log"
grep -q 'output 0: float32 \[1, 10\]' "$work/log" || fail "the program did not run"
image list | grep -E 'org.etbackend.[a-z]+'
say "$(du -sm --one-file-system "$work/final.changes" | cut -f1) MB over the bare Debian"
