// SPDX-License-Identifier: Apache-2.0
// What a processor has to offer to codes.c.
#ifndef ETB_TESTS_CROSS_CODES_PLATFORM_H_
#define ETB_TESTS_CROSS_CODES_PLATFORM_H_

// Writes a text to the simulator's console.
void platform_write(const char* text);

#endif
