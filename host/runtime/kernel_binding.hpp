// SPDX-License-Identifier: Apache-2.0
// Parameters of a function that carries out a custom op, for the checks in files that `etbackend bind` writes.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "host/runtime/kernel_arguments.hpp"

namespace etb::host {

template <class... Parameters>
struct BoundParameters {
  static constexpr bool kIsKernel = true;  // returns etb_status and takes KernelContext& first
  static constexpr size_t kCount = sizeof...(Parameters);

  template <size_t count>
  static constexpr bool has_count() {
    return kCount == count;
  }
  // True if parameter `index` after the context has this type; also true where there is none, which has_count reports.
  template <size_t index, class Type>
  static constexpr bool has() {
    if constexpr (index < kCount)
      return std::is_same_v<std::tuple_element_t<index, std::tuple<Parameters...>>, Type>;
    else
      return true;
  }
};

// Reports one error only.
struct NoKernel {
  static constexpr bool kIsKernel = false;
  template <size_t>
  static constexpr bool has_count() {
    return true;
  }
  template <size_t, class>
  static constexpr bool has() {
    return true;
  }
};

template <class Function>
struct BoundFunction : NoKernel {};
template <class... Parameters>
struct BoundFunction<etb_status (*)(KernelContext&, Parameters...)> : BoundParameters<Parameters...> {};
template <class... Parameters>
struct BoundFunction<etb_status (*)(KernelContext&, Parameters...) noexcept>
    : BoundParameters<Parameters...> {};

}  // namespace etb::host
