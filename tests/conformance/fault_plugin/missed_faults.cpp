// SPDX-License-Identifier: Apache-2.0
// Faults 610, 612, 616 and 617 of the tables: short prefixes, the environment, ticks and small targets. The benign variant 7
// reads the environment, and calls a compiler that uses it.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables honest;  // before they are changed

// Reads a header of 32 bytes, however long the prefix is.
void break_prefixes(etb_delegate_table& table) {
  if (!has_fault(610)) return;
  table.check_payload = [](etb_plugin* plugin, const etb_payload_check* check, etb_verdict* verdict,
                           etb_error* error) {
    constexpr size_t kHeaderBytes = 32;
    if (check->prefix.data != nullptr)
      (void)static_cast<const volatile std::byte*>(check->prefix.data)[kHeaderBytes - 1];
    return honest.delegate.check_payload(plugin, check, verdict, error);
  };
}

// Looks for a variable of its own in all of the environment. The benign variant reads it where the host allows that.
void break_environment(etb_plugin_table& table) {
  if (kVariant == 7)
    table.init = [](const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                    etb_error* error) {
      if ((host->flags & ETB_HOST_SECURE) == 0 && std::getenv("FAULTY_DEBUG") != nullptr)
        (void)!::write(STDERR_FILENO, "debug\n", 6);
      return honest.plugin.init(host, options, count, out, error);
    };
  if (!has_fault(612)) return;
  table.init = [](const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                  etb_error* error) {
    for (char** each = environ; each != nullptr && *each != nullptr; ++each)
      if (std::strncmp(*each, "FAULTY_DEBUG=", 13) == 0) (void)!::write(STDERR_FILENO, "debug\n", 6);
    return honest.plugin.init(host, options, count, out, error);
  };
}

// Sets variables, as some compilers of drivers do, and takes them back. False if `environ` does not show them.
bool use_environment() {
  constexpr int kVariables = 64;  // so many that setenv moves the array of all variables
  const auto name_of = [](int i) { return "FAULTY_COMPILER_" + std::to_string(i); };
  int found = 0;
  for (int i = 0; i < kVariables; ++i) ::setenv(name_of(i).c_str(), "1", 1);
  for (char** each = environ; each != nullptr && *each != nullptr; ++each)
    found += std::strncmp(*each, "FAULTY_COMPILER_", 16) == 0 ? 1 : 0;
  for (int i = 0; i < kVariables; ++i) ::unsetenv(name_of(i).c_str());
  return found == kVariables;
}

void compile_with_environment(etb_aot_table& table) {
  if (kVariant != 7) return;
  table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
    // Threads that compile at once could read the environment while it changes.
    const bool is_first_thread = ::gettid() == ::getpid();
    if (is_first_thread && !use_environment())
      return etb::fail(error, ETB_INTERNAL, "environ has no variable that was set");
    return honest.aot.compile(plugin, args, error);
  };
}

// Events on a clock of the plugin's own, one tick in 64 nanoseconds, that state one in a nanosecond.
void break_ticks(etb_delegate_table& table) {
  if (!has_fault(616)) return;
  table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    if (args->events == nullptr) return honest.delegate.execute(context, args, error);
    etb_event_sink slow = *args->events;
    slow.ctx = const_cast<etb_event_sink*>(args->events);
    slow.put = [](void* ctx, const etb_event* event) {
      const auto& real = *static_cast<const etb_event_sink*>(ctx);
      etb_event with = *event;
      with.timebase = "com.example.faulty.ticks";
      with.begin_ticks /= 64;
      with.end_ticks /= 64;
      return real.put(real.ctx, &with);
    };
    etb_exec_args with = *args;
    with.events = &slow;
    return honest.delegate.execute(context, &with, error);
  };
}

// dry_check looks at the memory of the target, as compile does. Claims do not.
void break_dry_check(etb_aot_table& table) {
  if (!has_fault(617)) return;
  table.dry_check = [](etb_plugin* plugin, const etb_partition_args* args, etb_error* error) {
    const etb_status status = honest.aot.dry_check(plugin, args, error);
    int64_t kib = kDeviceKib;
    for (uint64_t i = 0; args->target != nullptr && i < args->target->attribute_count; ++i)
      if (const etb_option& each = *ETB_AT(etb_option, args->target->attributes, i);
          std::strcmp(each.key, "memory_kib") == 0)
        kib = each.i64;
    const auto view = etb::detail::open_graph(args->graph);
    for (uint32_t i = 0; status == ETB_OK && view && i < view->method().value_count(); ++i) {
      const etb_graph_spec spec = view->method().value(i).spec();
      uint64_t nbytes = nbytes_of(static_cast<etb_dtype>(spec.dtype));
      for (uint32_t d = 0; d < spec.rank; ++d) nbytes *= static_cast<uint64_t>(spec.sizes[d]);
      if (nbytes > static_cast<uint64_t>(kib) * 1024)
        return etb::fail(error, ETB_OUT_OF_RESOURCES, "a value is larger than the device's memory");
    }
    return status;
  };
}

}  // namespace

void break_missed(Tables& tables) {
  honest = tables;
  break_prefixes(tables.delegate);
  break_environment(tables.plugin);
  break_ticks(tables.delegate);
  break_dry_check(tables.aot);
  compile_with_environment(tables.aot);
}

}  // namespace faulty
