// SPDX-License-Identifier: Apache-2.0
// Times of the steps of a compilation.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace etb::tools {

// Records the milliseconds of each step, in order.
class StepTimes {
 public:
  void lap(std::string step) {
    const auto now = std::chrono::steady_clock::now();
    laps_.emplace_back(std::move(step), std::chrono::duration<double, std::milli>(now - last_).count());
    last_ = now;
  }
  void print(std::ostream& out) const {
    for (const auto& [step, ms] : laps_) out << fmt::format("{:>10.2f} ms  {}\n", ms, step);
  }
  const std::vector<std::pair<std::string, double>>& laps() const { return laps_; }
  // A step that runs several times is several rows.
  nlohmann::ordered_json to_json() const {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& [step, ms] : laps_) rows.push_back({{"step", step}, {"ms", ms}});
    return rows;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> laps_;
};

}  // namespace etb::tools
