// SPDX-License-Identifier: Apache-2.0
// Runs on several threads at the same time.
#pragma once

#include <chrono>
#include <vector>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

inline constexpr uint32_t kThreads = 4;

// Returns the inputs of thread t: the case's own elements, rotated by t, so that results differ between threads.
std::vector<TensorData> rotated(std::vector<TensorData> inputs, uint32_t t);

// Runs two delegates, each with several contexts, in a loop without pauses. Contexts of dynamic cases run with
// different sizes. Returns false if it made a finding. A delegate that cannot be created with `options` is no finding.
bool run_without_pauses(CheckContext& context, Subject& subject, const ClaimedCase& item,
                        std::chrono::milliseconds time, const std::vector<etb_option>& options = {});

}  // namespace etb::conformance
