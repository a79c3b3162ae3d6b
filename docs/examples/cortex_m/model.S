// SPDX-License-Identifier: Apache-2.0
// The program and its input, in flash.
  .section .model, "a"
  .balign 16
  .global model_begin, model_end, input_begin
model_begin:
  .incbin MODEL
model_end:
  .balign 16
input_begin:
  .incbin INPUT, 128      // after the header of the .npy file
