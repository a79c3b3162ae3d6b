// SPDX-License-Identifier: Apache-2.0
#include "host/layers/trace/trace.hpp"

#include <fmt/format.h>

#include <utility>

#include "etb/cpp/result.hpp"
#include "host/services/clock.hpp"

namespace etb::host {
namespace {

std::string format_duration(uint64_t ns) {
  if (ns < 10'000) return fmt::format("{} ns", ns);
  if (ns < 10'000'000) return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
  return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
}

std::string format_answer(const TracedCall& call) {
  if (call.status == ETB_OK)
    return call.made_kind != nullptr ? fmt::format("{} {}", call.made_kind, call.made_number) : "ok";
  const char* const status = to_text(static_cast<Code>(call.status));
  return call.error_text[0] == '\0' ? status : fmt::format("{}: {}", status, call.error_text);
}

}  // namespace

std::string format_traced_call(const TracedCall& call) {
  std::string object =
      call.object_kind[0] == '\0' ? "" : fmt::format("{} {}", call.object_kind, call.object_number);
  if (call.run_id != 0) object += fmt::format(", run {}", call.run_id);
  return fmt::format("{}({}) = {}, {}", call.function, object, format_answer(call),
                     format_duration(call.duration_ns));
}

Trace::Trace(Write write) : write_(std::move(write)), service_{sizeof(LayerService), 0, this} {}

Layer Trace::layer() const noexcept { return {kName, &Wrapping<Trace>::table(), kServiceId, &service_}; }

uint64_t Trace::now() noexcept { return now_ns(); }

void Trace::write(const TracedCall& call) {
  const std::lock_guard lock(mutex_);
  write_(call);
}

}  // namespace etb::host
