#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the site of the docs: pages, reference of the commands and of the C API, search. It works from a web server
# and from file://, without a network. Needs Python 3.9 with venv, CMake, and the built program for the reference.
# MkDocs Material comes from PyPI into a virtual environment in build/site_venv.
#
# usage: site.sh [--output DIR] [--program ETBACKEND]
#   --output DIR          where the site is written (default: build/site); DIR is replaced if a site is in it
#   --program ETBACKEND   the built program (default: the newest of build/*/bin/etbackend)
# exit codes: 0 built; 1 a page is missing in docs/mkdocs.yml, a link or an anchor is dead, or a page loads a file from
# another site; 2 wrong usage; 3 a tool is missing
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
output=$root/build/site program=
usage() { sed -n '/^# usage/,/^# another/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
fail() { echo "site.sh: $2" >&2; exit "$1"; }
while [ $# -gt 0 ]; do
  case $1 in
    --output | --program) [ $# -ge 2 ] || fail 2 "$1: found nothing, expected a path"
      if [ "$1" = --output ]; then output=$(realpath -m "$2"); else program=$(realpath -m "$2"); fi
      shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail 2 "found '$1', expected --output or --program" ;;
  esac
done
if [ -e "$output" ] && [ ! -e "$output/search/search_index.json" ] && [ -n "$(ls -A "$output")" ]; then
  fail 2 "--output: '$output' has files that are no site"
fi
if [ -z "$program" ]; then program=$(ls -t "$root"/build/*/bin/etbackend 2>/dev/null | head -n 1) || true; fi
[ -x "$program" ] || fail 3 "no built program found in build/*/bin; run tools/quickstart.sh, or name one: --program ETBACKEND"
for tool in python3 cmake; do command -v "$tool" >/dev/null || fail 3 "$tool is not installed"; done

say() { printf "site [%3d s]: %s\n" "$SECONDS" "$*" >&2; }
venv=$root/build/site_venv pages=$root/build/site_pages
if [ ! -x "$venv/bin/mkdocs" ] || ! "$venv/bin/python" -c 'import material' 2>/dev/null; then
  say "installing MkDocs Material in build/site_venv"
  python3 -m venv "$venv" || fail 3 "python3 -m venv failed; on Debian, install python3-venv"
  "$venv/bin/pip" install --quiet 'mkdocs>=1.6,<2' 'mkdocs-material>=9.5,<10' || fail 3 "pip could not install mkdocs-material"
fi

say "copying the pages"
rm -rf "$pages"
cmake -DSOURCE="$root" -DDESTINATION="$pages" -P "$root/tools/cmake/EtbInstallDocs.cmake"
cp "$root"/tools/site/{site.css,iframe-worker.js} "$pages"
# The list of changes has every word; in a search, the pages that explain them come first.
sed -i '1i ---\nsearch:\n  boost: 0.2\n---\n' "$pages/CHANGELOG.md"
python3 "$root/tools/site/command_pages.py" "$program" "$pages/docs/reference/commands"
python3 "$root/tools/site/header_pages.py" "$root/api/include" "$pages/docs/reference/c"

# The generated pages replace the comment lines of the navigation that name their folder.
config=$root/build/mkdocs.yml
awk -v pages="$pages" '
  /^ *# pages: / { indent = $0; sub(/#.*/, "", indent); file = pages "/" $3 "/pages.txt"
                   while ((getline line < file) > 0) print indent "- " $3 "/" line; next }
  { print }' "$root/docs/mkdocs.yml" | sed "s|^docs_dir: .*|docs_dir: $pages|; s|^site_dir: .*|site_dir: $output|" >"$config"
find "$pages" -name pages.txt -delete

say "building"
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --quiet --strict --config-file "$config" || fail 1 "the lines above name the page and the link"
# A page may link to other sites and must load nothing from them.
if grep -rnoE --include='*.html' '(<script[^>]* src|<img[^>]* src|<link[^>]* href)="(https?:)?//[^"]*"' "$output" >&2; then
  fail 1 "the pages above load files from other sites"
fi
# Search without a network reads this script, since browsers open no other file from a page of file://.
[ -s "$output/search/search_index.js" ] || fail 1 "no search/search_index.js in $output, which search from file:// needs"
say "$(find "$output" -name '*.html' | wc -l) pages in $output; open $output/index.html"
