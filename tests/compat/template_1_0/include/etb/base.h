// The words every other header uses: calling convention, struct sizes, thread tags, ownership words, bytes.
//
// The rules that both sides keep have ids (ABI-SIZE-01 ...); their normative sentences are the rows of
// rules.def, and headers cite them. The two closed sets of words used in every function comment:
//
// Thread tags, one a function:
//   [any]         may be called on any thread, at the same time as any other call (ABI-THREAD-01)
//   [serial:obj]  at most one call at a time on the named object, on any thread (ABI-THREAD-02)
//   [init]        never at the same time as another [init] call into this plugin (ABI-THREAD-03)
//
// Ownership words, one a pointer:
//   borrowed-for-call          valid until the call returns; copy what you keep (ABI-OWN-01)
//   borrowed-until-destroy     valid until the object that this call made is destroyed (ABI-OWN-02)
//   host-releases-on-callback  valid until the callee calls the release callback, at most once; if it never
//                              does, the host releases after the object of this call is destroyed (ABI-OWN-03)
//   transferred-handle         the receiver owns the handle and ends it with the function named (ABI-OWN-04)
//   borrowed-until-signalled   valid until every signal fence of the run was signalled
//   static                     valid while the library that gave it is loaded
//
// What holds where a comment says nothing else:
//   - pointer parameters are borrowed-for-call, and a handle is not consumed by a call on it;
//   - `error` may be NULL; an array pointer may be NULL when its count is 0; no other pointer may (ABI-CALL-04);
//   - a function that returns etb_status answers ETB_OK, the codes it names, ETB_INVALID_ARGUMENT for arguments that
//     break the rules, ETB_OUT_OF_MEMORY, or ETB_INTERNAL; on error it leaves out parameters as they were.
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

// The struct_size of a struct, as the initialiser of its first field.
#define ETB_INIT_SIZE(type) ((uint32_t)sizeof(type))

// The size of a struct up to and including a field.
#define ETB_SIZE_THROUGH(type, field) ((uint32_t)(offsetof(type, field) + sizeof(((type*)0)->field)))

// Whether the struct that `ptr` points to carries `field` (ABI-SIZE-02).
#define ETB_HAS_FIELD(type, ptr, field) ((ptr)->struct_size >= ETB_SIZE_THROUGH(type, field))

// Element `index` of an array of structs that carry struct_size: the elements lie as far apart as the first
// one says, not as the receiver's headers say, so that either side may be newer (ABI-SIZE-04).
#define ETB_AT(type, base, index) ((const type*)((const char*)(base) + (size_t)(index) * (base)->struct_size))

#ifdef __cplusplus
extern "C" {
#endif

// Handles. Opaque: only the side that made one looks inside.
typedef struct etb_plugin etb_plugin;      // a plugin's context, from init
typedef struct etb_device etb_device;      // an opened piece of hardware
typedef struct etb_delegate etb_delegate;  // one payload made ready; its contexts share the weights
typedef struct etb_context etb_context;    // one run in flight of a delegate

// A range of bytes. Not versioned: these two fields are all it will ever have.
typedef struct etb_bytes {
  const void* data;  // NULL only when nbytes is 0
  uint64_t nbytes;
} etb_bytes;

#ifdef __cplusplus
}
#endif

#endif
