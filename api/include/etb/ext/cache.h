// SPDX-License-Identifier: Apache-2.0
//
// Caches on disk, kept by the host, for data that a plugin can make again: packed weights,
// compiled kernels.
//
//   const etb_cache_service* cache = (const etb_cache_service*)host->get_service(host, ETB_SERVICE_CACHE);
//   if (cache == NULL || cache->get(cache->ctx, key, &packed, NULL) != ETB_OK) pack(&packed);
#ifndef ETB_EXT_CACHE_H_
#define ETB_EXT_CACHE_H_

#include "etb/base.h"
#include "etb/payload.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Id of the service.
#define ETB_SERVICE_CACHE "cache/1"

// The cache. The host chooses the folder, keeps entries apart by the plugin's id, version and build, verifies the bytes
// it reads, writes atomically and enforces a quota. A plugin whose entries are code, or may be wrong for another driver, puts
// the driver's version into its keys, and verifies the entries too.
typedef struct etb_cache_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Reads an entry.
  //
  // key      [borrowed-for-call]
  // out      the caller sets struct_size; read-only, [host-releases-on-callback].
  // returns  ETB_OK; ETB_NOT_FOUND.
  // presence required
  // threads  [any]   may block: yes
  etb_status(ETB_CALL* get)(void* ctx, etb_bytes key, etb_payload_view* out, etb_error* error);

  // Writes an entry, replacing an older one.
  //
  // key      [borrowed-for-call]
  // value    [borrowed-for-call]
  // returns  ETB_OK; ETB_OUT_OF_RESOURCES (quota); ETB_PERMISSION_DENIED.
  // presence required
  // threads  [any]   may block: yes
  etb_status(ETB_CALL* put)(void* ctx, etb_bytes key, etb_bytes value, etb_error* error);
} etb_cache_service;

#ifdef __cplusplus
}
#endif

#endif
