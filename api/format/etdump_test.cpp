// SPDX-License-Identifier: Apache-2.0
#include "api/format/etdump.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace etb::format {
namespace {

std::vector<std::byte> bytes_of(const std::string& name) {
  std::ifstream in(std::string(ETB_SOURCE_DIR) + "/tests/fuzz/etdump/" + name, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<EtdumpBlock> two_blocks() {
  EtdumpEvent load;
  load.name = "Program::load_method";
  load.begin_ns = 5;
  load.end_ns = 1'000'000'000'000;
  EtdumpEvent inner;
  inner.chain_index = 0;
  inner.instruction_index = 3;
  inner.delegate_debug_name = "Conv #1";
  inner.metadata = {std::byte{1}, std::byte{2}};
  EtdumpEvent numbered = inner;
  numbered.delegate_debug_name.clear();
  numbered.delegate_debug_id = 7;
  return {{"Default", -1, {load}}, {"Execute", 2, {inner, numbered}}};
}

TEST(Etdump, IsReadAsWritten) {
  const std::vector<EtdumpBlock> blocks = two_blocks();
  const auto file = write_etdump(blocks);
  ASSERT_TRUE(file) << file.error().message;
  const auto read = read_etdump(*file);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].name, "Default");
  EXPECT_EQ((*read)[1].bundled_input_index, 2);
  const EtdumpEvent& load = (*read)[0].events.at(0);
  EXPECT_EQ(load.name, "Program::load_method");
  EXPECT_EQ(load.chain_index, -1);
  EXPECT_EQ(load.end_ns, 1'000'000'000'000u);
  EXPECT_FALSE(load.is_of_delegate());
  const EtdumpEvent& inner = (*read)[1].events.at(0);
  EXPECT_EQ(inner.delegate_debug_name, "Conv #1");
  EXPECT_EQ(inner.instruction_index, 3);
  EXPECT_EQ(inner.metadata.size(), 2u);
  EXPECT_EQ((*read)[1].events.at(1).delegate_debug_id, 7);
}

EtdumpDebugEvent value_of(EtdumpValueKind kind, uint32_t position) {
  EtdumpDebugEvent out;
  out.chain_index = 0;
  out.instruction_index = 4;
  out.value.kind = kind;
  out.position = position;
  return out;
}

// A block with all that the format has, in an order of its own.
EtdumpBlock full_block() {
  EtdumpBlock block{"Execute", 3, {}, {"planned memory", "scratch"}, {{1, 4096, 1}}, {}};
  EtdumpEvent call;
  call.name = "OPERATOR_CALL";
  call.position = 9;
  block.events.push_back(call);
  EtdumpDebugEvent tensor = value_of(EtdumpValueKind::kTensor, 0);
  tensor.value.tensors = {{15, {2, 3}, {3, 1}, 64}};  // bfloat16
  EtdumpDebugEvent list = value_of(EtdumpValueKind::kTensorList, 2);
  list.value.tensors = {{6, {4}, {1}, 0}, {6, {0}, {1}, -1}};
  EtdumpDebugEvent integer = value_of(EtdumpValueKind::kInt, 3);
  integer.value.integer = -7;
  integer.delegate_debug_id = 12;
  EtdumpDebugEvent boolean = value_of(EtdumpValueKind::kBool, 4);
  boolean.value.boolean = true;
  boolean.delegate_debug_name = "mask";
  EtdumpDebugEvent single = value_of(EtdumpValueKind::kFloat, 5);
  single.value.real = 0.5;
  EtdumpDebugEvent real = value_of(EtdumpValueKind::kDouble, 6);
  real.value.real = 0.1;
  real.chain_index = -1;
  real.is_output = true;
  block.values = {tensor,
                  list,
                  integer,
                  boolean,
                  single,
                  real,
                  value_of(EtdumpValueKind::kNone, 7),
                  value_of(EtdumpValueKind::kString, 8)};
  return block;
}

TEST(Etdump, ValuesAndAllocationsAreReadAsWritten) {
  const auto file = write_etdump(std::vector<EtdumpBlock>{full_block()});
  ASSERT_TRUE(file) << file.error().message;
  const auto blocks = read_etdump(*file);
  ASSERT_TRUE(blocks) << blocks.error().message;
  const EtdumpBlock& read = blocks->at(0);
  EXPECT_EQ(read.bundled_input_index, 3);
  EXPECT_EQ(read.allocators, (std::vector<std::string>{"planned memory", "scratch"}));
  ASSERT_EQ(read.allocations.size(), 1u);
  EXPECT_EQ(read.allocations[0].allocator_index, 1);
  EXPECT_EQ(read.allocations[0].nbytes, 4096u);
  EXPECT_EQ(read.allocations[0].position, 1u);
  EXPECT_EQ(read.events.at(0).position, 9u);
  ASSERT_EQ(read.values.size(), 8u);
  const EtdumpValue& tensor = read.values[0].value;
  ASSERT_EQ(tensor.tensors.size(), 1u);
  EXPECT_EQ(tensor.tensors[0].dtype, 15);
  EXPECT_EQ(tensor.tensors[0].sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor.tensors[0].strides, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(tensor.tensors[0].offset, 64);
  EXPECT_EQ(read.values[1].value.tensors.size(), 2u);
  EXPECT_EQ(read.values[1].position, 2u);
  EXPECT_EQ(read.values[2].value.integer, -7);
  EXPECT_EQ(read.values[2].delegate_debug_id, 12);
  EXPECT_TRUE(read.values[3].value.boolean);
  EXPECT_EQ(read.values[3].delegate_debug_name, "mask");
  EXPECT_EQ(read.values[4].value.real, 0.5);
  EXPECT_EQ(read.values[5].value.real, 0.1);
  EXPECT_EQ(read.values[5].chain_index, -1);
  EXPECT_TRUE(read.values[5].is_output);
  EXPECT_FALSE(read.values[4].is_output);
  EXPECT_EQ(read.values[7].value.kind, EtdumpValueKind::kString);
}

TEST(Etdump, ElementsAreFoundInTheDebugBuffer) {
  std::vector<std::byte> buffer(100);
  buffer[64] = std::byte{9};
  const auto found = find_elements({15, {2, 3}, {3, 1}, 64}, buffer);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), 12u);
  EXPECT_EQ(found->front(), std::byte{9});
  EXPECT_TRUE(find_elements({6, {2, 3}, {1, 2}, 64}, buffer));   // columns first
  EXPECT_TRUE(find_elements({6, {1, 3}, {77, 1}, 64}, buffer));  // the stride of a single element is not used
  EXPECT_TRUE(find_elements({6, {}, {}, 96}, buffer));
  EXPECT_EQ(find_elements({6, {4, 0}, {1, 1}, -1}, buffer)->size(), 0u);
}

TEST(Etdump, ElementsOutsideOfTheDebugBufferAreRefused) {
  const std::vector<std::byte> buffer(100);
  const auto message = [&](const EtdumpTensor& tensor) {
    const auto found = find_elements(tensor, buffer);
    return found ? "found" : found.error().message;
  };
  EXPECT_EQ(message({6, {8}, {1}, 72}), "tensor of 32 bytes at offset 72, the debug buffer has 100 bytes");
  EXPECT_EQ(message({6, {8}, {1}, INT64_MAX}),
            "tensor of 32 bytes at offset 9223372036854775807, the debug buffer has 100 bytes");
  EXPECT_EQ(message({6, {8}, {1}, -1}), "the elements of the tensor were not recorded");
  const std::string strange = "unknown dtype, or strides that do not name each element once";
  EXPECT_NE(message({6, {2, 2}, {1, 1}, 0}).find(strange), std::string::npos);
  EXPECT_NE(message({6, {2, 2}, {4, 1}, 0}).find(strange), std::string::npos);
  EXPECT_NE(message({99, {2}, {1}, 0}).find(strange), std::string::npos);
  EXPECT_NE(message({7, {INT64_MAX, 3}, {3, 1}, 0}).find(strange), std::string::npos);
}

TEST(Etdump, AFileAtAnyAddressIsRead) {
  const auto file = write_etdump(two_blocks());
  ASSERT_TRUE(file);
  std::vector<std::byte> moved(file->size() + 1);
  std::copy(file->begin(), file->end(), moved.begin() + 1);
  EXPECT_TRUE(read_etdump(std::span(moved).subspan(1)));
}

// Written by the official run time of executorch 1.5.1: one delegate call, and one kernel call, two runs each.
TEST(Etdump, OfficialFilesAreRead) {
  const auto delegate = read_etdump(bytes_of("official_xnnpack_add.etdp"));
  ASSERT_TRUE(delegate) << delegate.error().message;
  ASSERT_EQ(delegate->size(), 3u);
  EXPECT_EQ((*delegate)[1].name, "Execute");
  ASSERT_EQ((*delegate)[1].events.size(), 3u);
  EXPECT_EQ((*delegate)[1].events[0].delegate_debug_name, "Add (ND) #1");
  EXPECT_EQ((*delegate)[1].events[1].name, "DELEGATE_CALL");
  EXPECT_EQ((*delegate)[1].events[2].name, "Method::execute");
  const auto kernel = read_etdump(bytes_of("official_add.etdp"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ((*kernel)[2].events.at(0).name, "native_call_add.out");
}

TEST(Etdump, DamagedFilesAreRefusedWithAReason) {
  std::vector<EtdumpBlock> blocks = two_blocks();
  blocks.push_back(full_block());
  const auto whole = write_etdump(blocks);
  ASSERT_TRUE(whole);
  for (size_t nbytes = 0; nbytes < whole->size(); ++nbytes) {
    const auto cut = read_etdump(std::span(*whole).first(nbytes));
    ASSERT_FALSE(cut) << nbytes;
    EXPECT_FALSE(cut.error().message.empty());
  }
  std::vector<std::byte> other = *whole;
  other[8] = std::byte{'X'};
  EXPECT_NE(read_etdump(other).error().message.find("ED00"), std::string::npos);
  EXPECT_FALSE(read_etdump(bytes_of("../../fixtures/programs/add.pte")));
  // A flipped bit makes another valid file, or an error.
  for (size_t at = 0; at < whole->size(); ++at) {
    std::vector<std::byte> flipped = *whole;
    flipped[at] ^= std::byte{0x10};
    const auto read = read_etdump(flipped);
    EXPECT_TRUE(read || !read.error().message.empty()) << at;
  }
}

TEST(Etdump, EventsThatNoWriterMakesAreRefused) {
  EtdumpEvent reversed;
  reversed.name = "OPERATOR_CALL";
  reversed.begin_ns = uint64_t{1} << 33;  // no clock of 32 bits
  reversed.end_ns = 1;
  const auto file = write_etdump(std::vector<EtdumpBlock>{{"Execute", -1, {reversed}}});
  ASSERT_TRUE(file);
  const auto read = read_etdump(*file);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "block 0: event 0: ends at 1, before its begin at 8589934592");
}

std::string refusal_of(const EtdumpBlock& block) {
  const auto file = write_etdump(std::vector<EtdumpBlock>{block});
  const auto read = file ? read_etdump(*file) : tl::make_unexpected(file.error());
  return read ? "read" : read.error().message;
}

TEST(Etdump, ValuesThatNoWriterMakesAreRefused) {
  EXPECT_EQ(refusal_of({"Execute", -1, {}, {"scratch"}, {{1, 8, 0}}, {}}),
            "block 0: event 0: allocation of allocator 1, the block has 1");
  EtdumpDebugEvent value = value_of(EtdumpValueKind::kTensor, 0);
  value.value.tensors = {{6, {-2}, {1}, 0}};
  EXPECT_EQ(refusal_of({"Execute", -1, {}, {}, {}, {value}}),
            "block 0: event 0: tensor with a dimension of size -2");
  value.value.tensors = {{6, {2, 2}, {1}, 0}};
  EXPECT_EQ(refusal_of({"Execute", -1, {}, {}, {}, {value}}),
            "block 0: event 0: 1 strides of a tensor of rank 2");
  value.value.tensors = {{6, std::vector<int64_t>(17, 1), std::vector<int64_t>(17, 1), 0}};
  EXPECT_EQ(refusal_of({"Execute", -1, {}, {}, {}, {value}}),
            "block 0: event 0: tensor of rank 17, expected at most 16");
  value.value.tensors = {{6, {2}, {1}, -9}};
  EXPECT_EQ(refusal_of({"Execute", -1, {}, {}, {}, {value}}), "block 0: event 0: tensor at offset -9");
}

}  // namespace
}  // namespace etb::format
