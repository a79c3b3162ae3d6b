#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Freezes the C++ and C template plugins with the headers that they need: tests/compat/template_1_0. After the
# release of ABI 1.0 these files never change, and every later host must load and run the plugins built from
# them. Before it, a deliberate change of layout (docs/decisions.md) is frozen again in the same commit.
# usage: freeze.sh path/to/etbackend
set -euo pipefail
etbackend=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
frozen=$root/tests/compat/template_1_0
rm -rf "$frozen"
mkdir -p "$frozen/include"
for lang in cpp c; do
  name=template_1_0_$lang
  "$etbackend" new "$name" --lang $lang --dir "$frozen/$lang" --vendor etbackend --id "org.etbackend.template-1-0-$lang" >/dev/null
  # Only the plugin: its project and tests follow today's SDK. The ABI range of the manifest is that of 1.0.
  find "$frozen/$lang" -mindepth 1 -maxdepth 1 ! -name "$name.*" -exec rm -rf {} +
  sed 's/@ETB_ABI_MAJOR@\.@ETB_ABI_MINOR@/1.0/' "$frozen/$lang/$name.json.in" >"$frozen/$lang/$name.json"
  rm "$frozen/$lang/$name.json.in"
done
cp -r "$root/api/include/etb" "$frozen/include/etb"
printf 'DisableFormat: true\n' >"$frozen/.clang-format"
(cd "$frozen" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
