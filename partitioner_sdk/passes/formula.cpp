// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/formula.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

namespace etb::passes {

namespace {

// Returns "aten.mul.Tensor" for "mul".
std::string op_name(std::string_view text) {
  const auto dots = std::count(text.begin(), text.end(), '.');
  if (dots >= 2) return std::string(text);
  std::string name = "aten." + std::string(text);
  if (dots == 1) return name;
  return name + (ops::find_schema(name + ".Tensor") != nullptr ? ".Tensor" : ".default");
}

class Interpreter {
 public:
  Interpreter(Builder& b, const Call& a, std::string_view text) : b_(b), a_(a), text_(text) {}

  Values run() {
    Values results;
    while (a_.error().empty()) {
      const size_t start = at_;
      const std::string_view name = read_name();
      if (!name.empty() && take('=')) {
        Argument value = read_expression();
        named_.insert_or_assign(name, std::move(value));
      } else {
        at_ = start;
        const Argument value = read_expression();
        const auto* ref = ir::get_if<ValueRef>(value);
        if (ref == nullptr) {
          fail("a result is not a tensor");
        } else {
          results.push_back(ref->id);
        }
      }
      if (!take(';')) break;
    }
    skip_space();
    if (at_ != text_.size()) fail("unexpected text after the last expression");
    return a_.error().empty() ? results : Values{};
  }

 private:
  void fail(const std::string& why) {
    a_.fail("formula, character " + std::to_string(at_) + ": " + why);
    at_ = text_.size();
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view read_name() {
    skip_space();
    const size_t start = at_;
    if (at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                    text_[at_] == '_' || text_[at_] == '.')) {
        ++at_;
      }
    }
    return text_.substr(start, at_ - start);
  }

  Argument read_expression() {
    if (!a_.error().empty()) return Nothing{};
    const std::string_view name = read_name();
    if (name.empty()) return read_literal();
    if (take('(')) return read_call(name);
    if (name == "none") return Nothing{};
    if (name == "true" || name == "false") return name == "true";
    if (name == "inf") return std::numeric_limits<double>::infinity();
    if (const auto found = named_.find(name); found != named_.end()) return found->second;
    const int position = a_.op().schema == nullptr ? -1 : a_.op().schema->find_argument(name);
    if (position >= 0) return a_.argument(static_cast<size_t>(position));
    if (const auto dtype = ops::find_dtype(name)) return *dtype;
    fail("'" + std::string(name) + "' is neither an argument of the op nor defined before");
    return Nothing{};
  }

  Argument read_literal() {
    if (take('"')) {
      const size_t end = text_.find('"', at_);
      const std::string text(text_.substr(at_, end - at_));
      at_ = end == text_.npos ? text_.size() : end + 1;
      return text;
    }
    if (take('[')) {
      Dims items;
      while (!take(']') && a_.error().empty()) {
        const Argument item = read_expression();
        if (const Dim* dim = ir::get_if<Dim>(item)) {
          items.push_back(*dim);
        } else if (skipped_ == 0) {
          fail("a list item is not an int");
        }
        take(',');
      }
      return items;
    }
    return read_number();
  }

  Argument read_number() {
    if (text_.substr(at_, 4) == "-inf") {
      at_ += 4;
      return -std::numeric_limits<double>::infinity();
    }
    const size_t end = text_.find_first_not_of("+-.0123456789e", at_);
    const std::string_view digits = text_.substr(at_, end == text_.npos ? end : end - at_);
    at_ += digits.size();
    const char* last = digits.data() + digits.size();
    int64_t integer = 0;
    if (std::from_chars(digits.data(), last, integer).ptr == last && !digits.empty()) return Dim(integer);
    char* stop = nullptr;
    const std::string copy(digits);
    const double number = std::strtod(copy.c_str(), &stop);
    if (digits.empty() || *stop != 0) fail("expected an expression");
    return number;
  }

  // if(c, x, y), after its parenthesis. The side that is not chosen is parsed, but adds no nodes.
  Argument read_choice() {
    const Argument condition = read_expression();
    const bool* flag = ir::get_if<bool>(condition);
    const bool takes_first = flag != nullptr ? *flag : ir::get_if<Nothing>(condition) == nullptr;
    const auto side = [&](bool is_taken) {
      if (!take(',')) fail("expected ','");
      skipped_ += is_taken ? 0 : 1;
      Argument value = read_expression();
      skipped_ -= is_taken ? 0 : 1;
      return value;
    };
    Argument first = side(takes_first), second = side(!takes_first);
    if (!take(')')) fail("expected ')' at the end of if()");
    return takes_first ? std::move(first) : std::move(second);
  }

  Argument read_call(std::string_view function) {
    if (function == "if") return read_choice();
    std::vector<Argument> args;
    std::vector<Builder::Named> named;
    while (!take(')') && a_.error().empty()) {
      const size_t start = at_;
      const std::string_view name = read_name();
      if (!name.empty() && take('=')) {
        named.push_back({name, read_expression()});
      } else {
        at_ = start;
        args.push_back(read_expression());
      }
      take(',');
    }
    if (!a_.error().empty() || skipped_ != 0) return Nothing{};
    if (function == "reduced") return reduce(args);
    if (function == "averaged") return average(args);
    if (function == "nonzero") return args.size() == 1 && number_of(args[0]) != 0;
    if (function == "scaled") return scale(args);
    if (function == "rank_of" || function == "dtype_of" || function == "float_of" || function == "wide_of")
      return describe(function, args);
    return call(op_name(function), std::move(args), std::move(named));
  }

  // A number, or NaN after an error.
  double number_of(const Argument& argument) {
    if (const bool* flag = ir::get_if<bool>(argument)) return *flag ? 1 : 0;
    if (const auto* number = ir::get_if<ir::Complex>(argument))
      return std::hypot(number->real, number->imaginary);
    if (const double* number = ir::get_if<double>(argument)) return *number;
    const Dim* dim = ir::get_if<Dim>(argument);
    if (dim != nullptr && dim->is_static()) return static_cast<double>(dim->value());
    fail("expected a number");
    return std::numeric_limits<double>::quiet_NaN();
  }

  Argument scale(const std::vector<Argument>& args) {
    const auto* ref = args.size() == 2 ? ir::get_if<ValueRef>(args[0]) : nullptr;
    if (ref == nullptr) {
      fail("expected a tensor and a number");
      return Nothing{};
    }
    const Dtype dtype = b_.spec(ref->id).dtype;
    if (ir::get_if<ir::Complex>(args[1]) != nullptr) return call("aten.mul.Tensor", {args[0], args[1]}, {});
    double factor = number_of(args[1]);
    if (ops::is_bool(dtype)) factor = factor != 0 ? 1 : 0;
    if (factor == 1) return args[0];
    // Integers up to 2^53 are exact in the double that holds the factor.
    if (ops::is_integer(dtype) && !(std::abs(factor) <= 9007199254740992.0)) {
      fail("a factor of integers beyond 2^53, or not a number");
      return Nothing{};
    }
    const Argument number = ops::is_bool(dtype)      ? Argument(factor != 0)
                            : ops::is_integer(dtype) ? Argument(Dim(static_cast<int64_t>(factor)))
                                                     : args[1];
    return call("aten.mul.Tensor", {args[0], number}, {});
  }

  Argument describe(std::string_view function, const std::vector<Argument>& args) {
    infer::CallState state(b_.module(), b_.graph(), b_.module().op("aten.add.Tensor"), args);
    std::vector<infer::AnyArgument> operands;
    for (size_t i = 0; i < args.size(); ++i) operands.emplace_back(state, i);
    const auto* ref = args.empty() ? nullptr : ir::get_if<ValueRef>(args[0]);
    const std::optional<Dtype> dtype = infer::promote_arguments(operands);
    if (ref == nullptr || !dtype) {
      fail("expected tensors");
      return Nothing{};
    }
    if (function == "rank_of") return Dim(static_cast<int64_t>(b_.spec(ref->id).rank()));
    if (function == "dtype_of") return *dtype;
    const bool is_narrow = *dtype == Dtype::FLOAT16 || *dtype == Dtype::BFLOAT16;
    const bool is_kept = ops::is_floating(*dtype) || ops::is_complex(*dtype);
    return !is_kept || (is_narrow && function == "wide_of") ? Dtype::FLOAT32 : *dtype;
  }

  Argument reduce(const std::vector<Argument>& args) {
    const auto* loss = args.size() == 2 ? ir::get_if<ValueRef>(args[0]) : nullptr;
    const auto* reduction = args.size() == 2 ? ir::get_if<Dim>(args[1]) : nullptr;
    if (loss == nullptr || reduction == nullptr || !reduction->is_static()) {
      fail("expected a tensor and a reduction");
      return Nothing{};
    }
    return ValueRef{reduced(b_, loss->id, reduction->value())};
  }

  // averaged(grad, x, reduction): the gradient of each element of x before a mean (reduction 1) or a sum.
  Argument average(const std::vector<Argument>& args) {
    const auto* grad = args.size() == 3 ? ir::get_if<ValueRef>(args[0]) : nullptr;
    const auto* elements = args.size() == 3 ? ir::get_if<ValueRef>(args[1]) : nullptr;
    if (grad == nullptr || elements == nullptr) {
      fail("expected two tensors and a reduction");
      return Nothing{};
    }
    if (number_of(args[2]) != 1) return args[0];
    const Dim count = ir::numel(b_.symbols(), sizes_of(b_, elements->id));
    return call("aten.div.Scalar", {args[0], count}, {});
  }

  Argument call(const std::string& op, std::vector<Argument> args, std::vector<Builder::Named> named) {
    const ops::Schema* schema = b_.module().find_schema(op);
    if (schema == nullptr || args.size() > schema->argument_count()) {
      fail(schema == nullptr ? "unknown op '" + op + "'"
                             : std::to_string(args.size()) + " arguments, " + op + " accepts " +
                                   std::to_string(schema->argument_count()));
      return Nothing{};
    }
    return ValueRef{b_.call(op, std::move(args), std::move(named))};
  }

  Builder& b_;
  const Call& a_;
  std::string_view text_;
  size_t at_ = 0;
  int skipped_ = 0;  // number of enclosing if() whose side is not chosen
  std::map<std::string_view, Argument> named_;
};

}  // namespace

Values expand_formula(Builder& b, const Call& a, std::string_view text) {
  return Interpreter(b, a, text).run();
}

}  // namespace etb::passes
