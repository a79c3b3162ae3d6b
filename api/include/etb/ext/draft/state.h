// SPDX-License-Identifier: Apache-2.0
//
// DRAFT, may change; no plugin of this repository uses it yet. Delegate state that can be saved and loaded,
// e.g. a key-value cache.
//
//   const etb_state_table* state =
//       (const etb_state_table*)table->get_extension(plugin, ETB_OBJECT_CONTEXT, context, ETB_EXT_STATE);
//   if (state != NULL) state->save(context, &writer, &error);
#ifndef ETB_EXT_DRAFT_STATE_H_
#define ETB_EXT_DRAFT_STATE_H_

#include "etb/aot.h"
#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Id of the extension; request it with ETB_OBJECT_CONTEXT.
#define ETB_EXT_STATE "state/1"

// The table of the extension.
typedef struct etb_state_table {
  uint32_t struct_size;
  uint32_t flags;  // must be zero

  // Writes the state as versioned bytes that only the same plugin reads.
  //
  // writer   [borrowed-for-call]
  // returns  ETB_OK; the writer's status when it failed.
  // presence required
  // threads  [serial:context]
  etb_status(ETB_CALL* save)(etb_context* context, const etb_blob_writer* writer, etb_error* error);

  // Replaces the state.
  //
  // state    [borrowed-for-call] bytes that save wrote.
  // returns  ETB_OK; ETB_INVALID_DATA; ETB_INCOMPATIBLE (version). On error the old state stays.
  // presence required
  // threads  [serial:context]
  etb_status(ETB_CALL* load)(etb_context* context, etb_bytes state, etb_error* error);
} etb_state_table;

#ifdef __cplusplus
}
#endif

#endif
