// SPDX-License-Identifier: Apache-2.0
// Values of a method that only its delegates use: they may stay in the memory of the delegates' devices.
#pragma once

#include "host/runtime/method.hpp"

namespace etb::host {

class KeptValues {
 public:
  // Asks the delegates of a loaded method to keep such values, each written by one delegate and read by later ones. Returns
  // how many they keep. Values stay in memory of the host in methods with jumps, and where a delegate is called twice.
  static uint32_t keep(Method& method);
  // Uses memory of the host again, for a run that records values.
  static void let_go(Method& method) noexcept;
};

}  // namespace etb::host
