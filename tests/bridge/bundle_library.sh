#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copies a library of ExecuTorch's package beside a plugin that needs it. The package's run path names folders of the
# package, which the registry rejects (docs/registry.md); the copy has $ORIGIN alone.
#
# usage: bundle_library.sh READELF LIBRARY FOLDER
set -eu
if [ $# -ne 3 ]; then
  echo "usage: bundle_library.sh READELF LIBRARY FOLDER" >&2
  exit 2
fi
copy=$3/$(basename "$2")
path=$("$1" -d "$2" | sed -n 's/.*\(RUNPATH\|RPATH\).*\[\(.*\)\]$/\2/p')
cp "$2" "$copy.part"
chmod 755 "$copy.part"
if [ -n "$path" ]; then
  offset=$(grep -obUaF -- "$path" "$2" | head -n 1 | cut -d: -f1)
  printf '$ORIGIN\0' | dd of="$copy.part" bs=1 seek="$offset" conv=notrunc status=none
fi
mv "$copy.part" "$copy"
