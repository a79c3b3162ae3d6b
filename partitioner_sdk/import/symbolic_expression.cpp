// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/symbolic_expression.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "partitioner_sdk/ir/rational.hpp"

namespace etb::pt2 {

namespace {

using ir::Dim;
using ir::SymbolTable;

constexpr size_t kMaxNbytes = 1 << 16;
constexpr int kMaxDepth = 64;
constexpr int64_t kMaxPower = 16;
constexpr int64_t kMaxFactor = int64_t{1} << 32;

class Reader {
 public:
  Reader(std::string_view text, SymbolTable& symbols) : rest_(text), symbols_(symbols) {}

  Result<Dim> run() {
    ETB_ASSIGN(const Dim dim, sum(0));
    skip_blank();
    if (!rest_.empty()) return fail("unexpected '" + std::string(rest_.substr(0, 12)) + "'");
    return dim;
  }

 private:
  static tl::unexpected<Error> fail(std::string why) {
    return make_error(Code::INVALID_DATA, "symbolic expression: " + std::move(why));
  }
  void skip_blank() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip_blank();
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  std::string_view word() {
    skip_blank();
    size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }

  Result<Dim> sum(int level) {
    if (level > kMaxDepth) return fail("nested deeper than " + std::to_string(kMaxDepth) + " levels");
    ETB_ASSIGN(Dim total, product(level));
    for (;;) {
      const bool is_plus = take("+");
      if (!is_plus && !take("-")) return total;
      ETB_ASSIGN(const Dim next, product(level));
      total = is_plus ? symbols_.add(total, next) : symbols_.sub(total, next);
    }
  }

  Result<Dim> product(int level) {
    ETB_ASSIGN(Dim total, power(level));
    for (;;) {
      if (take("//")) {
        ETB_ASSIGN(const Dim next, power(level));
        total = symbols_.floor_div(total, next);
      } else if (take("*")) {
        ETB_ASSIGN(const Dim next, power(level));
        total = symbols_.mul(total, next);
      } else {
        return total;
      }
    }
  }

  Result<Dim> power(int level) {
    ETB_ASSIGN(const Dim base, atom(level));
    if (!take("**")) return base;
    ETB_ASSIGN(const Dim exponent, atom(level));
    return raise(base, exponent);
  }

  Result<Dim> raise(Dim base, Dim exponent) {
    if (!exponent.is_static() || exponent.value() < 0 || exponent.value() > kMaxPower) {
      return make_error(Code::NOT_SUPPORTED,
                        "symbolic expression: unsupported power, expected a constant exponent of 0 to " +
                            std::to_string(kMaxPower));
    }
    Dim total = 1;
    for (int64_t i = 0; i < exponent.value(); ++i) total = symbols_.mul(total, base);
    return total;
  }

  Result<Dim> atom(int level) {
    if (level > kMaxDepth) return fail("nested deeper than " + std::to_string(kMaxDepth) + " levels");
    if (take("(")) {
      ETB_ASSIGN(const Dim inner, sum(level + 1));
      return take(")") ? Result<Dim>(inner) : fail("expected ')'");
    }
    if (take("-")) {
      ETB_ASSIGN(const Dim inner, atom(level + 1));
      return symbols_.mul(inner, -1);
    }
    skip_blank();
    if (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') return integer();
    const std::string_view name = word();
    if (name.empty()) return fail("expected a number, symbol or function");
    if (!take("(")) return symbol(name);
    return call(name, level + 1);
  }

  Result<Dim> integer() {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return fail("an integer exceeds int64");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    if (!rest_.empty() && rest_[0] == '.')
      return make_error(Code::NOT_SUPPORTED, "symbolic expression: floats are not supported");
    return Dim(value);
  }

  Result<Dim> symbol(std::string_view name) {
    const bool is_plain =
        name[0] >= 'a' && name[0] <= 'z' && std::all_of(name.begin(), name.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        });
    if (!is_plain || name.size() > 64)
      return fail("invalid symbol name '" + std::string(name.substr(0, 64)) + "'");
    return symbols_.add_symbol({std::string(name), INT64_MIN, ir::kUnbounded, {}});
  }

  // Symbol('s0', positive=True, integer=True): only the name counts; bounds come from range_constraints.
  Result<Dim> quoted_symbol() {
    if (!take("'")) return fail("expected a quoted name");
    const std::string_view name = word();
    if (name.empty() || !take("'")) return fail("expected a quoted name");
    while (take(",")) {
      if (word().empty() || !take("=") || word().empty())
        return fail("expected an assumption about a symbol");
    }
    if (!take(")")) return fail("expected ')'");
    return symbol(name);
  }

  // A real number as a fraction: resizing by a scale rounds the product of a size and a float.
  struct Fraction {
    Dim numerator;
    int64_t denominator = 1;
  };

  // Float('1.5', precision=53).
  Result<Fraction> float_literal() {
    if (!take("'")) return fail("expected a quoted number");
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return fail("expected a number");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    if (!take("'") || !take(",") || word() != "precision" || !take("=") || word().empty() || !take(")"))
      return fail("expected a precision");
    const auto found = ir::find_rational(value, rounding_);
    if (!found)
      return make_error(
          Code::NOT_SUPPORTED,
          "symbolic expression: a float that is no fraction with a denominator of at most 2^20");
    return Fraction{Dim(found->numerator), found->denominator};
  }

  // A function of two real numbers. A divisor is a number known at compile time, and not 0.
  Result<Fraction> combined(std::string_view name, Fraction a, Fraction b) {
    const auto over = [&](int64_t first, int64_t second, int64_t* out) {
      return !__builtin_mul_overflow(first, second, out) && *out > 0 && *out <= kMaxFactor;
    };
    Fraction out;
    if (name == "IntTrueDiv" || name == "FloatTrueDiv") {
      if (!b.numerator.is_static() || b.numerator.value() == 0 || b.numerator.value() == INT64_MIN)
        return make_error(Code::NOT_SUPPORTED,
                          "symbolic expression: a divisor that is 0 or known only at run time");
      const int64_t sign = b.numerator.value() < 0 ? -1 : 1;
      if (!over(a.denominator, sign * b.numerator.value(), &out.denominator))
        return fail("a denominator beyond 2^32");
      out.numerator = symbols_.mul(a.numerator, sign * b.denominator);
      return out;
    }
    if (!over(a.denominator, b.denominator, &out.denominator)) return fail("a denominator beyond 2^32");
    if (name == "Mul") {
      out.numerator = symbols_.mul(a.numerator, b.numerator);
      return out;
    }
    // Over a common denominator.
    const bool is_same = a.denominator == b.denominator;
    const Dim x = is_same ? a.numerator : symbols_.mul(a.numerator, b.denominator);
    const Dim y = is_same ? b.numerator : symbols_.mul(b.numerator, a.denominator);
    if (is_same) out.denominator = a.denominator;
    out.numerator = name == "Add"   ? symbols_.add(x, y)
                    : name == "Max" ? symbols_.max(x, y)
                                    : symbols_.min(x, y);
    return out;
  }

  // Rational(1, 2).
  Result<Fraction> rational_literal() {
    ETB_ASSIGN(const Dim numerator, sum(0));
    if (!take(",")) return fail("expected ','");
    ETB_ASSIGN(const Dim denominator, sum(0));
    if (!take(")") || !denominator.is_static() || denominator.value() < 1 || denominator.value() > kMaxFactor)
      return fail("expected a denominator of 1 to 2^32");
    return Fraction{numerator, denominator.value()};
  }

  Result<Fraction> real(int level) {
    if (level > kMaxDepth) return fail("nested deeper than " + std::to_string(kMaxDepth) + " levels");
    const std::string_view before = rest_, name = word();
    if (name == "Float" && take("(")) return float_literal();
    if (name == "Rational" && take("(")) return rational_literal();
    if (name == "ToFloat" && take("(")) {
      ETB_ASSIGN(const Dim inner, sum(level + 1));
      if (!take(")")) return fail("expected ')'");
      return Fraction{inner};
    }
    constexpr std::string_view kFunctions[] = {"Add", "FloatTrueDiv", "IntTrueDiv", "Max", "Min", "Mul"};
    if (std::find(std::begin(kFunctions), std::end(kFunctions), name) != std::end(kFunctions) && take("(")) {
      ETB_ASSIGN(Fraction total, real(level + 1));
      while (take(",")) {
        ETB_ASSIGN(const Fraction next, real(level + 1));
        ETB_ASSIGN(total, combined(name, total, next));
      }
      if (!take(")")) return fail("expected ')'");
      return total;
    }
    rest_ = before;
    ETB_ASSIGN(const Dim whole, sum(level + 1));
    return Fraction{whole};
  }

  // Sizes are not negative, so that TruncToInt rounds down, too.
  Result<Dim> rounded(ir::Rounding rounding, int level) {
    const ir::Rounding outer = std::exchange(rounding_, rounding);
    ETB_ASSIGN(const Fraction found, real(level));
    rounding_ = outer;
    if (!take(")")) return fail("expected ')'");
    const int64_t d = found.denominator;
    if (d == 1) return found.numerator;
    if (rounding == ir::Rounding::kUp)
      return symbols_.floor_div(symbols_.add(found.numerator, Dim(d - 1)), Dim(d));
    if (rounding == ir::Rounding::kDown) return symbols_.floor_div(found.numerator, Dim(d));
    // Half-way numbers become even: those where n + d/2 is a multiple of d, and the multiple is odd, are one less.
    const Dim twice = symbols_.add(symbols_.mul(found.numerator, 2), Dim(d));
    const Dim nearest = symbols_.floor_div(twice, Dim(2 * d));
    if (d % 2 != 0) return nearest;
    const Dim is_between = symbols_.min(Dim(1), symbols_.mod(twice, Dim(2 * d)));
    const Dim is_tie = symbols_.sub(Dim(1), is_between);
    return symbols_.sub(nearest, symbols_.mul(is_tie, symbols_.mod(nearest, Dim(2))));
  }

  Result<Dim> call(std::string_view name, int level) {
    if (name == "Symbol") return quoted_symbol();
    if (name == "TruncToInt" || name == "FloorToInt") return rounded(ir::Rounding::kDown, level);
    if (name == "CeilToInt") return rounded(ir::Rounding::kUp, level);
    if (name == "RoundToInt") return rounded(ir::Rounding::kNearest, level);
    using Operation = Dim (SymbolTable::*)(Dim, Dim);
    struct Row {
      std::string_view name;
      Operation operation;
      size_t max_count;
    };
    static constexpr Row kRows[] = {
        {"Add", &SymbolTable::add, 1000},
        {"Mul", &SymbolTable::mul, 1000},
        {"FloorDiv", &SymbolTable::floor_div, 2},
        {"CleanDiv", &SymbolTable::floor_div, 2},
        {"Mod", &SymbolTable::mod, 2},
        {"PythonMod", &SymbolTable::mod, 2},
        {"Max", &SymbolTable::max, 1000},
        {"Min", &SymbolTable::min, 1000},
    };
    const auto* row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
    const bool is_wrapper = name == "Integer";
    const bool is_power = name == "Pow";
    if (row == std::end(kRows) && !is_wrapper && !is_power) {
      return make_error(Code::NOT_SUPPORTED,
                        "symbolic expression: unknown function '" + std::string(name.substr(0, 40)) + "'");
    }
    ETB_ASSIGN(Dim total, sum(level));
    size_t count = 1;
    for (; take(","); ++count) {
      ETB_ASSIGN(const Dim next, sum(level));
      if (is_power) {
        ETB_ASSIGN(total, raise(total, next));
      } else if (row != std::end(kRows)) {
        total = (symbols_.*row->operation)(total, next);
      }
    }
    if (!take(")")) return fail("expected ')'");
    const bool is_pair = is_power || (row != std::end(kRows) && row->max_count == 2);
    if ((is_wrapper && count != 1) || (is_pair && count != 2)) {
      return fail("wrong number of operands of '" + std::string(name) + "'");
    }
    return total;
  }

  std::string_view rest_;
  SymbolTable& symbols_;
  ir::Rounding rounding_ = ir::Rounding::kDown;  // how the real number that is read becomes an integer
};

}  // namespace

Result<Dim> parse_expression(std::string_view text, SymbolTable& symbols) {
  if (text.size() > kMaxNbytes)
    return make_error(Code::INVALID_DATA, "symbolic expression: " + std::to_string(text.size()) +
                                              " bytes, expected at most " + std::to_string(kMaxNbytes));
  // Once a formula exceeds the limits, the archive is rejected, so the rest is not computed.
  Result<Dim> dim = symbols.is_beyond_limits() ? Dim(0) : Reader(text, symbols).run();
  if (dim && symbols.is_beyond_limits())
    return make_error(Code::INVALID_DATA,
                      "symbolic expression: the formula exceeds the limits of the compiler");
  return dim;
}

}  // namespace etb::pt2
