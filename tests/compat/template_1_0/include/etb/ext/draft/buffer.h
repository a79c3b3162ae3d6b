// DRAFT. Device memory shared without copies: import, export, allocate. No plugin of ours needs it yet; it
// may change.
#ifndef ETB_EXT_DRAFT_BUFFER_H_
#define ETB_EXT_DRAFT_BUFFER_H_

#include "etb/base.h"
#include "etb/status.h"
#include "etb/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETB_EXT_BUFFER "buffer/1"

typedef struct etb_buffer etb_buffer;  // memory known to one device

// Asked with ETB_OBJECT_DEVICE.
typedef struct etb_buffer_table {
  uint32_t struct_size;
  uint32_t flags;  // must be zero

  // Makes the memory of `desc` known to the device; desc->release is called once, when the buffer is freed.
  // threads  [any]
  etb_status(ETB_CALL* import_buffer)(etb_device* device, const etb_buffer_desc* desc, etb_buffer** out,
                                      etb_error* error);

  // Describes a buffer as another kind, e.g. "dma-buf", for another device.
  // threads  [any]
  etb_status(ETB_CALL* export_buffer)(etb_buffer* buffer, const char* kind, etb_buffer_desc* out,
                                      etb_error* error);

  // threads  [any]
  etb_status(ETB_CALL* allocate)(etb_device* device, const char* kind, uint64_t nbytes, etb_buffer** out,
                                 etb_error* error);

  // Makes writes of one side visible to the other. access: 1 before the host reads, 2 after the host wrote.
  // threads  [serial:buffer]
  etb_status(ETB_CALL* sync)(etb_buffer* buffer, uint32_t access, etb_error* error);

  // threads  [serial:buffer]
  void(ETB_CALL* free)(etb_buffer* buffer);
} etb_buffer_table;

#ifdef __cplusplus
}
#endif

#endif
