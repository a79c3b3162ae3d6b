// SPDX-License-Identifier: Apache-2.0
// Generates kernel calls with arguments of the right kinds, so that many of them run: for fuzzing and tests.
#pragma once

#include <random>

#include "api/testing/program_builder.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {

class CallGenerator {
 public:
  explicit CallGenerator(uint32_t seed) : random_(seed) {}

  uint32_t below(size_t count) { return static_cast<uint32_t>(random_() % (count == 0 ? 1 : count)); }
  bool one_in(uint32_t count) { return below(count) == 0; }
  template <class All>
  auto& pick(All& all) {
    return *(std::begin(all) + below(std::size(all)));
  }

  // Appends a call of `kernel` at the end of the method, with the values it needs. Arguments are existing
  // values or new ones, chosen by the argument names and defaults of the op's schema. Outputs may grow.
  void append_call(format::ProgramSpec& program, format::MethodSpec& method, const Kernel& kernel);

  // Returns any int, most often a small one.
  int64_t any_int();
  int8_t any_dtype();

 private:
  struct Call;
  int32_t add_argument(Call& call, char letter, uint32_t index);
  int32_t add_tensor(Call& call, uint32_t index);
  int32_t add_tensor_list(Call& call, char letter, uint32_t index);
  int32_t add_int(Call& call, uint32_t index);
  int32_t add_int_list(Call& call, uint32_t index);
  int32_t find_tensor(Call& call, int8_t dtype);
  int32_t place(Call& call, format::TensorSpec tensor);
  void set_initial_value(Call& call, format::TensorSpec& tensor, uint64_t nbytes);
  std::vector<int32_t> sizes_of_rank(Call& call, size_t rank);

  std::minstd_rand random_;
};

}  // namespace etb::host
