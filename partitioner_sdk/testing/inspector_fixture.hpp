// SPDX-License-Identifier: Apache-2.0
// Profiles and records for tests of the inspector.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/format/etdump.hpp"
#include "api/format/input_file.hpp"
#include "partitioner_sdk/inspector/record_index.hpp"

namespace etb::inspector {

// Reads tests/fixtures/etrecord/NAME.
inline std::vector<format::EtdumpBlock> official_profile(const std::string& name) {
  const auto bytes =
      format::read_file_text(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/etrecord/" + name, 1 << 20);
  EXPECT_TRUE(bytes);
  auto blocks = format::read_etdump(std::as_bytes(std::span(*bytes)));
  EXPECT_TRUE(blocks) << blocks.error().message;
  return *std::move(blocks);
}
inline RecordIndex official_index(const std::string& name) {
  auto record = record::read_record_file(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/etrecord/" + name);
  EXPECT_TRUE(record) << record.error().message;
  auto index = RecordIndex::make(*std::move(record));
  EXPECT_TRUE(index) << index.error().message;
  return *std::move(index);
}

// Times are in microseconds.
inline format::EtdumpEvent event(const std::string& name, int32_t chain, int32_t instruction,
                                 uint64_t begin_us, uint64_t end_us) {
  format::EtdumpEvent made;
  made.name = name;
  made.chain_index = chain;
  made.instruction_index = instruction;
  made.begin_ns = begin_us * 1000;
  made.end_ns = end_us * 1000;
  return made;
}
inline format::EtdumpEvent inner_event(const std::string& name, int32_t instruction, uint64_t begin_us,
                                       uint64_t end_us) {
  format::EtdumpEvent made = event("", 0, instruction, begin_us, end_us);
  made.delegate_debug_name = name;
  return made;
}

// A method of three instructions: add (line 3), a delegate call of a convolution with its activation (lines 5 and 6) and a
// linear layer (line 7), and an instruction that the compiler added.
inline RecordIndex sample_index() {
  const auto node = [](const std::string& name, const std::string& op, int handle, int line,
                       const std::string& module) {
    return R"({"name": ")" + name + R"(", "target": "executorch.exir.dialects.edge.ops.)" + op +
           R"(", "inputs": [], "outputs": [], "metadata": {"debug_handle": ")" + std::to_string(handle) +
           R"(", "stack_trace": "File \"/home/me/model.py\", line )" + std::to_string(line) +
           R"(, in forward", "nn_module_stack": "L__self__,,Net;k,)" + module + R"(,torch.nn.Module"}})";
  };
  record::Record record;
  record.program = format::ProgramIdentity{"model.pte", std::string(64, 'a')};
  record.edge_programs.push_back({"forward",
                                  R"({"graph_module": {"graph": {"nodes": [)" +
                                      node("add", "aten.add.Tensor", 1, 3, "") + "," +
                                      node("conv", "aten.convolution.default", 2, 5, "body.conv") + "," +
                                      node("relu", "aten.relu.default", 3, 6, "body") + "," +
                                      node("linear", "aten.linear.default", 4, 7, "head") + "]}}}",
                                  {},
                                  {},
                                  {}});
  record::MethodMaps& maps = record.methods.emplace_back();
  maps.name = "forward";
  maps.handles = {{0, {1}}, {1, {2, 3, 4}}};
  maps.delegates[1] = {"XnnpackBackend", {{"Conv2d #0", {2, 3}}, {"FullyConnected #1", {4}}, {"7", {4}}}};
  maps.output_counts[1] = 1;
  auto index = RecordIndex::make(std::move(record));
  EXPECT_TRUE(index) << index.error().message;
  return *std::move(index);
}

// A run of 100 us: add 10, the delegate 70 (convolution 40, linear 20), the compiler's copy 5.
inline format::EtdumpBlock sample_run() {
  format::EtdumpBlock block;
  block.name = "Execute";
  block.events = {event("native_call_add.out", 0, 0, 1, 10), event("OPERATOR_CALL", 0, 0, 0, 10),
                  inner_event("Conv2d #0", 1, 12, 52),       inner_event("FullyConnected #1", 1, 52, 72),
                  event("DELEGATE_CALL", 0, 1, 10, 80),      event("native_call_copy.out", 0, 2, 80, 84),
                  event("OPERATOR_CALL", 0, 2, 80, 85),      event("Method::execute", -1, 0, 0, 100)};
  return block;
}

}  // namespace etb::inspector
