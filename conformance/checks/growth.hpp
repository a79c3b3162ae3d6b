// SPDX-License-Identifier: Apache-2.0
// Finds slow leaks: one object in a hundred repetitions. It repeats an action in windows of equal length and
// compares the smallest value of each window. A leak raises it in every window; a cache stops at some time, and
// memory that is only in use for a while comes and goes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

struct GrowthLimits {
  double budget_ms =
      1500;  // time of all repetitions of an action that grows nothing; a suspicion may take as much again
  int window = 120;                           // repetitions of a window, if the time allows them
  bool has_octaves = false;                   // repeats further, to find tables that grow rarely, by doubling
  std::string_view account = {};              // compares only this one: "threads"; by default all
  std::function<size_t()> device_bytes = {};  // memory of a device in use, the account "device bytes"
};

// Calls `body(i)` with i from 0 to count - 1, over and over. Returns the account that grows, as text for a
// finding: "heap bytes: 48.0 more for each delegate", or "". `what` names one call of `body`.
// The action must use equal resources each time it is called with the same i. On a slow device fewer of the
// `count` are used.
std::string find_growth(size_t count, const std::function<void(size_t)>& body, const char* what,
                        const GrowthLimits& limits = {});

// Adds the account that grows as a finding.
void expect_no_growth(CheckContext& context, size_t count, const std::function<void(size_t)>& body,
                      const char* what, const GrowthLimits& limits = {});

}  // namespace etb::conformance
