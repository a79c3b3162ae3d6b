// Payloads: the bytes that a plugin made ahead of time for one partition, how a plugin sees them, and whether
// they suit.
#ifndef ETB_PAYLOAD_H_
#define ETB_PAYLOAD_H_

#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes in memory, in a file, or both. Read-only (ABI-OWN-05). [host-releases-on-callback]: a plugin that has
// copied or packed what it needs calls release and must not touch the bytes afterwards; one that never calls
// it may read until its delegate is destroyed.
typedef struct etb_payload_view {
  uint32_t struct_size;
  uint32_t flags;    // must be zero
  const void* data;  // NULL when only the file is given, or when nbytes is 0
  uint64_t nbytes;
  uint64_t alignment;  // data is a multiple of it; a power of two, at least 16 when nbytes > 0
  int32_t
      fd;  // file that holds the same bytes at fd_offset_bytes; -1 when there is none. Borrowed like data.
  uint32_t reserved;  // must be zero
  uint64_t fd_offset_bytes;
  void* release_ctx;

  // threads  [any], at most once   since 1.0
  void(ETB_CALL* release)(void* release_ctx);  // at most once, [any] thread; NULL when the host wants no call
} etb_payload_view;

// Named data of the program: weights and other bytes that several payloads share, by key.
typedef struct etb_named_data {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // The bytes of a key.
  //
  // out      caller sets struct_size; the view is [host-releases-on-callback], and may be released before
  //          other views are.
  // returns  ETB_OK; ETB_NOT_FOUND; ETB_ACCESS_FAILED.
  // threads  [any]   since 1.0
  etb_status(ETB_CALL* get)(void* ctx, const char* key, etb_payload_view* out, etb_error* error);
} etb_named_data;

typedef int32_t etb_verdict_kind;
#define ETB_VERDICT_UNKNOWN 0           // cannot tell without creating a delegate
#define ETB_VERDICT_OPTIMAL 1           // runs as well as one compiled here would
#define ETB_VERDICT_PREFER_RECOMPILE 2  // runs, but a new compilation would be better
#define ETB_VERDICT_UNSUPPORTED 3       // will not run

// Why a verdict is not optimal.
#define ETB_REASON_DRIVER 0x1u
#define ETB_REASON_DEVICE 0x2u
#define ETB_REASON_DEPENDENCY 0x4u
#define ETB_REASON_FORMAT 0x8u
#define ETB_REASON_CORRUPT 0x10u
#define ETB_REASON_POLICY 0x20u

#define ETB_VERDICT_TEXT_NBYTES 256

// The caller sets struct_size and zeroes the rest; the callee fills it.
typedef struct etb_verdict {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  etb_verdict_kind kind;
  uint32_t reasons;  // ETB_REASON_*
  char text[ETB_VERDICT_TEXT_NBYTES];
} etb_verdict;

#ifdef __cplusplus
}
#endif

#endif
