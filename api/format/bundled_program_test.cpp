// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "api/format/bundled_program_view.hpp"
#include "api/format/bundled_program_writer.hpp"
#include "api/format/program_view.hpp"

namespace etb::format {
namespace {

// Bytes on the boundary that the readers want.
class File {
 public:
  explicit File(std::span<const std::byte> from)
      : blocks_(from.size() / sizeof(Block) + 1), nbytes_(from.size()) {
    if (!from.empty()) std::memcpy(blocks_.data(), from.data(), from.size());
  }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(blocks_)).first(nbytes_); }

 private:
  struct alignas(32) Block {
    std::byte bytes[32];
  };
  std::vector<Block> blocks_;
  size_t nbytes_;
};

File file_of(const std::string& path) {
  std::ifstream in(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/" + path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return File(std::as_bytes(std::span(text)));
}

struct Read {
  etb_status status;
  std::string text;
  BundledProgramView view;
};

Read read(std::span<const std::byte> bytes) {
  Read out;
  etb_error error = ETB_ERROR_INIT;
  out.status = read_bundled_program(bytes, &out.view, &error);
  out.text = error.text;
  return out;
}

File write(std::span<const BundledSuite> suites, std::span<const std::byte> program) {
  std::vector<std::byte> out;
  const Status status = write_bundled_program(program, suites, [&](std::span<const std::byte> bytes) {
    out.assign(bytes.begin(), bytes.end());
    return Status();
  });
  EXPECT_TRUE(status) << status.error().message;
  return File(out);
}

template <class T>
BundledTensorData tensor(uint8_t dtype, std::vector<int32_t> sizes, const std::vector<T>& elements) {
  const auto bytes = std::as_bytes(std::span(elements));
  return {dtype, std::move(sizes), {}, {bytes.begin(), bytes.end()}};
}

constexpr uint8_t kFloat32 = 6, kInt8 = 1;

const std::vector<std::byte> kProgram(100, std::byte{0x5A});

std::vector<BundledSuite> two_suites() {
  BundledTensorData columns = tensor<float>(kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6});
  columns.dim_order = {1, 0};
  const BundledCase first{{columns, int64_t{-7}, true, 0.5}, {tensor<int8_t>(kInt8, {3}, {1, -2, 3})}};
  const BundledCase second{{tensor<float>(kFloat32, {}, {2.5F})}, {}};
  // In the wrong order: the writer sorts.
  return {{"forward", {first, second}}, {"encode", {second}}};
}

TEST(BundledProgram, IsReadAsWritten) {
  File file = write(two_suites(), kProgram);
  const Read found = read(file.bytes());
  ASSERT_EQ(found.status, ETB_OK) << found.text;
  EXPECT_EQ(found.view.version(), 2u);
  ASSERT_EQ(found.view.program().size(), kProgram.size());
  EXPECT_EQ(std::memcmp(found.view.program().data(), kProgram.data(), kProgram.size()), 0);
  EXPECT_EQ((found.view.program().data() - file.bytes().data()) % 32, 0);
  ASSERT_EQ(found.view.suite_count(), 2u);
  EXPECT_EQ(found.view.suite(0).method(), "encode");
  EXPECT_EQ(found.view.suite(1).method(), "forward");
  const BundledCaseView item = found.view.suite(1).test_case(0);
  ASSERT_EQ(item.input_count(), 4u);
  const BundledTensor columns = item.input(0).as_tensor();
  EXPECT_EQ(columns.dtype, kFloat32);
  EXPECT_EQ(columns.sizes[1], 3);
  EXPECT_EQ(columns.dim_order[0], 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(columns.data.data()) % 16, 0u);
  EXPECT_EQ(item.input(1).as_int(), -7);
  EXPECT_TRUE(item.input(2).as_bool());
  EXPECT_EQ(item.input(3).as_double(), 0.5);
  EXPECT_EQ(item.expected(0).as_tensor().data.size(), 3u);
  EXPECT_EQ(found.view.suite(1).test_case(1).expected_count(), 0u);
  EXPECT_TRUE(found.view.suite(0).test_case(0).input(0).as_tensor().sizes.empty());
}

TEST(BundledProgram, TheWriterJoinsSuitesOfOneMethodAndRefusesWrongTensors) {
  std::vector<BundledSuite> suites = two_suites();
  suites.push_back({"forward", {suites[1].cases[0]}});
  File file = write(suites, kProgram);
  const Read found = read(file.bytes());
  ASSERT_EQ(found.status, ETB_OK) << found.text;
  EXPECT_EQ(found.view.suite_count(), 2u);
  EXPECT_EQ(found.view.case_count("forward"), 3u);

  const auto refuse = [](BundledTensorData wrong) {
    const std::vector<BundledSuite> suite = {{"forward", {{{int64_t{1}, wrong}, {}}}}};
    const Status status =
        write_bundled_program(kProgram, suite, [](std::span<const std::byte>) { return Status(); });
    return status ? std::string("written") : status.error().message;
  };
  BundledTensorData item = tensor<float>(kFloat32, {3}, {1, 2});
  EXPECT_EQ(refuse(item),
            "method 'forward', case 0: input 1: tensor of dtype code 6: 8 bytes, its sizes need 12");
  item.sizes = {-2};
  EXPECT_NE(refuse(item).find("8 bytes, its type has no size"), std::string::npos);
  item.sizes = {2};
  item.dim_order = {1};
  EXPECT_NE(refuse(item).find("expected a permutation"), std::string::npos);
}

TEST(BundledProgram, CasesAreFoundByMethodAndNumber) {
  File file = write(two_suites(), kProgram);
  const Read found = read(file.bytes());
  BundledCaseView item;
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(found.view.find_case("forward", 1, &item, &error), ETB_OK);
  EXPECT_EQ(item.input_count(), 1u);
  EXPECT_EQ(found.view.find_case("forward", 2, &item, &error), ETB_NOT_FOUND);
  EXPECT_STREQ(error.text, "test case 2 of method 'forward', found 2, numbered from 0");
  EXPECT_EQ(found.view.find_case("decode", 0, &item, &error), ETB_NOT_FOUND);
  EXPECT_STREQ(error.text, "no test cases of method 'decode', found 2 suites, the first of method 'encode'");
  EXPECT_EQ(found.view.find_case("forward", UINT64_MAX, &item, &error), ETB_NOT_FOUND);
}

// Written by the official BundledProgram of executorch 1.5.1 (tests/fixtures/make_bundles.py).
TEST(BundledProgram, OfficialFilesAreReadAndTheirProgramsToo) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/bundles")) {
    if (entry.path().extension() != ".bpte") continue;
    ++count;
    File file = file_of("bundles/" + entry.path().filename().string());
    const Read found = read(file.bytes());
    ASSERT_EQ(found.status, ETB_OK) << entry.path() << ": " << found.text;
    EXPECT_EQ(found.view.version(), 2u);
    EXPECT_GE(found.view.suite_count(), 1u);
    ProgramView program;
    etb_error error = ETB_ERROR_INIT;
    EXPECT_EQ(read_program(found.view.program(), &program, &error), ETB_OK)
        << entry.path() << ": " << error.text;
  }
  EXPECT_EQ(count, 14);
}

TEST(BundledProgram, OfficialFilesWrittenAgainHoldTheSame) {
  File official = file_of("bundles/methods.bpte");
  const Read before = read(official.bytes());
  ASSERT_EQ(before.status, ETB_OK) << before.text;
  std::vector<BundledSuite> suites;
  for (uint32_t i = 0; i < before.view.suite_count(); ++i) {
    BundledSuite& suite = suites.emplace_back();
    suite.method = std::string(before.view.suite(i).method());
    for (uint32_t k = 0; k < before.view.suite(i).case_count(); ++k)
      suite.cases.push_back(to_case(before.view.suite(i).test_case(k)));
  }
  EXPECT_EQ(suites.at(0).method, "decode");
  EXPECT_EQ(suites.at(1).cases.size(), 3u);
  File again = write(suites, before.view.program());
  const Read after = read(again.bytes());
  ASSERT_EQ(after.status, ETB_OK) << after.text;
  const BundledTensor a = before.view.suite(1).test_case(2).expected(0).as_tensor();
  const BundledTensor b = after.view.suite(1).test_case(2).expected(0).as_tensor();
  ASSERT_EQ(a.data.size(), b.data.size());
  EXPECT_EQ(std::memcmp(a.data.data(), b.data.data(), a.data.size()), 0);
  EXPECT_TRUE(std::equal(before.view.program().begin(), before.view.program().end(),
                         after.view.program().begin(), after.view.program().end()));
}

// ---- Hostile files.

// Replaces the only occurrence of `from`.
void patch(File& file, std::span<const std::byte> from, std::span<const std::byte> to) {
  const auto at = std::search(file.bytes().begin(), file.bytes().end(), from.begin(), from.end());
  ASSERT_NE(at, file.bytes().end());
  std::copy(to.begin(), to.end(), at);
}

template <class T>
std::span<const std::byte> as_bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// A file with one tensor input of the sizes [770, 3].
File one_tensor() {
  return write(
      std::vector<BundledSuite>{
          {"forward", {{{tensor<float>(kFloat32, {770, 3}, std::vector<float>(2310))}, {}}}}},
      kProgram);
}

TEST(BundledProgram, OtherFilesAreRefusedWithWhatTheyAre) {
  File program = file_of("programs/add.pte");
  EXPECT_EQ(read(program.bytes()).text, "bundled program: identifier 'ET12' at byte 4, expected 'BP08'");
  EXPECT_EQ(read({}).text, "bundled program: file of 0 bytes, expected 16 bytes to 2 GiB");
  File file = write(two_suites(), kProgram);
  EXPECT_EQ(read(file.bytes().subspan(4)).status, ETB_INVALID_ARGUMENT);
  EXPECT_FALSE(is_bundled_program(program.bytes()));
  EXPECT_FALSE(is_bundled_program(file.bytes().first(7)));
  EXPECT_TRUE(is_bundled_program(file.bytes().first(8)));
}

TEST(BundledProgram, TensorsWithoutTheBytesOfTheirSizesAreRefused) {
  const int32_t before[] = {770, 3}, larger[] = {771, 3}, negative[] = {-770, 3},
                huge[] = {INT32_MAX, INT32_MAX};
  const std::string where = "bundled program: suite 0: case 0: input 0: ";
  const auto with_sizes = [&](const int32_t(&sizes)[2]) {
    File file = one_tensor();
    EXPECT_EQ(read(file.bytes()).status, ETB_OK);
    patch(file, std::as_bytes(std::span(before)), std::as_bytes(std::span(sizes)));
    return read(file.bytes()).text;
  };
  EXPECT_EQ(with_sizes(larger), where + "float32 of its sizes needs 9252 bytes, found 9240");
  EXPECT_EQ(with_sizes(negative), where + "a negative size or too many elements");
  EXPECT_EQ(with_sizes(huge), where + "a negative size or too many elements");
}

TEST(BundledProgram, SuitesOutOfOrderAreRefused) {
  File file = write(std::vector<BundledSuite>{{"aaaa", {}}, {"bbbb", {}}}, kProgram);
  patch(file, std::as_bytes(std::span("aaaa", 4)), std::as_bytes(std::span("cccc", 4)));
  EXPECT_EQ(
      read(file.bytes()).text,
      "bundled program: suite 1: method 'bbbb' after 'cccc', expected suites in the order of their methods");
}

TEST(BundledProgram, ASecondSuiteOfAMethodGoesOnWithTheNumbers) {
  const BundledCase one{{int64_t{1}}, {}}, two{{int64_t{2}}, {}};
  File file = write(std::vector<BundledSuite>{{"aaaa", {one, one}}, {"bbbb", {two}}}, kProgram);
  patch(file, std::as_bytes(std::span("bbbb", 4)), std::as_bytes(std::span("aaaa", 4)));
  const Read found = read(file.bytes());
  ASSERT_EQ(found.status, ETB_OK) << found.text;
  EXPECT_EQ(found.view.case_count("aaaa"), 3u);
  BundledCaseView item;
  etb_error error = ETB_ERROR_INIT;
  ASSERT_EQ(found.view.find_case("aaaa", 2, &item, &error), ETB_OK);
  EXPECT_EQ(item.input(0).as_int(), 2);
}

TEST(BundledProgram, NewerVersionsAreRefused) {
  File file = write(two_suites(), kProgram);
  // The root table: its offset is the first number, its vtable has the place of the version.
  uint32_t root = 0;
  std::memcpy(&root, file.bytes().data(), sizeof(root));
  int32_t to_vtable = 0;
  std::memcpy(&to_vtable, file.bytes().data() + root, sizeof(to_vtable));
  uint16_t at = 0;
  std::memcpy(&at, file.bytes().data() + static_cast<int64_t>(root) - to_vtable + 4, sizeof(at));
  const uint32_t version = 3;
  std::memcpy(file.bytes().data() + root + at, &version, sizeof(version));
  const Read found = read(file.bytes());
  EXPECT_EQ(found.status, ETB_NOT_SUPPORTED);
  EXPECT_EQ(found.text, "bundled program: version 3 of the format, this reader knows up to 2");
}

// Reads all that a view has, as a user of it does.
uint64_t walk(const BundledProgramView& view) {
  uint64_t sum = view.program().size();
  const auto add = [&sum](const BundledValueView& value) {
    if (value.kind() == BundledKind::kInt) sum += static_cast<uint64_t>(value.as_int());
    if (value.kind() == BundledKind::kBool) sum += value.as_bool() ? 1 : 0;
    if (value.kind() == BundledKind::kDouble) sum += value.as_double() > 0 ? 1 : 0;
    if (value.kind() != BundledKind::kTensor) return;
    for (const std::byte byte : value.as_tensor().data) sum += static_cast<uint64_t>(byte);
    for (const int32_t size : value.as_tensor().sizes) sum += static_cast<uint64_t>(size);
  };
  for (const std::byte byte : view.program()) sum += static_cast<uint64_t>(byte);
  for (uint32_t i = 0; i < view.suite_count(); ++i)
    for (uint32_t k = 0; k < view.suite(i).case_count(); ++k) {
      const BundledCaseView item = view.suite(i).test_case(k);
      for (uint32_t j = 0; j < item.input_count(); ++j) add(item.input(j));
      for (uint32_t j = 0; j < item.expected_count(); ++j) add(item.expected(j));
    }
  return sum;
}

TEST(BundledProgram, CutFilesAreRefusedWithAReason) {
  for (const char* name : {"bundles/methods.bpte", "bundles/numbers.bpte"}) {
    File whole = file_of(name);
    for (size_t nbytes = 0; nbytes < whole.bytes().size(); ++nbytes) {
      File cut(whole.bytes().first(nbytes));
      const Read found = read(cut.bytes());
      // The last bytes of a file may be padding.
      if (found.status == ETB_OK)
        walk(found.view);
      else
        EXPECT_FALSE(found.text.empty()) << nbytes;
      const bool is_padding = nbytes >= whole.bytes().size() - 16;
      EXPECT_TRUE(is_padding || found.status != ETB_OK) << name << ' ' << nbytes;
    }
  }
}

TEST(BundledProgram, FlippedBitsMakeAnotherValidFileOrAnError) {
  File whole = file_of("bundles/methods.bpte");
  size_t refused = 0;
  for (size_t at = 0; at < whole.bytes().size(); ++at)
    for (const int bit : {0, 3, 7}) {
      File flipped(whole.bytes());
      flipped.bytes()[at] ^= static_cast<std::byte>(1 << bit);
      const Read found = read(flipped.bytes());
      if (found.status == ETB_OK) {
        walk(found.view);
      } else {
        EXPECT_FALSE(found.text.empty()) << at;
        ++refused;
      }
    }
  EXPECT_GT(refused, 100u);
}

TEST(BundledProgram, RandomWordsMakeAnotherValidFileOrAnError) {
  constexpr uint32_t kSeed = 20251125;
  std::mt19937 random(kSeed);
  File whole = file_of("bundles/numbers.bpte");
  const size_t words = whole.bytes().size() / 4;
  for (int round = 0; round < 20000; ++round) {
    File changed(whole.bytes());
    for (int k = 0; k < 2; ++k) {
      const uint32_t word = random() % 3 == 0 ? random() : random() % 256;
      std::memcpy(changed.bytes().data() + 4 * (random() % words), &word, sizeof(word));
    }
    const Read found = read(changed.bytes());
    if (found.status == ETB_OK)
      walk(found.view);
    else
      EXPECT_FALSE(found.text.empty()) << "seed " << kSeed << ", round " << round;
  }
}

// A vector of 30,000 references to one case with a tensor of 9 KB: 270 MB of elements in a file of 130 KB.
TEST(BundledProgram, OverlappingTablesAreRefused) {
  const uint32_t kCount = 30000;
  std::vector<BundledSuite> suites = {{"forward", {}}};
  const BundledTensorData big = tensor<float>(kFloat32, {770, 3}, std::vector<float>(2310));
  for (uint32_t i = 0; i < kCount; ++i) suites[0].cases.push_back({{int64_t{5}}, {}});
  suites[0].cases[0].inputs[0] = big;
  File file = write(suites, kProgram);
  Read found = read(file.bytes());
  ASSERT_EQ(found.status, ETB_OK) << found.text;
  // Find the vector of cases by its length, and lead each entry to the first case.
  const auto count = as_bytes_of(kCount);
  std::span<std::byte> bytes = file.bytes();
  const auto at = std::search(bytes.begin(), bytes.end(), count.begin(), count.end());
  ASSERT_NE(at, bytes.end());
  const auto first = static_cast<size_t>(at - bytes.begin()) + 4;
  uint32_t offset = 0;
  std::memcpy(&offset, bytes.data() + first, sizeof(offset));
  for (uint32_t i = 1; i < kCount; ++i) {
    const uint32_t to_first = offset - 4 * i;
    std::memcpy(bytes.data() + first + size_t{4} * i, &to_first, sizeof(to_first));
  }
  found = read(file.bytes());
  EXPECT_NE(found.status, ETB_OK);
  EXPECT_NE(found.text.find("overlap"), std::string::npos) << found.text;
}

}  // namespace
}  // namespace etb::format
