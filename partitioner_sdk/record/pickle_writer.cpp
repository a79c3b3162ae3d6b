// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/record/pickle_writer.hpp"

#include <algorithm>
#include <cstring>

#include "partitioner_sdk/record/stored_zip.hpp"

namespace etb::record {
namespace {

const char* storage_of(ir::Dtype dtype) {
  switch (dtype) {
    case ir::Dtype::FLOAT32:
      return "FloatStorage";
    case ir::Dtype::FLOAT64:
      return "DoubleStorage";
    case ir::Dtype::FLOAT16:
      return "HalfStorage";
    case ir::Dtype::BFLOAT16:
      return "BFloat16Storage";
    case ir::Dtype::INT64:
      return "LongStorage";
    case ir::Dtype::INT32:
      return "IntStorage";
    case ir::Dtype::INT16:
      return "ShortStorage";
    case ir::Dtype::INT8:
      return "CharStorage";
    case ir::Dtype::UINT8:
      return "ByteStorage";
    case ir::Dtype::BOOL:
      return "BoolStorage";
    case ir::Dtype::COMPLEX64:
      return "ComplexFloatStorage";
    case ir::Dtype::COMPLEX128:
      return "ComplexDoubleStorage";
    default:
      return nullptr;
  }
}

}  // namespace

void PickleWriter::put_number(uint64_t number, int nbytes) {
  for (int i = 0; i < nbytes; ++i) out_ += static_cast<char>(number >> (8 * i));
}

void PickleWriter::put_int(int64_t number) {
  out_ += "\x8a\x08";
  put_number(static_cast<uint64_t>(number), 8);
}

void PickleWriter::put_float(double number) {
  uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  out_ += 'G';
  for (int i = 7; i >= 0; --i) out_ += static_cast<char>(bits >> (8 * i));
}

void PickleWriter::put_text(std::string_view text) {
  out_ += 'X';
  put_number(text.size(), 4);
  out_ += text;
}

void PickleWriter::put_ints(std::span<const int64_t> numbers) {
  out_ += '(';
  for (const int64_t number : numbers) put_int(number);
  out_ += 't';
}

size_t PickleWriter::index_of(const Storage& storage) {
  const auto found = std::find_if(storages_.begin(), storages_.end(), [&](const Storage& one) {
    return one.dtype == storage.dtype && one.bytes.data() == storage.bytes.data() &&
           one.bytes.size() == storage.bytes.size();
  });
  if (found == storages_.end() || storage.bytes.empty()) {
    storages_.push_back(storage);
    return storages_.size() - 1;
  }
  return static_cast<size_t>(found - storages_.begin());
}

Status PickleWriter::put_tensor(const ir::Constant& tensor) {
  const char* const storage = storage_of(tensor.dtype);
  if (storage == nullptr)
    return make_error(Code::NOT_SUPPORTED,
                      "a tensor of a dtype that torch.save stores in another way, expected a common one");
  out_ += "ctorch._utils\n_rebuild_tensor_v2\n((";
  put_text("storage");
  out_ += std::string("ctorch\n") + storage + "\n";
  put_text(std::to_string(index_of({tensor.dtype, tensor.storage})));
  put_text("cpu");
  put_int(static_cast<int64_t>(tensor.storage.size() / ops::element_nbytes(tensor.dtype)));
  out_ += "tQ";
  put_int(tensor.offset);
  put_ints(tensor.sizes);
  put_ints(tensor.strides);
  out_ += "\x89";
  out_ += "ccollections\nOrderedDict\n)RtR";
  return {};
}

Status PickleWriter::put_parameter(const ir::Constant& tensor) {
  out_ += "ctorch._utils\n_rebuild_parameter\n(";
  ETB_TRY(put_tensor(tensor));
  out_ += "\x89";
  out_ += "ccollections\nOrderedDict\n)RtR";
  return {};
}

Result<std::string> PickleWriter::finish() {
  uint64_t nbytes = out_.size();
  for (const Storage& storage : storages_) nbytes += storage.bytes.size() + 256;
  if (nbytes > UINT32_MAX || storages_.size() > UINT16_MAX - 4)
    return make_error(Code::OUT_OF_RESOURCES, std::to_string(nbytes) + " bytes of tensors in " +
                                                  std::to_string(storages_.size()) +
                                                  " storages, expected less than 4 GiB in 65531");
  StoredZip zip;
  zip.add("archive/data.pkl", std::string("\x80\x02") + out_ + ".");
  zip.add("archive/byteorder", "little");
  for (size_t i = 0; i < storages_.size(); ++i) {
    const auto& bytes = storages_[i].bytes;
    zip.add("archive/data/" + std::to_string(i), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  zip.add("archive/version", "3\n");
  return zip.finish();
}

}  // namespace etb::record
