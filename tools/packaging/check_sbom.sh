#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Validates a bill of materials with spdx-tools, the reference implementation in Python. The test sbom_test checks the
# same without Python.
#
# usage: check_sbom.sh SBOM.spdx.json
# exit status: 0 valid; 1 not; 2 wrong arguments; 77 not checked, because Python, venv or a package index is not available
set -euo pipefail
if [ $# != 1 ] || [ ! -f "$1" ]; then sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 2; fi
venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check 'spdx-tools==0.8.3'; } >"$venv/log" 2>&1; then
  echo "not checked by spdx-tools: $(tail -n 1 "$venv/log")" >&2
  exit 77
fi
"$venv/bin/pyspdxtools" --infile "$1"
echo "$1: valid SPDX"
