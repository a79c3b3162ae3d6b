// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/record/saved_values.hpp"

#include <algorithm>

#include "api/format/printable_text.hpp"
#include "partitioner_sdk/import/saved_tensors.hpp"
#include "partitioner_sdk/record/pickle_writer.hpp"

namespace etb::record {
namespace {

using pt2::Pickle;
using pt2::PickleKind;
using pt2::PickleObject;

// A pickle may refer to one object many times, so that a small file has more values than memory.
constexpr uint64_t kMaxNbytes = uint64_t{1} << 30, kMaxValueCount = uint64_t{1} << 20;
constexpr int kMaxDepth = 64;

class Reader {
 public:
  explicit Reader(const Pickle& pickle) : pickle_(pickle) {}

  Status read(const PickleObject& object, int depth, SavedValue& out) {
    if (depth > kMaxDepth)
      return make_error(Code::NOT_SUPPORTED, "lists of a depth above " + std::to_string(kMaxDepth));
    if (++value_count_ > kMaxValueCount)
      return make_error(Code::OUT_OF_RESOURCES, "more than " + std::to_string(kMaxValueCount) + " values");
    switch (object.kind) {
      case PickleKind::kNone:
        return {};
      case PickleKind::kBool:
        out.value = object.number != 0;
        return {};
      case PickleKind::kInt:
        out.value = object.number;
        return {};
      case PickleKind::kFloat:
        out.value = object.real;
        return {};
      case PickleKind::kText:
        ETB_TRY(take(object.text.size()));
        out.value = std::string(object.text);
        return {};
      case PickleKind::kTensor:
        return read_tensor(pickle_.tensor(object), out);
      case PickleKind::kList:
        return read_list(object, depth, out);
      case PickleKind::kDict:
        return read_dict(object, depth, out);
      default:
        return make_error(Code::NOT_SUPPORTED, "an object that is no tensor, number, text, list or dict");
    }
  }

 private:
  Status take(uint64_t nbytes) {
    nbytes_ += std::min(nbytes, kMaxNbytes);
    if (nbytes_ <= kMaxNbytes) return {};
    return make_error(Code::OUT_OF_RESOURCES, "values of more than " + std::to_string(kMaxNbytes) + " bytes");
  }

  Status read_tensor(const ir::Constant& tensor, SavedValue& out) {
    const uint64_t element = ops::element_nbytes(tensor.dtype);
    int64_t count = 1, last = tensor.offset;
    for (size_t i = 0; i < tensor.sizes.size(); ++i) {
      int64_t extent = 0;
      const bool fits =
          tensor.sizes.size() == tensor.strides.size() && tensor.sizes[i] >= 0 && tensor.strides[i] >= 0 &&
          !__builtin_mul_overflow(count, tensor.sizes[i], &count) &&
          !__builtin_mul_overflow(std::max<int64_t>(tensor.sizes[i] - 1, 0), tensor.strides[i], &extent) &&
          !__builtin_add_overflow(last, extent, &last);
      if (!fits) return make_error(Code::INVALID_DATA, "a tensor with impossible sizes or strides");
    }
    const auto stored = static_cast<int64_t>(tensor.storage.size() / element);
    if (tensor.offset < 0 || (count > 0 && last >= stored))
      return make_error(Code::INVALID_DATA, "a tensor whose element " + std::to_string(last) +
                                                " is outside of a storage of " + std::to_string(stored));
    ETB_TRY(take(count > static_cast<int64_t>(kMaxNbytes / 16) ? kMaxNbytes + 1
                                                               : static_cast<uint64_t>(count) * element));
    out.value = SavedTensor{tensor.dtype, tensor.sizes, tensor.dense_bytes()};
    return {};
  }

  Status read_list(const PickleObject& object, int depth, SavedValue& out) {
    auto& items = out.value.emplace<SavedValue::List>();
    for (const pt2::PickleId item : object.items)
      ETB_TRY(read(pickle_.object(item), depth + 1, items.emplace_back()));
    return {};
  }

  Status read_dict(const PickleObject& object, int depth, SavedValue& out) {
    auto& items = out.value.emplace<SavedValue::Dict>();
    for (size_t i = 0; i + 1 < object.items.size(); i += 2) {
      const PickleObject& key = pickle_.object(object.items[i]);
      if (key.kind != PickleKind::kText)
        return make_error(Code::NOT_SUPPORTED, "a dict with a key that is no text");
      SavedValue& value = items[std::string(key.text)];
      value = SavedValue{};
      ETB_TRY(read(pickle_.object(object.items[i + 1]), depth + 1, value));
    }
    return {};
  }

  const Pickle& pickle_;
  uint64_t nbytes_ = 0, value_count_ = 0;
};

Status put(const SavedValue& value, PickleWriter& out) {
  if (const auto* flag = value.get_if<bool>()) {
    out.put_bool(*flag);
  } else if (const auto* whole = value.get_if<int64_t>()) {
    out.put_int(*whole);
  } else if (const auto* real = value.get_if<double>()) {
    out.put_float(*real);
  } else if (const auto* text = value.get_if<std::string>()) {
    out.put_text(*text);
  } else if (const auto* tensor = value.get_if<SavedTensor>()) {
    ir::Constant view;
    view.dtype = tensor->dtype;
    view.sizes = tensor->sizes;
    view.strides.resize(tensor->sizes.size());
    int64_t step = 1;
    for (size_t i = view.strides.size(); i-- > 0;) {
      view.strides[i] = step;
      step *= std::max<int64_t>(tensor->sizes[i], 1);
    }
    view.storage = tensor->bytes;
    return out.put_tensor(view);
  } else if (const auto* list = value.get_if<SavedValue::List>()) {
    out.begin_list();
    for (const SavedValue& item : *list) ETB_TRY(put(item, out));
    out.end_list();
  } else if (const auto* dict = value.get_if<SavedValue::Dict>()) {
    out.begin_dict();
    for (const auto& [key, item] : *dict) {
      out.put_text(key);
      ETB_TRY(put(item, out));
    }
    out.end_dict();
  } else {
    out.put_none();
  }
  return {};
}

}  // namespace

Result<SavedValue> read_saved_value(std::span<const std::byte> file) {
  constexpr std::byte kProtocol{0x80};
  pt2::SavedObject saved;
  if (!file.empty() && file.front() == kProtocol) {
    ETB_ASSIGN(saved.pickle, Pickle::read(file, {}));
  } else {
    ETB_ASSIGN(saved, pt2::SavedObject::open(file));
  }
  SavedValue out;
  ETB_TRY(Reader(saved.pickle).read(saved.pickle.root(), 0, out));
  return out;
}

Result<std::string> write_saved_value(const SavedValue& value) {
  PickleWriter writer;
  ETB_TRY(put(value, writer));
  return writer.finish();
}

}  // namespace etb::record
