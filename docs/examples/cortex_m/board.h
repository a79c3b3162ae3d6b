// SPDX-License-Identifier: Apache-2.0
// The board: console, clock, and the numbers of its memory.
#ifndef BOARD_H_
#define BOARD_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes a text to the simulator's console.
void board_write(const char* text);
// Ends the simulation.
void board_exit(int status) __attribute__((noreturn));
// Ticks of the processor's clock (SysTick) since the start.
uint64_t board_ticks(void);
// Most bytes of stack used since the start.
uint32_t board_stack_bytes(void);

#ifdef __cplusplus
}
#endif

#endif
