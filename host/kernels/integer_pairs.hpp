// SPDX-License-Identifier: Apache-2.0
// Two int8 operands and an int8 result of any layouts, element by element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "etb/cpp/fail.hpp"
#include "host/kernels/long_loops.hpp"
#include "host/runtime/evalue.hpp"
#include "host/runtime/kernel_context.hpp"

namespace etb::host {

// A walk in the order of the result's memory. Dims that are neighbours in all three tensors are one, so tensors of one layout are
// one run.
class PairWalk {
 public:
  // Operands of the result's rank. A dim of size 1 of an operand is repeated.
  PairWalk(const Tensor& left, const Tensor& right, Tensor& out) noexcept;

  // Stores code_of(left code, right code) for every element.
  template <class F>
  etb_status run(KernelContext& context, F code_of) noexcept {
    for (; !is_done_; advance()) {
      ETB_CHECK(for_each_piece(context, inner_.size, [&](int64_t begin, int64_t length) {
        const int8_t *x = left_ + begin * inner_.left, *y = right_ + begin * inner_.right;
        int8_t* to = out_ + begin * inner_.out;
        const auto x_step = static_cast<ptrdiff_t>(inner_.left),
                   y_step = static_cast<ptrdiff_t>(inner_.right), step = static_cast<ptrdiff_t>(inner_.out);
        for (auto i = static_cast<ptrdiff_t>(length); i > 0; --i, x += x_step, y += y_step, to += step)
          *to = code_of(*x, *y);
      }));
    }
    return ETB_OK;
  }

 private:
  // Steps in elements.
  struct Dim {
    int64_t size, left, right, out;
  };
  void add(const Dim& dim) noexcept;
  void advance() noexcept;

  const int8_t *left_, *right_;
  int8_t* out_;
  Dim inner_ = {1, 0, 0, 0};
  Dim outer_[kMaxRank];  // the innermost first
  int64_t indices_[kMaxRank] = {};
  int outer_count_ = 0;
  bool is_done_;
};

// Int8 tensors.
etb_status check_pair(KernelContext& context, const Tensor& left, const Tensor& right,
                      const Tensor& out) noexcept;

}  // namespace etb::host
