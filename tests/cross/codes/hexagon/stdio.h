// SPDX-License-Identifier: Apache-2.0
// In place of the C library's, which Debian has not for Hexagon.
#pragma once

#include <stddef.h>

int snprintf(char* out, size_t capacity, const char* format, ...);
