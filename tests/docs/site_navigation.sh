#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that docs/mkdocs.yml, the navigation of the site, lists each page once and no page that does not exist.
# Building the site needs Python, this test does not.
# usage: site_navigation.sh ROOT
set -euo pipefail
cd "$1"
nav=$(sed -n '/^nav:/,$p' docs/mkdocs.yml | grep -o '[A-Za-z_./]*\.md' | grep -v '^docs/reference/')  # generated pages
pages=$(ls -- *.md; find docs -name '*.md')
repeated=$(sort <<<"$nav" | uniq -d)
missing=$(comm -13 <(sort -u <<<"$nav") <(sort <<<"$pages"))
unknown=$(comm -23 <(sort -u <<<"$nav") <(sort <<<"$pages"))
[ -z "$repeated" ] || echo "docs/mkdocs.yml lists twice:" $repeated
[ -z "$missing" ] || echo "docs/mkdocs.yml does not list:" $missing
[ -z "$unknown" ] || echo "docs/mkdocs.yml lists pages that do not exist:" $unknown
[ -z "$repeated$missing$unknown" ] || { echo "FAILED: navigation of the site"; exit 1; }
echo "$(wc -l <<<"$nav") pages are in the navigation"
