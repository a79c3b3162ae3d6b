// SPDX-License-Identifier: Apache-2.0
// Functions of the processor that codes.c calls.
#ifndef ETB_TESTS_CROSS_CODES_PLATFORM_H_
#define ETB_TESTS_CROSS_CODES_PLATFORM_H_

// Writes a text to the simulator's console.
void platform_write(const char* text);

#endif
