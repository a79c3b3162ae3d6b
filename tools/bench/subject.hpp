// SPDX-License-Identifier: Apache-2.0
// Subject: one variant, loaded and ready to run, in its own process.
#pragma once

#include <functional>
#include <memory>

#include "host/module/module.hpp"
#include "host/registry/registry.hpp"
#include "tools/bench/counters.hpp"
#include "tools/bench/results.hpp"
#include "tools/run/searched_delegates.hpp"

namespace etb::bench {

struct Setup {
  const Options& options;
  const Variant& variant;
  int descriptor = -1;  // of the program compiled from an archive; -1: opens variant.file
  host::RegistryOptions registry;
  bool secure = false;
};

class Subject {
 public:
  // Loads the program and its method, and runs it once. `tracer` may be null.
  [[nodiscard]] static Result<std::unique_ptr<Subject>> start(const Setup& setup, host::EventTracer* tracer);

  const Counters& counters() const { return counters_; }
  const Start& times() const { return times_; }
  const std::string& method() const { return method_; }
  const std::vector<std::string>& notes() const { return inputs_->notes(); }
  std::vector<DelegateUse> delegates() const;

  // Runs the method `count` times, after `settling` runs that are not measured. Simultaneous runs: as often
  // on each thread.
  [[nodiscard]] Result<Turn> run(uint32_t count, uint32_t settling);

 private:
  Subject(const Setup& setup, Counters counters);
  [[nodiscard]] Status load(const Setup& setup, host::EventTracer* tracer);
  [[nodiscard]] Status check_pin(const Variant& variant) const;
  [[nodiscard]] Result<double> run_once(host::Module& module) const;
  [[nodiscard]] Status run_turn(host::Module& module, uint32_t count, uint32_t settling,
                                std::vector<double>& wall_us, const std::function<void()>& begin) const;
  [[nodiscard]] Result<Turn> run_parallel(uint32_t count, uint32_t settling);

  const Options& options_;
  // Members in order of life. Counters include the threads that are started after them.
  Counters counters_;
  host::ThreadPool pool_;
  std::unique_ptr<tools::SearchedDelegates> delegates_;
  std::optional<host::Module> module_;
  std::vector<host::Module> others_;  // of simultaneous runs; they share the program
  std::optional<tools::MethodInputs> inputs_;
  std::string method_;
  Start times_;
};

}  // namespace etb::bench
