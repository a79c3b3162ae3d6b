// SPDX-License-Identifier: Apache-2.0
// Faults are known as reads or writes, as far as the system reports them.
#include "host/layers/validate/fault_kind.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "host/testing/report_matcher.hpp"

namespace etb::host::validate {
namespace {

// A record of a signal context on aarch64.
struct Record {
  uint32_t magic;
  std::vector<uint32_t> words;
};
constexpr uint32_t kRegisters = 0x46508001;  // FPSIMD_MAGIC: 520 bytes
constexpr uint32_t kSyndrome = 0x45535201;   // ESR_MAGIC: 8 bytes
const Record kFloats{kRegisters, std::vector<uint32_t>(130)};
const Record kEnd{0, {}};

std::vector<uint8_t> bytes_of(const std::vector<Record>& records) {
  std::vector<uint32_t> words;
  for (const Record& record : records) {
    const bool is_end = record.magic == 0;
    words.push_back(record.magic);
    words.push_back(is_end ? 0 : static_cast<uint32_t>(8 + 4 * record.words.size()));
    words.insert(words.end(), record.words.begin(), record.words.end());
  }
  std::vector<uint8_t> bytes(4 * words.size());
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

FaultKind kind_of(const std::vector<Record>& records) {
  return fault_kind_of_aarch64_records(bytes_of(records));
}

// Syndromes of a page without access: class, length of instruction (bit 25), write (bit 6), fault at level 3.
TEST(FaultKind, IsReadFromTheSyndromeOfAarch64) {
  EXPECT_EQ(kind_of({kFloats, {kSyndrome, {0x9200000f, 0}}, kEnd}), FaultKind::kRead);
  EXPECT_EQ(kind_of({kFloats, {kSyndrome, {0x9200004f, 0}}, kEnd}), FaultKind::kWrite);
  EXPECT_EQ(kind_of({{kSyndrome, {0x9200004f, 0}}, kFloats, kEnd}), FaultKind::kWrite);
  EXPECT_EQ(kind_of({{kSyndrome, {0x8200000f, 0}}, kEnd}), FaultKind::kRead) << "execution of an instruction";
  EXPECT_EQ(kind_of({{kSyndrome, {0x9200014f, 0}}, kEnd}), FaultKind::kRead) << "cache maintenance";
  EXPECT_EQ(kind_of({{kSyndrome, {0x56000000, 0}}, kEnd}), FaultKind::kUnknown) << "a system call";
}

TEST(FaultKind, IsUnknownWithoutASyndrome) {
  EXPECT_EQ(kind_of({}), FaultKind::kUnknown);
  EXPECT_EQ(kind_of({kFloats, kEnd}), FaultKind::kUnknown);
  EXPECT_EQ(kind_of({kEnd, {kSyndrome, {0x9200004f, 0}}}), FaultKind::kUnknown) << "after the end";
  EXPECT_EQ(kind_of({{kSyndrome, {}}, kEnd}), FaultKind::kUnknown) << "a record without content";
}

TEST(FaultKind, IsUnknownWhenARecordReachesBeyondTheContext) {
  const std::vector<uint8_t> whole = bytes_of({{kSyndrome, {0x9200004f, 0}}, kEnd});
  for (size_t nbytes = 0; nbytes < 16; ++nbytes)
    EXPECT_EQ(fault_kind_of_aarch64_records(std::span(whole).first(nbytes)), FaultKind::kUnknown) << nbytes;
  EXPECT_EQ(fault_kind_of_aarch64_records(std::span(whole).first(16)), FaultKind::kWrite);
}

TEST(FaultKind, OfThisSystemIsRightOrUnknown) {
  WatchedPages pages(1, Access::kNothing);
  ASSERT_TRUE(pages.is_valid());
  volatile uint8_t* const byte = pages.begin();
  Fault fault;
  const uint8_t read = *byte;
  (void)read;
  ASSERT_TRUE(pages.take_fault(fault));
  EXPECT_EQ(fault.kind, has_fault_kinds() ? FaultKind::kRead : FaultKind::kUnknown);
  for (const Access access : {Access::kNothing, Access::kReads}) {
    pages.allow(access);
    *byte = 1;
    ASSERT_TRUE(pages.take_fault(fault));
    EXPECT_EQ(fault.kind, has_fault_kinds() ? FaultKind::kWrite : FaultKind::kUnknown);
  }
}

}  // namespace
}  // namespace etb::host::validate
