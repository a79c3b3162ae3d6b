// SPDX-License-Identifier: Apache-2.0
// ver: hosts of other versions.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

void rejects_other_majors(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const etb_plugin_query_fn query = subject->library().query_function();
  for (const auto& [low, high] :
       {std::pair{ETB_ABI_MAKE(2, 0), ETB_ABI_MAKE(2, 9)}, std::pair{ETB_ABI_MAKE(0, 1), ETB_ABI_MAKE(0, 9)},
        std::pair{ETB_ABI_MAKE(77, 0), ETB_ABI_MAKE(78, 0)}})
    if (query(&subject->library().host(), low, high) != nullptr)
      context.fail(fmt::format("query returns a table for major {}", low >> 16));
}

void accepts_newer_minors(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  etb_host newer = subject->library().host();
  newer.abi_version = ETB_ABI_MAKE(1, 900);
  const etb_plugin_table* const table =
      subject->library().query_function()(&newer, ETB_ABI_MAKE(1, 0), ETB_ABI_MAKE(1, 900));
  if (table == nullptr)
    return context.fail("query returns no table to a host of minor 900 that also supports 1.0");
  if (table->abi_version < ETB_ABI_MAKE(1, 0) || table->abi_version > ETB_ABI_MAKE(1, 900))
    return context.fail("the version of the table is outside the requested range");
  // It is the newest one that the plugin has.
  const uint32_t newest = table->abi_version;
  if (subject->library().query_function()(&newer, newest + 1, ETB_ABI_MAKE(1, 900)) != nullptr)
    context.fail(fmt::format("query returns a table to a host that needs minor {} or later, the newest is {}",
                             (newest & 0xffff) + 1, newest & 0xffff));
}

void unknown_extension_is_null(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const etb_plugin_table& table = subject->library().table();
  if (table.get_extension == nullptr) return context.skip("the plugin has no extensions");
  for (const char* id : {"org.example.nobody-has-this/1", "", "etb.future/99"})
    if (table.get_extension(subject->handle(), ETB_OBJECT_PLUGIN, subject->handle(), id) != nullptr)
      context.fail(
          fmt::format("get_extension returns a table for the unknown extension '{}', expected NULL", id));
}

// A struct of the host with a canary after its declared size.
template <class Struct>
struct WithCanary {
  Struct value{};
  uint8_t canary[64];
  WithCanary() {
    value.struct_size = sizeof(Struct);
    std::memset(canary, 0xc5, sizeof(canary));
  }
  bool is_intact() const {
    for (const uint8_t byte : canary)
      if (byte != 0xc5) return false;
    return true;
  }
};

void writes_no_further_than_asked(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    WithCanary<etb_delegate_info> info;
    WithCanary<etb_error> error;
    (void)ready.subject.table().delegate->query(ready.session.delegate(), &info.value, &error.value);
    WithCanary<etb_verdict> verdict;
    etb_payload_check check{};
    check.struct_size = sizeof(check);
    check.backend_id = ready.subject.backend_id().c_str();
    check.prefix = {ready.item.payload.bytes.data(),
                    std::min<uint64_t>(ready.item.payload.bytes.size(), 4096)};
    check.payload_nbytes = ready.item.payload.bytes.size();
    (void)ready.subject.table().delegate->check_payload(ready.subject.handle(), &check, &verdict.value,
                                                        &error.value);
    if (!info.is_intact()) context.fail("query wrote beyond the struct_size of etb_delegate_info");
    if (!verdict.is_intact()) context.fail("check_payload wrote beyond the struct_size of etb_verdict");
    if (!error.is_intact()) context.fail("a call wrote beyond the struct_size of etb_error");
  });
}

// A newer host has longer structs. The plugin must not touch the tail.
void ignores_longer_structs(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    WithCanary<etb_delegate_info> info;
    info.value.struct_size = sizeof(info);
    etb_error error = ETB_ERROR_INIT;
    if (ready.subject.table().delegate->query(ready.session.delegate(), &info.value, &error) != ETB_OK)
      return context.fail(std::string("query rejects a longer etb_delegate_info: ") + error.text);
    if (info.value.input_count != ready.session.info().input_count)
      context.fail("query writes other values to a longer struct");
  });
}

// As above, for everything that init, create, execute, reserve, partition and compile receive.
void longer_arguments(CheckContext& context) {
  SubjectOptions options = bare();
  options.has_longer_structs = true;
  context.each_session(options, 8, [&](ReadyCase& ready) {
    const RunResult result = ready.run();
    if (result.status != ETB_OK)
      return context.fail(ready.name() + ": with longer structs execute fails: " + result.error.text);
    if (!context.is_right(ready.item, result))
      context.fail(ready.name() + ": with longer structs the result is wrong");
  });
  if (context.outcome().state != State::kUnsupported) return;
  // Nothing is claimed. Then it is claimed without longer structs neither, or the plugin does not read them.
  const auto subject = context.open(bare());
  if (subject && !context.find_claimed(*subject).empty())
    context.fail("claims nothing, or compiles nothing, of a host with longer structs");
}

// A struct that is too small for version 1.0 must be rejected, or filled up to its size.
void smaller_struct_is_not_overrun(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    for (const uint32_t size : {uint32_t{8}, uint32_t{16}, uint32_t{sizeof(etb_delegate_info) - 8}}) {
      alignas(8) uint8_t room[sizeof(etb_delegate_info)];
      std::memset(room, 0xc5, sizeof(room));
      const uint32_t head[2] = {size, 0};
      std::memcpy(room, head, sizeof(head));
      etb_error error = ETB_ERROR_INIT;
      auto* const info = reinterpret_cast<etb_delegate_info*>(room);
      (void)ready.subject.table().delegate->query(ready.session.delegate(), info, &error);
      for (size_t at = size; at < sizeof(room); ++at)
        if (room[at] != 0xc5)
          return context.fail(
              fmt::format("query wrote byte {} of an etb_delegate_info of {} bytes", at, size));
    }
  });
}

// A host without services.
void works_without_services(CheckContext& context) {
  etb_host host{};
  host.struct_size = sizeof(host);
  host.abi_version = ETB_ABI_VERSION;
  host.name = "bare";
  host.version = "1.0.0";
  host.plugin_dir = "";
  host.get_service = [](const etb_host*, const char*) -> const void* { return nullptr; };
  context.each_session({.bare_host = &host}, 4, [&](ReadyCase& ready) {
    etb_event_sink sink{};
    sink.struct_size = sizeof(sink);
    sink.put = [](void*, const etb_event*) { return etb_status{ETB_OK}; };
    for (const etb_event_sink* const events :
         {static_cast<const etb_event_sink*>(nullptr), &std::as_const(sink)}) {
      context.progress().at(events != nullptr ? "a run with events, without services"
                                              : "a run without services");
      if (const RunResult result = ready.run({.events = events}); result.status != ETB_OK)
        context.fail(ready.name() + ": without services execute fails: " + result.error.text);
    }
  });
}

constexpr Check kChecks[] = {
    {"ver.rejects-other-majors", "Query returns NULL for majors that the plugin does not support.",
     "ABI-VER-02", rejects_other_majors},
    {"ver.accepts-newer-minors",
     "A host of a later minor version receives a table of a version that both support.", "ABI-VER-03",
     accepts_newer_minors},
    {"ver.unknown-extension-is-null", "An unknown extension id returns NULL.", "ABI-EXT-01",
     unknown_extension_is_null},
    {"ver.writes-no-further-than-asked", "No result is written beyond the struct_size that the host set.",
     "ABI-SIZE-03", writes_no_further_than_asked},
    {"ver.smaller-struct-is-not-overrun",
     "A struct smaller than version 1.0 is rejected, or filled up to its size.", "ABI-SIZE-03",
     smaller_struct_is_not_overrun},
    {"ver.works-without-services", "The plugin works on a host without services.", "ABI-HOST-01",
     works_without_services},
    {"ver.longer-arguments",
     "All functions accept longer structs, longer elements of arrays, and several options.", "ABI-SIZE-04",
     longer_arguments},
    {"ver.ignores-longer-structs", "A longer struct of a newer host is accepted, and its tail ignored.",
     "ABI-SIZE-02", ignores_longer_structs},
};

}  // namespace

std::span<const Check> ver_checks() { return kChecks; }

}  // namespace etb::conformance
