// SPDX-License-Identifier: Apache-2.0
//
// The words that every other header uses: calling convention, struct sizes, thread tags, ownership words,
// handles, bytes.
//
// The rules that both sides keep have ids (ABI-SIZE-01 ...). Their normative sentences are the rows of
// rules.def, and headers cite them. docs/abi_rules.md lists each rule with the tests that prove it.
//
// How to read the comment of a function. Its parts come in this order; a part without content is left out:
//
//   <sentence>    what the function does, then what a caller must know besides
//   <argument>    one line per argument: [ownership word], meaning, what happens to it on error
//   returns       each status with its condition; for other types the ownership word and the meaning
//   presence      required: never NULL (ABI-CALL-02); or optional with the capability bit that offers it
//                 (ABI-CALL-01)
//   threads       one thread tag; then "may block: yes" where the call may wait
//   since         the ABI version that introduced the function
//   mirrors       the counterpart in ExecuTorch, where there is one
//
// Thread tags, one per function:
//
//   [any]         may be called on any thread, at the same time as any other call (ABI-THREAD-01)
//   [serial:obj]  at most one call at a time on the named object, on any thread (ABI-THREAD-02)
//   [init]        never at the same time as another [init] call into this plugin (ABI-THREAD-03)
//
// Ownership words, one per pointer:
//
//   borrowed-for-call          valid until the call returns; copy the parts to keep (ABI-OWN-01)
//   borrowed-until-destroy     valid until the object that this call made is destroyed (ABI-OWN-02)
//   host-releases-on-callback  valid until the callee calls the release callback, at most once; without that call
//                              the host releases after the object of this call is destroyed (ABI-OWN-03)
//   transferred-handle         the receiver owns the handle and ends it with the function named (ABI-OWN-04)
//   borrowed-until-signalled   valid until every signal fence of the run was signalled
//   static                     valid while the library that returned it is loaded
//
// Defaults, for every function whose comment does not say otherwise:
//
//   - A pointer parameter is borrowed-for-call. A call does not consume the handle it is made on.
//   - `error` may be NULL, and an array pointer whose count is 0. No other pointer may be NULL (ABI-CALL-04).
//   - A function that returns etb_status may return, besides the codes it names: ETB_OK, ETB_INVALID_ARGUMENT
//     for arguments that break the rules, ETB_OUT_OF_MEMORY, ETB_INTERNAL. On error it leaves out parameters
//     unchanged.
//   - The caller sets struct_size of every struct that it passes, and zeroes reserved fields (ABI-SIZE-01).
//
// Sinks. A sink is a struct of callbacks that receives items of unknown number. The rules are the same for
// all of them:
//
//   - The callee calls the sink on the thread of the call that received it, before that call returns
//     (ABI-SINK-01).
//   - Each item is borrowed-for-call: the sink copies the parts it keeps.
//   - A sink function returns ETB_OK to go on. After any other status the callee stops and returns that
//     status (ABI-SINK-02).
//   - `ctx` belongs to the side that made the sink; the callee passes it back unchanged.
#ifndef ETB_BASE_H_
#define ETB_BASE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define ETB_EXPORT __declspec(dllexport)
#define ETB_CALL __cdecl
#else
#define ETB_EXPORT __attribute__((visibility("default")))
#define ETB_CALL
#endif

// Size of a type, as the initialiser of the first field of a struct that crosses (ABI-SIZE-01).
#define ETB_INIT_SIZE(type) ((uint32_t)sizeof(type))

// Size of a struct up to and including a field.
#define ETB_SIZE_THROUGH(type, field) ((uint32_t)(offsetof(type, field) + sizeof(((type*)0)->field)))

// True if the struct that `ptr` points to carries `field` (ABI-SIZE-02).
#define ETB_HAS_FIELD(type, ptr, field) ((ptr)->struct_size >= ETB_SIZE_THROUGH(type, field))

// Pointer to element `index` of an array of structs that carry struct_size. The distance between elements is
// the struct_size of the first one, not the size in the receiver's headers, so that either side may be newer
// (ABI-SIZE-04).
#define ETB_AT(type, base, index) ((const type*)((const char*)(base) + (size_t)(index) * (base)->struct_size))

#ifdef __cplusplus
extern "C" {
#endif

// Handles are opaque: only the side that made one looks inside.

// The context of a plugin; made by init, ended by deinit.
typedef struct etb_plugin etb_plugin;

// One opened piece of hardware; made by open, ended by close.
typedef struct etb_device etb_device;

// One payload made ready to run; its contexts share the weights. Made by create, ended by destroy.
typedef struct etb_delegate etb_delegate;

// The state of one run in flight of a delegate; made by context_create, ended by context_destroy.
typedef struct etb_context etb_context;

// A range of bytes. It carries no struct_size: these two fields are final.
typedef struct etb_bytes {
  const void* data;  // NULL only when nbytes is 0
  uint64_t nbytes;
} etb_bytes;

#ifdef __cplusplus
}
#endif

#endif
