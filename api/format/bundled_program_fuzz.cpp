// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a bundled program that is read is walked, written, and read again without a difference.
#include <cstdlib>
#include <cstring>

#include "api/format/bundled_program_writer.hpp"

namespace {

using namespace etb::format;

// Files begin on the boundary that the reader wants.
struct AlignedCopy {
  explicit AlignedCopy(std::span<const std::byte> from)
      : storage(from.size() / sizeof(Block) + 1), nbytes(from.size()) {
    if (!from.empty()) std::memcpy(storage.data(), from.data(), from.size());
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(storage)).first(nbytes); }
  struct alignas(32) Block {
    std::byte bytes[32];
  };
  std::vector<Block> storage;
  size_t nbytes;
};

std::vector<BundledSuite> suites_of(const BundledProgramView& view) {
  std::vector<BundledSuite> suites;
  for (uint32_t i = 0; i < view.suite_count(); ++i) {
    BundledSuite& suite = suites.emplace_back();
    suite.method = std::string(view.suite(i).method());
    for (uint32_t k = 0; k < view.suite(i).case_count(); ++k)
      suite.cases.push_back(to_case(view.suite(i).test_case(k)));
  }
  return suites;
}

bool is_same(const BundledValue& a, const BundledValue& b) {
  const auto* const left = std::get_if<BundledTensorData>(&a);
  const auto* const right = std::get_if<BundledTensorData>(&b);
  if (left == nullptr && right == nullptr) return a.index() == b.index();  // a double may be NaN
  return left != nullptr && right != nullptr && left->dtype == right->dtype && left->sizes == right->sizes &&
         left->dim_order == right->dim_order && left->bytes == right->bytes;
}

void expect_same(const BundledCase& a, const BundledCaseView& view) {
  const BundledCase b = to_case(view);
  if (a.inputs.size() != b.inputs.size() || a.expected.size() != b.expected.size()) std::abort();
  for (size_t i = 0; i < a.inputs.size(); ++i)
    if (!is_same(a.inputs[i], b.inputs[i])) std::abort();
  for (size_t i = 0; i < a.expected.size(); ++i)
    if (!is_same(a.expected[i], b.expected[i])) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  const AlignedCopy file(std::as_bytes(std::span(data, nbytes)));
  BundledProgramView view;
  etb_error error = ETB_ERROR_INIT;
  if (read_bundled_program(file.bytes(), &view, &error) != ETB_OK) {
    if (error.text[0] == '\0') std::abort();
    return 0;
  }
  const std::vector<BundledSuite> suites = suites_of(view);
  std::vector<std::byte> written;
  const etb::Status status =
      write_bundled_program(view.program(), suites, [&](std::span<const std::byte> bytes) {
        written.assign(bytes.begin(), bytes.end());
        return etb::Status();
      });
  if (!status) std::abort();
  const AlignedCopy copy(written);
  BundledProgramView again;
  if (read_bundled_program(copy.bytes(), &again, &error) != ETB_OK) std::abort();
  if (again.program().size() != view.program().size()) std::abort();
  // Suites of one method have become one, so the cases are found by method and number.
  for (const BundledSuite& suite : suites) {
    if (again.case_count(suite.method) != view.case_count(suite.method)) std::abort();
    for (uint32_t i = 0; i < view.case_count(suite.method); ++i) {
      BundledCaseView before, after;
      if (view.find_case(suite.method, i, &before, &error) != ETB_OK) std::abort();
      if (again.find_case(suite.method, i, &after, &error) != ETB_OK) std::abort();
      expect_same(to_case(before), after);
    }
  }
  return 0;
}
