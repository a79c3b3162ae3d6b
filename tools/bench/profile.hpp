// SPDX-License-Identifier: Apache-2.0
// Profile: adds up the time of each operator and delegate of a method over several runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "host/runtime/event_tracer.hpp"
#include "tools/bench/results.hpp"

namespace etb::bench {

class Profile final : public host::EventTracer {
 public:
  Profile();

  void on_event(const host::Event& event) noexcept override;
  const etb_event_sink* delegate_events(int32_t chain_index, int32_t instruction_index) noexcept override;

  // Sets all sums to zero after warm-up runs. The memory of the entries stays.
  void clear() noexcept;

  // Operators by name and delegates by instruction, longest first. An event that a plugin reports follows its
  // delegate, and its time is part of the delegate's. The last row is the rest of the run: the runtime itself.
  std::vector<ProfileRow> rows() const;

 private:
  struct Entry {
    std::string name;
    host::EventKind kind = host::EventKind::kKernel;
    uint64_t ns = 0;
    uint64_t calls = 0;
    std::map<std::string, std::pair<uint64_t, uint64_t>> events;  // of a plugin: calls and ns by name
  };
  using Key = std::tuple<int32_t, int32_t, host::EventKind>;  // chain, instruction

  static etb_status ETB_CALL put(void* self, const etb_event* event) noexcept;

  std::map<Key, Entry> entries_;
  Key delegate_{};  // that runs now
  etb_event_sink sink_{};
  uint64_t runs_ = 0;
  uint64_t total_ns_ = 0;
};

}  // namespace etb::bench
