// SPDX-License-Identifier: Apache-2.0
// Decides if a result is right. No tolerance is a constant: each follows from the op's rule, the length of
// its sums and the plugin's precision contract. With r the reference in float64, B the magnitude, u one
// rounding of the computing type:
//
//   exact         y == r rounded to the output's dtype, bit for bit
//   rounded       |y - r| <= ulps * ulp(r) + steps * u * B, plus half an ulp of the output where that is
//                 coarser. ulps is the op's, or more if the contract declares more.
//   contraction   exact probes: y == r. Else |y - r| <= 4 sqrt(K) u B + 2 u_inputs B + ulp_out(r) / 2 + tiny,
//                 at most K u / (1 - K u) * B; and over the tensor with e = (y - r) / (u B):
//                 |sum e| <= 2 sqrt(K T) + 2.4 T / sqrt(A) and sum e^2 <= 0.4 K T, which detects errors that no
//                 single element shows. A is the number of addends that results share, such as the biases of
//                 channels: where a bias is added last, its last bits round in one direction for all T / A results
//                 (four standard deviations of 1 / sqrt(3) for each addend)
//   quantized     equal codes; one off where the real value is within 2^-10 of a tie
//
// For K roundings of random directions, the largest error of 1,005 correct products was 1.59 sqrt(K) u B. One
// direction yields K u B.
#pragma once

#include <string>

#include "conformance/judge/contract.hpp"
#include "conformance/judge/reference.hpp"

namespace etb::conformance {

struct Comparison {
  bool is_right = true;
  double margin = 0;  // largest error / bound; 1 is the limit
  std::string check;  // if wrong: the part of the rule, "element-bound"
  std::string text;   // if wrong: element, found, expected, bound
};

// `data` is the output as the plugin wrote it, dense in the spec's dim order. The caller has already compared
// sizes.
Comparison judge(const ErrorModel& error_model, const PrecisionContract& contract, etb_dtype dtype,
                 const ReferenceTensor& reference, const void* data);

}  // namespace etb::conformance
