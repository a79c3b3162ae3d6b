// SPDX-License-Identifier: Apache-2.0
// Inputs of a test case as values of a method.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "api/format/bundled_program_view.hpp"
#include "host/module/module.hpp"
#include "host/module/owned_tensor.hpp"

namespace etb::host {

// Owns the tensors of the inputs: the file is read only, and a program may write to inputs whose memory it borrows.
class BundledInputs {
 public:
  BundledInputs() = default;
  explicit BundledInputs(const format::BundledCaseView& item);
  std::span<const EValue> values() const noexcept { return values_; }

 private:
  std::vector<OwnedTensor> tensors_;
  std::vector<EValue> values_;
};

// Sets the inputs of test case `index` of the method. Keep what it returns until the method has run. NOT_FOUND: the
// bundle has no such case; INVALID_ARGUMENT: the program does not accept its inputs.
[[nodiscard]] Result<BundledInputs> load_bundled_input(Module& module,
                                                       const format::BundledProgramView& bundle,
                                                       std::string_view method, uint64_t index);

// find_case of the view, with its error as a Result.
[[nodiscard]] Result<format::BundledCaseView> find_case(const format::BundledProgramView& bundle,
                                                        std::string_view method, uint64_t index);

}  // namespace etb::host
