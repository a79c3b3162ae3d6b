// SPDX-License-Identifier: Apache-2.0
// The boards of docs/examples/cortex_m, which has their start and console.
#include "docs/examples/cortex_m/board.h"

#include "tests/cross/codes/platform.h"

void platform_write(const char* text) { board_write(text); }
