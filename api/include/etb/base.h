// The words every other header uses: calling convention, struct sizes, thread tags, ownership words, byte ranges.
//
// Conventions of this ABI (each has a rule id; the list is docs/abi_rules.md):
//
//   ABI-SIZE-01  Every struct starts with uint32_t struct_size and uint32_t flags. The side that makes the struct sets
//                struct_size with sizeof; nobody writes a size by hand.
//   ABI-SIZE-02  A field exists if and only if struct_size covers it (ETB_HAS_FIELD). A receiver accepts a larger struct and
//                ignores its tail; it accepts a smaller one down to the size of version 1.0 and treats the missing tail as
//                zero; it refuses a smaller one still with ETB_INVALID_ARGUMENT.
//   ABI-SIZE-03  A callee never writes beyond the struct_size that the caller set.
//   ABI-TYPE-01  Only fixed-width integers, float, double, pointers and arrays of them cross. No bool, enum, long, size_t,
//                bit-field, C++ type or exception does. Booleans are uint32_t 0 or 1.
//   ABI-TYPE-02  flags and fields named reserved must be zero; a receiver refuses a flag bit that it does not know.
//   ABI-CALL-01  An optional function may be NULL, but only when the capability bit that names it is clear. The host puts a
//                stub that answers ETB_NOT_IMPLEMENTED in its place, so that callers and layers never see NULL.
//   ABI-CALL-02  A required function is never NULL; a plugin that lacks one is refused and the function named.
//
// Thread tags: one per function, a closed set.
//
//   [any]         may be called on any thread, at the same time as any other call.                        (ABI-THREAD-01)
//   [serial:obj]  at most one call at a time on the named object, on any thread.                           (ABI-THREAD-02)
//   [init]        never at the same time as another [init] call into this plugin.                          (ABI-THREAD-03)
//
// There is no thread affinity: two calls on one object may come from two threads. (ABI-THREAD-04)
//
// Ownership words: one per pointer, a closed set.
//
//   borrowed-for-call               valid until the call returns; copy what you keep.                       (ABI-OWN-01)
//   borrowed-until-destroy          valid until the object made by this call is destroyed.                  (ABI-OWN-02)
//   host-releases-on-callback       valid until the callee calls the release callback, which it does at most once; if it never
//                                   does, the host releases when the object made by this call is destroyed.    (ABI-OWN-03)
//   transferred-handle              the receiver owns the handle and ends it with the function named there.  (ABI-OWN-04)
//   static                          valid while the library that gave it is loaded.                            (ABI-OWN-05)
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

#ifdef __cplusplus
extern "C" {
#endif

// A range of bytes. Not versioned: these two fields are all it will ever have.
typedef struct etb_bytes {
  const void* data;  // NULL only when nbytes is 0
  uint64_t nbytes;
} etb_bytes;

#ifdef __cplusplus
}
#endif

#endif
