// SPDX-License-Identifier: Apache-2.0
// Emits numbers that a program computes at run time: dynamic sizes, and formulas of them.
#include "partitioner_sdk/emit/method_emitter.hpp"

namespace etb::emit {

MethodEmitter::ValueIndex MethodEmitter::number(ir::Dim dim) {
  return dim.is_static() ? literal(dim.value()) : formula(dim);
}

MethodEmitter::ValueIndex MethodEmitter::prim(std::string_view name, std::vector<ValueIndex> args) {
  const ValueIndex result = add_value(int64_t{0});
  args.push_back(result);
  call("executorch_prim::" + std::string(name), "Scalar", std::move(args));
  return result;
}

// Emits a formula as a sum of products, once on each path.
MethodEmitter::ValueIndex MethodEmitter::formula(ir::Dim dim) {
  if (const auto found = known_.find(dim); found != known_.end()) return found->second;
  const std::vector<ir::SymbolTable::Term> terms = module_.symbols.terms(dim);
  std::optional<ValueIndex> sum;
  for (const ir::SymbolTable::Term& term : terms) {
    std::optional<ValueIndex> product;
    if (term.factor != 1 || term.atoms.empty()) product = literal(term.factor);
    for (const uint32_t part : term.atoms) {
      const ValueIndex value = atom(module_.symbols.atom(part));
      product = product ? prim("mul", {*product, value}) : value;
    }
    sum = sum ? prim("add", {*sum, *product}) : *product;
  }
  known_.emplace(dim, *sum);
  return *sum;
}

MethodEmitter::ValueIndex MethodEmitter::atom(const ir::SymbolTable::Atom& atom) {
  using Kind = ir::SymbolTable::AtomKind;
  if (atom.kind != Kind::kSymbol) {
    const ValueIndex a = number(atom.a), b = number(atom.b);
    const std::string_view name = atom.kind == Kind::kFloorDiv ? "floordiv"
                                  : atom.kind == Kind::kMod    ? "mod"
                                  : atom.kind == Kind::kMin    ? "sym_min"
                                                               : "sym_max";
    return prim(name, {a, b});
  }
  const ir::Dim symbol = module_.symbols.symbol_dim(atom.symbol);
  if (const auto found = known_.find(symbol); found != known_.end()) return found->second;
  const auto binder = binders_.find(atom.symbol);
  if (binder == binders_.end()) {
    faults_ += (faults_.empty() ? "" : "\n") +
               ("no input at run time determines the value of " + module_.symbols.symbol(atom.symbol).name);
    return 0;
  }
  const ir::SymbolBinding& binding = binder->second.binding;
  ValueIndex result = add_value(int64_t{0});
  const ValueIndex axis = literal(binder->second.dim);
  call("aten::sym_size", "int", {binder->second.tensor, axis, result});
  if (binding.offset != 0) result = prim("add", {result, literal(-binding.offset)});
  if (binding.factor != 1) result = prim("floordiv", {result, literal(binding.factor)});
  known_.emplace(symbol, result);
  return result;
}

}  // namespace etb::emit
