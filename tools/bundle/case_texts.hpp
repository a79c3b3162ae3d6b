// SPDX-License-Identifier: Apache-2.0
// The test cases of a command line. --case begins the next one; --method is also that of the cases after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tools/cli11_fwd.hpp"

namespace etb::tools {

struct CaseText {
  std::string method;  // empty: the default method
  std::vector<std::string> inputs;
  std::optional<uint64_t> random_seed;
  bool ones = false;
  std::string input_shapes;
  std::vector<std::string> expected;

  bool has_inputs() const { return !inputs.empty() || random_seed || ones; }
};

// The options, in the order of their names. The parser stores their values; the order is asked afterwards.
class CaseTextOptions {
 public:
  void add_to(CLI::App& command);
  // INVALID_ARGUMENT: two sources of inputs in one case.
  [[nodiscard]] Result<std::vector<CaseText>> cases(const CLI::App& command) const;

 private:
  CLI::Option* case_ = nullptr;
  CLI::Option* method_ = nullptr;
  CLI::Option* input_ = nullptr;
  CLI::Option* random_ = nullptr;
  CLI::Option* ones_ = nullptr;
  CLI::Option* shapes_ = nullptr;
  CLI::Option* expect_ = nullptr;
  // Receive the values for the parser's checks; read through the options.
  bool case_flag_ = false, ones_flag_ = false;
  std::vector<std::string> methods_, inputs_, shape_texts_, expected_;
  std::vector<uint64_t> seeds_;
};

}  // namespace etb::tools
