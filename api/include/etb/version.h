// SPDX-License-Identifier: Apache-2.0
//
// Version of this SDK and of the C ABI that it describes. The build reads both from this file; no other file
// states them.
//
// A plugin states the range of ABI versions that it speaks; the host picks the newest version that both
// speak:
//
//   if (abi_max >= ETB_ABI_MAKE(1, 0) && abi_min <= ETB_ABI_VERSION) ...
#ifndef ETB_VERSION_H_
#define ETB_VERSION_H_

#include <stdint.h>

// Version of the SDK: the library and tools of this repository. It follows semantic versioning.
#define ETB_VERSION_MAJOR 0
#define ETB_VERSION_MINOR 1
#define ETB_VERSION_PATCH 0

// Version of the C ABI, major.minor (ABI-VER-01). 1.0 is a release candidate: until it is released a layout
// may still change, on purpose, together with its golden file and a record in docs/decisions.md. Afterwards a
// minor version only appends. ETB_ABI_RELEASE_CANDIDATE counts the candidates and is 0 once 1.0 is released.
#define ETB_ABI_MAJOR 1
#define ETB_ABI_MINOR 0
#define ETB_ABI_RELEASE_CANDIDATE 1

// One ABI version as one number that compares in the right order: major in the high half, minor in the low
// half.
#define ETB_ABI_MAKE(major, minor) (((uint32_t)(major) << 16) | (uint32_t)(minor))

// The ABI version of these headers.
#define ETB_ABI_VERSION ETB_ABI_MAKE(ETB_ABI_MAJOR, ETB_ABI_MINOR)

// Major and minor part of a number that ETB_ABI_MAKE made.
#define ETB_ABI_MAJOR_OF(version) ((uint32_t)(version) >> 16)
#define ETB_ABI_MINOR_OF(version) ((uint32_t)(version)&0xffffu)

#endif
