#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that the core needs no heap, exceptions, RTTI or iostream, by the undefined symbols of its archives.
#   check_core.sh NM ARCHIVE...
nm=$1
shift
bad=$("$nm" -u --demangle "$@" 2>/dev/null | grep -E 'operator new|operator delete|\b(malloc|calloc|realloc|free|posix_memalign|aligned_alloc)$|__cxa_(throw|begin_catch|allocate_exception)|__cxa_guard|typeinfo|__dynamic_cast|std::(basic_)?(ios|ostream|istream|cout|cerr)|std::__throw|std::string|basic_string<')
[ -n "$("$nm" --defined-only "$@" 2>/dev/null)" ] || { echo "no symbols in: $*"; exit 1; }
if [ -n "$bad" ]; then
  echo "the core needs what it must not:"
  echo "$bad"
  exit 1
fi
echo "the core needs no heap, exceptions, RTTI or iostream"
# Checks that no variable is writable: none in .data, .bss or thread storage (.data.rel.ro is constant once relocated).
# GCC for aarch64 also stores unnamed constants that have relocations in .data, so the check reads symbols, not sections.
mutable=$("$nm" -f sysv --defined-only "$@" | tr -d ' ' |
  awk -F'|' '$4 ~ /^(OBJECT|TLS|COMMON)$/ && $7 ~ /^(\.(data|bss|tdata|tbss)($|\.)|\*COM\*)/ && $7 !~ /^\.data\.rel\.ro/ { print $7, $1 }')
if [ -n "$mutable" ]; then
  echo "the core has mutable globals (section, name):"
  echo "$mutable"
  exit 1
fi
echo "the core has no mutable globals"
