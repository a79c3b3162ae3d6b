// SPDX-License-Identifier: Apache-2.0
//
// The bridge to the official ExecuTorch run time: libetbackend_executorch.so. Loaded into a process with that run
// time, it registers the delegate ids of all plugins that it finds, so that programs run on plugins:
//
//   LD_PRELOAD=libetbackend_executorch.so python3 application.py     before the run time's own backends
//   ctypes.CDLL("libetbackend_executorch.so")                        in Python, after them
//
// An application that links the library calls the functions below, or nothing at all. docs/bridge.md has the
// environment variables. The functions are not part of the C ABI of plugins.
#ifndef ETB_BRIDGE_REGISTER_H_
#define ETB_BRIDGE_REGISTER_H_

#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Registers each delegate id of the plugins found that is not registered yet. The library does this when it is
// loaded, unless ETB_BRIDGE_REGISTER=0. The first backend of an id stays: the run time cannot replace one.
//
// error    [borrowed-for-call] names each id that was not registered, with the reason. May be NULL.
// returns  ETB_OK; ETB_ALREADY_EXISTS (the run time has another backend of an id); ETB_OUT_OF_RESOURCES (its table
//          is full); ETB_INVALID_ARGUMENT (an environment variable). Other ids are registered nevertheless.
// threads  [any]   may block: yes
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_bridge_register(etb_error* error);

// Registers one delegate id under another name, for programs that use this name: both backends of an id can then
// run in one process.
//
// name        [borrowed-for-call] the name in the program.
// backend_id  [borrowed-for-call] the delegate id of a plugin, "XnnpackBackend".
// error       [borrowed-for-call] may be NULL.
// returns     ETB_OK; ETB_ALREADY_EXISTS; ETB_OUT_OF_RESOURCES; ETB_NOT_FOUND (no plugin has the id);
//             ETB_INVALID_ARGUMENT (NULL or empty).
// threads     [any]   may block: yes
// since       1.0
ETB_EXPORT etb_status ETB_CALL etb_bridge_register_as(const char* name, const char* backend_id,
                                                      etb_error* error);

// Returns the name of a backend that the bridge registered.
//
// index    0 for the first.
// returns  [static] NULL when there are not so many.
// threads  [any]
// since    1.0
ETB_EXPORT const char* ETB_CALL etb_bridge_name(uint32_t index);

// Returns the whole text of the last error of a bridged delegate on this thread. The run time's own error is only a
// number.
//
// returns  UTF-8, "" before the first error; valid until the next one on this thread.
// threads  [any]
// since    1.0
ETB_EXPORT const char* ETB_CALL etb_bridge_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
