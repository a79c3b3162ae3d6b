// SPDX-License-Identifier: Apache-2.0
//
// Tensors as they cross the boundary: element type, sizes, order of dimensions, and where the bytes are.
//
// A float32 tensor [2, 3] in row-major order, in host memory:
//
//   int64_t sizes[] = {2, 3};
//   float data[6] = {0};
//   etb_tensor tensor = {.struct_size = ETB_INIT_SIZE(etb_tensor)};
//   tensor.dtype = ETB_DTYPE_FLOAT32;
//   tensor.rank = 2;
//   tensor.role = ETB_ROLE_INPUT;
//   tensor.sizes = sizes;              // strides and dim_order stay NULL: packed, dimension 0 outermost
//   tensor.data = data;
//   tensor.capacity_bytes = sizeof data;
#ifndef ETB_TENSOR_H_
#define ETB_TENSOR_H_

#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Largest rank of a tensor that crosses.
#define ETB_MAX_RANK 16u

// Element type: a code of dtype.def. The values are ExecuTorch's ScalarType numbers.
typedef int32_t etb_dtype;
#define ETB_DTYPE(name, value, bits, text) ETB_DTYPE_##name = value,
enum {
#include "etb/dtype.def"
};
#undef ETB_DTYPE

// Role of a tensor in the call that receives it.
//
// State that a host keeps between runs is an input and an output.
#define ETB_ROLE_INPUT 0x1u
#define ETB_ROLE_OUTPUT 0x2u

// Description of memory other than plain host memory.
typedef struct etb_buffer_desc {
  uint32_t struct_size;
  uint32_t flags;         // must be zero
  const char* kind;       // string id, e.g. "host", "dma-buf", "opencl.mem", "vulkan.buffer"
  void* handle;           // the kind's handle, NULL when it has none; of kind "host": the address of the memory
  int32_t fd;             // -1 when the kind has none
  uint32_t access;        // 1 read, 2 write
  uint64_t offset_bytes;  // offset of the first byte in the memory
  uint64_t nbytes;
  void* release_ctx;  // first argument of release

  // Releases the memory [host-releases-on-callback]. NULL when there is nothing to release.
  //
  // release_ctx  the field of that name.
  // threads  [any], at most once
  // since    1.0
  void(ETB_CALL* release)(void* release_ctx);
} etb_buffer_desc;

// One tensor of one call. All pointers are borrowed-for-call.
//
// The address of element (i0, i1, ...) is data + (i0 * strides[0] + i1 * strides[1] + ...) * bytes per
// element. A callee that does not understand a stride or dim order returns ETB_INVALID_ARGUMENT; it never
// reads the bytes as if they were contiguous (ABI-TENSOR-01). A symbolic integer crosses as an INT64 tensor
// of rank 0.
typedef struct etb_tensor {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  etb_dtype dtype;
  uint32_t rank;      // <= ETB_MAX_RANK
  uint32_t role;      // ETB_ROLE_*
  uint32_t reserved;  // must be zero

  // [rank] Current sizes. The callee writes those of an output, each at most its upper size (ABI-TENSOR-02).
  int64_t* sizes;

  // [rank] Strides in elements; NULL: packed in dim_order. Those of a packed tensor may also be spelled out. NULL for each
  // output of dynamic sizes.
  const int64_t* strides;

  // [rank] Dimensions from outermost to innermost; NULL: 0, 1, ..., rank - 1.
  const uint8_t* dim_order;

  // [rank] Largest sizes that this tensor ever has; NULL: static, equal to sizes.
  const int64_t* upper_sizes;

  // First byte; NULL when `buffer` is set or the tensor has no elements. Inputs are read-only
  // (ABI-TENSOR-03).
  void* data;

  // Readable bytes from data on, writable ones for outputs: at least as many as the upper sizes need.
  uint64_t capacity_bytes;

  const etb_buffer_desc* buffer;  // NULL for host memory
  const void* reserved_pointer;   // must be NULL
} etb_tensor;

// Description of a tensor before it has data: what a delegate expects or returns.
typedef struct etb_tensor_spec {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  etb_dtype dtype;
  uint32_t rank;
  const int64_t* sizes;      // [rank] upper bounds
  const int64_t* min_sizes;  // [rank] lower bounds; NULL: static
  const uint8_t* dim_order;  // [rank]; NULL: 0, 1, ..., rank - 1
} etb_tensor_spec;

#ifdef __cplusplus
}
#endif

#endif
