// SPDX-License-Identifier: Apache-2.0
// The stream writer against the flatbuffer library: what it writes is verified, read, and equal to what was logged.
#include "host/profile/etdump_stream.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api/format/etdump.hpp"

namespace etb::host {
namespace {

using format::EtdumpBlock;
using format::EtdumpDebugEvent;
using format::EtdumpEvent;
using format::EtdumpValueKind;

// Pieces so small that records and names are spread over many.
class SmallPieces final : public LogMemory {
 public:
  explicit SmallPieces(uint64_t nbytes) : nbytes_(nbytes) {}
  std::span<std::byte> more(uint64_t least_nbytes) noexcept override {
    pieces_.push_back(std::make_unique<std::byte[]>(std::max(nbytes_, least_nbytes)));
    return {pieces_.back().get(), static_cast<size_t>(std::max(nbytes_, least_nbytes))};
  }

 private:
  uint64_t nbytes_;
  std::vector<std::unique_ptr<std::byte[]>> pieces_;
};

std::vector<EtdumpBlock> read_back(ProfileLog& log) {
  std::vector<std::byte> file(etdump_nbytes(log));
  BufferByteSink sink(file);
  EXPECT_TRUE(write_etdump(log, sink));
  EXPECT_EQ(sink.written().size(), file.size());
  auto blocks = format::read_etdump(file);
  EXPECT_TRUE(blocks) << blocks.error().message;
  return blocks ? *std::move(blocks) : std::vector<EtdumpBlock>();
}

// Logs random records, and builds the blocks that a reader should find.
class RandomLog {
 public:
  RandomLog(ProfileLog& log, uint32_t seed) : log_(log), random_(seed) {
    for (uint32_t i = number(1, 5); i != 0; --i) add_block();
  }
  const std::vector<EtdumpBlock>& expected() const { return expected_; }

 private:
  uint32_t number(uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random_);
  }
  std::string text() { return std::string(number(1, 40), static_cast<char>('a' + number(0, 3))); }
  EtdumpBlock& block() { return expected_.back(); }
  uint32_t position() {
    return static_cast<uint32_t>(block().events.size() + block().allocations.size() + block().values.size());
  }

  void add_block() {
    EtdumpBlock made;
    made.name = text();
    made.bundled_input_index = static_cast<int32_t>(number(0, 3)) - 1;
    log_.begin_block(made.name.c_str(), made.bundled_input_index);
    expected_.push_back(made);
    for (uint32_t i = number(0, 60); i != 0; --i) {
      switch (number(0, 4)) {
        case 0:
          add_span();
          break;
        case 1:
          add_kernel();
          break;
        case 2:
          add_inner();
          break;
        case 3:
          add_value();
          break;
        default:
          add_allocation();
      }
    }
    // The file names all allocators that the log knows in each block that has an allocation.
    for (EtdumpBlock& any : expected_)
      if (!any.allocations.empty()) any.allocators = allocators_;
  }

  EtdumpEvent event() {
    EtdumpEvent made;
    made.chain_index = static_cast<int32_t>(number(0, 2)) - 1;
    made.instruction_index = static_cast<int32_t>(number(0, 1000));
    made.begin_ns = uint64_t{number(0, UINT32_MAX)} << 20;
    made.end_ns = made.begin_ns + number(0, 1000);
    made.position = position();
    return made;
  }

  LogSpan span_of(const EtdumpEvent& event, const LogName* name) {
    return {{},
            event.chain_index,
            event.instruction_index,
            event.delegate_debug_id,
            name,
            event.begin_ns,
            event.end_ns};
  }

  void add_span() {
    EtdumpEvent made = event();
    made.name = text();
    log_.add_span(LogKind::kSpan, span_of(made, log_.name_of(made.name.c_str())));
    block().events.push_back(made);
  }

  void add_kernel() {
    EtdumpEvent made = event();
    const std::string op = text();
    made.name = "native_call_" + op;
    log_.forget_pointers();  // names of kernels do not change while a method runs
    log_.add_span(LogKind::kKernel, span_of(made, log_.native_name_of(("aten::" + op).c_str())));
    block().events.push_back(made);
    made.name = "OPERATOR_CALL";
    made.position += 1;
    block().events.push_back(made);
  }

  void add_inner() {
    EtdumpEvent made = event();
    if (number(0, 1) != 0)
      made.delegate_debug_name = text();
    else
      made.delegate_debug_id = static_cast<int32_t>(number(0, 9));
    made.metadata.assign(number(0, 20), std::byte{7});
    const bool has_name = !made.delegate_debug_name.empty();
    log_.add_span(LogKind::kInner,
                  span_of(made, has_name ? log_.name_of(made.delegate_debug_name.c_str()) : nullptr),
                  made.metadata);
    block().events.push_back(made);
  }

  void add_allocation() {
    const std::string name = "arena " + std::to_string(number(0, 5));
    const uint32_t index = log_.allocator_of(name.c_str());
    if (index == allocators_.size()) allocators_.push_back(name);
    block().allocations.push_back({static_cast<int32_t>(index), uint64_t{number(0, UINT32_MAX)}, position()});
    log_.add_allocation(index, block().allocations.back().nbytes);
  }

  void add_value() {
    EtdumpDebugEvent made;
    made.position = position();
    made.chain_index = static_cast<int32_t>(number(0, 2)) - 1;
    made.instruction_index = static_cast<int32_t>(number(0, 50));
    made.is_output = number(0, 1) != 0;
    made.value.kind = static_cast<EtdumpValueKind>(number(0, 7));
    LogValue record{};
    record.chain_index = made.chain_index;
    record.instruction_index = made.instruction_index;
    record.debug_id = -1;
    record.kind = static_cast<uint8_t>(made.value.kind);
    record.is_output = made.is_output;
    if (number(0, 2) == 0) {
      made.delegate_debug_name = text();
      record.debug_name = log_.name_of(made.delegate_debug_name.c_str());
    } else if (number(0, 1) == 0) {
      made.delegate_debug_id = record.debug_id = static_cast<int32_t>(number(0, 9));
    }
    fill(made, record);
    const bool has_tensors =
        made.value.kind == EtdumpValueKind::kTensor || made.value.kind == EtdumpValueKind::kTensorList;
    const uint32_t count = !has_tensors ? 0 : made.value.kind == EtdumpValueKind::kTensor ? 1 : number(0, 4);
    std::vector<TensorStorage> storage(count);
    std::vector<Tensor> tensors(count);
    std::vector<const Tensor*> pointers;
    std::vector<int64_t> offsets;
    for (uint32_t i = 0; i < count; ++i) {
      std::vector<int64_t> sizes(number(0, 5));
      for (int64_t& size : sizes) size = number(0, 9);
      tensors[i] = storage[i].make(Dtype::BFLOAT16, sizes, nullptr, 0);
      pointers.push_back(&tensors[i]);
      offsets.push_back(static_cast<int64_t>(number(0, 1000)) - 1);
      const auto strides = tensors[i].strides();
      made.value.tensors.push_back(
          {static_cast<uint8_t>(Dtype::BFLOAT16), sizes, {strides.begin(), strides.end()}, offsets.back()});
    }
    log_.add_value(record, pointers, offsets);
    block().values.push_back(made);
  }

  void fill(EtdumpDebugEvent& made, LogValue& record) {
    switch (made.value.kind) {
      case EtdumpValueKind::kInt:
        made.value.integer = record.integer = -static_cast<int64_t>(number(0, 99));
        break;
      case EtdumpValueKind::kBool:
        made.value.boolean = number(0, 1) != 0;
        record.integer = made.value.boolean ? 1 : 0;
        break;
      case EtdumpValueKind::kFloat:
        made.value.real = record.real = 0.25 * number(0, 99);
        break;
      case EtdumpValueKind::kDouble:
        made.value.real = record.real = 0.1 * number(0, 99);
        break;
      default:
        break;
    }
  }

  ProfileLog& log_;
  std::mt19937 random_;
  std::vector<EtdumpBlock> expected_;
  std::vector<std::string> allocators_;
};

// Compared as the other writer writes them.
std::vector<std::byte> bytes_of(const std::vector<EtdumpBlock>& blocks) {
  auto bytes = format::write_etdump(blocks);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes ? *std::move(bytes) : std::vector<std::byte>();
}

TEST(EtdumpStream, WritesWhatWasLogged) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SmallPieces memory(64 + 37 * (seed % 20));
    ProfileLog log({}, &memory);
    const RandomLog random(log, seed);
    EXPECT_TRUE(bytes_of(read_back(log)) == bytes_of(random.expected())) << "seed " << seed;
    EXPECT_EQ(log.dropped_count(), 0u) << "seed " << seed;
    if (testing::Test::HasFailure()) return;
  }
}

TEST(EtdumpStream, AnEmptyLogIsAFileWithoutBlocks) {
  std::vector<std::byte> memory(4096);
  ProfileLog log(memory);
  EXPECT_TRUE(read_back(log).empty());
}

TEST(EtdumpStream, AClearedLogUsesItsMemoryAgain) {
  std::vector<std::byte> memory(4096);
  ProfileLog log(memory);
  for (int i = 0; i < 100; ++i) {
    log.clear();
    log.begin_block("Execute", -1);
    for (int k = 0; k < 20; ++k) log.add_span(LogKind::kSpan, {{}, 0, k, -1, log.name_of("MOVE_CALL"), 1, 2});
  }
  EXPECT_EQ(log.dropped_count(), 0u);
  EXPECT_EQ(read_back(log).at(0).events.size(), 20u);
}

TEST(EtdumpStream, AFullLogKeepsWhatItHasAndCountsTheRest) {
  std::vector<std::byte> memory(2000);
  ProfileLog log(memory);
  log.begin_block("Execute", -1);
  for (int i = 0; i < 100; ++i) log.add_span(LogKind::kSpan, {{}, 0, i, -1, log.name_of("MOVE_CALL"), 1, 2});
  const auto blocks = read_back(log);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_GT(blocks[0].events.size(), 10u);
  EXPECT_EQ(blocks[0].events.size() + log.dropped_count(), 100u);
  // A block that finds no memory does not add its events to the block before.
  std::string name(3000, 'x');
  log.begin_block(name.c_str(), -1);
  log.add_span(LogKind::kSpan, {{}, 0, 0, -1, log.name_of("MOVE_CALL"), 1, 2});
  EXPECT_EQ(read_back(log).at(0).events.size(), blocks[0].events.size());
}

TEST(EtdumpStream, ATextThatChangesItsMemoryIsAnotherName) {
  std::vector<std::byte> memory(4096);
  ProfileLog log(memory);
  log.begin_block("Execute", -1);
  char text[16] = "first";
  log.add_span(LogKind::kInner, {{}, 0, 0, -1, log.name_of(text), 1, 2});
  std::strcpy(text, "second");
  log.add_span(LogKind::kInner, {{}, 0, 0, -1, log.name_of(text), 1, 2});
  std::strcpy(text, "aten::x.out");
  log.add_span(LogKind::kKernel, {{}, 0, 0, -1, log.native_name_of(text), 1, 2});
  log.forget_pointers();  // names of kernels change only with their method
  std::strcpy(text, "aten::y.out");
  log.add_span(LogKind::kKernel, {{}, 0, 0, -1, log.native_name_of(text), 1, 2});
  const auto events = read_back(log).at(0).events;
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[0].delegate_debug_name, "first");
  EXPECT_EQ(events[1].delegate_debug_name, "second");
  EXPECT_EQ(events[2].name, "native_call_x.out");
  EXPECT_EQ(events[4].name, "native_call_y.out");
}

TEST(EtdumpStream, ASinkThatFailsIsReported) {
  std::vector<std::byte> memory(4096);
  ProfileLog log(memory);
  log.begin_block("Execute", -1);
  std::vector<std::byte> file(etdump_nbytes(log) - 1);
  BufferByteSink sink(file);
  EXPECT_FALSE(write_etdump(log, sink));
}

}  // namespace
}  // namespace etb::host
