// A plugin: its identity, its one exported symbol, and the table of functions behind that symbol.
//
// A plugin is a shared library that exports exactly one symbol, etb_plugin_query (ABI-SYM-01), and carries
// its identity twice: as a note section, which the host reads without running code, and in the JSON manifest
// beside the library. Life of a plugin in a host:
//
//   read manifest -> read note -> choose library -> load -> query -> init -> devices, delegates, compilation
//   -> deinit
//
// The tables are versioned apart from each other by their own struct_size (ABI-SIZE-02). A later minor
// version appends functions; a changed signature is a new name; a function is never removed.
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

// What a plugin can do (etb_plugin_ident.profiles).
#define ETB_PROFILE_RUNTIME 0x1u  // the delegate table is there
#define ETB_PROFILE_AOT 0x2u      // the aot table is there
#define ETB_PROFILE_LAYER 0x4u    // an interposer, see layer.h

// Claims of a plugin about itself (etb_plugin_ident.flags). Each is a claim that a test can refute, not a
// hint.
#define ETB_PLUGIN_UNLOADABLE \
  0x1u  // after deinit the library leaves nothing behind: no thread, TLS destructor or atexit
#define ETB_PLUGIN_OWN_THREADS 0x2u  // makes threads of its own; without this bit it must not (ABI-HYG-02)
#define ETB_PLUGIN_SANDBOX_OK 0x4u   // works in a process of its own that may open no files and no network
#define ETB_PLUGIN_FLAGS_KNOWN 0x7u

// The sanitizer that the library was built with (etb_plugin_ident.sanitizers). Host and plugin must agree
// (ABI-LOAD-03).
#define ETB_SANITIZER_ADDRESS 0x1u
#define ETB_SANITIZER_THREAD 0x2u
#define ETB_SANITIZER_MEMORY 0x4u

// Who a plugin is. Flat bytes without pointers, because the same struct is the content of the note section:
// it can be read from the file before any relocation is done. Texts are UTF-8, NUL-terminated within their
// array (ABI-LOAD-02).
typedef struct etb_plugin_ident {
  uint32_t struct_size;
  uint32_t flags;    // ETB_PLUGIN_*
  uint32_t abi_min;  // oldest and newest ABI version that the library speaks, ETB_ABI_MAKE(major, minor)
  uint32_t abi_max;
  uint32_t profiles;    // ETB_PROFILE_*
  uint32_t sanitizers;  // ETB_SANITIZER_*
  uint32_t
      abi_candidate;  // ETB_ABI_RELEASE_CANDIDATE: which release candidate it was built for, 0 once 1.0 is out
  uint32_t reserved;  // must be zero
  char id[96];        // lower-case reverse DNS, e.g. "com.example.my-npu"; equals the manifest's id
  char vendor[64];    // for people
  char version[32];   // semantic version of the plugin; equals the manifest's version
  char build_id[64];  // whatever finds the build again; may be ""
} etb_plugin_ident;

#define ETB_NOTE_SECTION ".note.etbackend"
#define ETB_NOTE_NAME "etbackend"
#define ETB_NOTE_TYPE_IDENT 1u

// The note as it lies in the file: an ELF note header, the padded name, and the identity.
typedef struct etb_plugin_note {
  uint32_t name_nbytes;  // 10: "etbackend" and its NUL
  uint32_t desc_nbytes;  // sizeof(etb_plugin_ident)
  uint32_t type;         // ETB_NOTE_TYPE_IDENT
  char name[12];
  etb_plugin_ident ident;
} etb_plugin_note;

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

#if defined(__ELF__)
#define ETB_IN_NOTE_SECTION __attribute__((section(ETB_NOTE_SECTION), aligned(4), used))
#else
#define ETB_IN_NOTE_SECTION
#endif

// Defines `name` (an etb_plugin_note) in the note section. One source of the identity: point
// etb_plugin_table.ident at name.ident. Example:
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

typedef struct etb_plugin_table {
  uint32_t struct_size;
  uint32_t flags;                 // must be zero
  uint32_t abi_version;           // the version this table follows, within the range that query was given
  uint32_t caps;                  // ETB_PLUGIN_CAP_*
  const etb_plugin_ident* ident;  // [static] equals the note byte for byte (ABI-LOAD-02)

  // Makes the plugin's context. The host calls it once at a time and pairs each success with one deinit.
  //
  // host     [borrowed-until-destroy] valid until deinit returns.
  // options  [borrowed-for-call] option_count of them, ABI-SIZE-04; unknown keys are refused
  //          (ABI-OPT-01). out      [transferred-handle] ended by deinit.
  // returns  ETB_OK;
  //          ETB_INVALID_ARGUMENT (option); ETB_UNAVAILABLE (a driver or library that it needs is missing).
  //          A machine without the plugin's hardware is not an error: enumerate then yields nothing
  //          (ABI-DEV-01).
  // threads  [init]   since 1.0
  etb_status(ETB_CALL* init)(const etb_host* host, const etb_option* options, uint64_t option_count,
                             etb_plugin** out, etb_error* error);

  // Ends the context.
  //
  // returns  ETB_OK; ETB_BUSY while a device, delegate or context of it lives, and then nothing has changed
  //          (ABI-LIFE-01).
  // threads  [init]   since 1.0
  etb_status(ETB_CALL* deinit)(etb_plugin* plugin, etb_error* error);

  // An optional table by id (etb/ext/), for the object of the given kind; NULL when the id is unknown
  // (ABI-EXT-01). A revision of an extension is a new id: "com.example.thing/1", "com.example.thing/2".
  //
  // object   [borrowed-for-call] the handle that `object_kind` names; the plugin itself for
  //          ETB_OBJECT_PLUGIN. returns  [static] the table; lives as long as the library, to be used while
  //          the object lives.
  // threads  [any]   since 1.0   optional: ETB_PLUGIN_CAP_GET_EXTENSION
  const void*(ETB_CALL* get_extension)(etb_plugin* plugin, uint32_t object_kind, void* object,
                                       const char* id);

  // Every option that the plugin knows, at all scopes.
  //
  // sink     [borrowed-for-call] called on this thread, once an option, before this function returns
  //          (ABI-SINK-01).
  // threads  [any]   since 1.0   optional: ETB_PLUGIN_CAP_OPTION_SCHEMA
  etb_status(ETB_CALL* option_schema)(etb_plugin* plugin, const etb_option_schema_sink* sink,
                                      etb_error* error);

  // Changes an option of a living object, if the schema says it may change then.
  //
  // returns  ETB_OK; ETB_NOT_FOUND (unknown key); ETB_INVALID_ARGUMENT (type or range); ETB_INVALID_STATE
  //          (may not change
  //          now). On error the old value stays (ABI-OPT-02).
  // threads  [serial:obj] with every other call on that object   since 1.0   optional:
  //          ETB_PLUGIN_CAP_SET_OPTION
  etb_status(ETB_CALL* set_option)(etb_plugin* plugin, uint32_t object_kind, void* object,
                                   const etb_option* option, etb_error* error);

  // Reads an option back: the sink gets it once.
  //
  // returns  ETB_OK; ETB_NOT_FOUND (unknown key).
  // threads  [any]   since 1.0   optional: ETB_PLUGIN_CAP_GET_OPTION
  etb_status(ETB_CALL* get_option)(etb_plugin* plugin, uint32_t object_kind, void* object, const char* key,
                                   const etb_option_sink* sink, etb_error* error);

  const etb_device_table* device;      // [static] required with ETB_PROFILE_RUNTIME, else NULL
  const etb_delegate_table* delegate;  // [static] required with ETB_PROFILE_RUNTIME, else NULL
  const etb_aot_table* aot;            // [static] required with ETB_PROFILE_AOT, else NULL
} etb_plugin_table;

// ---- The one exported symbol --------------------------------------------------------------------

// Gives the plugin's table for one ABI version, or NULL when the plugin speaks none of [abi_min, abi_max].
//
// The plugin picks the newest version that both sides speak (ABI-VER-02). It has no side effects, may be
// called again, may be called before init and after deinit, and gives the same pointer for the same range
// (ABI-SYM-02).
//
// host     [borrowed-for-call] who asks; services must not be called from here.
// returns  [static] the table.
// threads  [any]   since 1.0
typedef const etb_plugin_table*(ETB_CALL* etb_plugin_query_fn)(const etb_host* host, uint32_t abi_min,
                                                               uint32_t abi_max);

#define ETB_PLUGIN_QUERY_SYMBOL "etb_plugin_query"

// The name to define: etb_plugin_query in a shared library; etb_plugin_query_<name> when the build sets
// ETB_PLUGIN_STATIC_NAME to link the plugin into the program (static_plugins.h).
#ifdef ETB_PLUGIN_STATIC_NAME
#define ETB_PASTE_(a, b) a##b
#define ETB_PASTE(a, b) ETB_PASTE_(a, b)
#define ETB_PLUGIN_QUERY ETB_PASTE(etb_plugin_query_, ETB_PLUGIN_STATIC_NAME)
#else
#define ETB_PLUGIN_QUERY etb_plugin_query
#endif

ETB_EXPORT const etb_plugin_table* ETB_CALL ETB_PLUGIN_QUERY(const etb_host* host, uint32_t abi_min,
                                                             uint32_t abi_max);

#ifdef __cplusplus
}
#endif

#endif
