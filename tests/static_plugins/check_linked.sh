#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks by symbols that a program contains the plugins of its list and no others, and that it runs a model.
# usage: check_linked.sh NM ONE_STATIC_PLUGIN STATIC_PLUGINS_TEST ADD.pte
set -euo pipefail
nm=$1 one=$2 all=$3 model=$4
plugins_of() { "$nm" --defined-only "$1" | sed -n 's/.* etb_plugin_query_//p' | sort | tr '\n' ' '; }
[ "$(plugins_of "$one")" = "my_npu_c " ] || { echo "FAILED: $one contains '$(plugins_of "$one")', expected 'my_npu_c'"; exit 1; }
[ "$(plugins_of "$all")" = "dsp_stub my_npu my_npu_c " ] || { echo "FAILED: $all contains '$(plugins_of "$all")'"; exit 1; }
# dsp_run: the device itself, that is the library below the plugin.
"$nm" --defined-only "$all" | grep ' dsp_run$' >/dev/null || { echo "FAILED: $all lacks dsp_run"; exit 1; }
if "$nm" --defined-only "$one" | grep ' dsp_'; then echo "FAILED: $one contains the DSP, which is not in its list"; exit 1; fi
out=$("$one" "$model")
[ "$out" = $'MyNpuCBackend runs on com.example.my-npu-c\noutput 0 ends with 66' ] || { echo "FAILED: $out"; exit 1; }
echo "$out"
