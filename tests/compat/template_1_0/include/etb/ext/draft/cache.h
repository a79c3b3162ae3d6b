// DRAFT. Host-kept caches on disk for things that a plugin can make again: packed weights, compiled kernels.
// It may change.
#ifndef ETB_EXT_DRAFT_CACHE_H_
#define ETB_EXT_DRAFT_CACHE_H_

#include "etb/base.h"
#include "etb/payload.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETB_SERVICE_CACHE "cache/1"

// The host chooses the place, prefixes keys with the plugin's id and version, verifies what it reads, writes
// atomically and keeps a quota. A miss is normal.
typedef struct etb_cache_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // out      caller sets struct_size; mapped read-only, [host-releases-on-callback].
  // returns  ETB_OK; ETB_NOT_FOUND.
  // threads  [any]
  etb_status(ETB_CALL* get)(void* ctx, etb_bytes key, etb_payload_view* out, etb_error* error);

  // value    [borrowed-for-call]
  // returns  ETB_OK; ETB_OUT_OF_RESOURCES (quota); ETB_PERMISSION_DENIED.
  // threads  [any]
  etb_status(ETB_CALL* put)(void* ctx, etb_bytes key, etb_bytes value, etb_error* error);
} etb_cache_service;

#ifdef __cplusplus
}
#endif

#endif
