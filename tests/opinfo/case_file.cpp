// SPDX-License-Identifier: Apache-2.0
// Reads case files.
#include "tests/opinfo/case_file.hpp"

#include <cstring>
#include <fstream>
#include <iterator>

namespace etb::tests {
namespace {
using host::Dtype;
using host::EValue;

// Reads a file. Missing bytes mark the file as defective, and the caller rejects it.
class Reader {
 public:
  Reader(const uint8_t* data, size_t nbytes) : data_(data), nbytes_(nbytes) {}

  template <class T>
  T read() {
    T value{};
    read_bytes(&value, sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> read_items(size_t count) {
    std::vector<T> items;
    if (count > nbytes_ - at_) {
      is_short_ = true;
      return items;
    }
    items.resize(count);
    read_bytes(items.data(), count * sizeof(T));
    return items;
  }
  void read_bytes(void* out, size_t count) {
    if (count > nbytes_ - at_) {
      is_short_ = true;
      at_ = nbytes_;
      return;
    }
    if (count != 0) std::memcpy(out, data_ + at_, count);
    at_ += count;
  }
  std::string read_text(size_t count) {
    const auto items = read_items<char>(count);
    return {items.begin(), items.end()};
  }
  bool is_short() const { return is_short_; }
  bool is_at_end() const { return at_ == nbytes_; }

 private:
  const uint8_t* data_;
  size_t nbytes_;
  size_t at_ = 0;
  bool is_short_ = false;
};

class CaseReader {
 public:
  explicit CaseReader(Reader& reader) : in_(reader) {}

  Result<Case> read() {
    in_.read<uint32_t>();
    case_.scale = in_.read<double>();
    const auto count = in_.read<uint16_t>();
    case_.source = in_.read_text(in_.read<uint16_t>());
    for (uint16_t i = 0; i < count; ++i) ETB_TRY(read_argument());
    if (in_.is_short()) return make_error(Code::INVALID_DATA, "the file ends within a case");
    return std::move(case_);
  }

 private:
  EValue* add(EValue value) {
    case_.values.push_back(std::make_unique<EValue>(value));
    return case_.values.back().get();
  }

  OwnedTensor* read_tensor(host::Dynamism dynamism = host::Dynamism::kStatic) {
    const auto dtype = static_cast<Dtype>(in_.read<int8_t>());
    const size_t rank = in_.read<uint8_t>();
    const auto sizes = in_.read_items<int64_t>(rank);
    const auto order = in_.read_items<uint8_t>(rank);
    case_.tensors.push_back(std::make_unique<OwnedTensor>(dtype, sizes, order, dynamism));
    OwnedTensor* made = case_.tensors.back().get();
    in_.read_bytes(made->tensor().data(), made->tensor().nbytes());
    return made;
  }

  EValue* read_input() {
    OwnedTensor* made = read_tensor();
    case_.inputs.push_back(made);
    case_.input_dtypes.push_back(made->tensor().dtype());
    return add(EValue(&made->tensor()));
  }

  // Reads the expected tensor. The kernel's tensor has its capacity, garbage, and other sizes of the same
  // rank.
  EValue* read_output(bool is_open) {
    const host::Tensor& expected = read_tensor()->tensor();
    const std::vector<int64_t> sizes(expected.sizes().begin(), expected.sizes().end());
    const std::vector<uint8_t> order(expected.dim_order().begin(), expected.dim_order().end());
    case_.tensors.push_back(
        std::make_unique<OwnedTensor>(expected.dtype(), sizes, order, host::Dynamism::kBounded));
    host::Tensor& actual = case_.tensors.back()->tensor();
    if (actual.nbytes() != 0) std::memset(actual.data(), 0xA5, actual.nbytes());
    const std::vector<int64_t> zeros(sizes.size(), 0);
    if (actual.resize(zeros) != ETB_OK) return nullptr;
    case_.outputs.push_back({&actual, &expected, is_open});
    return add(EValue(&actual));
  }

  Status read_argument() {
    const auto kind = in_.read<uint8_t>();
    switch (kind) {
      case 0:
        case_.args.push_back(add(EValue()));
        return {};
      case 1:
        case_.args.push_back(read_input());
        return {};
      case 2:
        case_.args.push_back(add(EValue(in_.read<int64_t>())));
        return {};
      case 3:
        case_.args.push_back(add(EValue(in_.read<double>())));
        return {};
      case 4:
        case_.args.push_back(add(EValue(in_.read<uint8_t>() != 0)));
        return {};
      case 5:
        case_.strings.push_back(std::make_unique<std::string>(in_.read_text(in_.read<uint32_t>())));
        case_.args.push_back(add(EValue(std::string_view(*case_.strings.back()))));
        return {};
      case 7:
        case_.doubles.push_back(
            std::make_unique<std::vector<double>>(in_.read_items<double>(in_.read<uint32_t>())));
        case_.args.push_back(add(EValue::double_list(*case_.doubles.back())));
        return {};
      case 8:
        case_.bytes.push_back(
            std::make_unique<std::vector<uint8_t>>(in_.read_items<uint8_t>(in_.read<uint32_t>())));
        case_.args.push_back(add(EValue::bool_list(*case_.bytes.back())));
        return {};
      case 6:
      case 9:
      case 10:
      case 12:
        return read_list(kind);
      case 11:
      case 14:
        case_.args.push_back(read_output(kind == 14));
        return {};
      case 13:
        return read_in_place();
      default:
        return make_error(Code::INVALID_DATA, "argument kind " + std::to_string(kind));
    }
  }

  Status read_list(uint8_t kind) {
    const auto count = in_.read<uint32_t>();
    case_.lists.push_back(std::make_unique<std::vector<EValue*>>());
    std::vector<EValue*>& items = *case_.lists.back();
    for (uint32_t i = 0; i < count && !in_.is_short(); ++i) {
      if (kind == 6) {
        items.push_back(add(EValue(in_.read<int64_t>())));
      } else if (in_.read<uint8_t>() == 0) {
        items.push_back(add(EValue()));
      } else {
        items.push_back(kind == 12 ? read_output(false) : read_input());
      }
    }
    case_.args.push_back(add(kind == 6    ? EValue::int_list(items)
                             : kind == 10 ? EValue::optional_tensor_list(items)
                                          : EValue::tensor_list(items)));
    return {};
  }

  Status read_in_place() {
    host::Tensor& actual = read_tensor(host::Dynamism::kBounded)->tensor();
    case_.input_dtypes.push_back(actual.dtype());
    case_.args.push_back(add(EValue(&actual)));
    case_.outputs.push_back({&actual, &read_tensor()->tensor(), false});
    return {};
  }

  Reader& in_;
  Case case_;
};

}  // namespace

OwnedTensor::OwnedTensor(Dtype dtype, const std::vector<int64_t>& sizes,
                         const std::vector<uint8_t>& dim_order, host::Dynamism dynamism) {
  int64_t numel = 0;
  host::count_elements(sizes, &numel);
  const auto nbytes = static_cast<size_t>(numel) * host::element_nbytes(dtype);
  memory_ = std::make_unique<uint8_t[]>(nbytes);
  tensor_ = storage_.make(dtype, sizes, memory_.get(), nbytes, dim_order, dynamism);
}

std::vector<uint8_t> OwnedTensor::bytes() const {
  const auto* begin = tensor_.data_as<uint8_t>();
  return {begin, begin + tensor_.nbytes()};
}

Result<CaseFile> read_case_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(stream)),
                                   std::istreambuf_iterator<char>());
  Reader reader(bytes.data(), bytes.size());
  if (reader.read_text(8) != "ETBCASE1") return make_error(Code::INVALID_DATA, path + ": not a case file");
  const auto count = reader.read<uint32_t>();
  CaseFile file;
  file.op = reader.read_text(reader.read<uint32_t>());
  for (uint32_t i = 0; i < count; ++i) {
    auto one = CaseReader(reader).read();
    if (!one)
      return tl::make_unexpected(with_context(std::move(one).error(), path + " case " + std::to_string(i)));
    file.cases.push_back(std::move(*one));
  }
  if (!reader.is_at_end()) return make_error(Code::INVALID_DATA, path + ": bytes behind the last case");
  return file;
}

}  // namespace etb::tests
