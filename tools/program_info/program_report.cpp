// SPDX-License-Identifier: Apache-2.0
#include "tools/program_info/program_report.hpp"

#include <algorithm>
#include <map>

#include "api/format/bundled_program_view.hpp"
#include "api/format/printable_text.hpp"
#include "api/format/tensor_layout.hpp"
#include "host/runtime/program.hpp"
#include "tools/quantity.hpp"

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

std::string nbytes_of(const Json& number) { return nbytes_text(number.get<uint64_t>()); }

// Returns "108 KiB working memory", with its parts if there are several arenas.
std::string format_arenas(const Json& arenas) {
  uint64_t nbytes = 0;
  std::string parts;
  for (const Json& arena : arenas) {
    nbytes += arena.get<uint64_t>();
    parts += (parts.empty() ? "" : ", ") + nbytes_of(arena);
  }
  return nbytes_text(nbytes) + " working memory" + (arenas.size() > 1 ? " (arenas of " + parts + ")" : "");
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
    line("delegate " + shown(delegate["id"]) + ": payload of " + nbytes_of(delegate["payload_nbytes"]) +
         ", " + delegate["location"].get<std::string>() + " " + delegate["index"].dump());
  }
  line("memory: " + format_arenas(method["arena_nbytes"]) + ", " + nbytes_of(method["state_nbytes"]) +
       " state");
  if (method["constants"]["count"] != 0)
    line("constants of kernels: " + count_of(method["constants"]["count"].get<uint64_t>(), "tensor") + ", " +
         nbytes_of(method["constants"]["nbytes"]));
  return text;
}

// Returns "1.2 MiB: 9 tensors of kernels (88 KiB), 12 entries of delegates (1.1 MiB)".
std::string format_weights(const Json& weights) {
  std::string text;
  for (const auto& [owner, noun] : {std::pair("kernel", "tensor"), std::pair("delegate", "entry")}) {
    const auto count = weights[std::string(owner) + "_count"].get<uint64_t>();
    if (count == 0) continue;
    text += (text.empty() ? ": " : ", ") + count_of(count, noun) + " of " + owner + "s (" +
            nbytes_of(weights[std::string(owner) + "_nbytes"]) + ")";
  }
  return text.empty() ? "none" : nbytes_of(weights["nbytes"]) + text;
}

// Sums the weights of all methods: constants of kernels, each once, and the data of delegates.
Json report_weights(const Json& methods, const Json& named_data) {
  std::map<uint64_t, uint64_t> constants;  // bytes by index
  std::map<uint64_t, uint64_t> segments;   // the same; several keys may name one segment
  uint64_t kernels = 0, delegates = 0;
  for (const Json& method : methods)
    for (const Json& tensor : method["constants"]["tensors"])
      constants[tensor["index"].get<uint64_t>()] = tensor["nbytes"].get<uint64_t>();
  for (const Json& entry : named_data)
    segments[entry["segment"].get<uint64_t>()] = entry["nbytes"].get<uint64_t>();
  for (const auto& [index, nbytes] : constants) kernels += nbytes;
  for (const auto& [index, nbytes] : segments) delegates += nbytes;
  return {{"nbytes", kernels + delegates},
          {"kernel_count", constants.size()},
          {"kernel_nbytes", kernels},
          {"delegate_count", named_data.size()},
          {"delegate_nbytes", delegates}};
}

}  // namespace

Result<ProgramFile> read_program_file(const std::string& path) {
  ProgramFile file{path, std::make_shared<host::MmapLoader>(), {}, {}};
  etb_error error = ETB_ERROR_INIT;
  ETB_TRY(check(file.loader->open(path.c_str(), host::MmapLoader::Lock::kNone, &error), error));
  file.bytes = file.loader->bytes();
  if (format::is_bundled_program(file.bytes)) {
    format::BundledProgramView bundle;
    const Status read = check(format::read_bundled_program(file.bytes, &bundle, &error), error);
    if (!read) return tl::make_unexpected(with_context(read.error(), path));
    file.bytes = bundle.program();
  }
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
  Json weights = report_weights(methods, named);
  return {{"file", file.path},
          {"nbytes", file.bytes.size()},
          {"flatbuffer_nbytes", program.extent().flatbuffer_nbytes},
          {"version", program.version()},
          {"methods", std::move(methods)},
          {"segments", std::move(segments)},
          {"named_data", std::move(named)},
          {"weights", std::move(weights)},
          {"constants_inside_flatbuffer", program.has_inline_constants()}};
}

std::string format_report(const Json& report, bool shows_named_data) {
  std::string text = shown(report["file"]) + ": program of " + nbytes_of(report["nbytes"]) + " with " +
                     count_of(report["methods"].size(), "method") + ", " +
                     nbytes_of(report["flatbuffer_nbytes"]) + " structure, " +
                     count_of(report["segments"].size(), "segment") + "\n";
  text += "weights: " + format_weights(report["weights"]) + "\n";
  for (const Json& method : report["methods"]) text += format_method(method);
  if (!shows_named_data || report["named_data"].empty()) return text;
  text += "\nnamed data\n";
  for (const Json& entry : report["named_data"])
    text += "  " + shown(entry["key"]) + ": " + nbytes_of(entry["nbytes"]) + "\n";
  return text;
}

}  // namespace etb::tools
