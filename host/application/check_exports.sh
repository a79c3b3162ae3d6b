#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shared library exports exactly the functions that the headers of applications declare, each with the version
# ETBACKEND_1.0, and functions.def lists the same.
# usage: check_exports.sh NM LIBRARY SOURCE_DIR
set -euo pipefail
nm=$1 library=$2 source=$3
declared=$(grep -hoE 'ETB_CALL etb_[a-z_]+\(' "$source"/api/include/etb/{library,module,recording,registry}.h | grep -oE 'etb_[a-z_]+' | sort)
listed=$(grep -oE '^ETB_FUNCTION\([a-z_]+\)' "$source/host/application/functions.def" | grep -oE 'etb_[a-z_]+' | sort)
exported=$("$nm" -D --defined-only "$library" | awk '$2 == "T" { print $3 }' | sort)
others=$("$nm" -D --defined-only "$library" | awk '$2 != "T" && $3 != "ETBACKEND_1.0" { print $2, $3 }')
diff <(echo "$declared") <(echo "$listed") || { echo "FAILED: < declared in the headers, > in functions.def"; exit 1; }
diff <(sed 's/$/@@ETBACKEND_1.0/' <<<"$listed") <(echo "$exported") || { echo "FAILED: < in functions.def, > exported"; exit 1; }
[ -z "$others" ] || { echo "FAILED: also exported: $others"; exit 1; }
echo "$(wc -l <<<"$listed") functions"
