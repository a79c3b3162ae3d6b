/* SPDX-License-Identifier: Apache-2.0 */
/* The payload, in the section that docs/examples/cortex_m/board.ld places in flash. */
  .section .model, "a"
  .balign 16
  .global payload_begin, payload_end
payload_begin:
  .incbin PAYLOAD
payload_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
