// SPDX-License-Identifier: Apache-2.0
// ProgramMutator: changes a program by its structure. Random changes of bytes seldom result in a program that
// loads and reaches kernels.
#pragma once

#include <vector>

#include "host/testing/mutator/call_generator.hpp"

namespace etb::host {

class ProgramMutator {
 public:
  explicit ProgramMutator(uint32_t seed);

  // Applies one change: to the memory plan, values, instructions, inputs and outputs, or stored bytes.
  void mutate(format::ProgramSpec& program);

  CallGenerator& generator() noexcept { return generator_; }

 private:
  void append_call(format::ProgramSpec& program, format::MethodSpec& method);
  void share_place(format::ProgramSpec& program, format::MethodSpec& method);
  void move_place(format::ProgramSpec& program, format::MethodSpec& method);
  void change_size(format::ProgramSpec& program, format::MethodSpec& method);
  void change_rank(format::ProgramSpec& program, format::MethodSpec& method);
  void change_tensor(format::ProgramSpec& program, format::MethodSpec& method);
  void change_storage(format::ProgramSpec& program, format::MethodSpec& method);
  void change_number(format::ProgramSpec& program, format::MethodSpec& method);
  void change_list(format::ProgramSpec& program, format::MethodSpec& method);
  void change_argument(format::ProgramSpec& program, format::MethodSpec& method);
  void change_order(format::ProgramSpec& program, format::MethodSpec& method);
  void insert_control(format::ProgramSpec& program, format::MethodSpec& method);
  void insert_delegate(format::ProgramSpec& program, format::MethodSpec& method);
  void change_signature(format::ProgramSpec& program, format::MethodSpec& method);
  void change_bytes(format::ProgramSpec& program, format::MethodSpec& method);

  format::TensorSpec* pick_tensor(format::MethodSpec& method);
  int32_t pick_value(const format::MethodSpec& method) {
    return static_cast<int32_t>(generator_.below(method.values.size()));
  }

  CallGenerator generator_;
  KernelRegistry registry_;
  std::vector<const Kernel*> kernels_;  // kernels of the portable table and of the core
};

}  // namespace etb::host
