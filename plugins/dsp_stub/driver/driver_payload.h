// SPDX-License-Identifier: Apache-2.0
// Reads a payload of dsp_stub in place, without heap, for the driver in C. payload.hpp is the same for the plugin.
#ifndef ETB_DSP_DRIVER_PAYLOAD_H_
#define ETB_DSP_DRIVER_PAYLOAD_H_

#include "etb/status.h"
#include "etb/tensor.h"
#include "plugins/dsp_stub/core/dsp_core.h"

typedef struct driver_payload {
  uint32_t version;
  dsp_layout layout;
  dsp_stream stream;
  const uint8_t* constants;
  const uint8_t* sizes[DSP_MAX_IO];  // little-endian u32, one for each dimension
  uint32_t rank[DSP_MAX_IO];
  uint8_t width[DSP_MAX_IO];  // bytes of a code: int8 or int16
} driver_payload;

// Size of dimension `dim` of input or output `index`, in the order of payloads: inputs first.
int64_t driver_size(const driver_payload* payload, uint32_t index, uint32_t dim);

// Verifies all of the payload. Returns ETB_OK; ETB_INVALID_DATA with the byte; ETB_INCOMPATIBLE (version).
etb_status driver_read_payload(const uint8_t* bytes, uint64_t nbytes, driver_payload* out, etb_error* error);

etb_status driver_fail(etb_error* error, etb_status code, const char* text, uint64_t number);

#endif
