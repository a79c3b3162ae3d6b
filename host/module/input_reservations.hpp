// SPDX-License-Identifier: Apache-2.0
// InputReservations: lets delegates plan for new sizes of a method's inputs before the run that has them.
#pragma once

#include <span>
#include <vector>

#include "host/runtime/method.hpp"

namespace etb::host {

// Covers delegates that are called once and whose inputs of dynamic sizes are all inputs of the method. Other delegates get sizes
// that only the run computes; they keep what they planned for the largest ones when the method was loaded.
class InputReservations {
 public:
  // Finds the delegates of a method that was loaded and has had no inputs. The method outlives the result.
  [[nodiscard]] static InputReservations make(Method& method);

  // Called after inputs were set. Calls each delegate for whose inputs the sizes are others than in its latest plan. Allocates
  // nothing itself. A plan that fails is no error: several inputs may have to change together, and a run has its own errors.
  void update() noexcept;

 private:
  struct Input {
    const EValue* value;
    std::vector<int64_t> planned_sizes;
  };
  struct Call {
    MethodDelegate* delegate;
    std::span<EValue* const> arguments;
    std::vector<Input> inputs;  // those of dynamic sizes
  };

  std::vector<Call> calls_;
};

}  // namespace etb::host
