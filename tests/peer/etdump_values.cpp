// SPDX-License-Identifier: Apache-2.0
// Prints the values of an ETDump as our reader finds them, a JSON object a line, for check_etdump.py:
//   etdump_values RUN.etdp DEBUG_BUFFER
#include <iostream>
#include <nlohmann/json.hpp>

#include "api/format/etdump.hpp"
#include "api/format/input_file.hpp"

namespace {

using Json = nlohmann::ordered_json;
using etb::Result;
using namespace etb::format;

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

Result<Json> to_json(const EtdumpDebugEvent& event, size_t block, std::span<const std::byte> debug_buffer) {
  Json tensors = Json::array();
  for (const EtdumpTensor& tensor : event.value.tensors) {
    ETB_ASSIGN(const auto elements, find_elements(tensor, debug_buffer));
    tensors.push_back({{"dtype", tensor.dtype},
                       {"sizes", tensor.sizes},
                       {"strides", tensor.strides},
                       {"offset", tensor.offset},
                       {"hex", to_hex(elements)}});
  }
  return Json{{"block", block},
              {"chain", event.chain_index},
              {"instruction", event.instruction_index},
              {"debug_id", event.delegate_debug_id},
              {"debug_name", event.delegate_debug_name},
              {"output", event.is_output},
              {"kind", static_cast<int>(event.value.kind)},
              {"int", event.value.integer},
              {"bool", event.value.boolean},
              {"real", event.value.real},
              {"tensors", std::move(tensors)}};
}

etb::Status print(const char* path, const char* debug_path) {
  constexpr uint64_t kMostNbytes = uint64_t{2} << 30;
  ETB_ASSIGN(const auto file, read_file_text(path, kMostNbytes));
  ETB_ASSIGN(const auto debug_buffer, read_file_text(debug_path, kMostNbytes));
  ETB_ASSIGN(const auto blocks, read_etdump(std::as_bytes(std::span(file))));
  for (size_t i = 0; i < blocks.size(); ++i)
    for (const EtdumpDebugEvent& event : blocks[i].values) {
      ETB_ASSIGN(const Json line, to_json(event, i, std::as_bytes(std::span(debug_buffer))));
      std::cout << line.dump() << '\n';
    }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: etdump_values RUN.etdp DEBUG_BUFFER\n", 2;
  const etb::Status status = print(argv[1], argv[2]);
  if (!status) std::cerr << status.error().message << '\n';
  return status ? 0 : 1;
}
