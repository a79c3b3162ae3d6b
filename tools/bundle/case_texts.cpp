// SPDX-License-Identifier: Apache-2.0
#include "tools/bundle/case_texts.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <map>

#include "tools/option_values.hpp"

namespace etb::tools {

void CaseTextOptions::add_to(CLI::App& command) {
  case_ =
      command.add_flag("--case", case_flag_, "Begin the next test case; the options after it belong to it");
  method_ = command
                .add_option("--method,--method_name", methods_,
                            "Method of this test case and of those after it (default: forward, or the first)")
                ->type_name("NAME")
                ->allow_extra_args(false);
  input_ = command
               .add_option(
                   "--input", inputs_,
                   "One per input of the test case, in order: x.npy, x.bin (raw, the sizes of the method), a "
                   "number, true or false")
               ->type_name("FILE")
               ->allow_extra_args(false);
  random_ = command
                .add_option("--random", seeds_,
                            "Fill the inputs of the test case with random numbers from this seed")
                ->check(whole_number(0, UINT64_MAX))
                ->type_name("SEED")
                ->allow_extra_args(false);
  ones_ = command.add_flag("--ones", ones_flag_, "Fill the inputs of the test case with ones");
  shapes_ = command
                .add_option("--input-shapes,--input_shapes", shape_texts_,
                            "Sizes of dynamic inputs of the test case, such as 1x98,,2x3")
                ->type_name("SHAPE,...")
                ->allow_extra_args(false);
  expect_ =
      command
          .add_option(
              "--expect", expected_,
              "One per output of the test case, in order: x.npy, x.bin (raw, the sizes of the method), a "
              "number, true or false")
          ->type_name("FILE")
          ->allow_extra_args(false);
}

Result<std::vector<CaseText>> CaseTextOptions::cases(const CLI::App& command) const {
  std::vector<CaseText> cases(1);
  std::map<const CLI::Option*, size_t> next;  // value of each option
  size_t seen = 0;
  for (CLI::Option* const option : command.parse_order()) {
    CaseText& item = cases.back();
    if (option == case_) {
      cases.push_back({});
      cases.back().method = cases[cases.size() - 2].method;
    }
    if (option == ones_) item.ones = true;
    if (option != method_ && option != input_ && option != random_ && option != shapes_ && option != expect_)
      continue;
    ++seen;
    const std::string& text = option->results()[next[option]++];
    if (option == method_) item.method = text;
    if (option == input_) item.inputs.push_back(text);
    if (option == random_) item.random_seed = std::stoull(text);
    if (option == shapes_) item.input_shapes = text;
    if (option == expect_) item.expected.push_back(text);
  }
  const size_t given =
      method_->count() + input_->count() + random_->count() + shapes_->count() + expect_->count();
  if (given != seen)
    return make_error(
        Code::INVALID_ARGUMENT,
        "options of test cases in a configuration file, expected them on the command line, which has an "
        "order");
  for (size_t i = 0; i < cases.size(); ++i)
    if (int{!cases[i].inputs.empty()} + int{cases[i].random_seed.has_value()} + int{cases[i].ones} > 1)
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("test case {}: --input, --random and --ones exclude each other", i));
  return cases;
}

}  // namespace etb::tools
