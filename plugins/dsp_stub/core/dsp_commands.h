// SPDX-License-Identifier: Apache-2.0
//
// Commands of the simulated DSP: opcodes, fields, limits. docs/dsp_stub.md describes their meaning.
//
// A command stream is a list of little-endian 32-bit words. The first word of a command has the opcode in its
// low half, and the number of words of the command in its high half. A stream has no jumps: it ends at
// DSP_OP_END, which is its last command.
#ifndef ETB_DSP_COMMANDS_H_
#define ETB_DSP_COMMANDS_H_

#include <stdint.h>

// Memories. Compute commands use the TCM only; DMA copies between all of them.
#define DSP_MEMORY_TCM 0u
#define DSP_MEMORY_ARENA 1u      // external memory that keeps nothing between runs
#define DSP_MEMORY_CONSTANTS 2u  // of the payload, read-only
#define DSP_MEMORY_FILL 3u       // only as a DMA source: the byte of its offset, without end
#define DSP_MEMORY_IO 4u         // inputs (read-only), then outputs

#define DSP_TCM_BYTES 262144u
#define DSP_MAX_IO 64u
#define DSP_MAX_WORDS 32u
#define DSP_QUEUE_LENGTH 8u             // commands in flight of one engine
#define DSP_MAX_PRODUCTS 32768u         // products of one sum: more could overflow 32 bits
#define DSP_MAX_COLUMNS 65536u          // columns of a softmax
#define DSP_MAX_EXTENT (1u << 20)       // largest dimension, stride or padding
#define DSP_MAX_WINDOW (1u << 18)       // elements of a pool's window
#define DSP_MAX_WIDE_WINDOW (1u << 16)  // the same of int16 codes: more could overflow 64 bits
#define DSP_MAX_CYCLES ((uint64_t)1 << 31)
#define DSP_UNUSED_BYTES 64u  // that a layout may have after the last used byte of a memory
#define DSP_CLOCK_HZ 800000000u

#define DSP_OP_END 1u
#define DSP_OP_LAYER 2u
#define DSP_OP_WAIT 3u
#define DSP_OP_DMA 4u
#define DSP_OP_CONV 5u
#define DSP_OP_POOL 6u
#define DSP_OP_BINARY 7u
#define DSP_OP_TABLE 8u
#define DSP_OP_SOFTMAX 9u
#define DSP_OP_GATHER 10u

// Codes are int8, or int16 with zero point 0. The last word of CONV, POOL, BINARY, TABLE and SOFTMAX has a bit for each operand and
// result with int16 codes. A command of NARROW_WORDS has int8 codes only.
#define DSP_WIDE_FIRST 1u   // operand, or the first one of two
#define DSP_WIDE_SECOND 2u  // other operand of BINARY, weights of CONV
#define DSP_WIDE_RESULT 4u

#define DSP_ENGINE_DMA 0u
#define DSP_ENGINE_COMPUTE 1u

// Fields are indices of words. Offsets are bytes in the TCM, even ones for int16 codes; extents are elements.
enum { DSP_LAYER_INDEX = 1, DSP_LAYER_WORDS };
// Waits until at most WAIT_LEFT commands of the engine are in flight.
enum { DSP_WAIT_ENGINE = 1, DSP_WAIT_LEFT, DSP_WAIT_WORDS };

// Copies bytes: for each index i, destination[i * destination strides] = source[i * source strides]. The
// words after DMA_TO_OFFSET are extent, source stride and destination stride of each dimension, outermost
// first.
enum { DSP_DMA_FROM = 1, DSP_DMA_FROM_OFFSET, DSP_DMA_TO, DSP_DMA_TO_OFFSET, DSP_DMA_DIMS };
#define DSP_DMA_MAX_RANK 6u

// Convolution of [H, W, C] by weights [block of output channels, KH, KW, input channels of a group]. Linear
// layers are convolutions of one tap. PADDING_* are signed: output row 0 reads input row -PADDING_TOP first.
enum {
  DSP_CONV_INPUT = 1,
  DSP_CONV_IN_H,
  DSP_CONV_IN_W,
  DSP_CONV_IN_C,
  DSP_CONV_WEIGHTS,
  DSP_CONV_CHANNELS,  // DSP_CHANNEL_BYTES for each output channel of the block
  DSP_CONV_OUTPUT,
  DSP_CONV_OUT_H,
  DSP_CONV_OUT_W,
  DSP_CONV_OUT_C,
  DSP_CONV_PIXEL_STRIDE,  // elements between two output pixels
  DSP_CONV_KERNEL_H,
  DSP_CONV_KERNEL_W,
  DSP_CONV_STRIDE_H,
  DSP_CONV_STRIDE_W,
  DSP_CONV_DILATION_H,
  DSP_CONV_DILATION_W,
  DSP_CONV_PADDING_TOP,
  DSP_CONV_PADDING_LEFT,
  DSP_CONV_GROUP_IN,  // channels of a group
  DSP_CONV_GROUP_OUT,
  DSP_CONV_FIRST_OUT,  // output channel that the block begins with
  DSP_CONV_IN_ZERO,
  DSP_CONV_OUT_ZERO,
  DSP_CONV_LOW,
  DSP_CONV_HIGH,
  DSP_CONV_IS_TRANSPOSED,
  DSP_CONV_WIDE,
  DSP_CONV_WORDS
};
#define DSP_CONV_NARROW_WORDS DSP_CONV_WIDE
// An output channel: int32 bias, int32 multiplier, shift in a byte, int8 zero point of the weights, 2 zeros. For int16 input or
// weights, bias and multiplier have 48 and 16 bits. The zero point of int16 weights is int16, after a zero instead of int8.
#define DSP_CHANNEL_BYTES 12u
#define DSP_CHANNEL_SHIFT 8u
#define DSP_CHANNEL_ZERO 9u
#define DSP_CHANNEL_WIDE_ZERO 10u

#define DSP_POOL_MAX 0u
#define DSP_POOL_AVERAGE 1u  // one multiplier
#define DSP_POOL_AVERAGE_BY_COUNT \
  2u  // a multiplier and a shift for each number of elements that are no padding
#define DSP_POOL_AVERAGE_OF_CODES \
  3u  // the sum of codes divided by their number, ties away from 0; input and result have one type and zero point
enum {
  DSP_POOL_KIND = 1,
  DSP_POOL_INPUT,
  DSP_POOL_IN_H,
  DSP_POOL_IN_W,
  DSP_POOL_IN_C,
  DSP_POOL_OUTPUT,
  DSP_POOL_OUT_H,
  DSP_POOL_OUT_W,
  DSP_POOL_KERNEL_H,
  DSP_POOL_KERNEL_W,
  DSP_POOL_STRIDE_H,
  DSP_POOL_STRIDE_W,
  DSP_POOL_DILATION_H,
  DSP_POOL_DILATION_W,
  DSP_POOL_PADDING_TOP,
  DSP_POOL_PADDING_LEFT,
  DSP_POOL_IN_ZERO,
  DSP_POOL_OUT_ZERO,
  DSP_POOL_LOW,
  DSP_POOL_HIGH,
  DSP_POOL_MULTIPLIER,
  DSP_POOL_SHIFT,
  DSP_POOL_SCALES,  // 8 bytes for each count from 1 to KERNEL_H * KERNEL_W: int32 multiplier, uint32 shift
  DSP_POOL_WIDE,
  DSP_POOL_WORDS
};
#define DSP_POOL_NARROW_WORDS DSP_POOL_WIDE

#define DSP_BINARY_ADD 0u  // subtraction has a negative multiplier
#define DSP_BINARY_MULTIPLY 1u
#define DSP_BINARY_MAXIMUM 2u
#define DSP_BINARY_MINIMUM 3u
enum {
  DSP_BINARY_KIND = 1,
  DSP_BINARY_A,
  DSP_BINARY_B,
  DSP_BINARY_OUTPUT,
  DSP_BINARY_COUNT,
  DSP_BINARY_A_ZERO,
  DSP_BINARY_B_ZERO,
  DSP_BINARY_OUT_ZERO,
  DSP_BINARY_LOW,
  DSP_BINARY_HIGH,
  DSP_BINARY_A_MULTIPLIER,  // of the product for MULTIPLY
  DSP_BINARY_B_MULTIPLIER,
  DSP_BINARY_SHIFT,
  DSP_BINARY_WIDE,
  DSP_BINARY_WORDS
};
#define DSP_BINARY_NARROW_WORDS DSP_BINARY_WIDE

// A function of one code. TABLE has 256 codes of the result for int8 codes. For int16 codes it has int16 samples at every
// 2^FRACTION-th code from -32768 to 32768, and the device interpolates. Samples for int8 results have DSP_SAMPLE_BITS fraction bits.
enum {
  DSP_TABLE_INPUT = 1,
  DSP_TABLE_OUTPUT,
  DSP_TABLE_COUNT,
  DSP_TABLE_TABLE,
  DSP_TABLE_FRACTION,
  DSP_TABLE_WIDE,
  DSP_TABLE_WORDS
};
#define DSP_TABLE_NARROW_WORDS DSP_TABLE_FRACTION
#define DSP_MIN_FRACTION 3u
#define DSP_MAX_FRACTION 7u
#define DSP_SAMPLE_BITS 7u

// Softmax of rows. TABLE has 256 uint32: 2^24 * exp(-distance * scale of the input) for each distance to the
// largest code. INVERSE is 2^16 / scale of the output.
// With int16 codes, exp is a product of two numbers: TABLE has 2^31 * exp(-256 * i * scale of the input) for each high byte i of a
// distance, then 2^31 * exp(-i * scale of the input) for each low byte. INVERSE is 2^8 / scale of the output.
enum {
  DSP_SOFTMAX_INPUT = 1,
  DSP_SOFTMAX_OUTPUT,
  DSP_SOFTMAX_ROWS,
  DSP_SOFTMAX_COLUMNS,
  DSP_SOFTMAX_TABLE,
  DSP_SOFTMAX_INVERSE,
  DSP_SOFTMAX_OUT_ZERO,
  DSP_SOFTMAX_WIDE,
  DSP_SOFTMAX_WORDS
};
#define DSP_SOFTMAX_NARROW_WORDS DSP_SOFTMAX_WIDE
#define DSP_SOFTMAX_ONE ((uint32_t)1 << 24)
#define DSP_SOFTMAX_WIDE_ONE ((uint32_t)1 << 31)
#define DSP_SOFTMAX_MAX_INVERSE ((uint32_t)1 << 30)

// Output [y, x] is input [rows[y], columns[x]]. INDICES has OUT_H, then OUT_W uint16; an index beyond the
// input means its last row or column.
enum {
  DSP_GATHER_INPUT = 1,
  DSP_GATHER_IN_H,
  DSP_GATHER_IN_W,
  DSP_GATHER_IN_C,
  DSP_GATHER_OUTPUT,
  DSP_GATHER_OUT_H,
  DSP_GATHER_OUT_W,
  DSP_GATHER_INDICES,
  DSP_GATHER_WORDS
};

#endif
