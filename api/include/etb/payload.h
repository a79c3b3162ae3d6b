// SPDX-License-Identifier: Apache-2.0
//
// Payloads: the bytes that a plugin made ahead of time for one partition, how a plugin receives them, and the
// verdict about whether they suit a device.
//
// A plugin that packs its weights copies what it needs and releases the bytes early:
//
//   memcpy(delegate->weights, payload->data, payload->nbytes);
//   if (payload->release != NULL) payload->release(payload->release_ctx);   // data is invalid now
#ifndef ETB_PAYLOAD_H_
#define ETB_PAYLOAD_H_

#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes in memory, in a file, or both. They are read-only (ABI-OWN-05) and [host-releases-on-callback]: a
// plugin that has copied or packed the bytes calls release and does not touch them afterwards. A plugin that
// never calls release may read them until its
// delegate is destroyed.
typedef struct etb_payload_view {
  uint32_t struct_size;
  uint32_t flags;       // must be zero
  const void* data;     // NULL when only the file is given, or when nbytes is 0
  uint64_t nbytes;
  uint64_t alignment;   // alignment of data: a power of two, at least 16 when nbytes > 0
  int32_t fd;           // file that holds the same bytes at fd_offset_bytes, borrowed like data; -1: none
  uint32_t reserved;    // must be zero
  uint64_t fd_offset_bytes;
  void* release_ctx;    // first argument of release

  // Returns the bytes to the host. NULL when the host needs no call.
  //
  // release_ctx  the field of that name.
  // threads  [any], at most once (ABI-OWN-03)
  // since    1.0
  void(ETB_CALL* release)(void* release_ctx);
} etb_payload_view;

// Named data of the program: weights and other bytes that several payloads share by key.
typedef struct etb_named_data {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;       // first argument of get

  // Returns the bytes of a key.
  //
  // key      [borrowed-for-call] one of the named keys of the payload.
  // out      the caller sets struct_size. The view is [host-releases-on-callback]; views may be released in
  //          any order.
  // returns  ETB_OK; ETB_NOT_FOUND (no such key); ETB_ACCESS_FAILED (the file could not be read).
  // presence required
  // threads  [any]   may block: yes
  // since    1.0     mirrors  ExecuTorch runtime/core/named_data_map.h, NamedDataMap::get_data
  etb_status(ETB_CALL* get)(void* ctx, const char* key, etb_payload_view* out, etb_error* error);
} etb_named_data;

// Answer of check_payload.
typedef int32_t etb_verdict_kind;
#define ETB_VERDICT_UNKNOWN 0           // only creating a delegate can tell
#define ETB_VERDICT_OPTIMAL 1           // runs as well as a payload that was compiled on this machine
#define ETB_VERDICT_PREFER_RECOMPILE 2  // runs, but a new compilation would run better
#define ETB_VERDICT_UNSUPPORTED 3       // does not run

// Causes of a verdict that is not optimal (etb_verdict.reasons). Several bits may be set.
#define ETB_REASON_DRIVER 0x1u
#define ETB_REASON_DEVICE 0x2u
#define ETB_REASON_DEPENDENCY 0x4u
#define ETB_REASON_FORMAT 0x8u
#define ETB_REASON_CORRUPT 0x10u
#define ETB_REASON_POLICY 0x20u

#define ETB_VERDICT_TEXT_NBYTES 256

// Verdict about one payload. The caller sets struct_size and zeroes the rest; the callee fills it.
typedef struct etb_verdict {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  etb_verdict_kind kind;
  uint32_t reasons;                    // ETB_REASON_*, 0 when the verdict is optimal
  char text[ETB_VERDICT_TEXT_NBYTES];  // for people, NUL-terminated; "" when there is nothing to add
} etb_verdict;

#ifdef __cplusplus
}
#endif

#endif
