// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/driver/driver_payload.h"

#include <stdio.h>
#include <string.h>

#define MAGIC 0x44425445u /* "ETBD" */

// A reader that answers zeros after the end and remembers that it got there.
typedef struct reader {
  const uint8_t* bytes;
  uint64_t nbytes;
  uint64_t position;
  int is_short;
} reader;

static uint32_t word_at(const uint8_t* bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static const uint8_t* take(reader* in, uint64_t nbytes) {
  const uint8_t* at = in->bytes + in->position;
  if (nbytes > in->nbytes - in->position) {
    in->is_short = 1;
    return NULL;
  }
  in->position += nbytes;
  return at;
}

static uint32_t take_word(reader* in) {
  const uint8_t* at = take(in, 4);
  return at != NULL ? word_at(at) : 0;
}

static void align(reader* in) { (void)take(in, (16 - in->position % 16) % 16); }

etb_status driver_fail(etb_error* error, etb_status code, const char* text, uint64_t number) {
  if (error != NULL && ETB_HAS_FIELD(etb_error, error, text)) {
    error->code = code;
    error->vendor_code = 0;
    error->reason[0] = '\0';
    snprintf(error->text, sizeof error->text, "%s %llu", text, (unsigned long long)number);
  }
  return code;
}

static etb_status bad(etb_error* error, const char* what, uint64_t offset) {
  char text[160];
  snprintf(text, sizeof text, "payload: %s at byte", what);
  return driver_fail(error, ETB_INVALID_DATA, text, offset);
}

int64_t driver_size(const driver_payload* payload, uint32_t index, uint32_t dim) {
  return word_at(payload->sizes[index] + 4 * (size_t)dim);
}

static etb_status read_sizes(reader* in, driver_payload* out, uint32_t index, etb_error* error) {
  const uint64_t offset = in->position;
  uint64_t nbytes;
  const uint32_t width = out->version >= 3 ? take_word(in) : 1;
  const uint32_t rank = take_word(in);
  if (in->is_short || width < 1 || width > 2) return bad(error, "bytes of a code, expected 1 or 2", offset);
  nbytes = width;
  out->width[index] = (uint8_t)width;
  if (rank > ETB_MAX_RANK) return bad(error, "rank above 16", offset);
  out->rank[index] = rank;
  out->sizes[index] = take(in, 4 * (uint64_t)rank);
  if (in->is_short) return bad(error, "the end, expected sizes", in->nbytes);
  for (uint32_t dim = 0; dim < rank; ++dim) {
    const uint32_t size = word_at(out->sizes[index] + 4 * (size_t)dim);
    if (size == 0 || size > UINT32_MAX / nbytes) return bad(error, "size of an input or output", offset);
    nbytes *= size;
  }
  out->layout.io_bytes[index] = (uint32_t)nbytes;
  return ETB_OK;
}

static etb_status read_header(reader* in, driver_payload* out, etb_error* error) {
  uint32_t output_count;
  if (take_word(in) != MAGIC) return bad(error, "not of dsp_stub", 0);
  out->version = take_word(in);
  if (out->version < 1 || out->version > 3)
    return driver_fail(error, ETB_INCOMPATIBLE, "payload: the driver reads versions 1 to 3, found",
                       out->version);
  out->layout.tcm_bytes = take_word(in);
  out->layout.arena_bytes = take_word(in);
  out->layout.constant_bytes = take_word(in);
  out->stream.nbytes = take_word(in);
  out->layout.input_count = take_word(in);
  output_count = take_word(in);
  if (out->layout.input_count > DSP_MAX_IO || output_count > DSP_MAX_IO - out->layout.input_count)
    return bad(error, "more than 64 inputs and outputs", 24);
  out->layout.io_count = out->layout.input_count + output_count;
  if (out->version >= 2) out->layout.layer_count = take_word(in);
  return in->is_short ? bad(error, "the end, expected a header", in->nbytes) : ETB_OK;
}

etb_status driver_read_payload(const uint8_t* bytes, uint64_t nbytes, driver_payload* out, etb_error* error) {
  reader in = {bytes, nbytes, 0, 0};
  dsp_defect defect = {NULL, 0};
  uint64_t first_command;
  etb_status status;
  memset(out, 0, sizeof *out);
  status = read_header(&in, out, error);
  for (uint32_t i = 0; status == ETB_OK && i < out->layout.io_count; ++i)
    status = read_sizes(&in, out, i, error);
  if (status != ETB_OK) return status;
  align(&in);
  out->constants = take(&in, out->layout.constant_bytes);
  align(&in);
  first_command = in.position;
  out->stream.bytes = take(&in, out->stream.nbytes);
  if (in.is_short || in.position != in.nbytes)
    return bad(error, "wrong length, expected the end", in.position);
  if (dsp_verify(&out->stream, &out->layout, &defect) != 0)
    return bad(error, defect.reason != NULL ? defect.reason : "command stream",
               first_command + defect.offset);
  return ETB_OK;
}
