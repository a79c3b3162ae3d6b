// SPDX-License-Identifier: Apache-2.0
// SelectedRows: the rows of a kernel file that etb_add_runtime() selects. Each checks the dtypes of its tensors first, because the
// loops of other dtypes are not in the program. kHasOwnChecks: the kernels check the dtype of each tensor that they use.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "host/kernels/selection.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {

constexpr bool is_selected([[maybe_unused]] std::string_view op) noexcept {
#if defined(ETB_SELECTED_OPS)
  for (const std::string_view selected : {ETB_SELECTED_OPS})
    if (selected == op) return true;
  return false;
#else
  return true;
#endif
}

// Fails for the first tensor, also in a list, whose dtype is not selected.
etb_status check_selected_dtypes(KernelContext& context, const char* signature,
                                 std::span<EValue* const> arguments) noexcept;

template <const auto& kAll, bool kHasOwnChecks = false>
class SelectedRows {
  static constexpr size_t kCount = [] {
    size_t count = 0;
    for (const Kernel& kernel : kAll) count += is_selected(kernel.name) ? 1 : 0;
    return count;
  }();
  // One more entry, because an array of none is a special case.
  static constexpr auto kPlaces = [] {
    std::array<size_t, kCount + 1> places{};
    size_t count = 0;
    for (size_t i = 0; i < std::size(kAll); ++i)
      if (is_selected(kAll[i].name)) places[count++] = i;
    return places;
  }();

  template <size_t kPlace>
  static etb_status run(KernelContext& context, EValue** arguments) {
    const char* const signature = kAll[kPlace].signature;
    if (const etb_status status =
            check_selected_dtypes(context, signature, {arguments, count_arguments(signature)});
        status != ETB_OK)
      return status;
    return kAll[kPlace].function(context, arguments);
  }
  template <size_t kPlace>
  static constexpr Kernel checked_row() {
    Kernel row = kAll[kPlace];
    if constexpr (!kHasOwnChecks) row.function = run<kPlace>;
    return row;
  }
  template <size_t... kIndices>
  static constexpr std::array<Kernel, sizeof...(kIndices)> keep(std::index_sequence<kIndices...>) {
    return {checked_row<kPlaces[kIndices]>()...};
  }
  static constexpr std::array<Kernel, kCount> kKept = keep(std::make_index_sequence<kCount>());

 public:
  static constexpr KernelRows kRows{kKept.data(), kCount};
};

}  // namespace etb::host
