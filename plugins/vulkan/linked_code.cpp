// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/linked_code.hpp"

#include <map>
#include <string>

namespace etb::vulkan {

namespace {

constexpr size_t kHeaderWords = 5;
constexpr uint32_t kOpName = 5, kOpFunctionCall = 57;  // SPIR-V specification, 3.49

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
  for (uint32_t i = 0; i < gpu::kMaxChainSteps; ++i) {
    const auto from = ids.find("function_" + std::to_string(i)), to = ids.find(chain.function(i));
    if (from == ids.end() || to == ids.end())
      return make_error(Code::INTERNAL, "SPIR-V of chains without the function " + chain.function(i));
    targets[from->second] = to->second;
  }
  visit_instructions(linked, [&](uint32_t opcode, std::span<uint32_t> words) {
    if (opcode != kOpFunctionCall) return;
    if (const auto target = targets.find(words[3]); target != targets.end()) words[3] = target->second;
  });
  return linked;
}

}  // namespace etb::vulkan
