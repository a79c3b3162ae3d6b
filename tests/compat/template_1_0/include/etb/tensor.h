// Tensors as they cross the boundary: element type, sizes, order of dimensions, and where the bytes are.
#ifndef ETB_TENSOR_H_
#define ETB_TENSOR_H_

#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETB_MAX_RANK 16u

// Element type: a code of dtype.def (ExecuTorch's ScalarType numbers).
typedef int32_t etb_dtype;
#define ETB_DTYPE(name, value, bits, text) ETB_DTYPE_##name = value,
enum {
#include "etb/dtype.def"
};
#undef ETB_DTYPE

// What a tensor is to the call that gets it.
#define ETB_ROLE_INPUT 0x1u
#define ETB_ROLE_OUTPUT 0x2u
#define ETB_ROLE_STATE 0x4u     // input and output that persists between runs
#define ETB_ROLE_CONSTANT 0x8u  // same bytes in every run

// Memory that a tensor lies in when it is not plain host memory.
typedef struct etb_buffer_desc {
  uint32_t struct_size;
  uint32_t flags;    // must be zero
  const char* kind;  // string id, e.g. "host", "dma-buf", "opencl.mem", "vulkan.buffer"
  void* handle;      // the kind's handle, NULL when it has none
  int32_t fd;        // -1 when the kind has none
  uint32_t access;   // 1 read, 2 write
  uint64_t offset_bytes;
  uint64_t nbytes;
  void* release_ctx;

  // threads  [any], at most once   since 1.0
  void(ETB_CALL* release)(
      void* release_ctx);  // [host-releases-on-callback], NULL when nothing is to be released
} etb_buffer_desc;

// One tensor of one call. All pointers are borrowed-for-call.
//
// Element (i0, i1, ...) lies at data + (i0 * strides[0] + i1 * strides[1] + ...) * bytes per element. A
// callee that does not understand a stride or dim order answers ETB_INVALID_ARGUMENT; it never reads the
// bytes as if they were contiguous (ABI-TENSOR-01). A symbolic integer crosses as an INT64 tensor of rank 0.
typedef struct etb_tensor {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  etb_dtype dtype;
  uint32_t rank;             // <= ETB_MAX_RANK
  uint32_t role;             // ETB_ROLE_*
  uint32_t reserved;         // must be zero
  int64_t* sizes;            // [rank] current sizes; of an output the callee writes them, each <= upper_sizes
                             // (ABI-TENSOR-02)
  const int64_t* strides;    // [rank] in elements; NULL: packed in dim_order
  const uint8_t* dim_order;  // [rank] dimensions from outermost to innermost; NULL: 0, 1, ..., rank - 1
  const int64_t* upper_sizes;  // [rank] largest sizes this tensor ever has; NULL: static, equal to sizes
  void* data;  // first byte; NULL when `buffer` is set or the tensor has no elements. Inputs are read-only
               // (ABI-TENSOR-03)
  uint64_t capacity_bytes;  // readable bytes from data on (writable for outputs): at least the upper bound's
                            // nbytes
  const etb_buffer_desc* buffer;  // NULL for host memory
  const void* reserved_pointer;   // must be NULL
} etb_tensor;

// What is known of a tensor before it has data: what a delegate wants or gives.
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
