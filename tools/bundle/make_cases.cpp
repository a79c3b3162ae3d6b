// SPDX-License-Identifier: Apache-2.0
#include "tools/bundle/make_cases.hpp"

#include <fmt/format.h>

#include <cstring>

#include "tools/portable_program.hpp"
#include "tools/run/blame_files.hpp"
#include "tools/run/input_options.hpp"
#include "tools/run/load_mode.hpp"
#include "tools/run/method_inputs.hpp"
#include "tools/run/output_values.hpp"

namespace etb::tools {

namespace {

using format::ValueKind;
using host::EValue;

format::BundledTensorData to_data(const host::Tensor& tensor) {
  const auto* const first = tensor.data_as<const std::byte>();
  format::BundledTensorData data{static_cast<uint8_t>(tensor.dtype()),
                                 {},
                                 {tensor.dim_order().begin(), tensor.dim_order().end()},
                                 {first, first + tensor.nbytes()}};
  for (const int64_t size : tensor.sizes()) data.sizes.push_back(static_cast<int32_t>(size));
  return data;
}

Result<format::BundledValue> to_bundled(const EValue& value) {
  if (value.is_tensor()) return to_data(value.tensor());
  if (value.is_int()) return value.to_int();
  if (value.is_bool()) return value.to_bool();
  if (value.is_double()) return value.to_double();
  return make_error(
      Code::NOT_SUPPORTED,
      fmt::format("found {}, a bundle holds tensors, ints, doubles and bools only", to_text(value.tag())));
}

Result<std::vector<format::BundledValue>> to_bundled(std::span<const EValue> values, const char* what) {
  std::vector<format::BundledValue> out;
  for (size_t i = 0; i < values.size(); ++i) {
    auto value = to_bundled(values[i]);
    if (!value)
      return tl::make_unexpected(with_context(std::move(value).error(), fmt::format("{} {}", what, i)));
    out.push_back(*std::move(value));
  }
  return out;
}

Result<std::string> method_of(const host::Module& program, const CaseText& text) {
  if (text.method.empty()) return choose_method(program);
  ETB_TRY(program.method_meta(text.method));
  return text.method;
}

Status fill(const CaseText& text, const std::string& method, MethodInputs& inputs) {
  InputOptions options;
  options.inputs = text.inputs;
  options.random_seed = text.random_seed;
  options.ones = text.ones;
  if (!text.has_inputs() && inputs.count() != 0)
    return make_error(
        Code::INVALID_ARGUMENT,
        fmt::format("no inputs for method '{}', expected {}\nhint: --input FILE for each, --random SEED or "
                    "--ones",
                    method, inputs.count()));
  return fill_inputs(options, text.input_shapes, method, inputs);
}

}  // namespace

Result<ReferenceRuns::Runner> ReferenceRuns::open(const std::string& key, const std::string& method) const {
  if (source_ == Source::kEager) {
    if (key.empty())
      return make_error(Code::INVALID_ARGUMENT, "--expect-from eager without the exported graph of method '" +
                                                    method + "'\nhint: --model MODEL.pt2, or --model " +
                                                    method + "=MODEL.pt2");
    ETB_ASSIGN(PortableProgram compiled, PortableProgram::make(key));
    auto memory = std::make_shared<PortableProgram>(std::move(compiled));
    ETB_ASSIGN(host::Module module, host::Module::from_descriptor(memory->descriptor(), 0, 0));
    return Runner{std::move(memory), std::move(module), "forward"};
  }
  host::ModuleOptions options = options_;
  if (source_ == Source::kPortable) options.delegates = nullptr;
  ETB_ASSIGN(host::Module module, host::Module::from_bytes(program_, options));
  return Runner{nullptr, std::move(module), ""};
}

Result<ReferenceRuns::Runner*> ReferenceRuns::runner_of(const std::string& method) {
  std::string key;
  if (source_ == Source::kEager) {
    const auto own = models_.find(method);
    const auto shared = own != models_.end() ? own : models_.find("");
    if (shared != models_.end()) key = shared->second;
  }
  if (const auto known = runners_.find(key); known != runners_.end()) return &known->second;
  ETB_ASSIGN(Runner opened, open(key, method));
  return &runners_.emplace(key, std::move(opened)).first->second;
}

Result<std::vector<EValue>> ReferenceRuns::run(const std::string& method, std::span<const EValue> inputs) {
  ETB_ASSIGN(Runner* const runner, runner_of(method));
  const std::string name = runner->method.empty() ? method : runner->method;
  runner->module.unload_method(name);
  if (Status loaded = runner->module.load_method(name); !loaded) {
    Error error = std::move(loaded).error();
    if (source_ == Source::kPortable && error.message.find("\nhint:") == std::string::npos)
      error.message +=
          "\nhint: --expect-from program runs delegates on plugins, --expect-from eager --model MODEL.pt2 "
          "the "
          "exported graph";
    return tl::make_unexpected(std::move(error));
  }
  ETB_TRY(blame_files(runner->module.set_inputs(name, inputs)));
  return runner->module.execute(name);
}

Result<MadeCase> make_case(const host::Module& program, const CaseText& text, ReferenceRuns& references) {
  MadeCase made;
  ETB_ASSIGN(made.method, method_of(program, text));
  ETB_ASSIGN(const host::MethodMeta meta, program.method_meta(made.method));
  MethodInputs inputs(meta);
  ETB_TRY(fill(text, made.method, inputs));
  made.notes = inputs.notes();
  ETB_ASSIGN(made.item.inputs, to_bundled(inputs.values(), "input"));
  OutputValues outputs(meta);
  if (!text.expected.empty()) {
    ETB_TRY(outputs.set_texts(text.expected));
  } else if (references.source() != ReferenceRuns::Source::kNone) {
    ETB_ASSIGN(const std::vector<EValue> found, references.run(made.method, inputs.values()));
    ETB_TRY(outputs.set_values(found));
  }
  made.notes.insert(made.notes.end(), outputs.notes().begin(), outputs.notes().end());
  ETB_ASSIGN(made.item.expected, to_bundled(outputs.values(), "output"));
  for (size_t i = 0; i < made.item.expected.size(); ++i)
    if (!std::holds_alternative<format::BundledTensorData>(made.item.expected[i]))
      made.notes.push_back(
          fmt::format("output {} is a number: the official run time compares tensors only", i));
  return made;
}

}  // namespace etb::tools
