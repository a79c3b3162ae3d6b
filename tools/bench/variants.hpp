// SPDX-License-Identifier: Apache-2.0
// Variants: all combinations of programs, backends, threads, methods, sizes and load modes to compare.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/bench/options.hpp"

namespace etb::bench {

struct Variant {
  std::string file;
  std::string title;                 // of the file, for people: its path, or "standard input"
  bool is_archive = false;           // .pt2, compiled for `plugins`
  std::string backend;               // as on the command line; "" for a program without a choice
  std::vector<std::string> plugins;  // of the compilation, in order; none for portable kernels
  std::optional<std::pair<std::string, std::string>> pin;  // delegate id and plugin
  uint32_t threads = 1;
  uint32_t parallel = 1;
  std::string method;  // "" for the default
  std::string shapes;  // "" for the largest
  std::string load_mode = "mmap";

  bool operator==(const Variant&) const = default;
};

struct VariantList {
  std::vector<Variant> variants;
  std::vector<std::optional<size_t>> baselines;  // index of the baseline for each variant
  // Names of variants for tables, with the dimensions in which variants differ.
  std::vector<std::string> labels() const;
};

// Opens every file. Errors: a file that cannot be read, equal variants, an unknown --against.
[[nodiscard]] Result<VariantList> make_variants(const Options& options);

}  // namespace etb::bench
