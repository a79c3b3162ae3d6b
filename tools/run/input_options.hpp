// SPDX-License-Identifier: Apache-2.0
// The options that name a method's inputs: files, numbers, a seed, or ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli11_fwd.hpp"
#include "tools/run/method_inputs.hpp"

namespace etb::tools {

struct InputOptions {
  std::vector<std::string> inputs;
  std::string input_list;  // as `inputs`, separated by commas
  std::optional<uint64_t> random_seed;
  bool ones = false;
};

void add_input_options(CLI::App& command, InputOptions& options);

// Sets all inputs. Without input options, all elements are one. `shapes` is the text of --input-shapes.
[[nodiscard]] Status fill_inputs(const InputOptions& options, const std::string& shapes,
                                 const std::string& method, MethodInputs& inputs);

}  // namespace etb::tools
