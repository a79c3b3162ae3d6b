// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/input_bounds.hpp"

#include <algorithm>
#include <bit>
#include <set>

namespace etb::pt2 {

namespace {

constexpr int64_t kLeastAssumption = 128, kMostAssumption = 1 << 20;

// A symbol's first use in the inputs, for messages.
struct Use {
  uint32_t symbol;
  std::string where;  // "dimension 0 of input 'x'"
  bool is_size;
};

std::vector<Use> find_uses(const ir::Module& module) {
  std::vector<Use> uses;
  std::set<uint32_t> known;
  const auto add = [&](ir::Dim dim, const std::string& where, bool is_size) {
    for (const uint32_t symbol : module.symbols.symbols_in(dim))
      if (known.insert(symbol).second) uses.push_back({symbol, where, is_size});
  };
  for (const ir::Input& input : module.main().inputs) {
    if (input.kind != ir::InputKind::kUser) continue;
    const ir::Value& value = module.main().values[input.value];
    const std::string name = "input '" + value.name + "'";
    for (size_t i = 0; i < value.spec.sizes.size(); ++i)
      add(value.spec.sizes[i], "dimension " + std::to_string(i) + " of " + name, true);
    if (value.kind == ir::ValueKind::kInt) add(value.dim, name, false);
  }
  return uses;
}

Status set_bound(ir::SymbolTable& symbols, uint32_t index, int64_t bound) {
  const ir::Symbol& symbol = symbols.symbol(index);
  if (bound < symbol.min || bound > symbol.max) {
    return make_error(Code::INVALID_ARGUMENT,
                      "bound " + std::to_string(bound) + " for " + symbol.name + ", expected " +
                          std::to_string(symbol.min) + " to " +
                          (symbol.max == ir::kUnbounded ? "any" : std::to_string(symbol.max)));
  }
  symbols.set_max(index, bound);
  return {};
}

int64_t assumed_bound(const ir::Symbol& symbol) {
  const int64_t hint = std::clamp<int64_t>(symbol.hint.value_or(0), 0, kMostAssumption / 4);
  const auto rounded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(4 * hint)));
  return std::max({rounded, kLeastAssumption, symbol.min});
}

}  // namespace

Result<std::vector<std::string>> bound_inputs(ir::Module& module,
                                              const std::map<std::string, int64_t>& bounds) {
  std::vector<std::string> assumptions;
  std::string names;
  std::set<std::string> unused;
  for (const auto& [name, bound] : bounds) unused.insert(name);
  for (const Use& use : find_uses(module)) {
    const ir::Symbol& symbol = module.symbols.symbol(use.symbol);
    names += (names.empty() ? "" : ", ") + symbol.name + " (" + use.where + ")";
    if (const auto given = bounds.find(symbol.name); given != bounds.end()) {
      ETB_TRY(set_bound(module.symbols, use.symbol, given->second));
      unused.erase(given->first);
    } else if (symbol.max == ir::kUnbounded && use.is_size) {
      const int64_t bound = assumed_bound(symbol);
      assumptions.push_back(use.where + " has no upper bound; " + std::to_string(bound) +
                            " is assumed (--bound " + symbol.name + "=N sets another)");
      module.symbols.set_max(use.symbol, bound);
    }
  }
  // Sizes that depend on data are symbols of their own.
  for (uint32_t i = 0; i < module.symbols.symbol_count(); ++i) {
    const auto given = bounds.find(module.symbols.symbol(i).name);
    if (given == bounds.end() || unused.erase(given->first) == 0) continue;
    ETB_TRY(set_bound(module.symbols, i, given->second));
  }
  if (unused.empty()) return assumptions;
  return make_error(Code::INVALID_ARGUMENT, "no size is called '" + *unused.begin() + "'" +
                                                (names.empty() ? ": all sizes of inputs are fixed"
                                                               : "\nhint: the sizes of inputs are " + names));
}

std::vector<std::string> bound_data_sizes(ir::Module& module) {
  constexpr int64_t kAssumption = 1024;
  std::vector<std::string> assumptions;
  for (const ir::Graph& graph : module.graphs) {
    for (const ir::Value& value : graph.values) {
      for (const ir::Dim size : value.spec.sizes) {
        for (const uint32_t index : module.symbols.symbols_in(size)) {
          const ir::Symbol& symbol = module.symbols.symbol(index);
          if (symbol.max != ir::kUnbounded || symbol.min > kAssumption) continue;
          assumptions.push_back("size " + symbol.name + " of '" + value.name +
                                "' depends on data and has no upper bound; " + std::to_string(kAssumption) +
                                " is assumed (--bound " + symbol.name + "=N sets another)");
          module.symbols.set_max(index, kAssumption);
        }
      }
    }
  }
  return assumptions;
}

}  // namespace etb::pt2
