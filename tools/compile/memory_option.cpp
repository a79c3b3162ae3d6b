// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/memory_option.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace etb::tools {

namespace {

constexpr size_t kMostMemories = 64;
constexpr uint64_t kLeastAlignment = 16, kLargestAlignment = 4096, kLargestCost = 1'000'000;

std::optional<uint64_t> read_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// 1024, 256K, 256KiB, 8M, 1G.
std::optional<uint64_t> read_nbytes(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<uint64_t> value = read_number(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  uint32_t shift = 0;
  for (const auto& [letter, bits] : {std::pair('K', 10u), {'M', 20u}, {'G', 30u}})
    if (!unit.empty() && unit[0] == letter && (unit.size() == 1 || unit.substr(1) == "iB")) shift = bits;
  if (!value || (shift == 0 && !unit.empty()) || *value > (uint64_t{1} << 62) >> shift) return {};
  return *value << shift;
}

tl::unexpected<Error> bad_memory(std::string_view text, const std::string& why) {
  return make_error(Code::INVALID_ARGUMENT,
                    fmt::format("--memory '{}': {}, expected NAME[=SIZE[:ALIGNMENT[:COST]]], as in "
                                "sram=256K,dram=8M:64:10",
                                text, why));
}

Result<plan::Memory> parse_memory(std::string_view text, uint64_t default_cost) {
  plan::Memory memory;
  memory.cost = default_cost;
  const size_t equals = text.find('=');
  memory.name = std::string(text.substr(0, equals));
  if (memory.name.empty()) return bad_memory(text, "a memory without a name");
  if (memory.name.find(':') != std::string::npos) return bad_memory(text, "a colon in the name");
  if (equals == std::string_view::npos) return memory;
  std::vector<std::string_view> fields;
  for (std::string_view rest = text.substr(equals + 1);;) {
    const size_t colon = rest.find(':');
    fields.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest = rest.substr(colon + 1);
  }
  const bool is_unlimited = fields[0].empty() && fields.size() > 1;
  if (!is_unlimited) memory.nbytes = read_nbytes(fields[0]).value_or(0);
  if (memory.nbytes == 0) return bad_memory(text, fmt::format("the size '{}'", fields[0]));
  if (fields.size() > 3) return bad_memory(text, "a fourth field");
  if (fields.size() > 1) memory.alignment = read_number(fields[1]).value_or(0);
  if (memory.alignment < kLeastAlignment || memory.alignment > kLargestAlignment ||
      (memory.alignment & (memory.alignment - 1)) != 0)
    return bad_memory(text, fmt::format("the alignment '{}' is no power of two from {} to {}", fields[1],
                                        kLeastAlignment, kLargestAlignment));
  if (fields.size() > 2) memory.cost = read_number(fields[2]).value_or(0);
  if (memory.cost == 0 || memory.cost > kLargestCost)
    return bad_memory(text, fmt::format("the cost '{}' is no number from 1 to {}", fields[2], kLargestCost));
  return memory;
}

}  // namespace

void add_memory_option(CLI::App& command, std::vector<std::string>& texts) {
  command
      .add_option(
          "--memory", texts,
          "Plan tensors for these memories, cheapest first, such as sram=256K,dram=8M; a memory may have an "
          "alignment and a cost: dram=8M:64:10")
      ->type_name("NAME=SIZE,...")
      ->delimiter(',')
      ->allow_extra_args(false);
}

Result<std::vector<plan::Memory>> parse_memories(const std::vector<std::string>& texts) {
  std::vector<plan::Memory> memories;
  for (const std::string& text : texts) {
    const uint64_t next_cost = memories.empty() ? 1 : memories.back().cost + 1;
    ETB_ASSIGN(plan::Memory memory, parse_memory(text, next_cost));
    for (const plan::Memory& other : memories)
      if (other.name == memory.name) return bad_memory(text, "a memory of this name is there already");
    memories.push_back(std::move(memory));
  }
  if (memories.size() > kMostMemories)
    return make_error(Code::INVALID_ARGUMENT, fmt::format("--memory: {} memories, expected at most {}",
                                                          memories.size(), kMostMemories));
  return memories;
}

}  // namespace etb::tools
