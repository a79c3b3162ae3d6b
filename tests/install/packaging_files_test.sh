#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks tools/packaging without building packages: its files agree with the sources, and its scripts state wrong arguments.
# usage: packaging_files_test.sh SOURCE_DIR VERSION ABI_VERSION [PLUGIN...]      PLUGIN: names of installed plugins
set -euo pipefail
packaging=$1/tools/packaging
version=$2 abi=$3
shift 3
fail() { echo "FAILED: $*"; exit 1; }

newest=$(sed -n '1s/^etbackend (\([^-]*\)-[0-9]*) .*/\1/p' "$packaging/debian/changelog")
[ "$newest" = "$version" ] || fail "debian/changelog: version '$newest', expected $version (api/include/etb/version.h)"
grep -qx " (symver)ETBACKEND_$abi [0-9.]*" "$packaging/debian/libetbackend1.symbols" ||
  fail "debian/libetbackend1.symbols has no line for ETBACKEND_$abi, which libetbackend.so exports"
soversion=${abi%%.*}
for name in "libetbackend$soversion" libetbackend-dev etbackend "${@/#/etbackend-plugin-}"; do
  grep -qx "Package: $name" "$packaging/debian/control" || fail "debian/control has no package $name"
  grep -qF "\`$name\`" "$packaging/../../docs/packages.md" || fail "docs/packages.md does not name the package $name"
done

for script in build_packages.sh consumer_test.sh container_test.sh check_sbom.sh ../../tests/install/reproducible.sh; do
  rc=0
  "$packaging/$script" --no-such-option >/dev/null 2>&1 || rc=$?
  [ "$rc" = 2 ] || fail "$script --no-such-option: exit status $rc, expected 2"
  grep -q '^# usage: ' "$packaging/$script" || fail "$script has no usage line"
done
for script in build_packages.sh container_test.sh ../../tests/install/reproducible.sh; do
  "$packaging/$script" --help | grep -q '^usage: ' || fail "$script --help prints no usage"
done
unknown=$(grep -vE '^(#|$| )' "$packaging/Containerfile" | awk '{ print $1 }' | grep -vxE 'FROM|COPY|RUN|WORKDIR|USER|ENTRYPOINT' || true)
[ -z "$unknown" ] || fail "container_test.sh does not execute $unknown of the Containerfile"
echo "version $version, packages for the library and $# plugins"
