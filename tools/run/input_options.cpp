// SPDX-License-Identifier: Apache-2.0
#include "tools/run/input_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/option_values.hpp"

namespace etb::tools {

void add_input_options(CLI::App& command, InputOptions& options) {
  auto* inputs =
      command
          .add_option("--input", options.inputs,
                      "One per input, in order: x.npy, x.bin (raw, the sizes of the method), a "
                      "number, true, false or none; - for an array or raw bytes from standard input")
          ->type_name("FILE")
          ->allow_extra_args(false);
  auto* random =
      command
          .add_option("--random", options.random_seed, "Fill all inputs with random numbers from this seed")
          ->check(whole_number(0, UINT64_MAX))
          ->type_name("SEED");
  auto* ones = command.add_flag("--ones", options.ones, "Fill all inputs with ones (default)");
  auto* list =
      command.add_option("--inputs", options.input_list, "The inputs as one list, separated by commas")
          ->type_name("FILE,...");
  random->excludes(inputs)->excludes(ones)->excludes(list);
  ones->excludes(inputs)->excludes(list);
  list->excludes(inputs);
}

Status fill_inputs(const InputOptions& options, const std::string& shapes, const std::string& method,
                   MethodInputs& inputs) {
  if (!shapes.empty()) ETB_TRY(inputs.set_shapes(shapes));
  if (options.random_seed) return inputs.fill_random(*options.random_seed);
  std::vector<std::string> texts = options.inputs;
  if (!options.input_list.empty()) texts = split_commas(options.input_list);
  if (options.ones || texts.empty()) return inputs.fill_ones();
  if (texts.size() != inputs.count()) {
    return make_error(
        Code::INVALID_ARGUMENT,
        fmt::format(
            "{} --input given, method '{}' expects {}\nhint: --random SEED or --ones fills every input",
            texts.size(), method, inputs.count()));
  }
  for (uint32_t i = 0; i < inputs.count(); ++i) ETB_TRY(inputs.set_text(i, texts[i]));
  return {};
}

}  // namespace etb::tools
