// SPDX-License-Identifier: Apache-2.0
//
// DRAFT, may change. Mends the digest of a damaged payload, for tests. A plugin whose payloads have a digest
// rejects nearly every damage before its parser sees it, and so `etbackend verify` tests the digest only.
// With this extension the suite damages a payload, mends the digest and offers the payload again.
//
//   const etb_resign_table* table =
//       (const etb_resign_table*)plugin_table->get_extension(plugin, ETB_OBJECT_PLUGIN, plugin, ETB_EXT_RESIGN);
//   if (table != NULL) table->resign(plugin, damaged, &writer, &error);
//
// It gives an attacker nothing: a digest detects accidents, and its algorithm is in the library.
// Plugins that sign payloads with a secret do not offer it.
#ifndef ETB_EXT_DRAFT_RESIGN_H_
#define ETB_EXT_DRAFT_RESIGN_H_

#include "etb/aot.h"
#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Id of the extension; request it with ETB_OBJECT_PLUGIN.
#define ETB_EXT_RESIGN "etb.resign/0"

// The table of the extension.
typedef struct etb_resign_table {
  uint32_t struct_size;
  uint32_t flags;  // must be zero

  // Writes the same bytes with every digest computed again. All other bytes stay as they are, however wrong.
  // The bytes of an undamaged payload come back unchanged.
  //
  // payload  [borrowed-for-call] any bytes.
  // writer   [borrowed-for-call] receives as many bytes.
  // returns  ETB_OK; ETB_INVALID_DATA (no room for a digest in these bytes); the writer's status when it
  //          failed.
  // presence required
  // threads  [any]
  etb_status(ETB_CALL* resign)(etb_plugin* plugin, etb_bytes payload, const etb_blob_writer* writer,
                               etb_error* error);
} etb_resign_table;

#ifdef __cplusplus
}
#endif

#endif
