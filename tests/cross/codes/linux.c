// SPDX-License-Identifier: Apache-2.0
// Linux with a C library: this machine.
#include <stdio.h>

#include "tests/cross/codes/platform.h"

void platform_write(const char* text) { fputs(text, stdout); }
