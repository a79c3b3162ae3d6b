// SPDX-License-Identifier: Apache-2.0
// Programs that call delegates of toy plugins on vectors of four elements, and add the vectors.
#pragma once

#include <algorithm>
#include <utility>

#include "host/testing/method_fixture.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {

// Values: 0 x, 1 y, 2 sum, 3 alpha (of value 1), then more vectors. The input is x.
struct DelegateProgram {
  explicit DelegateProgram(decltype(format::MethodSpec::delegates) delegates)
      : program(format::add_program(4)) {
    method().delegates = std::move(delegates);
    program.segments = {kToyPayload};
    method().instructions.clear();
    method().inputs = {0};
  }
  format::MethodSpec& method() { return program.methods[0]; }
  int32_t add_vector(uint64_t offset) {
    method().values.emplace_back(vector_spec(4, offset));
    method().arena_sizes[1] = std::max<int64_t>(method().arena_sizes[1], static_cast<int64_t>(offset) + 16);
    return static_cast<int32_t>(method().values.size()) - 1;
  }
  void call(int32_t delegate, int32_t from, int32_t to) {
    constexpr int kDelegateCall = 2;  // alternative of an instruction
    method().instructions.push_back({kDelegateCall, delegate, 0, {from, to}});
  }
  void sum(int32_t x, int32_t y, int32_t to) {
    constexpr int32_t kAlpha = 3;
    method().instructions.push_back({1, 0, 0, {x, y, kAlpha, to, to}});
  }
  format::ProgramSpec program;
};

}  // namespace etb::host
