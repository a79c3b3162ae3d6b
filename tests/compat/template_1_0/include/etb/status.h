// Status codes and the caller-owned error.
//
// Every call that can fail returns an etb_status and takes an optional etb_error as its last argument. The
// caller owns the error, so there is nothing to free and nothing that keeps a plugin in memory (rule
// ABI-ERR-01).
#ifndef ETB_STATUS_H_
#define ETB_STATUS_H_

#include "etb/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t etb_status;

#define ETB_STATUS(name, value, text) ETB_##name = value,
enum {
#include "etb/status.def"
};
#undef ETB_STATUS

#define ETB_ERROR_TEXT_NBYTES 512
#define ETB_ERROR_REASON_NBYTES 64

// Why a call failed. The caller sets struct_size and zeroes the rest; the callee fills it only when it
// returns something else than ETB_OK, and truncates text at a UTF-8 boundary (rule ABI-ERR-02).
typedef struct etb_error {
  uint32_t struct_size;
  uint32_t flags;       // must be zero
  etb_status code;      // equals the returned status
  int32_t vendor_code;  // the vendor's own number (driver error, errno), 0 when there is none
  char reason[ETB_ERROR_REASON_NBYTES];  // stable id for programs, e.g. "vulkan.device-lost"; "" when there
                                         // is none
  char text[ETB_ERROR_TEXT_NBYTES];      // for people: what was found, what was expected, where; UTF-8,
                                         // NUL-terminated
} etb_error;

#define ETB_ERROR_INIT                            \
  {                                               \
    ETB_INIT_SIZE(etb_error), 0, 0, 0, {0}, { 0 } \
  }

#ifdef __cplusplus
}
#endif

#endif
