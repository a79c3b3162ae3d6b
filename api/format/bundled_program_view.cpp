// SPDX-License-Identifier: Apache-2.0
#include "api/format/bundled_program_view.hpp"

#include <algorithm>
#include <cstring>

#include "api/format/segment_area.hpp"
#include "api/format/tensor_layout.hpp"
#include "etb/cpp/fail.hpp"
#include "etb_schema/bundled_program_generated.h"

namespace etb::format {

namespace {

namespace fb = bundle_schema;
using Count = unsigned long long;  // for printf

constexpr uint32_t kNewestVersion = 2;
constexpr size_t kLeastNbytes = 16;
// Alignment that a writer gives to the elements of a tensor. Readers need no more than that of one element.
constexpr uint64_t kTensorAlignment = 16;

const fb::BundledProgram& root_of(const void* root) noexcept {
  return *static_cast<const fb::BundledProgram*>(root);
}
const fb::Suite& suite_of(const void* table) noexcept { return *static_cast<const fb::Suite*>(table); }
const fb::Case& case_of(const void* table) noexcept { return *static_cast<const fb::Case*>(table); }
const fb::Value& value_of(const void* table) noexcept { return *static_cast<const fb::Value*>(table); }

template <class Vector>
uint32_t count_of(const Vector* vector) noexcept {
  return vector == nullptr ? 0 : vector->size();
}

std::span<const std::byte> bytes_of(const flatbuffers::Vector<uint8_t>* vector) noexcept {
  if (vector == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(vector->Data()), vector->size()};
}

std::string_view text_of(const flatbuffers::String* text) noexcept {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

BundledTensor tensor_of(const fb::Tensor& table) noexcept {
  BundledTensor tensor{static_cast<uint8_t>(table.dtype()), {}, {}, bytes_of(table.data())};
  if (const auto* sizes = table.sizes())
    tensor.sizes = {reinterpret_cast<const int32_t*>(sizes->Data()), sizes->size()};
  if (const auto* order = table.dim_order()) tensor.dim_order = {order->Data(), order->size()};
  return tensor;
}

bool is_aligned(const void* data, uint64_t alignment) noexcept {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

etb_status verify_tensor(const BundledTensor& tensor, etb_error* error) noexcept {
  const uint32_t element = element_nbytes(tensor.dtype);
  if (element == 0) return fail(error, ETB_INVALID_DATA, "dtype code %u", tensor.dtype);
  if (tensor.sizes.size() > kMaxRank)
    return fail(error, ETB_INVALID_DATA, "rank %zu, expected at most %zu", tensor.sizes.size(), kMaxRank);
  if (!tensor.sizes.empty() && !is_aligned(tensor.sizes.data(), sizeof(int32_t)))
    return fail(error, ETB_INVALID_DATA, "the sizes are not on a boundary of %zu bytes", sizeof(int32_t));
  if (tensor.sizes.size() != tensor.dim_order.size() || !is_permutation(tensor.dim_order))
    return fail(error, ETB_INVALID_DATA, "rank %zu with a dim order of %zu that is no permutation of it",
                tensor.sizes.size(), tensor.dim_order.size());
  const auto nbytes = checked_nbytes(tensor.dtype, tensor.sizes);
  if (!nbytes) return fail(error, ETB_INVALID_DATA, "a negative size or too many elements");
  if (*nbytes != tensor.data.size())
    return fail(error, ETB_INVALID_DATA, "%s of its sizes needs %llu bytes, found %zu",
                dtype_text(tensor.dtype), static_cast<Count>(*nbytes), tensor.data.size());
  const uint64_t alignment = std::min<uint64_t>(element, kTensorAlignment);
  if (!tensor.data.empty() && !is_aligned(tensor.data.data(), alignment))
    return fail(error, ETB_INVALID_DATA, "the elements are not on a boundary of %llu bytes",
                static_cast<Count>(alignment));
  return ETB_OK;
}

// Tables and vectors of a hostile file may overlap, so that a small file has more cases than it could hold. Every
// element is charged, also those that only a caller visits. Honest files never use the budget up.
class Verification {
 public:
  Verification(uint64_t file_nbytes, etb_error* error) noexcept
      : left_(file_nbytes * 8 + 65536), error_(error) {}

  etb_status verify(const fb::BundledProgram& root) noexcept {
    std::string_view last;
    for (uint32_t i = 0; i < count_of(root.suites()); ++i) {
      const fb::Suite* const suite = root.suites()->Get(i);
      const std::string_view name = text_of(suite->method_name());
      etb_status status = verify_suite(*suite, name);
      if (status == ETB_OK && i > 0 && name < last)
        status = fail(error_, ETB_INVALID_DATA,
                      "method '%.*s' after '%.*s', expected suites in the order of their methods",
                      shown(name), name.data(), shown(last), last.data());
      if (status != ETB_OK) return fail_in(error_, status, "suite %u", i);
      last = name;
    }
    return ETB_OK;
  }

 private:
  etb_status spend(uint64_t count) noexcept {
    if (count > left_)
      return fail(error_, ETB_INVALID_DATA, "tables overlap: more test cases than the file can hold");
    left_ -= count;
    return ETB_OK;
  }

  etb_status verify_suite(const fb::Suite& suite, std::string_view name) noexcept {
    ETB_CHECK(spend(8 + name.size()));
    if (name.empty()) return fail(error_, ETB_INVALID_DATA, "no method name");
    if (name.find('\0') != std::string_view::npos)
      return fail(error_, ETB_INVALID_DATA, "a NUL byte in the method name");
    for (uint32_t i = 0; i < count_of(suite.cases()); ++i) {
      const fb::Case* const item = suite.cases()->Get(i);
      etb_status status = spend(8);
      if (status == ETB_OK) status = verify_values(item->inputs(), "input");
      if (status == ETB_OK) status = verify_values(item->expected_outputs(), "expected output");
      if (status != ETB_OK) return fail_in(error_, status, "case %u", i);
    }
    return ETB_OK;
  }

  etb_status verify_values(const flatbuffers::Vector<flatbuffers::Offset<fb::Value>>* values,
                           const char* what) noexcept {
    for (uint32_t i = 0; i < count_of(values); ++i) {
      const etb_status status = verify_value(*values->Get(i));
      if (status != ETB_OK) return fail_in(error_, status, "%s %u", what, i);
    }
    return ETB_OK;
  }

  etb_status verify_value(const fb::Value& value) noexcept {
    ETB_CHECK(spend(8));
    const auto kind = static_cast<unsigned>(value.val_type());
    if (kind < static_cast<unsigned>(BundledKind::kTensor) ||
        kind > static_cast<unsigned>(BundledKind::kDouble))
      return fail(error_, ETB_INVALID_DATA, "value kind %u, expected 1 (tensor) to 4 (double)", kind);
    if (value.val() == nullptr)
      return fail(error_, ETB_INVALID_DATA, "a value of kind %u without a value", kind);
    if (value.val_type() != fb::ValueUnion::Tensor) return ETB_OK;
    const BundledTensor tensor = tensor_of(*value.val_as_Tensor());
    ETB_CHECK(spend(tensor.sizes.size() + tensor.dim_order.size() + tensor.data.size()));
    return verify_tensor(tensor, error_);
  }

  uint64_t left_;
  etb_error* error_;
};

etb_status check_start(std::span<const std::byte> file, etb_error* error) noexcept {
  if (!is_aligned(file.data(), kProgramAlignment))
    return fail(error, ETB_INVALID_ARGUMENT, "file memory at %p, expected a %zu-byte boundary",
                static_cast<const void*>(file.data()), kProgramAlignment);
  if (file.size() < kLeastNbytes || file.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return fail(error, ETB_INVALID_DATA, "file of %zu bytes, expected %zu bytes to 2 GiB", file.size(),
                kLeastNbytes);
  if (!is_bundled_program(file)) {
    char tag[5] = {};
    for (size_t i = 0; i < 4; ++i) {
      const char c = static_cast<char>(file[4 + i]);
      tag[i] = c >= 0x20 && c < 0x7f ? c : '?';
    }
    return fail(error, ETB_INVALID_DATA, "identifier '%s' at byte 4, expected 'BP08'", tag);
  }
  return ETB_OK;
}

etb_status verify(std::span<const std::byte> file, etb_error* error) noexcept {
  ETB_CHECK(check_start(file, error));
  flatbuffers::Verifier::Options options;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(file.size() / 4 + 16);
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(file.data()), file.size(), options);
  if (!fb::VerifyBundledProgramBuffer(verifier))
    return fail(error, ETB_INVALID_DATA,
                "a table, vector or string leaves the file of %zu bytes or is malformed", file.size());
  const fb::BundledProgram& root = *fb::GetBundledProgram(file.data());
  if (root.version() > kNewestVersion)
    return fail(error, ETB_NOT_SUPPORTED, "version %u of the format, this reader knows up to %u",
                root.version(), kNewestVersion);
  const std::span<const std::byte> program = bytes_of(root.program());
  if (program.empty()) return fail(error, ETB_INVALID_DATA, "no program inside");
  if (!is_aligned(program.data(), kProgramAlignment))
    return fail(error, ETB_INVALID_DATA, "the program is at byte %zu, expected a multiple of %zu",
                static_cast<size_t>(program.data() - file.data()), kProgramAlignment);
  return Verification(file.size(), error).verify(root);
}

}  // namespace

const char* to_text(BundledKind kind) noexcept {
  switch (kind) {
    case BundledKind::kTensor:
      return "tensor";
    case BundledKind::kInt:
      return "int";
    case BundledKind::kBool:
      return "bool";
    case BundledKind::kDouble:
      return "double";
  }
  return "unknown kind";
}

BundledKind BundledValueView::kind() const noexcept {
  return static_cast<BundledKind>(value_of(table_).val_type());
}
BundledTensor BundledValueView::as_tensor() const noexcept {
  return tensor_of(*value_of(table_).val_as_Tensor());
}
int64_t BundledValueView::as_int() const noexcept { return value_of(table_).val_as_Int()->int_val(); }
bool BundledValueView::as_bool() const noexcept { return value_of(table_).val_as_Bool()->bool_val(); }
double BundledValueView::as_double() const noexcept { return value_of(table_).val_as_Double()->double_val(); }

uint32_t BundledCaseView::input_count() const noexcept { return count_of(case_of(table_).inputs()); }
BundledValueView BundledCaseView::input(uint32_t index) const noexcept {
  return BundledValueView(case_of(table_).inputs()->Get(index));
}
uint32_t BundledCaseView::expected_count() const noexcept {
  return count_of(case_of(table_).expected_outputs());
}
BundledValueView BundledCaseView::expected(uint32_t index) const noexcept {
  return BundledValueView(case_of(table_).expected_outputs()->Get(index));
}

std::string_view BundledSuiteView::method() const noexcept { return text_of(suite_of(table_).method_name()); }
uint32_t BundledSuiteView::case_count() const noexcept { return count_of(suite_of(table_).cases()); }
BundledCaseView BundledSuiteView::test_case(uint32_t index) const noexcept {
  return BundledCaseView(suite_of(table_).cases()->Get(index));
}

uint32_t BundledProgramView::version() const noexcept {
  return root_ == nullptr ? 0 : root_of(root_).version();
}
uint32_t BundledProgramView::suite_count() const noexcept {
  return root_ == nullptr ? 0 : count_of(root_of(root_).suites());
}
BundledSuiteView BundledProgramView::suite(uint32_t index) const noexcept {
  return BundledSuiteView(root_of(root_).suites()->Get(index));
}

uint32_t BundledProgramView::case_count(std::string_view method) const noexcept {
  uint32_t count = 0;
  for (uint32_t i = 0; i < suite_count(); ++i)
    if (suite(i).method() == method) count += suite(i).case_count();
  return count;
}

etb_status BundledProgramView::find_case(std::string_view method, uint64_t index, BundledCaseView* out,
                                         etb_error* error) const noexcept {
  uint64_t at = index;
  for (uint32_t i = 0; i < suite_count(); ++i) {
    const BundledSuiteView found = suite(i);
    if (found.method() != method) continue;
    if (at < found.case_count()) {
      *out = found.test_case(static_cast<uint32_t>(at));
      return ETB_OK;
    }
    at -= found.case_count();
  }
  const uint32_t count = case_count(method);
  if (count != 0)
    return fail(error, ETB_NOT_FOUND, "test case %llu of method '%.*s', found %u, numbered from 0",
                static_cast<Count>(index), shown(method), method.data(), count);
  const std::string_view other = suite_count() == 0 ? std::string_view() : suite(0).method();
  return fail(error, ETB_NOT_FOUND, "no test cases of method '%.*s', found %u suites%s%.*s%s", shown(method),
              method.data(), suite_count(), other.empty() ? "" : ", the first of method '", shown(other),
              other.data(), other.empty() ? "" : "'");
}

bool is_bundled_program(std::span<const std::byte> head) noexcept {
  return head.size() >= 8 && std::memcmp(head.data() + 4, fb::BundledProgramIdentifier(), 4) == 0;
}

etb_status read_bundled_program(std::span<const std::byte> file, BundledProgramView* out,
                                etb_error* error) noexcept {
  *out = {};
  if (const etb_status status = verify(file, error); status != ETB_OK)
    return fail_in(error, status, "bundled program");
  out->root_ = fb::GetBundledProgram(file.data());
  out->program_ = bytes_of(root_of(out->root_).program());
  return ETB_OK;
}

}  // namespace etb::format
