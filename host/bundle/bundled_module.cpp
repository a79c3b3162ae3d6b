// SPDX-License-Identifier: Apache-2.0
#include "host/bundle/bundled_module.hpp"

#include <algorithm>

namespace etb::host {

bool Verification::is_close() const noexcept {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const ValueComparison& output) { return output.is_close; });
}

std::string Verification::difference() const {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].is_close) return "output " + std::to_string(i) + ": " + outputs[i].difference;
  return "";
}

ErrorStats Verification::stats() const noexcept {
  ErrorStats sum;
  for (const ValueComparison& output : outputs) sum.add(output.stats);
  return sum;
}

Result<Verification> verify_method_outputs(const Module& module, const format::BundledProgramView& bundle,
                                           std::string_view method, uint64_t index,
                                           const Tolerances& tolerances) {
  ETB_ASSIGN(const format::BundledCaseView item, find_case(bundle, method, index));
  const std::string where = "test case " + std::to_string(index) + " of method '" + std::string(method) + "'";
  if (item.expected_count() == 0)
    return make_error(Code::INVALID_STATE,
                      where + " expects no outputs, so there is nothing to compare with");
  ETB_ASSIGN(const std::vector<EValue> outputs, module.get_outputs(method));
  if (outputs.size() != item.expected_count())
    return make_error(Code::INVALID_DATA, where + " expects " + std::to_string(item.expected_count()) +
                                              " outputs, the method has " + std::to_string(outputs.size()));
  Verification verification;
  for (uint32_t i = 0; i < item.expected_count(); ++i)
    verification.outputs.push_back(compare_values(item.expected(i), outputs[i], tolerances));
  return verification;
}

Result<ErrorStats> compute_error_stats(const Module& module, const format::BundledProgramView& bundle,
                                       std::string_view method, uint64_t index) {
  ETB_ASSIGN(const Verification verification, verify_method_outputs(module, bundle, method, index));
  return verification.stats();
}

Result<BundledModule> BundledModule::make(BundleFile file, ModuleOptions options) {
  ETB_ASSIGN(Module module, Module::from_bytes(file.view().program(), std::move(options)));
  return BundledModule(std::move(file), std::move(module));
}

Result<BundledModule> BundledModule::open(const std::string& path, ModuleOptions options) {
  ETB_ASSIGN(BundleFile file, BundleFile::open(path, options.load_mode));
  auto made = make(std::move(file), std::move(options));
  if (!made) return tl::make_unexpected(with_context(std::move(made).error(), path + ": its program"));
  return made;
}

Result<BundledModule> BundledModule::from_bytes(std::span<const std::byte> bytes, ModuleOptions options) {
  ETB_ASSIGN(BundleFile file, BundleFile::from_bytes(bytes));
  return make(std::move(file), std::move(options));
}

Status BundledModule::load_bundled_input(std::string_view method, uint64_t index) {
  ETB_ASSIGN(BundledInputs inputs, host::load_bundled_input(module_, bundle(), method, index));
  inputs_.insert_or_assign(std::string(method), std::move(inputs));
  return {};
}

Result<std::vector<EValue>> BundledModule::execute(std::string_view method, uint64_t index,
                                                   const RunLimits& limits) {
  ETB_TRY(load_bundled_input(method, index));
  return module_.execute(method, limits);
}

}  // namespace etb::host
