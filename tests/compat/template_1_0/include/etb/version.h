// Version of this SDK and of the C ABI it describes. The build reads both from here; nothing else states
// them.
#ifndef ETB_VERSION_H_
#define ETB_VERSION_H_

#include <stdint.h>

#define ETB_VERSION_MAJOR 0
#define ETB_VERSION_MINOR 1
#define ETB_VERSION_PATCH 0

// The C ABI, major.minor (rule ABI-VER-01). 1.0 is a release candidate: until it is released a layout may
// still change, on purpose and with its golden file (docs/decisions.md); afterwards a minor only appends.
#define ETB_ABI_MAJOR 1
#define ETB_ABI_MINOR 0
#define ETB_ABI_RELEASE_CANDIDATE 1

// One ABI version as one number that compares in the right order: major in the high half, minor in the low
// half.
#define ETB_ABI_MAKE(major, minor) (((uint32_t)(major) << 16) | (uint32_t)(minor))
#define ETB_ABI_VERSION ETB_ABI_MAKE(ETB_ABI_MAJOR, ETB_ABI_MINOR)
#define ETB_ABI_MAJOR_OF(version) ((uint32_t)(version) >> 16)
#define ETB_ABI_MINOR_OF(version) ((uint32_t)(version)&0xffffu)

#endif
