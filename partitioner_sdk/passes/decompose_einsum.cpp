// SPDX-License-Identifier: Apache-2.0
// Einstein sums: aligns the operands to common dimensions, then multiplies them pair by pair as batches of
// matrices.
#include <algorithm>
#include <map>

#include "ops/einsum.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

struct Equation {
  std::vector<std::string> operands;  // one letter per dimension
  std::string output;
};

std::optional<Equation> parse_equation(const Call& a, std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation equation;
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::map<char, int> counts;
  for (size_t start = 0; start <= left.size();) {
    const size_t end = std::min(left.find(',', start), left.size());
    equation.operands.push_back(left.substr(start, end - start));
    start = end + 1;
  }
  for (const std::string& operand : equation.operands) {
    for (const char c : operand) {
      if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
        a.fail("equation '" + text + "' contains '" + c + "', expected letters only");
        return std::nullopt;
      }
      if (++counts[c] > 1 && std::count(operand.begin(), operand.end(), c) > 1) {
        a.fail("equation '" + text + "' repeats '" + c + "' in one operand; diagonals are not supported");
        return std::nullopt;
      }
    }
  }
  if (arrow != text.npos) {
    equation.output = text.substr(arrow + 2);
  } else {
    for (const auto& [letter, count] : counts) {
      if (count == 1) equation.output += letter;
    }
  }
  return equation;
}

// Returns the operand with one dimension for each of `letters`, of size 1 where it has none.
ValueId align(Builder& b, ValueId value, const std::string& own, const std::string& letters) {
  std::string have = own;
  for (const char letter : letters) {
    if (have.find(letter) != have.npos) continue;
    value = b.call("aten.unsqueeze.default", {ValueRef{value}, Dim(static_cast<int64_t>(have.size()))});
    have += letter;
  }
  Dims order;
  for (const char letter : letters) order.emplace_back(static_cast<int64_t>(have.find(letter)));
  return b.call("aten.permute.default", {ValueRef{value}, std::move(order)});
}

// Multiplies two aligned operands and sums over the dimensions `is_summed`, which are removed. The product is
// a batch of matrix products; dimensions that both operands have are the batch. (ATen/native/Linear.cpp,
// sumproduct_pair)
ValueId sum_of_products(Builder& b, ValueId left, ValueId right, const std::vector<bool>& is_summed) {
  const Dims x = sizes_of(b, left), y = sizes_of(b, right);
  Dims both, only_left, only_right, summed;
  Dim both_size = 1, left_size = 1, right_size = 1, summed_size = 1;
  ir::SymbolTable& symbols = b.symbols();
  for (size_t i = 0; i < x.size(); ++i) {
    const Dim dim(static_cast<int64_t>(i));
    if (is_summed[i]) {
      summed.push_back(dim);
      summed_size = symbols.mul(summed_size, x[i]);
    } else if (!x[i].is(1) && !y[i].is(1)) {
      both.push_back(dim);
      both_size = symbols.mul(both_size, x[i]);
    } else if (!x[i].is(1)) {
      only_left.push_back(dim);
      left_size = symbols.mul(left_size, x[i]);
    } else {
      only_right.push_back(dim);
      right_size = symbols.mul(right_size, y[i]);
    }
  }
  const auto joined = [](std::initializer_list<const Dims*> parts) {
    Dims all;
    for (const Dims* part : parts) all.insert(all.end(), part->begin(), part->end());
    return all;
  };
  const ValueId turned_left =
      b.call("aten.permute.default", {ValueRef{left}, joined({&both, &only_left, &summed, &only_right})});
  const ValueId first = reshape(b, turned_left, {both_size, left_size, summed_size});
  const ValueId turned_right =
      b.call("aten.permute.default", {ValueRef{right}, joined({&both, &summed, &only_right, &only_left})});
  const ValueId second = reshape(b, turned_right, {both_size, summed_size, right_size});
  const ValueId product = b.call("aten.bmm.default", {ValueRef{first}, ValueRef{second}});
  const Dims order = joined({&both, &only_left, &summed, &only_right});
  Dims sizes, back(order.size(), Dim(0)), kept;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto dim = static_cast<size_t>(order[i].value());
    sizes.push_back(is_summed[dim] ? Dim(1) : x[dim].is(1) ? y[dim] : x[dim]);
    back[dim] = static_cast<int64_t>(i);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    if (!is_summed[i]) kept.push_back(x[i].is(1) ? y[i] : x[i]);
  }
  const ValueId wide = b.call("aten.view.default", {ValueRef{product}, std::move(sizes)});
  const ValueId turned = b.call("aten.permute.default", {ValueRef{wide}, std::move(back)});
  return reshape(b, turned, std::move(kept));
}

Values einsum(Builder& b, const ops::einsum_default<Call>& a) {
  const auto* text = ir::get_if<std::string>(a.equation());
  const std::vector<ValueId> tensors = a.tensors().ids();
  if (text == nullptr) return {};
  const auto equation = parse_equation(a, *text);
  if (!equation) return {};
  if (equation->operands.size() != tensors.size() || tensors.empty() || tensors.size() > 2) {
    a.fail("equation '" + *text + "' has " + std::to_string(equation->operands.size()) + " operands for " +
           std::to_string(tensors.size()) +
           " tensors, expected 1 or 2\nhint: split a longer einsum into steps of two operands");
    return {};
  }
  std::string letters = equation->output, rest;
  for (const std::string& operand : equation->operands) {
    for (const char c : operand) {
      if (letters.find(c) == letters.npos && rest.find(c) == rest.npos) rest += c;
    }
  }
  std::sort(rest.begin(), rest.end());
  letters += rest;
  Values aligned;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (b.spec(tensors[i]).rank() != equation->operands[i].size()) {
      a.fail("equation '" + *text + "' has " + std::to_string(equation->operands[i].size()) +
             " letters for operand " + std::to_string(i) + " of rank " +
             std::to_string(b.spec(tensors[i]).rank()));
      return {};
    }
    aligned.push_back(align(b, tensors[i], equation->operands[i], letters));
  }
  const size_t kept = equation->output.size();
  const auto sum_away = [&](ValueId value, const Dims& dims, bool keeps) {
    return dims.empty() ? value : b.call("aten.sum.dim_IntList", {ValueRef{value}, Argument(dims), keeps});
  };
  if (tensors.size() == 1) {
    Dims dims;
    for (size_t i = kept; i < letters.size(); ++i) dims.emplace_back(static_cast<int64_t>(i));
    return {sum_away(aligned[0], dims, false)};
  }
  // A letter of only one operand is summed before the product.
  std::vector<bool> is_summed(letters.size(), false);
  Dims only[2];
  for (size_t i = kept; i < letters.size(); ++i) {
    const bool in_first = equation->operands[0].find(letters[i]) != std::string::npos;
    const bool in_second = equation->operands[1].find(letters[i]) != std::string::npos;
    is_summed[i] = true;
    if (!in_second) only[0].emplace_back(static_cast<int64_t>(i));
    if (!in_first) only[1].emplace_back(static_cast<int64_t>(i));
  }
  const ValueId first = sum_away(aligned[0], only[0], true), second = sum_away(aligned[1], only[1], true);
  return {sum_of_products(b, first, second, is_summed)};
}

}  // namespace

std::span<const Decomposition> einsum_decompositions() {
  static constexpr Decomposition kRows[] = {row<ops::einsum_default, einsum>()};
  return kRows;
}

}  // namespace etb::passes
