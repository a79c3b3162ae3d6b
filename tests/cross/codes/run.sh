#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs networks for dsp_stub on several processors, and compares the codes and the cycles with those of this machine: the driver in C
# and the device, with the payload that `etbackend compile` made and random inputs.
#
# usage: run.sh BUILD_FOLDER [TARGET...]      TARGET: mps2-an385, mps2-an386, mps3-an547, hexagon; without one, all that have tools
#
# Needs the program `etbackend` ($ETBACKEND, else that of PATH) with the plugin dsp_stub in $PLUGINS, and Debian's
# gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm (boards), or clang, lld and qemu-user (hexagon). Exit code 77: no
# target has its tools.
set -euo pipefail
build=${1:?usage: run.sh BUILD_FOLDER [TARGET...]}
shift
here=$(cd "$(dirname "$0")" && pwd) repository=$(cd "$(dirname "$0")/../../.." && pwd)
etbackend=${ETBACKEND:-etbackend}
mkdir -p "$build"
build=$(cd "$build" && pwd)
cd "$repository"

# tool NAMES...: the first that is installed.
tool() {
  local name
  for name in "$@"; do command -v "$name" && return 0; done
  return 1
}
has_tools() {
  if [ "$1" = hexagon ]; then
    tool clang-14 clang >/dev/null && tool ld.lld-14 ld.lld >/dev/null && tool qemu-hexagon >/dev/null
  else
    tool arm-none-eabi-gcc >/dev/null && tool qemu-system-arm >/dev/null
  fi
}

sources=(tests/cross/codes/codes.c tests/cross/codes/payload.S plugins/dsp_stub/driver/*.c plugins/dsp_stub/core/*.c)
common=(-I. -Iapi/include -O2)

# payload NAME ARCHIVE: writes NAME.payload. The program has one delegate, whose payload begins with its magic.
payload() {
  local program=$build/$1.pte begin nbytes
  "$etbackend" ${PLUGINS:+--plugin-path "$PLUGINS"} compile -b dsp_stub "$2" -o "$program" --quiet >/dev/null
  nbytes=$("$etbackend" info "$program" --json | sed -n 's/.*"payload_nbytes": \([0-9]*\).*/\1/p')
  begin=$(grep -abom1 ETBD "$program" | head -1 | cut -d: -f1)
  tail -c +$((begin + 1)) "$program" | head -c "$nbytes" >"$build/$1.payload"
}

# run TARGET NAME: prints the lines of codes.c.
run() {
  local program=$build/$2.$1 define=(-DPAYLOAD="\"$build/$2.payload\"")
  case $1 in
    host)
      cc -std=c11 "${common[@]}" "${define[@]}" "${sources[@]}" tests/cross/codes/linux.c -o "$program"
      "$program"
      ;;
    hexagon)
      local objects=() source
      for source in "${sources[@]}" tests/cross/codes/hexagon/linux.c; do
        "$(tool clang-14 clang)" --target=hexagon -std=c11 -ffreestanding -fno-builtin "${common[@]}" -Itests/cross/codes/hexagon \
          "${define[@]}" -c "$source" -o "$program.$(basename "$source").o"
        objects+=("$program.$(basename "$source").o")
      done
      "$(tool ld.lld-14 ld.lld)" -e start "${objects[@]}" -o "$program"
      qemu-hexagon "$program"
      ;;
    *)
      local cpu
      case $1 in
        mps2-an385) cpu=(-mcpu=cortex-m3) ;;
        mps2-an386) cpu=(-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16) ;;
        mps3-an547) cpu=(-mcpu=cortex-m55 -mfloat-abi=hard) ;;
        *) echo "target '$1', expected mps2-an385, mps2-an386, mps3-an547 or hexagon" >&2; return 2 ;;
      esac
      arm-none-eabi-gcc "${cpu[@]}" -mthumb -std=c11 "${common[@]}" "${define[@]}" "${sources[@]}" tests/cross/codes/cortex_m.c \
        docs/examples/cortex_m/board.c host/firmware/*.c -nostartfiles -Wl,-z,noexecstack -Tdocs/examples/cortex_m/board.ld \
        -o "$program"
      timeout 300 qemu-system-arm -machine "$1" -nographic -monitor none -serial none -semihosting-config enable=on,target=native \
        -kernel "$program" 2>&1
      ;;
  esac
}

targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  for target in mps2-an385 mps2-an386 mps3-an547 hexagon; do
    if has_tools "$target"; then targets+=("$target"); else echo "skipped: $target has no compiler or simulator"; fi
  done
  if [ ${#targets[@]} = 0 ]; then exit 77; fi
fi
command -v "$etbackend" >/dev/null || { echo "skipped: no $etbackend"; exit 77; }
status=0
for network in ds_cnn/ds_cnn zoo/mobilenet_v2_q8; do
  name=$(basename "$network")
  payload "$name" "tests/fixtures/$network.pt2"
  run host "$name" >"$build/$name.expected"
  for target in "${targets[@]}"; do
    if ! run "$target" "$name" >"$build/$name.$target.txt" 2>"$build/$name.$target.log" || ! cmp -s "$build/$name.expected" "$build/$name.$target.txt"; then
      echo "FAILED: $name on $target, expected the lines of this machine:"
      diff "$build/$name.expected" "$build/$name.$target.txt" || true
      cat "$build/$name.$target.log"
      status=1
    else
      echo "$name on $target: $(wc -l <"$build/$name.expected") runs with the codes and cycles of this machine"
    fi
  done
done
exit $status
