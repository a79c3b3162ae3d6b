// SPDX-License-Identifier: Apache-2.0
// Start of the program, SysTick, and semihosting: what a vendor's board support package has.
#include "board.h"

#include "host/runtime/platform_functions.h"

int main(void);
extern uint32_t data_begin[], data_end[], data_load[], bss_begin[], bss_end[], stack_top[];

#define SYST_CSR (*(volatile uint32_t*)0xE000E010)
#define SYST_RVR (*(volatile uint32_t*)0xE000E014)
#define SYST_CVR (*(volatile uint32_t*)0xE000E018)
#define CPACR (*(volatile uint32_t*)0xE000ED88)
#define TICKS_OF_A_ROUND 0x1000000u
#define STACK_MARK 0xA5A5A5A5u

static volatile uint32_t rounds;

static int semihosting(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void board_write(const char* text) { semihosting(0x04, text); }

void board_exit(int status) {
  const uint32_t arguments[2] = {0x20026 /* ADP_Stopped_ApplicationExit */, (uint32_t)status};
  semihosting(0x20, arguments);
  for (;;) {
  }
}

uint64_t board_ticks(void) {
  uint32_t before, value;
  do {
    before = rounds;
    value = SYST_CVR;
  } while (before != rounds);
  return (uint64_t)before * TICKS_OF_A_ROUND + (TICKS_OF_A_ROUND - 1 - value);
}

uint32_t board_stack_bytes(void) {
  const uint32_t* at = bss_end;
  while (at < stack_top && *at == STACK_MARK) ++at;
  return (uint32_t)((const char*)stack_top - (const char*)at);
}

// ---- The platform of the run time (host/runtime/platform_functions.h) ----

uint64_t etb_platform_now_ns(void* unused) {
  (void)unused;
  return board_ticks() * 40;  // 25 MHz
}

void etb_platform_log(uint32_t level, const char* line) {
  (void)level;
  board_write(line);
  board_write("\n");
}

void etb_platform_abort(const char* reason) {
  board_write("stopped: ");
  board_write(reason);
  board_write("\n");
  board_exit(2);
}

// ---- Start ----

void reset(void);
void reset(void) {
  for (uint32_t *to = data_begin, *from = data_load; to < data_end; ++to, ++from) *to = *from;
  for (uint32_t* to = bss_begin; to < bss_end; ++to) *to = 0;
  for (uint32_t* to = bss_end; to < (uint32_t*)__builtin_frame_address(0) - 16; ++to) *to = STACK_MARK;
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  CPACR |= 0xFu << 20;
  __asm__ volatile("dsb\n isb");
#endif
  SYST_RVR = TICKS_OF_A_ROUND - 1;
  SYST_CVR = 0;
  SYST_CSR = 7;  // the processor's clock, with interrupt
  board_exit(main());
}

static void tick(void) { ++rounds; }
static void fault(void) { etb_platform_abort("a fault of the processor"); }

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {(void (*)(void))stack_top,
                                                                                   reset,
                                                                                   fault,
                                                                                   fault,
                                                                                   fault,
                                                                                   fault,
                                                                                   fault,
                                                                                   fault,
                                                                                   0,
                                                                                   0,
                                                                                   0,
                                                                                   fault,
                                                                                   fault,
                                                                                   0,
                                                                                   fault,
                                                                                   tick};
