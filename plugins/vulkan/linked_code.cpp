// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/linked_code.hpp"

#include <map>
#include <string>

namespace etb::vulkan {

namespace {

constexpr size_t kHeaderWords = 5;
// SPIR-V specification, 3.49; and of SPV_KHR_float_controls
constexpr uint32_t kOpName = 5, kOpExecutionMode = 16, kOpCapability = 17, kOpFunctionCall = 57;
constexpr uint32_t kModeDenormPreserve = 4459, kCapabilityDenormPreserve = 4464;

// Calls visit(opcode, first word, words) for each instruction. The code is the build's own, so it is not verified.
void visit_instructions(std::span<uint32_t> code, const auto& visit) {
  for (size_t at = kHeaderWords; at < code.size();) {
    const uint32_t count = code[at] >> 16;
    visit(code[at] & 0xffff, code.subspan(at, count));
    at += count;
  }
}

// Returns the ids of names before their parameters: "unary_step_1(f1;f1;f1;f1;" is unary_step_1.
std::map<std::string, uint32_t> ids_by_name(std::span<uint32_t> code) {
  std::map<std::string, uint32_t> ids;
  visit_instructions(code, [&](uint32_t opcode, std::span<const uint32_t> words) {
    if (opcode != kOpName) return;
    const auto bytes = std::as_bytes(words.subspan(2));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ids[std::string(text.substr(0, text.find_first_of(std::string_view("(\0", 2))))] = words[1];
  });
  return ids;
}

}  // namespace

Result<std::vector<uint32_t>> link_chain(std::span<const uint32_t> code, const gpu::ChainCode& chain) {
  std::vector<uint32_t> linked(code.begin(), code.end());
  const std::map<std::string, uint32_t> ids = ids_by_name(linked);
  std::map<uint32_t, uint32_t> targets;  // by called function
  const auto link = [&](const std::string& caller, const std::string& function) -> Status {
    const auto from = ids.find(caller), to = ids.find(function);
    if (from == ids.end() || to == ids.end())
      return make_error(Code::INTERNAL, "SPIR-V of chains without the function " + function);
    targets[from->second] = to->second;
    return {};
  };
  const bool computes_halves = ids.count("half_function_0") != 0;
  for (uint32_t i = 0; i < gpu::kMaxChainSteps; ++i) {
    ETB_TRY(link("function_" + std::to_string(i), chain.function(i)));
    if (computes_halves) ETB_TRY(link("half_function_" + std::to_string(i), chain.half_function(i)));
  }
  visit_instructions(linked, [&](uint32_t opcode, std::span<uint32_t> words) {
    if (opcode != kOpFunctionCall) return;
    if (const auto target = targets.find(words[3]); target != targets.end()) words[3] = target->second;
  });
  return linked;
}

std::vector<uint32_t> without_denorm_preserve(std::span<const uint32_t> code) {
  std::vector<uint32_t> all(code.begin(), code.end());
  std::vector<uint32_t> kept(code.begin(), code.begin() + kHeaderWords);
  visit_instructions(all, [&](uint32_t opcode, std::span<const uint32_t> words) {
    const bool is_capability = opcode == kOpCapability && words[1] == kCapabilityDenormPreserve;
    const bool is_mode = opcode == kOpExecutionMode && words[2] == kModeDenormPreserve;
    if (!is_capability && !is_mode) kept.insert(kept.end(), words.begin(), words.end());
  });
  return kept;
}

}  // namespace etb::vulkan
