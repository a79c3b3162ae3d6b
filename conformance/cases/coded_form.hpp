// SPDX-License-Identifier: Apache-2.0
// Forms of an op between codes: its operands are dequantised, its result is quantised.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/cases/design_quantisation.hpp"

namespace etb::conformance {

struct Coding {
  CodeRange codes;
  double scale = 1;
  int64_t zero = 0;
};

// Returns the code at a place from 0, the lowest, to 1.
int64_t zero_at(const CodeRange& codes, double place);

// An op whose operands and result are codes. The operands are numbered from 0.
struct Coded {
  std::string op, word;
  std::vector<Shape> operands;
  std::vector<Coding> from;  // one for each operand
  Coding to;
  Shape result;
  std::function<std::vector<graph::ArgumentDesc>(const std::vector<uint32_t>& values)> args;
  double (*formula)(double) = nullptr;  // function of an op that has no portable kernel
  std::vector<std::pair<std::string, std::vector<graph::ArgumentDesc>>> tail =
      {};  // ops of its result, before it is quantised
};

OpForm coded_form(const Coded& coded);

}  // namespace etb::conformance
