// SPDX-License-Identifier: Apache-2.0
// A plugin with one defect at a time: the build defines ETB_BROKEN_<WAY>. Without a definition it is a
// correct plugin with one device that runs nothing. The table in broken_plugins_test.cpp has the registry's
// expected answer to each defect.
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "etb/plugin.h"

#if defined(ETB_BROKEN_WRONG_MAJOR)
#define BROKEN_ABI_MIN ETB_ABI_MAKE(2, 0)
#define BROKEN_ABI_MAX ETB_ABI_MAKE(2, 0)
#elif defined(ETB_BROKEN_ONLY_FUTURE_MINOR)
#define BROKEN_ABI_MIN ETB_ABI_MAKE(1, 900)
#define BROKEN_ABI_MAX ETB_ABI_MAKE(1, 900)
#elif defined(ETB_BROKEN_FUTURE_MINOR)
#define BROKEN_ABI_MIN ETB_ABI_MAKE(1, 0)
#define BROKEN_ABI_MAX ETB_ABI_MAKE(1, 900)
#else
#define BROKEN_ABI_MIN ETB_ABI_MAKE(1, 0)
#define BROKEN_ABI_MAX ETB_ABI_MAKE(1, 0)
#endif

namespace {

constexpr etb_plugin_ident make_ident() {
  etb_plugin_ident ident = {ETB_INIT_SIZE(etb_plugin_ident),
                            0,
                            BROKEN_ABI_MIN,
                            BROKEN_ABI_MAX,
                            ETB_PROFILE_RUNTIME,
                            ETB_SANITIZERS_BUILT,
                            ETB_ABI_RELEASE_CANDIDATE,
                            0,
                            "com.example.broken",
                            "Example",
                            "1.2.3",
                            "build-1"};
#if defined(ETB_BROKEN_UNLOADABLE)
  ident.flags = ETB_PLUGIN_UNLOADABLE;
#elif defined(ETB_BROKEN_UNKNOWN_FLAG)
  ident.flags = 0x80000000u;
#elif defined(ETB_BROKEN_RESERVED_SET)
  ident.reserved = 1;
#elif defined(ETB_BROKEN_OTHER_CANDIDATE)
  ident.abi_candidate = ETB_ABI_RELEASE_CANDIDATE + 1;
#elif defined(ETB_BROKEN_NO_PROFILE)
  ident.profiles = 0;
#elif defined(ETB_BROKEN_OTHER_SANITIZER)
  ident.sanitizers = ETB_SANITIZER_MEMORY;
#elif defined(ETB_BROKEN_ID_NOT_ENDED)
  for (char& c : ident.id) c = 'a';
#elif defined(ETB_BROKEN_ID_UPPER_CASE)
  ident.id[0] = 'C';
#elif defined(ETB_BROKEN_IDENT_TOO_SMALL)
  ident.struct_size = 64;
#elif defined(ETB_BROKEN_IDENT_ABSURD)
  ident.struct_size = 0x7fffffff;
#endif
  return ident;
}

#if !defined(ETB_BROKEN_NO_NOTE)
[[maybe_unused]] const etb_plugin_note note ETB_IN_NOTE_SECTION = {
    sizeof(ETB_NOTE_NAME), sizeof(etb_plugin_ident), ETB_NOTE_TYPE_IDENT, ETB_NOTE_NAME, make_ident()};
#endif
#if defined(ETB_BROKEN_TWO_NOTES)
[[maybe_unused]] const etb_plugin_note second_note ETB_IN_NOTE_SECTION = {
    sizeof(ETB_NOTE_NAME), sizeof(etb_plugin_ident), ETB_NOTE_TYPE_IDENT, ETB_NOTE_NAME, make_ident()};
#endif

// Returns the identity that query reports; equal to the note in a correct plugin.
etb_plugin_ident make_shown_ident() {
  etb_plugin_ident ident = make_ident();
#if defined(ETB_BROKEN_LIES_ABOUT_ID)
  std::strcpy(ident.id, "com.example.other");
#elif defined(ETB_BROKEN_LIES_ABOUT_VERSION)
  std::strcpy(ident.version, "9.9.9");
#elif defined(ETB_BROKEN_LIES_ABOUT_ABI)
  ident.abi_max = ETB_ABI_MAKE(1, 7);
#elif defined(ETB_BROKEN_LIES_ABOUT_FLAGS)
  ident.flags = ETB_PLUGIN_OWN_THREADS;
#endif
  return ident;
}

#if defined(ETB_BROKEN_SPARE_ROOM)
// Memory for a dynamic section that a test writes. Its first bytes mark it in the file.
__attribute__((used, aligned(16))) char spare_room[1 << 17] = "etb spare room";
#endif

char plugin_object, device_object, delegate_object, context_object;

etb_status ETB_CALL init(const etb_host*, const etb_option*, uint64_t, etb_plugin** out, etb_error* error) {
#if defined(ETB_BROKEN_CRASHES_IN_INIT)
  raise(SIGSEGV);
#elif defined(ETB_BROKEN_HANGS_IN_INIT)
  for (;;) pause();
#elif defined(ETB_BROKEN_EXITS_IN_INIT)
  exit(0);
#elif defined(ETB_BROKEN_INIT_FAILS)
  if (error != nullptr) {
    error->code = ETB_UNAVAILABLE;
    std::strcpy(error->text, "no driver\x1b[31m");
  }
  return ETB_UNAVAILABLE;
#elif defined(ETB_BROKEN_INIT_GIVES_NOTHING)
  return ETB_OK;
#endif
  (void)error;
  *out = reinterpret_cast<etb_plugin*>(&plugin_object);
  return ETB_OK;
}

etb_status ETB_CALL deinit(etb_plugin*, etb_error*) {
#if defined(ETB_BROKEN_CRASHES_IN_DEINIT)
  raise(SIGABRT);
#endif
  return ETB_OK;
}

etb_status ETB_CALL enumerate(etb_plugin*, const etb_device_sink* sink, etb_error*) {
#if defined(ETB_BROKEN_CRASHES_IN_ENUMERATE)
  raise(SIGSEGV);
#endif
#if defined(ETB_BROKEN_NO_DEVICE)
  (void)sink;
  return ETB_OK;
#endif
  etb_device_info info = {};
  info.struct_size = sizeof(info);
  info.uuid[0] = 7;
  info.memory_total_bytes = 1024;
  info.memory_free_bytes = 512;
  info.kind = "npu";
  info.name = "Broken One";
  info.driver_version = "1.0";
#if defined(ETB_BROKEN_HOSTILE_DEVICE_NAME)
  info.name = "\x1b]0;owned\x07";
#endif
  return sink->put(sink->ctx, &info);
}

etb_status ETB_CALL open_device(etb_plugin*, const uint8_t*, const etb_option*, uint64_t, etb_device** out,
                                etb_error* error) {
#if defined(ETB_BROKEN_NO_DEVICE)
  if (error != nullptr) {
    error->code = ETB_UNAVAILABLE;
    std::strcpy(error->text, "no driver\x1b[31m\nhint: install one");
  }
  return ETB_UNAVAILABLE;
#endif
  (void)error;
  *out = reinterpret_cast<etb_device*>(&device_object);
  return ETB_OK;
}
etb_status ETB_CALL close_device(etb_device*, etb_error*) { return ETB_OK; }
etb_status ETB_CALL query_device(etb_device*, const etb_device_sink*, etb_error*) { return ETB_OK; }

etb_status ETB_CALL check_payload(etb_plugin*, const etb_payload_check*, etb_verdict* verdict, etb_error*) {
  verdict->kind = ETB_VERDICT_OPTIMAL;
  return ETB_OK;
}
etb_status ETB_CALL create(etb_plugin*, const etb_delegate_args*, etb_delegate** out, etb_error*) {
  *out = reinterpret_cast<etb_delegate*>(&delegate_object);
  return ETB_OK;
}
etb_status ETB_CALL destroy(etb_delegate*, etb_error*) { return ETB_OK; }
#if defined(ETB_BROKEN_ABORTS_IN_EXECUTE) || defined(ETB_BROKEN_KEEPS_POINTERS)
// One input and one output, so that a program can run them.
etb_status ETB_CALL query_delegate(etb_delegate*, etb_delegate_info* info, etb_error*) {
  info->input_count = info->output_count = info->max_contexts = 1;
  return ETB_OK;
}
etb_status ETB_CALL query_io(etb_delegate*, const etb_io_req_sink* sink, etb_error*) {
  constexpr uint32_t kRoles[] = {ETB_ROLE_INPUT, ETB_ROLE_OUTPUT};
  for (const uint32_t role : kRoles) {
    etb_io_req req = {};
    req.struct_size = sizeof(req);
    req.role = role;
    if (const etb_status status = sink->put(sink->ctx, &req); status != ETB_OK) return status;
  }
  return ETB_OK;
}
#else
etb_status ETB_CALL query_delegate(etb_delegate*, etb_delegate_info*, etb_error*) { return ETB_OK; }
etb_status ETB_CALL query_io(etb_delegate*, const etb_io_req_sink*, etb_error*) { return ETB_OK; }
#endif
etb_status ETB_CALL context_create(etb_delegate*, const etb_option*, uint64_t, etb_context** out,
                                   etb_error*) {
  *out = reinterpret_cast<etb_context*>(&context_object);
  return ETB_OK;
}
etb_status ETB_CALL context_destroy(etb_context*, etb_error*) { return ETB_OK; }
#if defined(ETB_BROKEN_ABORTS_IN_EXECUTE)
etb_status ETB_CALL execute(etb_context*, const etb_exec_args*, etb_error*) { std::abort(); }
#elif defined(ETB_BROKEN_KEEPS_POINTERS)
// Reads the input of the run before.
etb_status ETB_CALL execute(etb_context*, const etb_exec_args* args, etb_error*) {
  static const volatile char* kept = nullptr;
  if (kept != nullptr) (void)*kept;
  kept = static_cast<const volatile char*>(args->inputs[0].data);
  return ETB_OK;
}
#else
etb_status ETB_CALL execute(etb_context*, const etb_exec_args*, etb_error*) { return ETB_OK; }
#endif

// Tables followed by free space, as in a later minor version.
template <class Table>
struct Longer {
  Table table;
  void* later[8];
};

struct Tables {
  etb_plugin_ident ident;
  Longer<etb_plugin_table> plugin;
  Longer<etb_device_table> device;
  Longer<etb_delegate_table> delegate;
};

void fill(Tables& out) {
  out = {};
  out.ident = make_shown_ident();
  etb_device_table& device = out.device.table;
  device.struct_size = sizeof(device);
  device.enumerate = enumerate;
  device.open = open_device;
  device.close = close_device;
  device.query = query_device;
  etb_delegate_table& delegate = out.delegate.table;
  delegate.struct_size = sizeof(delegate);
  delegate.check_payload = check_payload;
  delegate.create = create;
  delegate.destroy = destroy;
  delegate.query = query_delegate;
  delegate.query_io = query_io;
  delegate.context_create = context_create;
  delegate.context_destroy = context_destroy;
  delegate.execute = execute;
  etb_plugin_table& plugin = out.plugin.table;
  plugin.struct_size = sizeof(plugin);
  plugin.abi_version = ETB_ABI_MAKE(1, 0);
  plugin.ident = &out.ident;
  plugin.init = init;
  plugin.deinit = deinit;
  plugin.device = &device;
  plugin.delegate = &delegate;
#if defined(ETB_BROKEN_FUTURE_MINOR)
  plugin.struct_size = sizeof(out.plugin);
  device.struct_size = sizeof(out.device);
  delegate.struct_size = sizeof(out.delegate);
  plugin.caps = 0x40000000u;  // a function that this host does not know
#elif defined(ETB_BROKEN_TABLE_TOO_SMALL)
  plugin.struct_size = ETB_SIZE_THROUGH(etb_plugin_table, init);
#elif defined(ETB_BROKEN_DELEGATE_TABLE_TOO_SMALL)
  delegate.struct_size = ETB_SIZE_THROUGH(etb_delegate_table, create);
#elif defined(ETB_BROKEN_TABLE_ABSURD)
  plugin.struct_size = 0xffffffffu;
#elif defined(ETB_BROKEN_TABLE_FLAGS)
  plugin.flags = 2;
#elif defined(ETB_BROKEN_ABI_OUT_OF_RANGE)
  plugin.abi_version = ETB_ABI_MAKE(3, 0);
#elif defined(ETB_BROKEN_NO_EXECUTE)
  delegate.execute = nullptr;
#elif defined(ETB_BROKEN_NO_INIT)
  plugin.init = nullptr;
#elif defined(ETB_BROKEN_NO_DELEGATE_TABLE)
  plugin.delegate = nullptr;
#elif defined(ETB_BROKEN_CAP_WITHOUT_FUNCTION)
  delegate.caps = ETB_DELEGATE_CAP_CANCEL;
#elif defined(ETB_BROKEN_NULL_IDENT)
  plugin.ident = nullptr;
#endif
}

[[maybe_unused]] __attribute__((constructor)) void at_load() {
#if defined(ETB_BROKEN_CRASHES_AT_LOAD)
  raise(SIGSEGV);
#elif defined(ETB_BROKEN_HANGS_AT_LOAD)
  for (;;) pause();
#elif defined(ETB_BROKEN_EXITS_AT_LOAD)
  exit(0);
#endif
}

}  // namespace

#if defined(ETB_BROKEN_UNDEFINED_SYMBOL)
extern "C" int etb_nobody_defines_this();
#endif
#if defined(ETB_BROKEN_WITH_BUNDLE)
extern "C" int etb_bundled_answer(void);
#ifndef ETB_BROKEN_BUNDLED_ANSWER
#define ETB_BROKEN_BUNDLED_ANSWER 42
#endif
#endif
#if defined(ETB_BROKEN_EXTRA_SYMBOL)
extern "C" ETB_EXPORT int etb_one_symbol_too_many() { return 1; }
#endif

#if defined(ETB_BROKEN_NO_SYMBOL)
extern "C" ETB_EXPORT const etb_plugin_table* etb_plugin_qwery(const etb_host*, uint32_t, uint32_t) {
  return nullptr;
}
[[maybe_unused]] static void use() { (void)fill; }
#else
extern "C" const etb_plugin_table* ETB_CALL etb_plugin_query(const etb_host*, uint32_t abi_min,
                                                             uint32_t abi_max) {
  static Tables tables;
#if defined(ETB_BROKEN_THROWS)
  throw 1;
#elif defined(ETB_BROKEN_NULL_TABLE)
  return nullptr;
#elif defined(ETB_BROKEN_CRASHES_IN_QUERY)
  raise(SIGSEGV);
#elif defined(ETB_BROKEN_EXITS_IN_QUERY)
  _exit(3);
#elif defined(ETB_BROKEN_WITH_BUNDLE)
  if (etb_bundled_answer() != ETB_BROKEN_BUNDLED_ANSWER) return nullptr;
#elif defined(ETB_BROKEN_UNDEFINED_SYMBOL)
  if (abi_min == 0) etb_nobody_defines_this();
#endif
  if (abi_max < BROKEN_ABI_MIN || abi_min > BROKEN_ABI_MAX) return nullptr;
  fill(tables);
  return &tables.plugin.table;
}
#endif
