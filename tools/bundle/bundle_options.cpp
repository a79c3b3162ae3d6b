// SPDX-License-Identifier: Apache-2.0
#include "tools/bundle/bundle_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"

namespace etb::tools {

CLI::Validator tolerance() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_number = error == std::errc() && end == text.data() + text.size();
        if (is_number && std::isfinite(value) && value >= 0) return "";
        return fmt::format("found '{}', expected a finite number of at least 0", text);
      },
      "");
}

void add_bundle_options(CLI::App& command, BundleOptions& options) {
  command.add_flag(
      "--bundle,--output_verification", options.is_bundle,
      "FILE is a bundled program (.bpte), which is found without this flag: run its test cases and compare "
      "their outputs");
  command
      .add_option("--testset,--testset_idx", options.index, "Run only the test case of this number, from 0")
      ->check(whole_number(0, UINT32_MAX))
      ->type_name("N");
  command
      .add_option("--rtol,--bundleio_rtol", options.rtol,
                  "Relative tolerance of outputs of a bundle (default 0.01)")
      ->check(tolerance())
      ->type_name("X");
  command
      .add_option("--atol,--bundleio_atol", options.atol,
                  "Absolute tolerance of outputs of a bundle (default 0.01)")
      ->check(tolerance())
      ->type_name("X");
  command
      .add_option(
          "--model", options.models,
          "Archive (.pt2) of a bundle's program, for the error model: FILE, or METHOD=FILE; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

Result<std::map<std::string, std::string>> split_models(const std::vector<std::string>& texts,
                                                        const std::vector<std::string>& methods) {
  std::map<std::string, std::string> models;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    const std::string name = at == std::string::npos ? "" : text.substr(0, at);
    const bool is_method = std::find(methods.begin(), methods.end(), name) != methods.end();
    const std::string file = is_method ? text.substr(at + 1) : text;
    ETB_TRY(expect_kind(file, {FileKind::kArchive}, "an archive (.pt2) for --model"));
    if (!models.emplace(is_method ? name : "", file).second)
      return make_error(
          Code::INVALID_ARGUMENT,
          "two --model for " + (is_method ? "method '" + name + "'" : std::string("all methods")));
  }
  return models;
}

}  // namespace etb::tools
