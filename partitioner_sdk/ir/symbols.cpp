// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/symbols.hpp"

#include <algorithm>
#include <set>

namespace etb::ir {

namespace {

// Arithmetic on bounds: clamps to the ends of int64.
int64_t saturated(Int128 value) {
  if (value > INT64_MAX) return INT64_MAX;
  if (value < INT64_MIN) return INT64_MIN;
  return static_cast<int64_t>(value);
}
int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == -1) return saturated(-static_cast<Int128>(a));
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
int64_t floor_remainder(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
Range product(Range a, Range b) {
  const Int128 corners[] = {static_cast<Int128>(a.min) * b.min, static_cast<Int128>(a.min) * b.max,
                            static_cast<Int128>(a.max) * b.min, static_cast<Int128>(a.max) * b.max};
  return {saturated(*std::min_element(corners, corners + 4)),
          saturated(*std::max_element(corners, corners + 4))};
}
Range sum(Range a, Range b) {
  // An end that means "unbounded" stays unbounded after additions.
  const auto end = [](int64_t x, int64_t y, int64_t limit) {
    return x == limit || y == limit ? limit : saturated(static_cast<Int128>(x) + y);
  };
  return {end(a.min, b.min, INT64_MIN), end(a.max, b.max, INT64_MAX)};
}

}  // namespace

Dim SymbolTable::beyond_limits() {
  is_beyond_limits_ = true;
  return Dim(0);
}

Dim SymbolTable::add_symbol(Symbol symbol) {
  const auto [found, is_new] = symbol_numbers_.emplace(symbol.name, static_cast<uint32_t>(symbols_.size()));
  if (!is_new) return symbol_dims_[found->second];
  const auto atom = static_cast<uint32_t>(atoms_.size());
  atoms_.push_back({AtomKind::kSymbol, {}, {}, found->second});
  symbols_.push_back(std::move(symbol));
  symbol_dims_.push_back(intern({{1, {atom}}}));
  return symbol_dims_.back();
}

std::optional<Dim> SymbolTable::find_symbol(std::string_view name) const {
  const auto found = symbol_numbers_.find(name);
  if (found == symbol_numbers_.end()) return std::nullopt;
  return symbol_dims_[found->second];
}

std::optional<uint32_t> SymbolTable::as_symbol(Dim dim) const {
  if (dim.is_static()) return std::nullopt;
  const Terms& all = terms(dim);
  if (all.size() != 1 || all[0].factor != 1 || all[0].atoms.size() != 1) return std::nullopt;
  const Atom& only = atoms_[all[0].atoms[0]];
  if (only.kind != AtomKind::kSymbol) return std::nullopt;
  return only.symbol;
}

SymbolTable::Terms SymbolTable::terms_of(Dim dim) const {
  if (!dim.is_static()) return formulas_[dim.formula_];
  if (dim.value_ == 0) return {};
  return {{dim.value_, {}}};
}

size_t SymbolTable::leaf_count(const Terms& terms) const {
  size_t count = 0;
  for (const Term& term : terms) {
    count += 1;
    for (const uint32_t index : term.atoms) {
      const Atom& atom = atoms_[index];
      count += atom.kind == AtomKind::kSymbol ? 1 : leaf_count(atom.a) + leaf_count(atom.b);
    }
  }
  return count;
}

// Normal form: terms sorted by atoms, equal atoms added up, zero terms removed.
Dim SymbolTable::intern(Terms terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.atoms < y.atoms; });
  Terms merged;
  for (Term& term : terms) {
    if (!merged.empty() && merged.back().atoms == term.atoms) {
      if (__builtin_add_overflow(merged.back().factor, term.factor, &merged.back().factor))
        return beyond_limits();
      if (merged.back().factor == 0) merged.pop_back();
    } else if (term.factor != 0) {
      merged.push_back(std::move(term));
    }
  }
  if (merged.empty()) return Dim(0);
  if (merged.size() == 1 && merged[0].atoms.empty()) return Dim(merged[0].factor);
  const size_t leaves = leaf_count(merged);
  if (leaves > kMaxLeaves) return beyond_limits();
  const auto [found, is_new] = formula_numbers_.emplace(merged, static_cast<uint32_t>(formulas_.size()));
  if (is_new) {
    formulas_.push_back(std::move(merged));
    leaf_counts_.push_back(leaves);
  }
  Dim out;
  out.formula_ = found->second;
  return out;
}

Dim SymbolTable::add(Dim a, Dim b) {
  if (a.is_static() && b.is_static()) {
    int64_t total = 0;
    return __builtin_add_overflow(a.value_, b.value_, &total) ? beyond_limits() : Dim(total);
  }
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  Terms all = terms_of(a);
  const Terms more = terms_of(b);
  all.insert(all.end(), more.begin(), more.end());
  return intern(std::move(all));
}

Dim SymbolTable::mul(Dim a, Dim b) {
  if (a.is_static() && b.is_static()) {
    int64_t total = 0;
    return __builtin_mul_overflow(a.value_, b.value_, &total) ? beyond_limits() : Dim(total);
  }
  if (a.is(0) || b.is(0)) return Dim(0);
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  const Terms left = terms_of(a);
  const Terms right = terms_of(b);
  if (left.size() * right.size() > kMaxLeaves * 4) return beyond_limits();
  Terms all;
  for (const Term& x : left) {
    for (const Term& y : right) {
      Term term;
      if (__builtin_mul_overflow(x.factor, y.factor, &term.factor)) return beyond_limits();
      std::merge(x.atoms.begin(), x.atoms.end(), y.atoms.begin(), y.atoms.end(),
                 std::back_inserter(term.atoms));
      all.push_back(std::move(term));
    }
  }
  return intern(std::move(all));
}

// Returns a / b if b is one term that divides every term of a.
std::optional<Dim> SymbolTable::exact_quotient(Dim a, Dim b) {
  const Terms divisor = terms_of(b);
  if (divisor.size() != 1) return a == b ? std::optional<Dim>(1) : std::nullopt;
  Terms quotient = terms_of(a);
  for (Term& term : quotient) {
    const Term& by = divisor[0];
    // INT64_MIN / -1 overflows int64.
    if (by.factor == -1 ? term.factor == INT64_MIN : term.factor % by.factor != 0) return std::nullopt;
    if (!std::includes(term.atoms.begin(), term.atoms.end(), by.atoms.begin(), by.atoms.end()))
      return std::nullopt;
    std::vector<uint32_t> rest;
    std::set_difference(term.atoms.begin(), term.atoms.end(), by.atoms.begin(), by.atoms.end(),
                        std::back_inserter(rest));
    term = {term.factor / by.factor, std::move(rest)};
  }
  return intern(std::move(quotient));
}

Dim SymbolTable::atom_dim(AtomKind kind, Dim a, Dim b) {
  const auto [found, is_new] =
      atom_numbers_.emplace(std::tuple{kind, a, b, 0u}, static_cast<uint32_t>(atoms_.size()));
  if (is_new) atoms_.push_back({kind, a, b, 0});
  return intern({{1, {found->second}}});
}

Dim SymbolTable::floor_div(Dim a, Dim b) {
  if (b.is(0)) return beyond_limits();
  if (a.is_static() && b.is_static()) return Dim(floor_quotient(a.value_, b.value_));
  if (a.is(0)) return a;
  if (const auto exact = exact_quotient(a, b)) return *exact;
  return atom_dim(AtomKind::kFloorDiv, a, b);
}

Dim SymbolTable::mod(Dim a, Dim b) {
  if (b.is(0)) return beyond_limits();
  if (a.is_static() && b.is_static()) return Dim(floor_remainder(a.value_, b.value_));
  if (a.is(0) || exact_quotient(a, b)) return Dim(0);
  return atom_dim(AtomKind::kMod, a, b);
}

Dim SymbolTable::min(Dim a, Dim b) {
  if (a == b) return a;
  const Range ra = range(a), rb = range(b);
  if (ra.max <= rb.min && ra.max != kUnbounded) return a;
  if (rb.max <= ra.min && rb.max != kUnbounded) return b;
  return atom_dim(AtomKind::kMin, std::min(a, b), std::max(a, b));
}

Dim SymbolTable::max(Dim a, Dim b) {
  if (a == b) return a;
  const Range ra = range(a), rb = range(b);
  if (ra.max <= rb.min && ra.max != kUnbounded) return b;
  if (rb.max <= ra.min && rb.max != kUnbounded) return a;
  return atom_dim(AtomKind::kMax, std::min(a, b), std::max(a, b));
}

Range SymbolTable::atom_range(const Atom& atom) const {
  if (atom.kind == AtomKind::kSymbol) return {symbols_[atom.symbol].min, symbols_[atom.symbol].max};
  const Range a = range(atom.a), b = range(atom.b);
  switch (atom.kind) {
    case AtomKind::kMin:
      return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case AtomKind::kMax:
      return {std::max(a.min, b.min), std::max(a.max, b.max)};
    case AtomKind::kMod:
      if (b.min > 0) return {0, std::min(b.max - 1, a.min >= 0 ? a.max : INT64_MAX)};
      return {INT64_MIN, INT64_MAX};
    default: {
      if (b.min <= 0) return {INT64_MIN, INT64_MAX};
      const auto quotient = [](int64_t x, int64_t y) {
        return x == INT64_MAX || x == INT64_MIN ? x : floor_quotient(x, y);
      };
      const int64_t corners[] = {quotient(a.min, b.min), quotient(a.min, b.max), quotient(a.max, b.min),
                                 quotient(a.max, b.max)};
      return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
    }
  }
}

Range SymbolTable::range(Dim dim) const {
  if (dim.is_static()) return {dim.value_, dim.value_};
  Range total{0, 0};
  for (const Term& term : formulas_[dim.formula_]) {
    Range part{1, 1};
    for (const uint32_t index : term.atoms) part = product(part, atom_range(atoms_[index]));
    total = sum(total, product(part, {term.factor, term.factor}));
  }
  return total;
}

std::optional<int64_t> SymbolTable::hint(Dim dim) const {
  if (dim.is_static()) return dim.value_;
  Int128 total = 0;
  for (const Term& term : formulas_[dim.formula_]) {
    Int128 part = term.factor;
    for (const uint32_t index : term.atoms) {
      const Atom& atom = atoms_[index];
      std::optional<int64_t> value;
      if (atom.kind == AtomKind::kSymbol) {
        value = symbols_[atom.symbol].hint;
      } else {
        const auto a = hint(atom.a), b = hint(atom.b);
        if (!a || !b) return std::nullopt;
        if ((atom.kind == AtomKind::kFloorDiv || atom.kind == AtomKind::kMod) && *b == 0) return std::nullopt;
        value = atom.kind == AtomKind::kMin        ? std::min(*a, *b)
                : atom.kind == AtomKind::kMax      ? std::max(*a, *b)
                : atom.kind == AtomKind::kFloorDiv ? floor_quotient(*a, *b)
                                                   : floor_remainder(*a, *b);
      }
      if (!value) return std::nullopt;
      part = saturated(part * *value);
    }
    total = saturated(total + part);
  }
  return static_cast<int64_t>(total);
}

std::vector<uint32_t> SymbolTable::symbols_in(Dim dim) const {
  std::set<uint32_t> found;
  if (!dim.is_static()) {
    for (const Term& term : formulas_[dim.formula_]) {
      for (const uint32_t index : term.atoms) {
        if (atoms_[index].kind == AtomKind::kSymbol) {
          found.insert(atoms_[index].symbol);
          continue;
        }
        for (const Dim part : {atoms_[index].a, atoms_[index].b}) {
          for (const uint32_t symbol : symbols_in(part)) found.insert(symbol);
        }
      }
    }
  }
  return {found.begin(), found.end()};
}

namespace {

// Writes formulas. Precedence: 0 anything, 1 right operand of + or operand of *, 2 right operand of * and //.
class FormulaText {
 public:
  explicit FormulaText(const SymbolTable& symbols) : symbols_(symbols) {}

  // The constant term comes first in the normal form and is written last.
  std::string formula(Dim dim, int precedence) const {
    if (dim.is_static()) return std::to_string(dim.value());
    std::vector<SymbolTable::Term> all = symbols_.terms(dim);
    std::stable_partition(all.begin(), all.end(), [](const auto& term) { return !term.atoms.empty(); });
    if (all.size() == 1) return product(all[0], precedence);
    std::string out;
    for (const SymbolTable::Term& term : all) out += (out.empty() ? "" : "+") + product(term, 0);
    return precedence > 0 ? "(" + out + ")" : out;
  }

 private:
  std::string product(const SymbolTable::Term& term, int precedence) const {
    const bool has_factor = term.factor != 1 || term.atoms.empty();
    const size_t count = term.atoms.size() + (has_factor ? 1 : 0);
    std::string out = has_factor ? std::to_string(term.factor) : "";
    for (const uint32_t index : term.atoms) {
      const bool is_first = out.empty();
      if (!is_first) out += "*";
      out += atom(symbols_.atom(index), !is_first || (count == 1 && precedence == 2) ? 2 : 1);
    }
    return precedence == 2 && count > 1 ? "(" + out + ")" : out;
  }

  std::string atom(const SymbolTable::Atom& atom, int precedence) const {
    using Kind = SymbolTable::AtomKind;
    if (atom.kind == Kind::kSymbol) return symbols_.symbol(atom.symbol).name;
    if (atom.kind == Kind::kFloorDiv) {
      const std::string quotient = formula(atom.a, 1) + "//" + formula(atom.b, 2);
      return precedence == 2 ? "(" + quotient + ")" : quotient;
    }
    const char* name = atom.kind == Kind::kMod ? "mod" : atom.kind == Kind::kMin ? "min" : "max";
    return name + ("(" + formula(atom.a, 0) + ", " + formula(atom.b, 0) + ")");
  }

  const SymbolTable& symbols_;
};

}  // namespace

std::string SymbolTable::format(Dim dim) const { return FormulaText(*this).formula(dim, 0); }

std::optional<SymbolBinding> find_binding(const SymbolTable& symbols, Dim size) {
  if (size.is_static()) return std::nullopt;
  SymbolBinding binding;
  bool has_symbol = false;
  for (const SymbolTable::Term& term : symbols.terms(size)) {
    if (term.atoms.empty()) {
      binding.offset = term.factor;
      continue;
    }
    const SymbolTable::Atom& atom = symbols.atom(term.atoms.front());
    if (has_symbol || term.atoms.size() != 1 || atom.kind != SymbolTable::AtomKind::kSymbol ||
        term.factor == 0)
      return std::nullopt;
    has_symbol = true;
    binding.symbol = atom.symbol;
    binding.factor = term.factor;
  }
  return has_symbol ? std::optional(binding) : std::nullopt;
}

}  // namespace etb::ir
