// SPDX-License-Identifier: Apache-2.0
#include "tools/size/size_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "api/format/digest.hpp"
#include "api/format/tensor_layout.hpp"
#include "tools/program_info/stored_bytes.hpp"

namespace etb::tools {
namespace {

std::string digest_of(std::span<const std::byte> bytes) {
  const auto digest = format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  std::string out;
  for (const uint8_t byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

// Returns "layer1.conv" for "layer1.conv.weight".
std::string module_of(const std::string& target) {
  const size_t dot = target.rfind('.');
  return dot == std::string::npos ? "" : target.substr(0, dot);
}

template <class T>
void largest_first(std::vector<T>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const T& a, const T& b) { return a.nbytes > b.nbytes; });
}

// Sorts items and parts, and finds duplicates.
void finish(SizeReport& report) {
  largest_first(report.parts);
  largest_first(report.items);
  std::map<std::string, std::vector<size_t>> equal;
  for (size_t i = 0; i < report.items.size(); ++i)
    if (report.items[i].nbytes > 0) equal[report.items[i].digest].push_back(i);
  for (auto& [digest, items] : equal)
    if (items.size() > 1) report.duplicates.push_back({report.items[items[0]].nbytes, std::move(items)});
  std::stable_sort(report.duplicates.begin(), report.duplicates.end(),
                   [](const auto& a, const auto& b) { return a.wasted_nbytes() > b.wasted_nbytes(); });
}

// ---- Programs

std::string operator_name(const format::OperatorView& op) {
  return op.overload.empty() ? std::string(op.name) : fmt::format("{}.{}", op.name, op.overload);
}

// Calls visit(operator, value) for each argument of each kernel and delegate, lists of tensors included.
template <class Visit>
void for_each_use(const format::MethodView& method, Visit visit) {
  const auto pass = [&](const std::string& name, std::span<const int32_t> args) {
    for (const int32_t arg : args) {
      const auto value = method.value(static_cast<uint32_t>(arg));
      const bool is_list = value.kind() == format::ValueKind::kTensorList ||
                           value.kind() == format::ValueKind::kOptionalTensorList;
      if (!is_list) visit(name, static_cast<uint32_t>(arg));
      if (!is_list) continue;
      for (const int32_t item : value.tensor_list())
        if (item >= 0) visit(name, static_cast<uint32_t>(item));
    }
  };
  for (uint32_t c = 0; c < method.chain_count(); ++c) {
    for (uint32_t i = 0; i < method.chain(c).instruction_count(); ++i) {
      const auto instruction = method.chain(c).instruction(i);
      if (instruction.kind == format::InstructionKind::kKernel)
        pass(operator_name(method.op(instruction.a)), instruction.args);
      if (instruction.kind == format::InstructionKind::kDelegate)
        pass("delegate " + std::string(method.delegate(instruction.a).id()), instruction.args);
    }
  }
}

// Collects what a program stores. Several methods and values may name the same bytes.
class ProgramSizes {
 public:
  ProgramSizes(const ProgramFile& file, SizeReport& report)
      : file_(file), program_(file.view), report_(report) {}

  void add_all() {
    for (uint32_t m = 0; m < program_.method_count(); ++m) {
      const auto method = program_.method(m);
      add_tensors(method);
      count_calls(method);
      add_payloads(method);
    }
    add_named_data();
    for (auto& [key, entry] : tensors_) {
      entry.item.operators.assign(entry.operators.begin(), entry.operators.end());
      report_.items.push_back(std::move(entry.item));
    }
    add_parts();
  }

 private:
  struct Entry {
    SizeItem item;
    std::set<std::string> operators;
  };

  void add_tensors(const format::MethodView& method) {
    std::map<uint32_t, std::set<std::string>> readers;
    for_each_use(method, [&](const std::string& name, uint32_t value) { readers[value].insert(name); });
    for (uint32_t i = 0; i < method.value_count(); ++i) {
      if (method.value(i).kind() != format::ValueKind::kTensor) continue;
      const auto tensor = method.value(i).as_tensor();
      const auto bytes = stored_bytes(file_, tensor);
      if (!bytes) continue;
      const bool is_state = tensor.storage == format::Storage::kPlannedInitialized;
      Entry& entry = tensors_[{is_state, tensor.data_index}];
      entry.operators.insert(readers[i].begin(), readers[i].end());
      // Several values may view one constant; the largest is all of it.
      if (!entry.item.kind.empty() && entry.item.nbytes >= tensor.nbytes) continue;
      entry.item.kind = is_state ? "state" : "constant";
      entry.item.name =
          tensor.name.empty() ? fmt::format("{} {}", entry.item.kind, tensor.data_index) : tensor.name;
      entry.item.target = tensor.name;
      entry.item.dtype = format::dtype_text(tensor.dtype);
      entry.item.shape.assign(tensor.sizes.begin(), tensor.sizes.end());
      entry.item.nbytes = tensor.nbytes;
      entry.item.digest = digest_of(*bytes);
    }
  }

  void count_calls(const format::MethodView& method) {
    for (uint32_t c = 0; c < method.chain_count(); ++c) {
      for (uint32_t i = 0; i < method.chain(c).instruction_count(); ++i) {
        const auto instruction = method.chain(c).instruction(i);
        if (instruction.kind == format::InstructionKind::kKernel)
          ++report_.calls[operator_name(method.op(instruction.a))];
        if (instruction.kind == format::InstructionKind::kDelegate)
          ++report_.calls["delegate " + std::string(method.delegate(instruction.a).id())];
      }
    }
  }

  void add_payloads(const format::MethodView& method) {
    for (uint32_t d = 0; d < method.delegate_count(); ++d) {
      const auto delegate = method.delegate(d);
      if (!payloads_.emplace(delegate.is_inline(), delegate.payload_index()).second) continue;
      const auto bytes = payload_bytes(file_, delegate);
      if (delegate.is_inline()) inline_nbytes_ += bytes.size();
      SizeItem item;
      item.kind = "payload";
      item.name = fmt::format("{} delegate {} of {}", delegate.id(), d, method.name());
      item.nbytes = bytes.size();
      item.operators = {"delegate " + std::string(delegate.id())};
      item.digest = digest_of(bytes);
      report_.items.push_back(std::move(item));
    }
  }

  void add_named_data() {
    std::set<uint32_t> segments;
    for (uint32_t i = 0; i < program_.named_data_count(); ++i) {
      const uint32_t segment = program_.named_data_segment(i);
      if (!segments.insert(segment).second) continue;
      const auto bytes = named_data_bytes(file_, i);
      SizeItem item;
      item.kind = "named data";
      item.name = program_.named_data_key(i);
      item.nbytes = bytes.size();
      item.digest = digest_of(bytes);
      report_.items.push_back(std::move(item));
    }
  }

  // Bytes of no item and no structure are padding, or a segment that nothing names.
  void add_parts() {
    std::map<std::string, uint64_t> sums;
    for (const SizeItem& item : report_.items) sums[item.kind] += item.nbytes;
    uint64_t structure = program_.extent().flatbuffer_nbytes;
    const uint64_t inside = inline_nbytes_ + (program_.has_inline_constants() ? sums["constant"] : 0);
    structure -= std::min(structure, inside);
    uint64_t known = structure;
    const auto add = [&](const char* name, uint64_t nbytes) {
      if (nbytes > 0) report_.parts.push_back({name, nbytes});
    };
    for (const auto& [kind, nbytes] : sums) known += nbytes;
    add("constants of kernels", sums["constant"]);
    add("initial values of state", sums["state"]);
    add("payloads of delegates", sums["payload"]);
    add("named data of delegates", sums["named data"]);
    add("structure", structure);
    add("padding", report_.nbytes - std::min(report_.nbytes, known));
  }

  const ProgramFile& file_;
  const format::ProgramView& program_;
  SizeReport& report_;
  std::map<std::pair<bool, uint32_t>, Entry> tensors_;  // state or constant, data index
  std::set<std::pair<bool, uint32_t>> payloads_;        // inline or segment, index
  uint64_t inline_nbytes_ = 0;
};

// Names the items whose bytes are those of a constant of the model, or of a matrix after a transposition, as kernels of
// products store it.
void name_items(const ir::Module& model, SizeReport& report) {
  std::unordered_map<std::string, const ir::Input*> inputs;
  for (const ir::Input& input : model.main().inputs) {
    if (input.constant == ir::kNone) continue;
    ir::Constant constant = model.constants[input.constant];
    inputs.emplace(digest_of(constant.dense_bytes()), &input);
    if (constant.sizes.size() != 2) continue;
    std::swap(constant.sizes[0], constant.sizes[1]);
    std::swap(constant.strides[0], constant.strides[1]);
    inputs.emplace(digest_of(constant.dense_bytes()), &input);
  }
  for (SizeItem& item : report.items) {
    const auto found = inputs.find(item.digest);
    if (found == inputs.end() || item.nbytes == 0) continue;
    item.target = found->second->target;
    item.name = item.target;
  }
}

void add_module_types(const ir::Module& model, SizeReport& report) {
  for (const ir::Source& source : model.sources)
    if (!source.module_path.empty()) report.module_types.emplace(source.module_path, source.module_type);
}

void set_modules(SizeReport& report) {
  for (SizeItem& item : report.items) item.module = module_of(item.target);
}

// ---- Archives

std::map<uint32_t, std::set<std::string>> readers_of(const ir::Module& module) {
  std::map<uint32_t, std::set<std::string>> out;  // by value of the main graph
  for (const ir::Node& node : module.main().nodes)
    for (const ir::Argument& argument : node.args)
      ir::for_each_value(argument, [&](ir::ValueId id) { out[id].insert(module.op(node).name); });
  return out;
}

}  // namespace

SizeReport measure_program(const ProgramFile& file, const ir::Module* model) {
  SizeReport report;
  report.file = file.path;
  report.kind = "program";
  report.nbytes = file.bytes.size();
  ProgramSizes(file, report).add_all();
  if (model != nullptr) {
    name_items(*model, report);
    add_module_types(*model, report);
  }
  set_modules(report);
  report.has_modules = std::any_of(report.items.begin(), report.items.end(),
                                   [](const SizeItem& item) { return !item.target.empty(); });
  finish(report);
  return report;
}

SizeReport measure_archive(const ir::Module& module, std::string path, uint64_t nbytes) {
  SizeReport report;
  report.file = std::move(path);
  report.kind = "archive";
  report.nbytes = nbytes;
  report.has_modules = true;
  auto readers = readers_of(module);
  uint64_t sum = 0;
  std::map<uint32_t, size_t> items;  // by constant: tied parameters are stored once
  for (const ir::Input& input : module.main().inputs) {
    if (input.constant == ir::kNone) continue;
    const ir::Constant& constant = module.constants[input.constant];
    const auto [found, is_new] = items.emplace(input.constant, report.items.size());
    if (!is_new) {
      SizeItem& item = report.items[found->second];
      item.name += ", " + module.main().values[input.value].name;
      for (const std::string& name : readers[input.value]) item.operators.push_back(name);
      std::sort(item.operators.begin(), item.operators.end());
      item.operators.erase(std::unique(item.operators.begin(), item.operators.end()), item.operators.end());
      continue;
    }
    SizeItem item;
    item.kind = "constant";
    item.name = module.main().values[input.value].name;
    item.target = input.target;
    item.dtype = ops::to_text(constant.dtype);
    item.shape = constant.sizes;
    item.nbytes = constant.nbytes();
    item.operators.assign(readers[input.value].begin(), readers[input.value].end());
    item.digest = digest_of(constant.dense_bytes());
    sum += item.nbytes;
    report.items.push_back(std::move(item));
  }
  for (const ir::Graph& graph : module.graphs)
    for (const ir::Node& node : graph.nodes) ++report.calls[module.op(node).name];
  add_module_types(module, report);
  set_modules(report);
  report.parts = {{"weights", sum}, {"graph and archive", nbytes - std::min(nbytes, sum)}};
  finish(report);
  return report;
}

std::vector<SizeGroup> by_module(const SizeReport& report, uint32_t depth) {
  std::map<std::string, SizeGroup> groups;
  for (const SizeItem& item : report.items) {
    std::string name = item.target.empty() ? "(" + item.kind + ")" : item.module;
    for (size_t at = 0, names = 0; depth != 0 && at != std::string::npos && !item.target.empty(); ++names) {
      at = name.find('.', at + 1);
      if (at != std::string::npos && names + 1 == depth) name.erase(at), at = std::string::npos;
    }
    if (name.empty()) name = "(top)";
    SizeGroup& group = groups[name];
    group.name = name;
    group.nbytes += item.nbytes;
    ++group.items;
    if (const auto type = report.module_types.find(name); type != report.module_types.end())
      group.type = type->second;
  }
  std::vector<SizeGroup> out;
  for (auto& [name, group] : groups) out.push_back(std::move(group));
  largest_first(out);
  return out;
}

std::vector<SizeGroup> by_operator(const SizeReport& report) {
  std::map<std::string, SizeGroup> groups;
  for (const auto& [name, calls] : report.calls) {
    groups[name].name = name;
    groups[name].calls = calls;
  }
  for (const SizeItem& item : report.items) {
    const std::string name =
        item.operators.empty() ? "(" + item.kind + ")" : fmt::format("{}", fmt::join(item.operators, ", "));
    SizeGroup& group = groups[name];
    group.name = name;
    group.nbytes += item.nbytes;
    ++group.items;
  }
  std::vector<SizeGroup> out;
  for (auto& [name, group] : groups) out.push_back(std::move(group));
  largest_first(out);
  return out;
}

}  // namespace etb::tools
