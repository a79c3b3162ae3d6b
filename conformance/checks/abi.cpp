// abi: the library file and the tables in it, as far as the loader has not refused them already.
#include <fmt/format.h>

#include "conformance/checks/groups.hpp"
#include "host/registry/byte_source.hpp"
#include "host/registry/elf_dynamic.hpp"

namespace etb::conformance {
namespace {

void loads(CheckContext& context) {
  const Result<std::shared_ptr<host::LoadedPlugin>> loaded =
      host::LoadedPlugin::load(context.spec().entry, context.spec().load_options);
  if (!loaded) context.fail(loaded.error().message);
}

void query_is_stable(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const etb_plugin_query_fn query = subject->library().query_function();
  const etb_host& host = subject->library().host();
  const auto* const first = query(&host, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  for (int i = 0; i < 100; ++i)
    if (query(&host, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION) != first)
      return context.fail("query gave another table the second time");
}

void tables_are_whole(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const etb_plugin_table& raw = subject->library().raw_table();
  if (raw.flags != 0) context.fail(fmt::format("plugin table: flags {:#x}, expected 0", raw.flags));
  if ((raw.caps & ~ETB_PLUGIN_CAPS_KNOWN) != 0 && raw.struct_size == sizeof(etb_plugin_table))
    context.fail(fmt::format("plugin table: unknown capability bits {:#x} without a larger table", raw.caps));
  const uint32_t profiles = raw.ident->profiles;
  if ((profiles & ETB_PROFILE_RUNTIME) == 0 && raw.delegate != nullptr)
    context.fail("a delegate table without ETB_PROFILE_RUNTIME");
  if ((profiles & ETB_PROFILE_AOT) == 0 && raw.aot != nullptr)
    context.fail("an aot table without ETB_PROFILE_AOT");
}

void devices_are_described(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  std::vector<std::string> first, second;
  const auto collect = [&](std::vector<std::string>& out) {
    return subject->context().each_device([&](const etb_device_info& info) {
      out.push_back(std::string(reinterpret_cast<const char*>(info.uuid), sizeof(info.uuid)) + info.kind +
                    info.name);
    });
  };
  const Status one = collect(first), two = collect(second);
  if (!one || !two) return context.fail("enumerate: " + (!one ? one : two).error().message);
  if (first != second) context.fail("enumerate gave other devices the second time");
  context.take_violations(*subject);
}

constexpr Check kChecks[] = {
    {"abi.loads", "The library loads, and what query shows agrees with note and manifest.", "ABI-LOAD-02",
     loads},
    {"abi.query-is-stable", "Query answers the same pointer for the same range, a hundred times.",
     "ABI-SYM-02", query_is_stable},
    {"abi.tables-are-whole", "Tables carry no unknown bits and only what the profiles promise.",
     "ABI-TYPE-02", tables_are_whole},
    {"abi.devices-are-described", "Devices are named completely, and the same at every enumeration.",
     "ABI-DEV-01", devices_are_described},
};

}  // namespace

std::span<const Check> abi_checks() { return kChecks; }

}  // namespace etb::conformance
