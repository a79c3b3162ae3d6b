// SPDX-License-Identifier: Apache-2.0
//
// A plugin: its identity, its one exported symbol, and the table of functions that it returns.
//
// A plugin is a shared library that exports exactly one symbol, etb_plugin_query (ABI-SYM-01). It carries its
// identity twice: as a note section, which the host reads without running code, and in the JSON manifest
// beside the library.
//
// Life of a plugin in a host. Each step needs the one before; a failure names the step:
//
//   read manifest -> read note -> choose library -> load -> query -> init -> use -> deinit
//                                                                             |
//      use: enumerate and open devices (device.h), make and run delegates (delegate.h), compile (aot.h)
//
// The tables are versioned apart from each other by their own struct_size (ABI-SIZE-02). A later minor
// version appends functions. A changed signature is a new name; a function is never removed (ABI-VER-01).
//
// A whole plugin in C is at the end of this header (example relu.c). Its ahead-of-time half is at the end of
// aot.h, a host that runs it at the end of delegate.h.
#ifndef ETB_PLUGIN_H_
#define ETB_PLUGIN_H_

#include "etb/aot.h"
#include "etb/base.h"
#include "etb/delegate.h"
#include "etb/device.h"
#include "etb/host.h"
#include "etb/option.h"
#include "etb/status.h"
#include "etb/version.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Identity -----------------------------------------------------------------------------------

// Capabilities of a plugin as a whole (etb_plugin_ident.profiles).
#define ETB_PROFILE_RUNTIME 0x1u  // it has a device table and a delegate table
#define ETB_PROFILE_AOT 0x2u      // it has an aot table
#define ETB_PROFILE_LAYER 0x4u    // it is a layer, see layer.h

// Claims of a plugin about itself (etb_plugin_ident.flags). Each is a claim that a test can refute, not a
// hint.
//
//   UNLOADABLE   after deinit the library leaves nothing in the process: no thread, TLS destructor, atexit function
//   OWN_THREADS  the plugin makes threads; without this bit it must not (ABI-HYG-02). In a forked process, which has
//                none of them, a run returns its result or ETB_UNAVAILABLE, and never waits for such a thread
//   SANDBOX_OK   the plugin works in a process that may open no files and no network connections
#define ETB_PLUGIN_UNLOADABLE 0x1u
#define ETB_PLUGIN_OWN_THREADS 0x2u
#define ETB_PLUGIN_SANDBOX_OK 0x4u
#define ETB_PLUGIN_FLAGS_KNOWN 0x7u

// The sanitizer that the library was built with (etb_plugin_ident.sanitizers). Host and plugin must agree
// (ABI-LOAD-03).
#define ETB_SANITIZER_ADDRESS 0x1u
#define ETB_SANITIZER_THREAD 0x2u
#define ETB_SANITIZER_MEMORY 0x4u

// Identity of a plugin. It is flat bytes without pointers, because the same struct is the content of the note
// section: the host reads it from the file before any relocation is done. Texts are UTF-8, NUL-terminated
// within their array (ABI-LOAD-02).
typedef struct etb_plugin_ident {
  uint32_t struct_size;
  uint32_t flags;          // ETB_PLUGIN_*
  uint32_t abi_min;        // oldest ABI version that the library speaks, ETB_ABI_MAKE(major, minor)
  uint32_t abi_max;        // newest one
  uint32_t profiles;       // ETB_PROFILE_*
  uint32_t sanitizers;     // ETB_SANITIZER_*
  uint32_t abi_candidate;  // ETB_ABI_RELEASE_CANDIDATE at build time; 0 after 1.0 is released
  uint32_t reserved;       // must be zero
  char id[96];             // lower-case reverse DNS, e.g. "com.example.my-npu"; equals the manifest's id
  char vendor[64];         // for people
  char version[32];        // semantic version of the plugin; equals the manifest's version
  char build_id[64];       // text that identifies the build; may be ""
} etb_plugin_ident;

// Name, owner and type of the ELF note that holds the identity.
#define ETB_NOTE_SECTION ".note.etbackend"
#define ETB_NOTE_NAME "etbackend"
#define ETB_NOTE_TYPE_IDENT 1u

// The note as the file stores it: an ELF note header, the padded name, and the identity.
typedef struct etb_plugin_note {
  uint32_t name_nbytes;  // 10: "etbackend" and its NUL
  uint32_t desc_nbytes;  // sizeof(etb_plugin_ident)
  uint32_t type;         // ETB_NOTE_TYPE_IDENT
  char name[12];
  etb_plugin_ident ident;
} etb_plugin_note;

// ETB_SANITIZERS_BUILT: the sanitizers that this translation unit is compiled with, ETB_SANITIZER_*.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ETB_BUILT_WITH_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define ETB_BUILT_WITH_THREAD_SANITIZER 1
#endif
#if __has_feature(memory_sanitizer)
#define ETB_BUILT_WITH_MEMORY_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(ETB_BUILT_WITH_ADDRESS_SANITIZER)
#define ETB_SANITIZERS_BUILT ETB_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__) || defined(ETB_BUILT_WITH_THREAD_SANITIZER)
#define ETB_SANITIZERS_BUILT ETB_SANITIZER_THREAD
#elif defined(ETB_BUILT_WITH_MEMORY_SANITIZER)
#define ETB_SANITIZERS_BUILT ETB_SANITIZER_MEMORY
#else
#define ETB_SANITIZERS_BUILT 0u
#endif

// Attributes that put a variable into the note section; empty where the format is not ELF.
#if defined(__ELF__)
#define ETB_IN_NOTE_SECTION __attribute__((section(ETB_NOTE_SECTION), aligned(4), used))
#else
#define ETB_IN_NOTE_SECTION
#endif

// Defines `name`, an etb_plugin_note, in the note section. It is the only source of the identity: point
// etb_plugin_table.ident at name.ident.
//
//   ETB_DEFINE_PLUGIN_NOTE(note, "com.example.my-npu", "Example Inc.", "1.2.0", "", ETB_PROFILE_RUNTIME, 0);
#define ETB_DEFINE_PLUGIN_NOTE(name, id, vendor, version, build_id, profiles, flags)              \
  static const etb_plugin_note name ETB_IN_NOTE_SECTION = {                                       \
      (uint32_t)sizeof(ETB_NOTE_NAME),                                                            \
      ETB_INIT_SIZE(etb_plugin_ident),                                                            \
      ETB_NOTE_TYPE_IDENT,                                                                        \
      ETB_NOTE_NAME,                                                                              \
      {ETB_INIT_SIZE(etb_plugin_ident), (flags), ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION, (profiles), \
       ETB_SANITIZERS_BUILT, ETB_ABI_RELEASE_CANDIDATE, 0, id, vendor, version, build_id}}

// ---- The plugin table ---------------------------------------------------------------------------

// Capability bits of etb_plugin_table.caps. A set bit promises that the function of that name is not NULL
// (ABI-CALL-01).
#define ETB_PLUGIN_CAP_GET_EXTENSION 0x1u
#define ETB_PLUGIN_CAP_OPTION_SCHEMA 0x2u
#define ETB_PLUGIN_CAP_SET_OPTION 0x4u
#define ETB_PLUGIN_CAP_GET_OPTION 0x8u
#define ETB_PLUGIN_CAPS_KNOWN 0xfu

// The plugin table. It is constant data of the library.
typedef struct etb_plugin_table {
  uint32_t struct_size;
  uint32_t flags;                 // must be zero
  uint32_t abi_version;           // the version that this table follows, within the range that query received
  uint32_t caps;                  // ETB_PLUGIN_CAP_*
  const etb_plugin_ident* ident;  // [static] equals the note byte for byte (ABI-LOAD-02)

  // Makes the plugin's context. The host makes one call at a time and pairs each success with one deinit.
  //
  // host     [borrowed-until-destroy] valid until deinit returns.
  // options  [borrowed-for-call] option_count of them (ABI-SIZE-04), scope ETB_OBJECT_PLUGIN.
  // out      [transferred-handle] ended by deinit; unchanged on error.
  // returns  ETB_OK; ETB_INVALID_ARGUMENT (option; an unknown key without "x-", ABI-OPT-01); ETB_UNAVAILABLE
  //          (a driver or library that the plugin needs is missing). A machine without the plugin's hardware
  //          is not an error: enumerate then yields nothing (ABI-DEV-01).
  // presence required
  // threads  [init]   may block: yes
  // since    1.0
  etb_status(ETB_CALL* init)(const etb_host* host, const etb_option* options, uint64_t option_count,
                             etb_plugin** out, etb_error* error);

  // Ends the context.
  //
  // plugin   from init; consumed on success.
  // returns  ETB_OK; ETB_BUSY while a device, delegate or context of it is alive, and then nothing has
  //          changed (ABI-LIFE-01).
  // presence required
  // threads  [init]   may block: yes
  // since    1.0
  etb_status(ETB_CALL* deinit)(etb_plugin* plugin, etb_error* error);

  // Returns an optional table by id (etb/ext/), for an object of the given kind. A revision of an extension
  // is a new id: "com.example.thing/1", "com.example.thing/2".
  //
  // object_kind  ETB_OBJECT_*.
  // object       [borrowed-for-call] the handle that object_kind names; the plugin itself for
  //              ETB_OBJECT_PLUGIN.
  // id           [borrowed-for-call] id and revision.
  // returns      [static] the table, to be used while the object is alive; NULL when the id is unknown
  //              (ABI-EXT-01).
  // presence optional: ETB_PLUGIN_CAP_GET_EXTENSION
  // threads  [any]
  // since    1.0
  const void*(ETB_CALL* get_extension)(etb_plugin* plugin, uint32_t object_kind, void* object,
                                       const char* id);

  // Lists every option that the plugin knows, at all scopes.
  //
  // plugin   from init.
  // sink     [borrowed-for-call] receives one item per option, on this thread, before this function returns
  //          (ABI-SINK-01).
  // returns  ETB_OK; the sink's status when it stopped.
  // presence optional: ETB_PLUGIN_CAP_OPTION_SCHEMA
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* option_schema)(etb_plugin* plugin, const etb_option_schema_sink* sink,
                                      etb_error* error);

  // Changes an option of a living object, if the schema allows a change at this time.
  //
  // object_kind  ETB_OBJECT_*.
  // object       [borrowed-for-call] the handle that object_kind names.
  // option       [borrowed-for-call] one option of that scope.
  // returns      ETB_OK; ETB_NOT_FOUND (unknown key, also one with "x-"); ETB_INVALID_ARGUMENT (type or range);
  //              ETB_INVALID_STATE (no change allowed now). On error the old value stays (ABI-OPT-02).
  // presence optional: ETB_PLUGIN_CAP_SET_OPTION
  // threads  [serial:obj] with every other call on that object
  // since    1.0
  etb_status(ETB_CALL* set_option)(etb_plugin* plugin, uint32_t object_kind, void* object,
                                   const etb_option* option, etb_error* error);

  // Reads an option of a living object.
  //
  // object_kind  ETB_OBJECT_*.
  // object       [borrowed-for-call] the handle that object_kind names.
  // key          [borrowed-for-call]
  // sink         [borrowed-for-call] receives exactly one item.
  // returns      ETB_OK; ETB_NOT_FOUND (unknown key, also one with "x-"); the sink's status when it stopped.
  // presence optional: ETB_PLUGIN_CAP_GET_OPTION
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* get_option)(etb_plugin* plugin, uint32_t object_kind, void* object, const char* key,
                                   const etb_option_sink* sink, etb_error* error);

  const etb_device_table* device;      // [static] required with ETB_PROFILE_RUNTIME, else NULL
  const etb_delegate_table* delegate;  // [static] required with ETB_PROFILE_RUNTIME, else NULL
  const etb_aot_table* aot;            // [static] required with ETB_PROFILE_AOT, else NULL
} etb_plugin_table;

// ---- The one exported symbol --------------------------------------------------------------------

// Returns the plugin's table for one ABI version: the newest that both sides speak (ABI-VER-02).
//
// The function has no side effects, may be called repeatedly, before init and after deinit, and returns the
// same pointer for the same range (ABI-SYM-02).
//
// host     [borrowed-for-call] the host that asks; the plugin must not call its services from here.
// abi_min  oldest version that the host accepts.
// abi_max  newest version that the host accepts.
// returns  [static] the table; NULL when the plugin speaks no version in [abi_min, abi_max].
// presence required
// threads  [any]
// since    1.0
typedef const etb_plugin_table*(ETB_CALL* etb_plugin_query_fn)(const etb_host* host, uint32_t abi_min,
                                                               uint32_t abi_max);

#define ETB_PLUGIN_QUERY_SYMBOL "etb_plugin_query"

// Name of the function to define: etb_plugin_query in a shared library; etb_plugin_query_<name> when the
// build sets ETB_PLUGIN_STATIC_NAME to link the plugin into the program (static_plugins.h).
#ifdef ETB_PLUGIN_STATIC_NAME
#define ETB_PASTE_(a, b) a##b
#define ETB_PASTE(a, b) ETB_PASTE_(a, b)
#define ETB_PLUGIN_QUERY ETB_PASTE(etb_plugin_query_, ETB_PLUGIN_STATIC_NAME)
#else
#define ETB_PLUGIN_QUERY etb_plugin_query
#endif

// The declaration of that function; the comment of etb_plugin_query_fn says what it does.
ETB_EXPORT const etb_plugin_table* ETB_CALL ETB_PLUGIN_QUERY(const etb_host* host, uint32_t abi_min,
                                                             uint32_t abi_max);

#ifdef __cplusplus
}
#endif

// ---- Example ------------------------------------------------------------------------------------

// Example relu.c: a whole plugin for the run time in C11. Its payload is one number; it computes max(x, 0) on
// float32. The test header_examples runs it with the host of delegate.h, header_examples_verify has both halves
// judged by `etbackend verify`; aot.h shows the ahead-of-time half.
//
//   #include <stdatomic.h>
//   #include <stdlib.h>
//   #include <string.h>
//
//   #include "etb/all.h"
//
//   /* The objects behind the handles. Each counts the objects made from it (ABI-LIFE-01). */
//   struct etb_plugin {
//     atomic_uint children;
//   };
//   struct etb_device {
//     etb_plugin* plugin;
//     atomic_uint children;
//   };
//   struct etb_delegate {
//     atomic_uint* siblings;
//     atomic_uint children;
//   };
//   struct etb_context {
//     etb_delegate* delegate;
//   };
//
//   ETB_DEFINE_PLUGIN_NOTE(note, "com.example.relu", "Example Inc.", "1.0.0", "", ETB_PROFILE_RUNTIME, 0);
//
//   static etb_status fail(etb_error* error, etb_status code, const char* text) {
//     if (error != NULL && ETB_HAS_FIELD(etb_error, error, text)) {
//       error->code = code;
//       strncpy(error->text, text, sizeof error->text - 1); /* longest text here: 60 bytes */
//     }
//     return code;
//   }
//
//   /* True if a struct of the host has all fields of version 1.0 (ABI-SIZE-02) and no unknown flag (ABI-TYPE-02). It
//      may be longer than here. `last`: the last of these fields. */
//   #define READABLE(type, ptr, last) ((ptr) != NULL && ETB_HAS_FIELD(type, ptr, last) && (ptr)->flags == 0)
//
//   static etb_status fail_struct(etb_error* error) {
//     return fail(error, ETB_INVALID_ARGUMENT, "a struct that is too short, or has flags");
//   }
//
//   /* The plugin has no options. Keys that begin with x- are ignored (ABI-OPT-01). */
//   static etb_status check_options(const etb_option* options, uint64_t count, etb_error* error) {
//     uint64_t i;
//     for (i = 0; i < count; ++i) {
//       const etb_option* option = ETB_AT(etb_option, options, i); /* ABI-SIZE-04 */
//       if (!READABLE(etb_option, option, reserved_pointer) || option->reserved_pointer != NULL ||
//           option->key == NULL)
//         return fail_struct(error);
//       if (strncmp(option->key, "x-", 2) != 0)
//         return fail(error, ETB_INVALID_ARGUMENT, "options: found one, the plugin knows none");
//     }
//     return ETB_OK;
//   }
//
//   static void* make(size_t nbytes, atomic_uint* count) {
//     void* object = calloc(1, nbytes);
//     if (object != NULL && count != NULL) atomic_fetch_add(count, 1);
//     return object;
//   }
//
//   static etb_status end(void* object, atomic_uint* children, atomic_uint* count, etb_error* error) {
//     if (children != NULL && atomic_load(children) != 0)
//       return fail(error, ETB_BUSY, "objects made from it are alive");
//     if (count != NULL) atomic_fetch_sub(count, 1);
//     free(object);
//     return ETB_OK;
//   }
//
//   static etb_status ETB_CALL init(const etb_host* host, const etb_option* options, uint64_t option_count,
//                                   etb_plugin** out, etb_error* error) {
//     etb_plugin* plugin;
//     const etb_status status = check_options(options, option_count, error);
//     (void)host;
//     if (status != ETB_OK) return status;
//     plugin = make(sizeof *plugin, NULL);
//     if (plugin == NULL) return fail(error, ETB_OUT_OF_MEMORY, "out of memory");
//     *out = plugin;
//     return ETB_OK;
//   }
//
//   static etb_status ETB_CALL deinit(etb_plugin* plugin, etb_error* error) {
//     return end(plugin, &plugin->children, NULL, error);
//   }
//
//   /* The device: the processor that runs the plugin. */
//   static const etb_device_info cpu = {.struct_size = ETB_INIT_SIZE(etb_device_info),
//                                       .uuid = {'c', 'p', 'u'},
//                                       .kind = "cpu",
//                                       .name = "this processor",
//                                       .driver_version = ""};
//
//   static etb_status ETB_CALL enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
//     (void)plugin, (void)error;
//     return sink->put(sink->ctx, &cpu);
//   }
//
//   static etb_status ETB_CALL open_device(etb_plugin* plugin, const uint8_t* uuid,
//                                          const etb_option* options, uint64_t option_count,
//                                          etb_device** out, etb_error* error) {
//     etb_device* device;
//     const etb_status status = check_options(options, option_count, error);
//     if (status != ETB_OK) return status;
//     if (memcmp(uuid, cpu.uuid, sizeof cpu.uuid) != 0)
//       return fail(error, ETB_NOT_FOUND, "no device has this uuid");
//     device = make(sizeof *device, &plugin->children);
//     if (device == NULL) return fail(error, ETB_OUT_OF_MEMORY, "out of memory");
//     device->plugin = plugin;
//     *out = device;
//     return ETB_OK;
//   }
//
//   static etb_status ETB_CALL close_device(etb_device* device, etb_error* error) {
//     return end(device, &device->children, &device->plugin->children, error);
//   }
//
//   static etb_status ETB_CALL query_device(etb_device* device, const etb_device_sink* sink,
//                                           etb_error* error) {
//     (void)device, (void)error;
//     return sink->put(sink->ctx, &cpu);
//   }
//
//   /* The delegate. Any bytes may come as a payload (ABI-BLOB-01). Little-endian machines only. */
//   static const uint32_t payload_version = 1;
//
//   static etb_status ETB_CALL check_payload(etb_plugin* plugin, const etb_payload_check* check,
//                                            etb_verdict* verdict, etb_error* error) {
//     int fits;
//     (void)plugin;
//     if (!READABLE(etb_payload_check, check, spec_count) || !READABLE(etb_verdict, verdict, text))
//       return fail_struct(error);
//     fits = check->payload_nbytes == sizeof payload_version && check->prefix.nbytes == sizeof payload_version &&
//            memcmp(check->prefix.data, &payload_version, sizeof payload_version) == 0;
//     verdict->kind = fits ? ETB_VERDICT_OPTIMAL : ETB_VERDICT_UNSUPPORTED;
//     verdict->reasons = fits ? 0 : ETB_REASON_FORMAT;
//     return ETB_OK;
//   }
//
//   static etb_status ETB_CALL create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
//                                     etb_error* error) {
//     const etb_payload_view* payload;
//     atomic_uint* siblings;
//     etb_delegate* delegate;
//     etb_status status;
//     if (!READABLE(etb_delegate_args, args, option_count) ||
//         !READABLE(etb_payload_view, args->payload, release) || args->payload->reserved != 0)
//       return fail_struct(error);
//     status = check_options(args->options, args->option_count, error);
//     if (status != ETB_OK) return status;
//     payload = args->payload;
//     if (payload->data == NULL || payload->nbytes != sizeof payload_version)
//       return fail(error, ETB_INVALID_DATA, "payload: expected 4 bytes");
//     if (memcmp(payload->data, &payload_version, sizeof payload_version) != 0)
//       return fail(error, ETB_INCOMPATIBLE, "payload: another version, the plugin reads 1");
//     siblings = args->device != NULL ? &args->device->children : &plugin->children;
//     delegate = make(sizeof *delegate, siblings);
//     if (delegate == NULL) return fail(error, ETB_OUT_OF_MEMORY, "out of memory");
//     delegate->siblings = siblings;
//     *out = delegate;
//     if (payload->release != NULL) payload->release(payload->release_ctx); /* read, and no longer needed */
//     return ETB_OK;
//   }
//
//   static etb_status ETB_CALL destroy(etb_delegate* delegate, etb_error* error) {
//     return end(delegate, &delegate->children, delegate->siblings, error);
//   }
//
//   static etb_status ETB_CALL query(etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
//     if (!READABLE(etb_delegate_info, info, scratch_alignment)) return fail_struct(error);
//     info->input_count = info->output_count = 1;
//     info->max_contexts = ETB_UNLIMITED;
//     info->resident_bytes = sizeof *delegate;
//     info->context_bytes = sizeof(etb_context);
//     return ETB_OK;
//   }
//
//   static etb_status ETB_CALL query_io(etb_delegate* delegate, const etb_io_req_sink* sink,
//                                       etb_error* error) {
//     etb_io_req input = {.struct_size = ETB_INIT_SIZE(etb_io_req), .role = ETB_ROLE_INPUT, .alignment = 4};
//     etb_io_req output = {
//         .struct_size = ETB_INIT_SIZE(etb_io_req), .role = ETB_ROLE_OUTPUT, .alignment = 4};
//     etb_status status = sink->put(sink->ctx, &input);
//     (void)delegate, (void)error;
//     return status != ETB_OK ? status : sink->put(sink->ctx, &output);
//   }
//
//   static etb_status ETB_CALL context_create(etb_delegate* delegate, const etb_option* options,
//                                             uint64_t option_count, etb_context** out, etb_error* error) {
//     etb_context* context;
//     const etb_status status = check_options(options, option_count, error);
//     if (status != ETB_OK) return status;
//     context = make(sizeof *context, &delegate->children);
//     if (context == NULL) return fail(error, ETB_OUT_OF_MEMORY, "out of memory");
//     context->delegate = delegate;
//     *out = context;
//     return ETB_OK;
//   }
//
//   static etb_status ETB_CALL context_destroy(etb_context* context, etb_error* error) {
//     return end(context, NULL, &context->delegate->children, error);
//   }
//
//   /* Returns the elements of a packed float32 tensor in default dim order (ABI-TENSOR-01), or UINT64_MAX for another one. */
//   static uint64_t numel_of(const etb_tensor* tensor) {
//     uint64_t numel = 1;
//     uint32_t i;
//     if (!READABLE(etb_tensor, tensor, reserved_pointer) || tensor->reserved != 0 ||
//         tensor->reserved_pointer != NULL || tensor->dtype != ETB_DTYPE_FLOAT32 ||
//         tensor->rank > ETB_MAX_RANK || tensor->buffer != NULL)
//       return UINT64_MAX;
//     for (i = tensor->rank; i-- > 0;) {
//       const int in_order = tensor->dim_order == NULL || tensor->dim_order[i] == i;
//       if (tensor->strides == NULL ? !in_order
//                                   : tensor->sizes[i] != 1 && (uint64_t)tensor->strides[i] != numel)
//         return UINT64_MAX;
//       numel *= (uint64_t)tensor->sizes[i];
//     }
//     return numel;
//   }
//
//   /* True if the output has room for the input's sizes, each at most its upper bound (ABI-TENSOR-02). */
//   static int can_hold(const etb_tensor* output, const etb_tensor* input, uint64_t numel) {
//     uint32_t i;
//     if (!READABLE(etb_tensor, output, reserved_pointer) || output->rank != input->rank) return 0;
//     for (i = 0; i < input->rank; ++i)
//       if (output->upper_sizes != NULL ? input->sizes[i] > output->upper_sizes[i]
//                                       : input->sizes[i] != output->sizes[i])
//         return 0;
//     for (i = 0; i < input->rank; ++i) output->sizes[i] = input->sizes[i];
//     return numel_of(output) == numel && output->capacity_bytes / sizeof(float) >= numel;
//   }
//
//   static etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
//     const etb_tensor* input;
//     const etb_tensor* output;
//     uint64_t count, i;
//     etb_status status;
//     (void)context;
//     if (!READABLE(etb_exec_args, args, reserved) || args->reserved != 0) return fail_struct(error);
//     if (args->input_count != 1 || args->output_count != 1)
//       return fail(error, ETB_INVALID_ARGUMENT, "tensors: expected one input and one output");
//     if (args->wait_count != 0) return fail(error, ETB_NOT_SUPPORTED, "fences to wait for: expected none");
//     status = check_options(args->options, args->option_count, error);
//     if (status != ETB_OK) return status;
//     input = args->inputs;
//     output = args->outputs;
//     count = numel_of(input);
//     if (count == UINT64_MAX || input->capacity_bytes / sizeof(float) < count ||
//         (input->data == NULL && count != 0))
//       return fail(error, ETB_INVALID_ARGUMENT, "input 0: expected packed float32 with all its bytes");
//     if (!can_hold(output, input, count) || (output->data == NULL && count != 0))
//       return fail(error, ETB_INVALID_ARGUMENT, "output 0: expected packed float32 for the input's sizes");
//     for (i = 0; i < count; ++i) {
//       const float x = ((const float*)input->data)[i];
//       ((float*)output->data)[i] = x < 0 ? 0 : x;
//     }
//     return ETB_OK;
//   }
//
//   static const etb_device_table devices = {.struct_size = ETB_INIT_SIZE(etb_device_table),
//                                            .enumerate = enumerate,
//                                            .open = open_device,
//                                            .close = close_device,
//                                            .query = query_device};
//
//   static const etb_delegate_table delegates = {.struct_size = ETB_INIT_SIZE(etb_delegate_table),
//                                                .check_payload = check_payload,
//                                                .create = create,
//                                                .destroy = destroy,
//                                                .query = query,
//                                                .query_io = query_io,
//                                                .context_create = context_create,
//                                                .context_destroy = context_destroy,
//                                                .execute = execute};
//
//   static const etb_plugin_table table = {.struct_size = ETB_INIT_SIZE(etb_plugin_table),
//                                          .abi_version = ETB_ABI_MAKE(1, 0),
//                                          .ident = &note.ident,
//                                          .init = init,
//                                          .deinit = deinit,
//                                          .device = &devices,
//                                          .delegate = &delegates};
//
//   const etb_plugin_table* ETB_CALL ETB_PLUGIN_QUERY(const etb_host* host, uint32_t abi_min,
//                                                     uint32_t abi_max) {
//     (void)host;
//     return abi_min <= ETB_ABI_MAKE(1, 0) && ETB_ABI_MAKE(1, 0) <= abi_max ? &table : NULL;
//   }

#endif
