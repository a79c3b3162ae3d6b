// SPDX-License-Identifier: Apache-2.0
#include "tools/program_info/program_report.hpp"

#include <algorithm>
#include <map>

#include "api/format/printable_text.hpp"
#include "api/format/tensor_layout.hpp"
#include "host/runtime/program.hpp"

namespace etb::tools {

namespace {

using Json = nlohmann::ordered_json;
using format::InstructionKind;
using format::ValueKind;

const char* to_text(format::Storage storage) {
  switch (storage) {
    case format::Storage::kCaller:
      return "caller";
    case format::Storage::kPlanned:
      return "planned";
    case format::Storage::kPlannedInitialized:
      return "planned, initial value";
    case format::Storage::kConstant:
      return "constant";
    case format::Storage::kExternal:
      return "external";
    case format::Storage::kPlannedExternal:
      return "planned, external initial value";
  }
  return "unknown";
}

const char* to_text(format::Dynamism dynamism) {
  switch (dynamism) {
    case format::Dynamism::kStatic:
      return "static";
    case format::Dynamism::kBounded:
      return "bounded";
    case format::Dynamism::kUnbounded:
      break;
  }
  return "unbounded";
}

Json report_value(const format::ValueView& value) {
  Json json{{"kind", format::to_text(value.kind())}};
  if (value.kind() == ValueKind::kInt) json["value"] = value.as_int();
  if (value.kind() == ValueKind::kBool) json["value"] = value.as_bool();
  if (value.kind() == ValueKind::kDouble) json["value"] = value.as_double();
  if (value.kind() == ValueKind::kString) json["value"] = value.as_string();
  if (value.kind() != ValueKind::kTensor) return json;
  const auto tensor = value.as_tensor();
  json["dtype"] = format::dtype_text(tensor.dtype);
  json["sizes"] = std::vector<int32_t>(tensor.sizes.begin(), tensor.sizes.end());
  json["dim_order"] = std::vector<int>(tensor.dim_order.begin(), tensor.dim_order.end());
  json["nbytes"] = tensor.nbytes;
  json["dynamism"] = to_text(tensor.dynamism);
  json["storage"] = to_text(tensor.storage);
  if (!tensor.name.empty()) json["name"] = tensor.name;
  return json;
}

Json report_values(const format::MethodView& method, std::span<const int32_t> indices) {
  Json list = Json::array();
  for (const int32_t index : indices)
    list.push_back(report_value(method.value(static_cast<uint32_t>(index))));
  return list;
}

std::string operator_name(const format::OperatorView& op) {
  std::string name(op.name);
  return op.overload.empty() ? name : name + "." + std::string(op.overload);
}

// Sorted by use, most used first.
Json report_operators(const format::MethodView& method, std::map<std::string, uint64_t>& kinds) {
  std::map<std::string, uint64_t> calls;
  for (uint32_t c = 0; c < method.chain_count(); ++c) {
    for (uint32_t i = 0; i < method.chain(c).instruction_count(); ++i) {
      const auto instruction = method.chain(c).instruction(i);
      switch (instruction.kind) {
        case InstructionKind::kKernel:
          ++kinds["kernel"];
          ++calls[operator_name(method.op(instruction.a))];
          break;
        case InstructionKind::kDelegate:
          ++kinds["delegate"];
          break;
        case InstructionKind::kMove:
          ++kinds["move"];
          break;
        case InstructionKind::kJumpFalse:
          ++kinds["jump_false"];
          break;
        case InstructionKind::kFree:
          ++kinds["free"];
          break;
      }
    }
  }
  std::vector<std::pair<std::string, uint64_t>> sorted(calls.begin(), calls.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Json list = Json::array();
  for (const auto& [name, count] : sorted) list.push_back({{"name", name}, {"calls", count}});
  return list;
}

Json report_delegates(const format::ProgramView& program, const format::MethodView& method) {
  Json list = Json::array();
  for (uint32_t i = 0; i < method.delegate_count(); ++i) {
    const auto delegate = method.delegate(i);
    const uint64_t nbytes = delegate.is_inline() ? program.inline_payload(delegate.payload_index()).size()
                                                 : program.segment(delegate.payload_index()).nbytes;
    Json specs = Json::array();
    for (uint32_t s = 0; s < delegate.compile_spec_count(); ++s) {
      specs.push_back(
          {{"key", delegate.compile_spec(s).key}, {"nbytes", delegate.compile_spec(s).value.size()}});
    }
    list.push_back({{"id", delegate.id()},
                    {"payload_nbytes", nbytes},
                    {"location", delegate.is_inline() ? "inline" : "segment"},
                    {"index", delegate.payload_index()},
                    {"compile_specs", std::move(specs)}});
  }
  return list;
}

// Each constant once, for any number of values that name it.
Json report_constants(const format::MethodView& method) {
  std::map<uint32_t, Json> constants;
  uint64_t nbytes = 0;
  for (uint32_t i = 0; i < method.value_count(); ++i) {
    const auto value = method.value(i);
    if (value.kind() != ValueKind::kTensor) continue;
    const auto tensor = value.as_tensor();
    if (tensor.storage != format::Storage::kConstant) continue;
    if (constants.emplace(tensor.data_index, report_value(value)).second) nbytes += tensor.nbytes;
  }
  Json list = Json::array();
  for (auto& [index, constant] : constants) {
    constant["index"] = index;
    list.push_back(std::move(constant));
  }
  return {{"count", list.size()}, {"nbytes", nbytes}, {"tensors", std::move(list)}};
}

Json report_method(const format::ProgramView& program, const format::MethodView& method) {
  std::map<std::string, uint64_t> kinds;
  Json operators = report_operators(method, kinds);
  uint64_t instruction_count = 0;
  Json instructions = Json::object();
  for (const auto& [kind, count] : kinds) instruction_count += count;
  instructions["total"] = instruction_count;
  for (const auto& [kind, count] : kinds) instructions[kind] = count;
  const host::MethodMeta meta(method);
  Json arenas = Json::array();
  for (uint32_t i = 0; i < meta.arena_count(); ++i) arenas.push_back(meta.arena_nbytes(i));
  Json inputs = report_values(method, method.inputs());
  for (uint32_t i = 0; i < meta.input_count(); ++i)
    if (meta.is_fixed_input(i)) inputs[i]["fixed"] = true;
  return {{"name", method.name()},
          {"inputs", std::move(inputs)},
          {"outputs", report_values(method, method.outputs())},
          {"instructions", std::move(instructions)},
          {"operators", std::move(operators)},
          {"delegates", report_delegates(program, method)},
          {"arena_nbytes", std::move(arenas)},
          {"state_nbytes", meta.state_nbytes()},
          {"value_count", method.value_count()},
          {"constants", report_constants(method)}};
}

// Returns text of the file on one line, without terminal control characters.
std::string shown(const Json& text) { return format::made_printable(text.get_ref<const std::string&>()); }

// Returns "float32 [2, 3]" with the value's special properties.
std::string format_value(const Json& value) {
  if (value["kind"] != "tensor") {
    std::string text = value["kind"].get<std::string>();
    if (value.contains("value"))
      text +=
          " " + (value["value"].is_string() ? '\'' + shown(value["value"]) + '\'' : value["value"].dump());
    return value.contains("fixed") ? text + ", fixed" : text;
  }
  std::string text = value["dtype"].get<std::string>() + " " + value["sizes"].dump();
  if (value["dynamism"] != "static") text += " " + value["dynamism"].get<std::string>();
  auto order = value["dim_order"].get<std::vector<int>>();
  if (!std::is_sorted(order.begin(), order.end())) text += ", dim order " + value["dim_order"].dump();
  if (value["storage"] != "planned") text += ", " + value["storage"].get<std::string>();
  return text;
}

// Returns "7: 6 kernel, 1 delegate".
std::string format_counts(const Json& instructions) {
  std::string text = instructions["total"].dump();
  const char* separator = ": ";
  for (const auto& [kind, count] : instructions.items()) {
    if (kind == "total") continue;
    text += separator + count.dump() + " " + kind;
    separator = ", ";
  }
  return text;
}

std::string format_method(const Json& method) {
  std::string text = "\nmethod " + shown(method["name"]) + "\n";
  const auto line = [&text](const std::string& content) { text += "  " + content + "\n"; };
  for (const char* list : {"inputs", "outputs"}) {
    size_t index = 0;
    for (const Json& value : method[list]) {
      line(std::string(list, std::string(list).size() - 1) + " " + std::to_string(index++) + ": " +
           format_value(value));
    }
  }
  line("instructions: " + format_counts(method["instructions"]));
  for (const Json& op : method["operators"]) line("  " + op["calls"].dump() + " x " + shown(op["name"]));
  for (const Json& delegate : method["delegates"]) {
    line("delegate " + shown(delegate["id"]) + ": payload of " + delegate["payload_nbytes"].dump() +
         " bytes, " + delegate["location"].get<std::string>() + " " + delegate["index"].dump());
  }
  line("memory: arenas " + method["arena_nbytes"].dump() + " bytes, state " + method["state_nbytes"].dump() +
       " bytes");
  line("constants: " + method["constants"]["count"].dump() + " tensors, " +
       method["constants"]["nbytes"].dump() + " bytes");
  return text;
}

}  // namespace

Result<ProgramFile> read_program_file(const std::string& path) {
  ProgramFile file{path, std::make_shared<host::MmapLoader>(), {}, {}};
  etb_error error = ETB_ERROR_INIT;
  ETB_TRY(check(file.loader->open(path.c_str(), host::MmapLoader::Lock::kNone, &error), error));
  file.bytes = file.loader->bytes();
  const Status status = check(format::read_program(file.bytes, &file.view, &error), error);
  if (!status) return tl::make_unexpected(with_context(status.error(), path));
  return file;
}

Json report_program(const ProgramFile& file) {
  const auto& program = file.view;
  Json segments = Json::array();
  for (uint32_t i = 0; i < program.segment_count(); ++i) {
    segments.push_back({{"offset", program.extent().segment_base + program.segment(i).offset},
                        {"nbytes", program.segment(i).nbytes}});
  }
  Json named = Json::array();
  for (uint32_t i = 0; i < program.named_data_count(); ++i) {
    named.push_back({{"key", program.named_data_key(i)},
                     {"segment", program.named_data_segment(i)},
                     {"nbytes", program.segment(program.named_data_segment(i)).nbytes}});
  }
  Json methods = Json::array();
  for (uint32_t i = 0; i < program.method_count(); ++i)
    methods.push_back(report_method(program, program.method(i)));
  return {{"file", file.path},
          {"nbytes", file.bytes.size()},
          {"flatbuffer_nbytes", program.extent().flatbuffer_nbytes},
          {"version", program.version()},
          {"methods", std::move(methods)},
          {"segments", std::move(segments)},
          {"named_data", std::move(named)},
          {"constants_inside_flatbuffer", program.has_inline_constants()}};
}

std::string format_report(const Json& report) {
  std::string text = shown(report["file"]) + ": program of " + report["nbytes"].dump() + " bytes, " +
                     report["flatbuffer_nbytes"].dump() + " of them structure, " +
                     std::to_string(report["segments"].size()) + " segments\n";
  for (const Json& method : report["methods"]) text += format_method(method);
  if (!report["named_data"].empty()) text += "\nnamed data\n";
  for (const Json& entry : report["named_data"]) {
    text += "  " + shown(entry["key"]) + ": " + entry["nbytes"].dump() + " bytes\n";
  }
  return text;
}

}  // namespace etb::tools
