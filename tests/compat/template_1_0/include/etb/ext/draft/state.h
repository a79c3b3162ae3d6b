// DRAFT. Delegate state that can be saved and loaded, e.g. a key-value cache. No plugin of ours needs it yet;
// it may change.
#ifndef ETB_EXT_DRAFT_STATE_H_
#define ETB_EXT_DRAFT_STATE_H_

#include "etb/aot.h"
#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETB_EXT_STATE "state/1"

// Asked with ETB_OBJECT_CONTEXT.
typedef struct etb_state_table {
  uint32_t struct_size;
  uint32_t flags;  // must be zero

  // Writes the state as versioned bytes that only the same plugin reads.
  // threads  [serial:context]
  etb_status(ETB_CALL* save)(etb_context* context, const etb_blob_writer* writer, etb_error* error);

  // Replaces the state. On error the old state stays.
  // threads  [serial:context]
  etb_status(ETB_CALL* load)(etb_context* context, etb_bytes state, etb_error* error);
} etb_state_table;

#ifdef __cplusplus
}
#endif

#endif
