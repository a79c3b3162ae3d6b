// SPDX-License-Identifier: Apache-2.0
// An instruction of a program as text that does not depend on the numbers of its values, so that two programs can be
// compared.
#pragma once

#include <string>
#include <vector>

#include "api/format/program_view.hpp"

namespace etb::tools {

// "aten::add.out"
std::string operator_text(const format::OperatorView& op);

// "float32 [2, 3]", "float32 [2, 3] constant", "1", "'text'", "[1, 2]"
std::string value_text(const format::MethodView& method, uint32_t value);

// "aten::add.out(float32 [2, 3], float32 [2, 3], 1, float32 [2, 3])"; "delegate XnnpackBackend(...)"
std::string instruction_text(const format::MethodView& method, const format::InstructionView& instruction);

// One instruction with its position.
struct PlacedInstruction {
  uint32_t chain = 0, index = 0;
  format::InstructionView view;
};
std::vector<PlacedInstruction> instructions_of(const format::MethodView& method);

// Tensors that an instruction names, lists of them included, in order.
std::vector<uint32_t> tensors_of(const format::MethodView& method,
                                 const format::InstructionView& instruction);

}  // namespace etb::tools
