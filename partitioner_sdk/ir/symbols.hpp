// SPDX-License-Identifier: Apache-2.0
// Numbers that are known only at run time: symbols with ranges, and formulas over them in a normal form.
// Equal formulas are one number (4*s0 + 4 is (s0 + 1)*4).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::ir {

// A known integer, or a formula of a SymbolTable.
class Dim {
 public:
  constexpr Dim() = default;
  constexpr Dim(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor): a number is a Dim
  constexpr bool is_static() const { return formula_ == 0; }
  // Returns the number. Only for a static one.
  constexpr int64_t value() const { return value_; }
  // True for a static Dim of that value.
  constexpr bool is(int64_t value) const { return formula_ == 0 && value_ == value; }

  friend constexpr bool operator==(const Dim&, const Dim&) = default;
  friend constexpr auto operator<=>(const Dim&, const Dim&) = default;

 private:
  friend class SymbolTable;
  int64_t value_ = 0;
  uint32_t formula_ = 0;  // 0: static
};

// Wide enough for products of two int64.
__extension__ typedef __int128 Int128;  // NOLINT(modernize-use-using): clang rejects __extension__ in `using`

inline constexpr int64_t kUnbounded = INT64_MAX;

struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = kUnbounded;
  std::optional<int64_t> hint;  // the value in the exporter's example
};

struct Range {
  int64_t min = 0;
  int64_t max = 0;
};

class SymbolTable {
 public:
  // Names are lower-case letters, digits and underscores, beginning with a letter. An existing name returns
  // the existing symbol.
  Dim add_symbol(Symbol symbol);
  // Returns the symbol's formula, nullopt if there is none of that name.
  std::optional<Dim> find_symbol(std::string_view name) const;
  uint32_t symbol_count() const { return static_cast<uint32_t>(symbols_.size()); }
  const Symbol& symbol(uint32_t index) const { return symbols_[index]; }
  void set_hint(uint32_t index, int64_t hint) { symbols_[index].hint = hint; }
  void set_max(uint32_t index, int64_t max) { symbols_[index].max = max; }
  Dim symbol_dim(uint32_t index) const { return symbol_dims_[index]; }
  // Returns the index of the symbol if `dim` is exactly one symbol.
  std::optional<uint32_t> as_symbol(Dim dim) const;

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b) { return add(a, mul(b, -1)); }
  Dim mul(Dim a, Dim b);
  // Rounds down. A divisor of 0 returns 0 and sets is_beyond_limits.
  Dim floor_div(Dim a, Dim b);
  Dim mod(Dim a, Dim b);  // sign of the divisor, as in Python
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);

  // Returns bounds that follow from the symbols' ranges, clamped to int64.
  Range range(Dim dim) const;
  // Returns the value for the exporter's example if every symbol has one.
  std::optional<int64_t> hint(Dim dim) const;
  // Returns the symbols that the formula needs, ascending.
  std::vector<uint32_t> symbols_in(Dim dim) const;

  // Parts of a formula, for writers of other formats: a sum of products of atoms.
  enum class AtomKind : uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax };
  struct Atom {
    AtomKind kind;
    Dim a, b;  // operands, unless kSymbol
    uint32_t symbol = 0;
  };
  struct Term {
    int64_t factor = 0;
    std::vector<uint32_t> atoms;  // ascending, one entry per power; empty for the constant term
    friend bool operator==(const Term&, const Term&) = default;
    friend bool operator<(const Term& x, const Term& y) {
      return std::tie(x.atoms, x.factor) < std::tie(y.atoms, y.factor);
    }
  };
  const std::vector<Term>& terms(Dim dim) const { return formulas_[dim.formula_]; }
  const Atom& atom(uint32_t index) const { return atoms_[index]; }

  // Returns text such as "4*s0+1", "s0//2", "mod(s0, 3)", "min(s0, 8)". parse_formula (argument_text.hpp) reads it.
  std::string format(Dim dim) const;

  // True once a number overflowed int64 or a formula exceeded kMaxLeaves: later results are invalid. The
  // limit is the graph image's. It also stops hostile files with formulas that take too long to walk.
  bool is_beyond_limits() const { return is_beyond_limits_; }
  static constexpr size_t kMaxLeaves = 128;

 private:
  using Terms = std::vector<Term>;
  Terms terms_of(Dim dim) const;
  Dim intern(Terms terms);
  Dim atom_dim(AtomKind kind, Dim a, Dim b);
  Dim beyond_limits();
  std::optional<Dim> exact_quotient(Dim a, Dim b);
  Range atom_range(const Atom& atom) const;
  size_t leaf_count(Dim dim) const { return dim.is_static() ? 1 : leaf_counts_[dim.formula_]; }
  size_t leaf_count(const Terms& terms) const;

  std::vector<Symbol> symbols_;
  std::vector<Dim> symbol_dims_;
  std::map<std::string, uint32_t, std::less<>> symbol_numbers_;
  std::vector<Atom> atoms_;
  std::map<std::tuple<AtomKind, Dim, Dim, uint32_t>, uint32_t> atom_numbers_;
  std::vector<Terms> formulas_ = {{}};  // entry 0 means "static"
  std::vector<size_t> leaf_counts_ = {0};
  std::map<Terms, uint32_t> formula_numbers_;
  bool is_beyond_limits_ = false;
};

// A size factor * symbol + offset that determines the symbol's value.
struct SymbolBinding {
  uint32_t symbol = 0;
  int64_t factor = 1;
  int64_t offset = 0;
  bool is_plain() const { return factor == 1 && offset == 0; }
};
std::optional<SymbolBinding> find_binding(const SymbolTable& symbols, Dim size);

}  // namespace etb::ir
