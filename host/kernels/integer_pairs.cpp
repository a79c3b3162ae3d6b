// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/integer_pairs.hpp"

namespace etb::host {

PairWalk::PairWalk(const Tensor& left, const Tensor& right, Tensor& out) noexcept
    : left_(left.data_as<int8_t>()),
      right_(right.data_as<int8_t>()),
      out_(out.data_as<int8_t>()),
      is_done_(out.numel() == 0) {
  for (int i = out.rank() - 1; i >= 0; --i) {
    const int dim = out.dim_order()[static_cast<size_t>(i)];
    const auto step = [dim](const Tensor& operand) {
      return operand.size(dim) == 1 ? 0 : operand.stride(dim);
    };
    if (out.size(dim) != 1) add({out.size(dim), step(left), step(right), out.stride(dim)});
  }
}

void PairWalk::add(const Dim& dim) noexcept {
  Dim& last = outer_count_ == 0 ? inner_ : outer_[outer_count_ - 1];
  if (outer_count_ == 0 && inner_.size == 1) {
    inner_ = dim;
  } else if (dim.left == last.left * last.size && dim.right == last.right * last.size &&
             dim.out == last.out * last.size) {
    last.size *= dim.size;
  } else {
    outer_[outer_count_++] = dim;
  }
}

void PairWalk::advance() noexcept {
  for (int i = 0; i < outer_count_; ++i) {
    const Dim& dim = outer_[i];
    left_ += dim.left, right_ += dim.right, out_ += dim.out;
    if (++indices_[i] < dim.size) return;
    left_ -= dim.left * dim.size, right_ -= dim.right * dim.size, out_ -= dim.out * dim.size;
    indices_[i] = 0;
  }
  is_done_ = true;
}

etb_status check_pair(KernelContext& context, const Tensor& left, const Tensor& right,
                      const Tensor& out) noexcept {
  for (const Tensor* tensor : {&left, &right, &out}) {
    if (tensor->dtype() != Dtype::INT8)
      return context.fail(ETB_INVALID_TYPE, "a tensor is %s, expected int8", to_text(tensor->dtype()));
  }
  return ETB_OK;
}

}  // namespace etb::host
