// SPDX-License-Identifier: Apache-2.0
#include "host/bundle/bundled_inputs.hpp"

#include <cstring>

#include "host/module/core_error.hpp"

namespace etb::host {

BundledInputs::BundledInputs(const format::BundledCaseView& item) {
  for (uint32_t i = 0; i < item.input_count(); ++i) {
    const format::BundledValueView value = item.input(i);
    switch (value.kind()) {
      case format::BundledKind::kInt:
        values_.emplace_back(value.as_int());
        break;
      case format::BundledKind::kBool:
        values_.emplace_back(value.as_bool());
        break;
      case format::BundledKind::kDouble:
        values_.emplace_back(value.as_double());
        break;
      case format::BundledKind::kTensor: {
        const format::BundledTensor from = value.as_tensor();
        const std::vector<int64_t> sizes(from.sizes.begin(), from.sizes.end());
        OwnedTensor& made = tensors_.emplace_back(static_cast<Dtype>(from.dtype), sizes, from.dim_order);
        if (!from.data.empty()) std::memcpy(made.bytes().data(), from.data.data(), from.data.size());
        values_.push_back(made.value());
        break;
      }
    }
  }
}

Result<format::BundledCaseView> find_case(const format::BundledProgramView& bundle, std::string_view method,
                                          uint64_t index) {
  format::BundledCaseView item;
  ETB_TRY(checked([&](etb_error* error) { return bundle.find_case(method, index, &item, error); }));
  return item;
}

Result<BundledInputs> load_bundled_input(Module& module, const format::BundledProgramView& bundle,
                                         std::string_view method, uint64_t index) {
  ETB_ASSIGN(const format::BundledCaseView item, find_case(bundle, method, index));
  BundledInputs inputs(item);
  if (Status set = module.set_inputs(method, inputs.values()); !set)
    return tl::make_unexpected(with_context(std::move(set).error(), "test case " + std::to_string(index)));
  return inputs;
}

}  // namespace etb::host
