// SPDX-License-Identifier: Apache-2.0
//
// The library as a whole: its version, its log, the text of the last error, and the checked mode.
//
// These functions belong to the API of applications (etbackend.h); plugins never see them. The library prints
// nothing, and it logs nothing until the application passes a log:
//
//   static void ETB_CALL print_line(void* ctx, uint32_t level, const char* text, const etb_option* fields,
//                                   uint64_t field_count) {
//     (void)ctx, (void)fields, (void)field_count;
//     fprintf(stderr, "%u %s\n", level, text);
//   }
//   static const etb_log_service log = {.struct_size = ETB_INIT_SIZE(etb_log_service),
//                                       .min_level = ETB_LOG_WARNING,
//                                       .write = print_line};
//   etb_set_log(&log, &error);
//
// Texts that the library returns (errors, log lines, explanations) may quote a file or a plugin. Bytes that
// could control a terminal are escaped in them as \x1b. Names that the application needs as they are, such as
// the name of a method, are not changed.
#ifndef ETB_LIBRARY_H_
#define ETB_LIBRARY_H_

#include <string.h>

#include "etb/base.h"
#include "etb/host.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the version of the library, such as "0.1.0".
//
// returns  [static]
// threads  [any]
// since    1.0
ETB_EXPORT const char* ETB_CALL etb_version(void);

// Returns the newest version of the C ABI that the library speaks with plugins: ETB_ABI_VERSION of the headers
// that it was built with.
//
// threads  [any]
// since    1.0
ETB_EXPORT uint32_t ETB_CALL etb_abi_version(void);

// Returns the text of a status code, such as "not found".
//
// returns  [static] "unknown status" for any other number.
// threads  [any]
// since    1.0
ETB_EXPORT const char* ETB_CALL etb_status_text(etb_status status);

// Returns the whole message of the last call on this thread that failed. etb_error.text holds at most 511
// bytes of it, its hint included.
//
// returns  UTF-8, "" before the first failure; valid until the next failing call on this thread.
// threads  [any]
// since    1.0
ETB_EXPORT const char* ETB_CALL etb_last_error(void);

// Returns the advice at the end of an error's message: what the user can do about it.
//
// error    [borrowed-for-call]
// returns  a part of error->text; "" when there is no advice.
// threads  [any]
// since    1.0
static inline const char* etb_error_hint(const etb_error* error) {
  const char* found = strstr(error->text, "\nhint: ");
  return found == NULL ? "" : found + strlen("\nhint: ");
}

// Sets the log of the process: lines of the library and of plugins that use the service log/1.
//
// log      [borrowed-for-call] the struct; its `ctx` and `write` stay valid until another log is set and all
//          calls of this API that began before have returned. `write` receives one line at a time and must not
//          call this API. NULL: no log, the state at the start.
// returns  ETB_OK; ETB_INVALID_ARGUMENT (struct_size, flags, no function).
// threads  [any]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_set_log(const etb_log_service* log, etb_error* error);

// Returns the name of an operator that the library's own kernels carry out, such as "aten::add.out". A program with
// other operators needs a kernel library (etb_module_options) or a plugin for them.
//
// index    from 0; the names are sorted.
// returns  [static] NULL past the last one.
// threads  [any]
// since    1.0     mirrors  ExecuTorch runtime/kernel/operator_registry.h, get_registered_kernels
ETB_EXPORT const char* ETB_CALL etb_kernel_name(uint32_t index);

// Switches the checked mode, which is off at the start, except in a process with ETBACKEND_CHECKED=1 in its
// environment. In this mode each call checks that its handle was made and not ended, and that no two threads
// use one module at the same time: ETB_INVALID_HANDLE and ETB_BUSY instead of undefined behaviour. A handle
// whose address a newer handle has taken is not recognised.
//
// is_on    1: on; 0: off.
// threads  [any]
// since    1.0
ETB_EXPORT void ETB_CALL etb_set_checked(uint32_t is_on);

#ifdef __cplusplus
}
#endif

#endif
