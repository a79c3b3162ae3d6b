// SPDX-License-Identifier: Apache-2.0
//
// Device memory shared without copies: import, export, allocate.
//
// A delegate names the kinds that it accepts for an argument in query_io (etb_io_req.kinds). The host allocates memory of such a
// kind, describes it by export_buffer, and passes the description in etb_tensor.buffer of the outputs of one delegate and of the
// inputs of others. The bytes in memory of a plugin's own kind have any layout. Memory of the kind "host" has the order of the
// tensor. A plugin accepts memory of the host for each argument, too. A run that returned, or whose fence was signalled,
// has written its buffers for every later run on the device.
//
// Two devices share memory of the kind "host": one allocates it, the other imports what the first exports. The host calls sync
// with 1 after a run that wrote it, and with 2, on the other device's buffer, before a run that reads it. A device whose table
// has ETB_BUFFER_COHERENT needs neither: then a run on one device may wait for the fence of a run on the other.
//
//   const etb_buffer_table* buffers =
//       (const etb_buffer_table*)table->get_extension(plugin, ETB_OBJECT_DEVICE, device, ETB_EXT_BUFFER);
//   if (buffers != NULL) buffers->import_buffer(device, &desc, &buffer, &error);
#ifndef ETB_EXT_BUFFER_H_
#define ETB_EXT_BUFFER_H_

#include "etb/base.h"
#include "etb/status.h"
#include "etb/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// Id of the extension; request it with ETB_OBJECT_DEVICE.
#define ETB_EXT_BUFFER "buffer/1"

// Flag of etb_buffer_table: runs of this device write memory of the kind "host" before they return or signal their fence, and
// read it after they began, or after the fences that they wait for. sync does nothing then, and may still be called.
#define ETB_BUFFER_COHERENT 1u

// Memory that one device knows; made by import_buffer or allocate, ended by free.
typedef struct etb_buffer etb_buffer;

// The table of the extension.
typedef struct etb_buffer_table {
  uint32_t struct_size;
  uint32_t flags;  // ETB_BUFFER_COHERENT or 0

  // Makes existing memory known to a device.
  //
  // desc     [borrowed-for-call] the device calls desc->release once, when the buffer is freed.
  // out      [transferred-handle] ended by free; unchanged on error.
  // returns  ETB_OK; ETB_NOT_SUPPORTED (kind); ETB_INVALID_ARGUMENT (size or alignment).
  // presence required
  // threads  [any]
  etb_status(ETB_CALL* import_buffer)(etb_device* device, const etb_buffer_desc* desc, etb_buffer** out,
                                      etb_error* error);

  // Describes a buffer as another kind, for another device.
  //
  // buffer   from import_buffer or allocate.
  // kind     [borrowed-for-call] e.g. "dma-buf".
  // out      the caller sets struct_size; filled by the callee.
  // returns  ETB_OK; ETB_NOT_SUPPORTED (kind).
  // presence required
  // threads  [any]
  etb_status(ETB_CALL* export_buffer)(etb_buffer* buffer, const char* kind, etb_buffer_desc* out,
                                      etb_error* error);

  // Allocates device memory.
  //
  // kind     [borrowed-for-call] of the memory.
  // nbytes   of the memory.
  // out      [transferred-handle] ended by free; unchanged on error.
  // returns  ETB_OK; ETB_NOT_SUPPORTED (kind); ETB_OUT_OF_MEMORY.
  // presence required
  // threads  [any]
  etb_status(ETB_CALL* allocate)(etb_device* device, const char* kind, uint64_t nbytes, etb_buffer** out,
                                 etb_error* error);

  // Makes writes of one side visible to the other.
  //
  // access   1 before the host, or another device, reads; 2 after it wrote.
  // returns  ETB_OK; ETB_UNAVAILABLE (device lost).
  // presence required
  // threads  [serial:buffer]   may block: yes
  etb_status(ETB_CALL* sync)(etb_buffer* buffer, uint32_t access, etb_error* error);

  // Ends a buffer. No run uses it, now or later; a context may still have it bound.
  //
  // buffer   consumed.
  // presence required
  // threads  [serial:buffer]
  void(ETB_CALL* free)(etb_buffer* buffer);
} etb_buffer_table;

#ifdef __cplusplus
}
#endif

#endif
