// A smaller case that fails in the same way: fewer nodes, smaller sizes, plainer attributes. Each candidate runs in a child of its own.
#pragma once

#include <atomic>
#include <optional>

#include "conformance/runner/plan.hpp"
#include "conformance/runner/small_case.hpp"

namespace etb::conformance {

struct Minimised {
  std::optional<SmallCase> found;  // empty: nothing smaller fails
  size_t replay_count = 0;
};
// `failure` is the outcome of plan.items[item], which fails alone.
Minimised minimise(const Plan& plan, uint32_t item, const Outcome& failure, const std::atomic<bool>& stop);

}  // namespace etb::conformance
