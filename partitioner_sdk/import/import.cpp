// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/import.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "api/format/printable_text.hpp"
#include "partitioner_sdk/import/diagnostics.hpp"
#include "partitioner_sdk/import/graph_reader.hpp"
#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/import/literal.hpp"
#include "partitioner_sdk/import/payloads.hpp"
#include "partitioner_sdk/import/zip_archive.hpp"
#include "partitioner_sdk/ir/verify.hpp"

namespace etb::pt2 {

namespace {

constexpr int64_t kSchemaMajor = 8;
constexpr std::string_view kModels = "/models/";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Before torch 2.8 an archive held one model, in records of fixed names without a folder.
constexpr std::string_view kOldModel = "serialized_exported_program.json";
// A record of a compilation (.etrecord) has the exported graph of one method in the same form, of an older schema.
constexpr std::string_view kRecordMarker = "ETRECORD_V0", kRecordModel = "exported_program";
constexpr int64_t kRecordSchemaMajor = 5;

// Returns the only top folder after checking the kind of archive; empty for an old one.
Result<std::string> read_root(const ZipArchive& zip) {
  if (zip.find(kOldModel)) return std::string();
  if (zip.find(kRecordMarker)) {
    if (zip.find(kRecordModel)) return std::string();
    return make_error(Code::NOT_FOUND, "the record has no exported graph");
  }
  const std::string root = zip.first_name().substr(0, zip.first_name().find('/'));
  const auto expect = [&](const char* name, std::string_view wanted) -> Status {
    const auto record = zip.find(root + "/" + name);
    if (record && as_text(*record) == wanted) return {};
    if (!record)
      return make_error(Code::INVALID_DATA,
                        "a zip file that torch.export did not write: " + std::string(name) +
                            " is missing, expected '" + std::string(wanted) + "'");
    return make_error(Code::INCOMPATIBLE, std::string(name) + " is " +
                                              format::in_quotes(as_text(*record).substr(0, 20)) +
                                              ", expected '" + std::string(wanted) + "'");
  };
  ETB_TRY(expect("archive_format", "pt2"));
  ETB_TRY(expect("archive_version", "0"));
  ETB_TRY(expect("byteorder", "little"));
  return root;
}

std::vector<std::string> model_names(const ZipArchive& zip, const std::string& root) {
  if (root.empty()) return {"model"};
  std::vector<std::string> names;
  const std::string prefix = root + std::string(kModels);
  constexpr std::string_view kEnding = ".json";
  for (const auto& [name, bytes] : zip.records()) {
    if (name.rfind(prefix, 0) != 0 || name.size() <= prefix.size() + kEnding.size()) continue;
    if (std::string_view(name).substr(name.size() - kEnding.size()) != kEnding) continue;
    names.push_back(name.substr(prefix.size(), name.size() - prefix.size() - kEnding.size()));
  }
  return names;
}

Result<std::string> choose_model(const std::vector<std::string>& names, const std::string& wanted) {
  std::string all;
  for (const std::string& name : names) {
    if (name == wanted) return name;
    all += (all.empty() ? "" : ", ") + name;
  }
  if (wanted.empty() && names.size() == 1) return names[0];
  if (names.empty()) return make_error(Code::INVALID_DATA, "the archive contains no model");
  return make_error(Code::NOT_FOUND, (wanted.empty() ? "the archive contains several models"
                                                     : "the archive contains no model '" + wanted + "'") +
                                         std::string(", choose one of: ") + all);
}

// {"s77": {"min_val": 2, "max_val": 10}}. Keys that are formulas follow from their symbols.
void read_range_constraints(Json constraints, ir::SymbolTable& symbols) {
  for (const Json row : constraints) {
    const std::string_view name = row.key();
    const bool is_symbol = !name.empty() && name.size() <= 64 && name[0] >= 'a' && name[0] <= 'z' &&
                           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
    if (!is_symbol) continue;
    const int64_t min = row["min_val"].as_int().value_or(INT64_MIN);
    const int64_t max = row["max_val"].as_int().value_or(ir::kUnbounded);
    if (min <= max) symbols.add_symbol({std::string(name), min, max, {}});
  }
}

class ModelReader {
 public:
  ModelReader(const ZipArchive& zip, std::string root, std::shared_ptr<const MappedFile> file,
              std::shared_ptr<const ops::CustomOps> custom_ops)
      : zip_(zip), root_(root), file_(file), payloads_(zip, std::move(root), std::move(file)) {
    module_.custom_ops = std::move(custom_ops);
    if (file_ != nullptr && file_->descriptor() >= 0)
      module_.files.push_back({file_->bytes(), file_->descriptor(), file_});
  }

  Result<ir::Module> run(const std::string& model) {
    const bool is_record = root_.empty() && !zip_.find(kOldModel), is_old = root_.empty() && !is_record;
    const auto text = zip_.find(is_record ? std::string(kRecordModel)
                                : is_old  ? std::string(kOldModel)
                                          : root_ + std::string(kModels) + model + ".json");
    ETB_ASSIGN(const auto document,
               JsonDocument::parse(as_text(*text),
                                   is_record ? JsonDocument::Words::kAsTexts : JsonDocument::Words::kReject));
    const Json root = document->root();
    const int64_t major = root["schema_version"]["major"].as_int().value_or(-1);
    if (major < 0) return make_error(Code::INVALID_DATA, "the JSON of the model has no schema version");
    const int64_t expected = is_record ? kRecordSchemaMajor : kSchemaMajor;
    if (major != expected) {
      return make_error(Code::INCOMPATIBLE, "schema version " + std::to_string(major) +
                                                ", the compiler reads " + std::to_string(expected));
    }
    if (is_record) {
      ETB_TRY(payloads_.read_saved("exported_program_state_dict"));
      ETB_TRY(payloads_.read_saved("exported_program_constants"));
    } else if (is_old) {
      ETB_TRY(payloads_.read_saved("serialized_state_dict.pt"));
      ETB_TRY(payloads_.read_saved("serialized_constants.pt"));
    } else {
      ETB_TRY(payloads_.read_config("weights", model));
      ETB_TRY(payloads_.read_config("constants", model));
    }
    read_range_constraints(root["range_constraints"], module_.symbols);
    const Json graph_module = root["graph_module"];
    const Json signature = graph_module["signature"];
    if (is_record && payloads_.is_empty() && has_weights(signature["input_specs"]))
      return make_error(
          Code::NOT_FOUND,
          "the record has no weights\nhint: `etbackend compile --etrecord-weights` stores them; the "
          "archive (.pt2) has them, too");
    GraphReader reader(module_, diagnostics_,
                       is_record ? GraphReader::Handles::kOfFile : GraphReader::Handles::kNew);
    Scope scope;
    reader.read_method(graph_module["graph"], scope);
    read_input_specs(signature["input_specs"], scope);
    read_output_specs(signature["output_specs"], scope, reader);
    return_trained_parameters();
    for (const Json entry : graph_module["module_call_graph"]) {
      if (entry["fqn"].as_string() != "") continue;
      module_.input_tree = entry["signature"]["in_spec"].as_string().value_or("");
      module_.output_tree = entry["signature"]["out_spec"].as_string().value_or("");
    }
    ETB_TRY(diagnostics_.status());
    // Finds remaining errors of the archive: kinds of arguments, numbers of results, constants that do not
    // match their inputs.
    if (Status verified = ir::verify(module_); !verified) {
      return make_error(Code::INVALID_DATA, std::move(verified).error().message);
    }
    return std::move(module_);
  }

 private:
  static bool has_weights(Json input_specs) {
    for (const Json spec : input_specs)
      if (spec["parameter"] || spec["buffer"] || spec["tensor_constant"]) return true;
    return false;
  }

  void refuse(const std::string& why) { diagnostics_.add(Code::INVALID_DATA, "signature: " + why); }

  // Returns the input that a spec's {"arg": {"name": ...}} refers to.
  ir::Input* find_input(Json arg, const Scope& scope) {
    Json named = arg["as_tensor"] ? arg["as_tensor"] : arg;
    const auto found = scope.find(named["name"].as_string().value_or(""));
    const auto* ref = found == scope.end() ? nullptr : ir::get_if<ir::ValueRef>(found->second);
    if (ref == nullptr || ref->id >= input_of_value_.size() || input_of_value_[ref->id] == ir::kNone)
      return nullptr;
    return &module_.main().inputs[input_of_value_[ref->id]];
  }

  void read_input_specs(Json specs, const Scope& scope) {
    input_of_value_.assign(module_.main().values.size(), ir::kNone);
    for (uint32_t i = 0; i < module_.main().inputs.size(); ++i)
      input_of_value_[module_.main().inputs[i].value] = i;
    uint32_t position = 0;         // among the user's arguments
    std::set<ir::ValueId> tokens;  // keep the order of nodes with effects; no caller passes them
    for (const Json entry : specs) {
      if (diagnostics_.is_full()) return;
      const Json spec = entry.size() == 1 ? *entry.begin() : Json();
      const std::string_view kind = spec.key();
      if (kind == "user_input" || kind == "constant_input") {
        if (kind == "constant_input") read_fixed_input(spec, position);
        ++position;
        continue;
      }
      if (kind == "token") {
        if (const ir::Input* token = find_input(spec["arg"], scope)) tokens.insert(token->value);
        continue;
      }
      static constexpr struct {
        std::string_view kind;
        const char* name_key;
        ir::InputKind input;
      } kRows[] = {{"parameter", "parameter_name", ir::InputKind::kParameter},
                   {"buffer", "buffer_name", ir::InputKind::kBuffer},
                   {"tensor_constant", "tensor_constant_name", ir::InputKind::kConstant}};
      const auto* row =
          std::find_if(std::begin(kRows), std::end(kRows), [&](const auto& r) { return r.kind == kind; });
      if (row == std::end(kRows)) {
        diagnostics_.add(Code::NOT_SUPPORTED,
                         "signature: inputs of kind '" + std::string(kind) + "' are not supported");
        continue;
      }
      ir::Input* input = find_input(spec["arg"], scope);
      const std::string target(spec[row->name_key].as_string().value_or(""));
      if (input == nullptr) {
        refuse("'" + target + "' is not an input of the graph");
        continue;
      }
      input->kind = row->input;
      input->target = target;
      auto constant = payloads_.add_to(module_, target);
      if (constant) {
        input->constant = *constant;
      } else {
        diagnostics_.add(std::move(constant).error());
      }
    }
    auto& inputs = module_.main().inputs;
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                [&](const ir::Input& input) { return tokens.count(input.value) != 0; }),
                 inputs.end());
  }

  void read_fixed_input(Json spec, uint32_t position) {
    const Json member = spec["value"].size() == 1 ? *spec["value"].begin() : Json();
    const LiteralReader read = find_literal_reader(member.key());
    Result<ir::Argument> value = read != nullptr ? read(member) : ir::Argument(ir::Nothing{});
    if (read == nullptr || !value)
      return refuse("the value of argument '" + std::string(spec["name"].as_string().value_or("")) +
                    "' is not a number, bool, text or None");
    module_.fixed_inputs.push_back({position, *std::move(value)});
  }

  void read_output_specs(Json specs, const Scope& scope, GraphReader& reader) {
    for (const Json entry : specs) {
      if (diagnostics_.is_full()) return;
      const Json spec = entry.size() == 1 ? *entry.begin() : Json();
      const std::string_view kind = spec.key();
      if (kind == "token") continue;
      static constexpr struct {
        std::string_view kind;
        const char* name_key;
        ir::OutputKind output;
      } kRows[] = {{"user_output", "", ir::OutputKind::kUser},
                   {"loss_output", "", ir::OutputKind::kUser},
                   {"gradient_to_parameter", "parameter_name", ir::OutputKind::kUser},
                   {"gradient_to_user_input", "user_input_name", ir::OutputKind::kUser},
                   {"buffer_mutation", "buffer_name", ir::OutputKind::kBufferMutation},
                   {"parameter_mutation", "parameter_name", ir::OutputKind::kBufferMutation},
                   {"user_input_mutation", "user_input_name", ir::OutputKind::kInputMutation}};
      const auto* row =
          std::find_if(std::begin(kRows), std::end(kRows), [&](const auto& r) { return r.kind == kind; });
      if (row == std::end(kRows)) {
        diagnostics_.add(Code::NOT_SUPPORTED,
                         "signature: outputs of kind '" + std::string(kind) + "' are not supported");
        continue;
      }
      ir::Output output;
      output.kind = row->output;
      output.target = spec[row->name_key].as_string().value_or("");
      std::optional<ir::Argument> value;
      if (kind == "user_output") {
        value = reader.read_argument(spec["arg"], scope, "outputs");
      } else if (const auto found = scope.find(spec["arg"]["name"].as_string().value_or(""));
                 found != scope.end()) {
        value = found->second;
      } else {
        refuse("the graph does not compute " + (output.target.empty() ? "the loss"
                                                : row->output == ir::OutputKind::kUser
                                                    ? "the gradient of '" + output.target + "'"
                                                    : "the new contents of '" + output.target + "'"));
      }
      if (!value) continue;
      output.value = *std::move(value);
      if (kind == "gradient_to_parameter") note_gradient(output.target);
      if (row->output == ir::OutputKind::kUser) output.target.clear();
      module_.main().outputs.push_back(std::move(output));
    }
  }

  uint32_t result_count() const {
    const auto& outputs = module_.main().outputs;
    return static_cast<uint32_t>(std::count_if(outputs.begin(), outputs.end(), [](const ir::Output& output) {
      return output.kind == ir::OutputKind::kUser;
    }));
  }

  // Called before the gradient is added to the outputs.
  void note_gradient(const std::string& parameter) {
    if (!module_.training) module_.training = ir::TrainingOutputs{result_count(), 0, {}};
    module_.training->parameters.push_back(parameter);
  }

  // Appends each parameter that has a gradient to the outputs, as ExecuTorch does, and makes it state: the
  // application's optimizer writes to it between runs.
  void return_trained_parameters() {
    if (!module_.training) return;
    module_.training->first_parameter = result_count();
    std::map<std::string_view, ir::Input*> inputs;
    for (ir::Input& input : module_.main().inputs)
      if (input.kind == ir::InputKind::kParameter) inputs.emplace(input.target, &input);
    for (const std::string& name : module_.training->parameters) {
      const auto found = inputs.find(name);
      if (found == inputs.end() || found->second->kind != ir::InputKind::kParameter) {
        refuse("the gradient of '" + name + "' is " +
               (found == inputs.end() ? "not that of a parameter" : "returned twice"));
        continue;
      }
      ir::Input& input = *found->second;
      input.kind = ir::InputKind::kBuffer;
      const ir::ValueRef value{input.value};
      module_.main().outputs.push_back({value, ir::OutputKind::kUser, ""});
      module_.main().outputs.push_back({value, ir::OutputKind::kBufferMutation, name});
    }
  }

  const ZipArchive& zip_;
  std::string root_;
  std::shared_ptr<const MappedFile> file_;
  Payloads payloads_;
  ir::Module module_;
  Diagnostics diagnostics_;
  std::vector<uint32_t> input_of_value_;
};

}  // namespace

Result<ir::Module> import_archive(std::shared_ptr<const MappedFile> file, const ImportOptions& options) {
  ETB_ASSIGN(const ZipArchive zip, ZipArchive::open(file->bytes()));
  ETB_ASSIGN(const std::string root, read_root(zip));
  ETB_ASSIGN(const std::string model, choose_model(model_names(zip, root), options.model));
  return ModelReader(zip, root, std::move(file), options.custom_ops).run(model);
}

Result<ir::Module> import_archive(const std::string& path, const ImportOptions& options) {
  ETB_ASSIGN(auto file, MappedFile::open(path));
  auto module = import_archive(std::move(file), options);
  if (module) return module;
  Error error = with_context(std::move(module).error(), "'" + path + "'");
  // The caller's arguments were checked before, so this error is about the file.
  if (error.code == Code::INVALID_ARGUMENT) error.code = Code::INVALID_DATA;
  return tl::make_unexpected(std::move(error));
}

}  // namespace etb::pt2
