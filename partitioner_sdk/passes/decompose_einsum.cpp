// SPDX-License-Identifier: Apache-2.0
// Einstein sums: aligns the operands to common dimensions, then multiplies them pair by pair as batches of
// matrices.
#include <algorithm>
#include <map>

#include "ops/einsum.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// A tensor with one letter for each dimension.
struct Operand {
  ValueId value = ir::kNoValue;
  std::string letters;
};

// Digits are the letters of the dimensions that "..." covers. The last dimension has the same digit in every operand.
std::string ellipsis_letters(size_t count, size_t largest) {
  std::string letters;
  for (size_t i = largest - count; i < largest; ++i) letters += static_cast<char>('0' + i);
  return letters;
}

std::string with_letters_for_ellipsis(std::string text, const std::string& letters) {
  if (const size_t at = text.find("..."); at != text.npos) text.replace(at, 3, letters);
  return text;
}

std::vector<std::string> split_operands(const std::string& left) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= left.size();) {
    const size_t end = std::min(left.find(',', start), left.size());
    parts.push_back(left.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// Without "->" the result has the dimensions of "...", then the letters that occur once, in order.
std::string implied_output(const std::vector<Operand>& operands, const std::string& ellipsis) {
  std::map<char, int> counts;
  for (const Operand& operand : operands)
    for (const char c : operand.letters) ++counts[c];
  std::string output = ellipsis;
  for (const auto& [letter, count] : counts)
    if (count == 1 && std::isalpha(static_cast<unsigned char>(letter)) != 0) output += letter;
  return output;
}

// Keeps the diagonal of dimensions with the same letter.
Operand without_repeated_letters(Builder& b, Operand operand) {
  for (size_t i = 0; i < operand.letters.size();) {
    const char letter = operand.letters[i];
    const size_t again = operand.letters.find(letter, i + 1);
    if (again == std::string::npos) {
      ++i;
      continue;
    }
    operand.value = b.call(
        "aten.diagonal.default",
        {ValueRef{operand.value}, Dim(0), Dim(static_cast<int64_t>(i)), Dim(static_cast<int64_t>(again))});
    operand.letters.erase(again, 1);
    operand.letters.erase(i, 1);
    operand.letters += letter;  // the diagonal is the last dimension
  }
  return operand;
}

struct Equation {
  std::vector<Operand> operands;
  std::string output;
};

// Returns the operands and the letters of the result; nullopt after a.fail.
std::optional<Equation> read_equation(Builder& b, const Call& a, std::string text,
                                      const std::vector<ValueId>& tensors) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::vector<std::string> parts = split_operands(text.substr(0, arrow));
  if (parts.size() != tensors.size() || tensors.empty()) {
    a.fail("equation '" + text + "' has " + std::to_string(parts.size()) + " operands for " +
           std::to_string(tensors.size()) + " tensors");
    return std::nullopt;
  }
  // Dimensions of "..." in each operand.
  std::vector<size_t> counts;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool has_ellipsis = parts[i].find("...") != std::string::npos;
    const size_t named = parts[i].size() - (has_ellipsis ? 3 : 0), rank = b.spec(tensors[i]).rank();
    if (has_ellipsis ? rank < named : rank != named) {
      a.fail("equation '" + text + "' has " + std::to_string(named) + " letters for operand " +
             std::to_string(i) + " of rank " + std::to_string(rank));
      return std::nullopt;
    }
    counts.push_back(rank - named);
  }
  const size_t largest = *std::max_element(counts.begin(), counts.end());
  constexpr size_t kMaxEllipsis = 16;  // the characters from '0' on that are no letters
  if (largest > kMaxEllipsis) {
    a.fail("'...' covers " + std::to_string(largest) + " dimensions, expected at most " +
           std::to_string(kMaxEllipsis));
    return std::nullopt;
  }
  Equation equation;
  for (size_t i = 0; i < parts.size(); ++i)
    equation.operands.push_back(
        {tensors[i], with_letters_for_ellipsis(parts[i], ellipsis_letters(counts[i], largest))});
  const std::string ellipsis = ellipsis_letters(largest, largest);
  equation.output = arrow == text.npos ? implied_output(equation.operands, ellipsis)
                                       : with_letters_for_ellipsis(text.substr(arrow + 2), ellipsis);
  std::string known;
  for (const Operand& operand : equation.operands) known += operand.letters;
  for (const char c : known + equation.output) {
    const bool is_letter =
        std::isalpha(static_cast<unsigned char>(c)) != 0 || ellipsis.find(c) != ellipsis.npos;
    if (is_letter && known.find(c) != known.npos &&
        std::count(equation.output.begin(), equation.output.end(), c) <= 1)
      continue;
    a.fail("equation '" + text + "' has '" + c +
           "' where a letter of an operand is expected, once in the result");
    return std::nullopt;
  }
  for (Operand& operand : equation.operands) operand = without_repeated_letters(b, std::move(operand));
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

// Sums over the letters that are not `wanted`.
ValueId reduce_to(Builder& b, const Operand& operand, const std::string& wanted) {
  std::string letters = wanted;
  Dims summed;
  for (const char c : operand.letters)
    if (letters.find(c) == letters.npos) {
      summed.emplace_back(static_cast<int64_t>(letters.size()));
      letters += c;
    }
  const ValueId aligned = align(b, operand.value, operand.letters, letters);
  return summed.empty() ? aligned
                        : b.call("aten.sum.dim_IntList", {ValueRef{aligned}, Argument(summed), false});
}

// The product of two operands, summed over the letters that are not `wanted`.
ValueId multiply(Builder& b, const Operand& x, const Operand& y, const std::string& wanted) {
  std::string rest;
  for (const char c : x.letters + y.letters)
    if (wanted.find(c) == wanted.npos && rest.find(c) == rest.npos) rest += c;
  std::sort(rest.begin(), rest.end());
  const std::string letters = wanted + rest;
  // A letter of only one operand is summed before the product.
  std::vector<bool> is_summed(letters.size(), false);
  Dims only_x, only_y;
  for (size_t i = wanted.size(); i < letters.size(); ++i) {
    is_summed[i] = true;
    if (y.letters.find(letters[i]) == std::string::npos) only_x.emplace_back(static_cast<int64_t>(i));
    if (x.letters.find(letters[i]) == std::string::npos) only_y.emplace_back(static_cast<int64_t>(i));
  }
  const auto summed_first = [&](const Operand& operand, const Dims& dims) {
    const ValueId value = align(b, operand.value, operand.letters, letters);
    return dims.empty() ? value : b.call("aten.sum.dim_IntList", {ValueRef{value}, Argument(dims), true});
  };
  ValueId first = summed_first(x, only_x), second = summed_first(y, only_y);
  // Operands of two types, such as integer positions and float frequencies, have the product's type.
  const ir::Dtype type = b.spec(first).dtype, other = b.spec(second).dtype;
  const auto both = infer::promote_dtypes(type, other);
  if (both && type != *both) first = b.call("aten._to_copy.default", {ValueRef{first}}, {{"dtype", *both}});
  if (both && other != *both)
    second = b.call("aten._to_copy.default", {ValueRef{second}}, {{"dtype", *both}});
  return sum_of_products(b, first, second, is_summed);
}

// Multiplies from left to right, as PyTorch does. A letter is summed when neither the result nor a later operand has it.
Values einsum(Builder& b, const ops::einsum_default<Call>& a) {
  const auto* text = ir::get_if<std::string>(a.equation());
  if (text == nullptr) return {};
  auto equation = read_equation(b, a, *text, a.tensors().ids());
  if (!equation) return {};
  std::vector<Operand>& operands = equation->operands;
  Operand product = operands[0];
  if (operands.size() == 1) return {reduce_to(b, product, equation->output)};
  for (size_t i = 1; i < operands.size(); ++i) {
    std::string later = equation->output, wanted;
    for (size_t k = i + 1; k < operands.size(); ++k) later += operands[k].letters;
    for (const char c : product.letters + operands[i].letters)
      if (later.find(c) != later.npos && wanted.find(c) == wanted.npos) wanted += c;
    if (i + 1 == operands.size()) wanted = equation->output;
    product = {multiply(b, product, operands[i], wanted), wanted};
  }
  return {product.value};
}

}  // namespace

std::span<const Decomposition> einsum_decompositions() {
  static constexpr Decomposition kRows[] = {row<ops::einsum_default, einsum>()};
  return kRows;
}

}  // namespace etb::passes
