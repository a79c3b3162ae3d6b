// SPDX-License-Identifier: Apache-2.0
// The library as a whole in the C API (etb/library.h).
#include "etb/library.h"

#include "etb/version.h"
#include "host/application/errors.hpp"
#include "host/application/handles.hpp"
#include "host/application/process_log.hpp"

#define ETB_TEXT_(x) #x
#define ETB_TEXT(x) ETB_TEXT_(x)

extern "C" {

const char* ETB_CALL etb_version(void) {
  return ETB_TEXT(ETB_VERSION_MAJOR) "." ETB_TEXT(ETB_VERSION_MINOR) "." ETB_TEXT(ETB_VERSION_PATCH);
}

uint32_t ETB_CALL etb_abi_version(void) { return ETB_ABI_VERSION; }

const char* ETB_CALL etb_status_text(etb_status status) {
  return etb::to_text(static_cast<etb::Code>(status));
}

const char* ETB_CALL etb_last_error(void) { return etb::host::last_error(); }

etb_status ETB_CALL etb_set_log(const etb_log_service* log, etb_error* error) {
  return etb::host::answer(error, [log] { return etb::host::set_process_log(log); });
}

void ETB_CALL etb_set_checked(uint32_t is_on) { etb::host::set_checked(is_on != 0); }

}  // extern "C"
