#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs the components that CPack installed as .debs, with Debian's own tools: dpkg-shlibdeps computes what a package
# depends on, dpkg-gensymbols compares the exports of libetbackend.so with debian/libetbackend1.symbols, dpkg-deb packs.
# Called by cpack (cpack_external.cmake).
#
# usage: make_debs.sh STAGE SOURCE_DIR BUILD_DIR OUTPUT
#   STAGE/COMPONENT/usr   what cmake --install --component COMPONENT installs: runtime program plugins development
#   OUTPUT                one .deb per package of debian/control; plugins that were not built are left out
# The same input makes the same bytes: files have the time of the newest entry of debian/changelog.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022
stage=$1 source=$2 build=$3 output=$4
debian=$source/tools/packaging/debian
work=$stage/debs
rm -rf "$work" "$output"
mkdir -p "$work/debian" "$output"
cp "$debian/control" "$debian/changelog" "$work/debian/"
touch "$work/debian/substvars"
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$debian/changelog" -S Timestamp)
export SOURCE_DATE_EPOCH
version=$(dpkg-parsechangelog -l "$debian/changelog" -S Version)
multiarch=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
soname=libetbackend.so.1

fail() { echo "packages: $*" >&2; exit 1; }

prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$build/CMakeCache.txt")
[ "$prefix" = /usr ] || fail "$build is configured for the prefix $prefix, expected /usr (preset package)"
# The version of the program is stated once, in version.h; the changelog must follow.
project=$(sed -n 's/^CMAKE_PROJECT_VERSION:[A-Z]*=//p' "$build/CMakeCache.txt")
[ "${version%-*}" = "$project" ] || fail "debian/changelog: version ${version%-*}, expected $project (api/include/etb/version.h)"

# take PACKAGE COMPONENT: a package gets all files of a component.
take() { mkdir -p "$work/$1"; cp -a "$stage/$2/." "$work/$1/"; }

# Plugins are split by name: NAME.so and NAME.json go to etbackend-plugin-NAME.
take_plugins() {
  local folder=usr/lib/$multiarch/etbackend/plugins.d manifest name package
  for manifest in "$stage/plugins/$folder"/*.json; do
    [ -e "$manifest" ] || continue
    name=$(basename "$manifest" .json)
    package=etbackend-plugin-$name
    grep -qx "Package: $package" "$debian/control" || fail "plugin '$name' was installed, but debian/control has no package $package"
    mkdir -p "$work/$package/$folder"
    mv "${manifest%.json}.so" "$manifest" "$work/$package/$folder/"
    chmod 644 "$work/$package/$folder"/*   # Debian's libraries are not executable
  done
  if find "$stage/plugins" -type f | grep .; then fail "the plugin files above belong to no manifest"; fi
}

# Files that only packages have: completions, made by the program that is packed.
add_completions() {
  local root=$work/etbackend program=$work/etbackend/usr/bin/etbackend
  install -d "$root/usr/share/bash-completion/completions" "$root/usr/share/zsh/vendor-completions" \
    "$root/usr/share/fish/vendor_completions.d"
  "$program" completion bash >"$root/usr/share/bash-completion/completions/etbackend"
  "$program" completion zsh >"$root/usr/share/zsh/vendor-completions/_etbackend"
  "$program" completion fish >"$root/usr/share/fish/vendor_completions.d/etbackend.fish"
}

# finish PACKAGE: documents that policy asks for, control files, the .deb.
finish() {
  local package=$1 root=$work/$1 doc=$work/$1/usr/share/doc/$1 elf=()
  install -d "$doc" "$root/DEBIAN"
  install -m 644 "$debian/copyright" "$doc/copyright"
  gzip -9n <"$debian/changelog" >"$doc/changelog.Debian.gz"
  find "$root/usr/share/man" -type f -exec gzip -9n {} + 2>/dev/null || true
  install -D -m 644 "$debian/lintian-overrides" "$root/usr/share/lintian/overrides/$package"

  mapfile -t elf < <(find "$root/usr" -type f \( -name '*.so' -o -name '*.so.*' -o -path '*/bin/*' \) | sort)
  : >"$work/$package.substvars"
  if [ ${#elf[@]} != 0 ]; then
    (cd "$work" && dpkg-shlibdeps --warnings=7 -T"$package.substvars" "${elf[@]/#/-e}")
  fi
  if [ -e "$root/usr/lib/$multiarch/$soname" ]; then
    # Level 4: a symbol that is missing or not listed is an error.
    (cd "$work" && dpkg-gensymbols -c4 -P"$root" -p"$package" -v"$version" -I"$debian/$package.symbols" -O"$root/DEBIAN/symbols")
    echo "libetbackend 1 $package (>= $project)" >"$root/DEBIAN/shlibs"
    echo "activate-noawait ldconfig" >"$root/DEBIAN/triggers"
  fi
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  (cd "$work" && dpkg-gencontrol -p"$package" -P"$root" -T"$package.substvars" -f"$work/files")
  # All times equal: the build's own would differ from build to build.
  find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$root" "$output"
}

take libetbackend1 runtime
take libetbackend-dev development
take etbackend program
take_plugins
add_completions
# The licence is named in copyright, and Debian has its text once for all packages.
rm "$work/etbackend/usr/share/doc/etbackend/LICENSE"
ln -s ../../common-licenses/Apache-2.0 "$work/etbackend/usr/share/doc/etbackend/LICENSE"
# Debian's name of a changelog from upstream.
gzip -9n <"$work/etbackend/usr/share/doc/etbackend/CHANGELOG.md" >"$work/etbackend/usr/share/doc/etbackend/changelog.gz"
rm "$work/etbackend/usr/share/doc/etbackend/CHANGELOG.md"
find "$work/etbackend/usr/share/doc" -type f -exec chmod 644 {} +

while read -r package; do
  if [ -e "$work/$package" ]; then finish "$package"; fi
done < <(sed -n 's/^Package: //p' "$debian/control")
