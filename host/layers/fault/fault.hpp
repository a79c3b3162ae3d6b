// SPDX-License-Identifier: Apache-2.0
// The fault layer: makes a good plugin fail by rule, so that an application can test what it does then.
//
//   ETB_ASSIGN(auto rules, fault::parse_rules("out-of-memory,at=delegate.create,nth=2+seed=7"));
//   Faults faults(rules, [](const std::string& line) { std::cerr << line << '\n'; });
//   start_plugin(library, table, {.layers = {faults.layer()}, ...});
//
// The same seed and the same order of calls make the same faults. Without rules the layer changes nothing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/layers/fault/rules.hpp"
#include "host/layers/wrapping.hpp"

namespace etb::host {

namespace fault {
class DamagedData;
}

class Faults {
 public:
  // `print` receives a line for each fault, on the thread of its call, one at a time.
  using Print = std::function<void(const std::string& line)>;

  Faults(fault::Rules rules, Print print);
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
  ~Faults();

  // "fault"
  Layer layer() const noexcept;

  uint64_t seed() const noexcept { return rules_.seed; }
  uint64_t fault_count() const noexcept { return fault_count_; }

  // ---- for the layer's functions (wrapping.hpp)

  static constexpr const char *kName = "fault", *kServiceId = "etbackend.fault/1";

  // Objects that outlive a call: data that a plugin may read until its delegate ends.
  struct Data {
    std::shared_ptr<fault::DamagedData> damaged;
    std::shared_ptr<std::atomic<bool>> is_lost;  // of a plugin: its device is lost
  };
  ObjectNumbers& numbers() noexcept { return numbers_; }

  template <class Call, class Run>
  etb_status on_call(WrappedObject<Faults>& object, Call& call, etb_error* error, Run&& run);
  template <class Call, class Run>
  etb_status on_end(WrappedObject<Faults>& object, Call& call, etb_error* error, Run&& run);
  template <class Call, class Run>
  etb_status on_make(WrappedObject<Faults>* object, Call& call, MadeObject<Faults>& made, etb_error* error,
                     Run&& run);

 private:
  // A fault that is to happen in a call: the rule, and random numbers for it.
  struct Planted {
    const fault::Rule* rule;
    uint64_t random;
  };

  // Returns the faults of one call, and counts it.
  std::vector<Planted> plan(Function function);
  void note(Function function, const WrappedObject<Faults>* object, const fault::Rule& rule,
            const std::string& what);
  // Waits, or returns the status of a fault that prevents the call; ETB_OK to go on.
  etb_status before(Function function, const WrappedObject<Faults>* object,
                    const std::vector<Planted>& faults, etb_error* error);
  void damage_outputs(const etb_exec_args& args, const WrappedObject<Faults>& object,
                      const std::vector<Planted>& faults);

  fault::Rules rules_;
  std::vector<std::atomic<uint64_t>> counts_;  // calls of the functions of each rule
  Print print_;
  std::mutex mutex_;
  std::atomic<uint64_t> fault_count_{0};
  ObjectNumbers numbers_;
  LayerService service_;
};

}  // namespace etb::host
