// SPDX-License-Identifier: Apache-2.0
//
// Status codes and the caller-owned error.
//
// Every call that can fail returns an etb_status and accepts an optional etb_error as its last argument. The
// caller owns the error, so there is nothing to free and no text that keeps a plugin in memory (ABI-ERR-01):
//
//   etb_error error = ETB_ERROR_INIT;
//   if (table->init(&host, NULL, 0, &plugin, &error) != ETB_OK) fprintf(stderr, "%s\n", error.text);
//
// Codes on which a host acts; all others are only reported:
//
//   ETB_UNAVAILABLE      the device is lost or busy: the host may fall back to another candidate
//   ETB_INCOMPATIBLE     another version: the host tries the next candidate, or asks for a new compilation
//   ETB_NOT_IMPLEMENTED  the answer of the host's stub for an absent optional function (ABI-CALL-01)
//   ETB_CANCELLED, ETB_DEADLINE_EXCEEDED   the host ended the call itself
//   ETB_BUSY             objects are alive: destroy them first (ABI-LIFE-01)
#ifndef ETB_STATUS_H_
#define ETB_STATUS_H_

#include "etb/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// One of the ETB_* codes below. Codes 0x00 to 0x3f have the values of ExecuTorch's Error where the meaning is
// the same (runtime/core/error.h), so a bridge needs no table.
typedef int32_t etb_status;

// The codes: one row of status.def per code, with its value and its text.
#define ETB_STATUS(name, value, text) ETB_##name = value,
enum {
#include "etb/status.def"
};
#undef ETB_STATUS

// Sizes of the text arrays of etb_error, NUL included.
#define ETB_ERROR_TEXT_NBYTES 512
#define ETB_ERROR_REASON_NBYTES 64

// Cause of a failed call. The caller sets struct_size and zeroes the rest (ETB_ERROR_INIT). The callee fills
// it only when it returns a status other than ETB_OK, and truncates texts at a UTF-8 boundary (ABI-ERR-02).
typedef struct etb_error {
  uint32_t struct_size;
  uint32_t flags;       // must be zero
  etb_status code;      // equals the returned status
  int32_t vendor_code;  // the vendor's own number (driver error, errno), 0 when there is none

  // Stable id for programs, e.g. "vulkan.device-lost"; "" when there is none.
  char reason[ETB_ERROR_REASON_NBYTES];

  // Message for people: what was found, what was expected, where. UTF-8, NUL-terminated.
  char text[ETB_ERROR_TEXT_NBYTES];
} etb_error;

// Initialiser of an etb_error.
#define ETB_ERROR_INIT                            \
  {                                               \
    ETB_INIT_SIZE(etb_error), 0, 0, 0, {0}, { 0 } \
  }

#ifdef __cplusplus
}
#endif

#endif
