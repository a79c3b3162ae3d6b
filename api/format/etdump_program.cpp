// SPDX-License-Identifier: Apache-2.0
#include "api/format/etdump_program.hpp"

#include "api/format/hex.hpp"

namespace etb::format {
namespace {

// "program sha256:DIGEST NAME"
constexpr std::string_view kPrefix = "program sha256:";
constexpr size_t kDigits = 64;

}  // namespace

void set_program(std::vector<EtdumpBlock>& blocks, const ProgramIdentity& program) {
  if (!blocks.empty())
    blocks.front().allocators.push_back(std::string(kPrefix) + program.sha256 + " " + program.name);
}

bool is_program_name(std::string_view allocator) {
  return allocator.starts_with(kPrefix) && allocator.size() > kPrefix.size() + kDigits &&
         allocator[kPrefix.size() + kDigits] == ' ' &&
         parse_hex<kDigits / 2>(allocator.substr(kPrefix.size(), kDigits)).has_value();
}

std::optional<ProgramIdentity> find_program(std::span<const EtdumpBlock> blocks) {
  for (const EtdumpBlock& block : blocks)
    for (const std::string& name : block.allocators)
      if (is_program_name(name))
        return ProgramIdentity{name.substr(kPrefix.size() + kDigits + 1),
                               name.substr(kPrefix.size(), kDigits)};
  return std::nullopt;
}

}  // namespace etb::format
