// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/official/write/file_builder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace etb::gpu {

namespace fb = vulkan_schema;

namespace {

constexpr size_t kHeaderNbytes = 30, kGraphOffset = 32;

template <class T>
void put(std::vector<std::byte>& out, size_t offset, T value) {
  std::memcpy(out.data() + offset, &value, sizeof value);  // the format and our targets are little-endian
}

std::vector<std::byte> with_header(const flatbuffers::FlatBufferBuilder& builder) {
  const size_t nbytes = builder.GetSize(), end = (kGraphOffset + nbytes + 15) / 16 * 16;
  std::vector<std::byte> out(end);
  std::memcpy(out.data() + 4, "VH00", 4);
  put(out, 8, static_cast<uint16_t>(kHeaderNbytes));
  put(out, 10, static_cast<uint32_t>(kGraphOffset));
  put(out, 14, static_cast<uint32_t>(nbytes));
  put(out, 18, static_cast<uint32_t>(end));  // no bytes of constants: they are named data
  put(out, 22, uint64_t{0});
  std::memcpy(out.data() + kGraphOffset, builder.GetBufferPointer(), nbytes);
  return out;
}

// Writes the content of a value. One function for each kind.
class ContentWriter {
 public:
  explicit ContentWriter(flatbuffers::FlatBufferBuilder& builder) : builder_(&builder) {}
  using Content = std::pair<fb::Content, flatbuffers::Offset<void>>;

  Content operator()(std::monostate) const {
    return {fb::Content::Nothing, fb::CreateNothing(*builder_).Union()};
  }
  Content operator()(int64_t number) const {
    return {fb::Content::Integer, fb::CreateInteger(*builder_, number).Union()};
  }
  Content operator()(double number) const {
    return {fb::Content::Number, fb::CreateNumber(*builder_, number).Union()};
  }
  Content operator()(bool truth) const {
    return {fb::Content::Truth, fb::CreateTruth(*builder_, truth).Union()};
  }
  Content operator()(const std::vector<int64_t>& items) const {
    return {fb::Content::Integers, fb::CreateIntegersDirect(*builder_, &items).Union()};
  }
  Content operator()(const std::vector<int32_t>& items) const {
    return {fb::Content::Values, fb::CreateValuesDirect(*builder_, &items).Union()};
  }
  Content operator()(const std::string& text) const {
    return {fb::Content::Text, fb::CreateTextDirect(*builder_, text.c_str()).Union()};
  }
  Content operator()(const TensorDesc& tensor) const {
    const auto sizes = builder_->CreateVector(tensor.shape.sizes.data(), tensor.shape.rank);
    const auto type = static_cast<int8_t>(tensor.type);
    return {fb::Content::Tensor,
            fb::CreateTensor(*builder_, type, sizes, tensor.constant, tensor.memory_object,
                             tensor.storage.kind, tensor.storage.layout, type)
                .Union()};
  }

 private:
  flatbuffers::FlatBufferBuilder* builder_;
};

}  // namespace

uint32_t FileBuilder::add(Value value) {
  values_.push_back(std::move(value));
  return static_cast<uint32_t>(values_.size() - 1);
}

// A graph has a few dozen scalars.
uint32_t FileBuilder::add_scalar(Value value) {
  const auto found = std::find(values_.begin(), values_.end(), value);
  return found == values_.end() ? add(std::move(value)) : static_cast<uint32_t>(found - values_.begin());
}

int32_t FileBuilder::add_constant(const std::string& key, uint64_t nbytes) {
  for (size_t i = 0; i < constants_.size(); ++i)
    if (constants_[i].key == key) return static_cast<int32_t>(i);
  constants_.push_back({key, nbytes});
  return static_cast<int32_t>(constants_.size() - 1);
}

size_t FileBuilder::add_call(Call call) {
  calls_.push_back(std::move(call));
  return calls_.size() - 1;
}

// Returns for each value the first and the last call that has it, also in a list.
std::vector<FileBuilder::Life> FileBuilder::lives() const {
  std::vector<Life> out(values_.size());
  for (size_t i = 0; i < calls_.size(); ++i) {
    const auto meet = [&](uint32_t value) {
      out[value].first = std::min(out[value].first, i);
      out[value].last = i;
    };
    for (const uint32_t argument : calls_[i].arguments) {
      meet(argument);
      if (const auto* list = std::get_if<std::vector<int32_t>>(&values_[argument]))
        for (const int32_t item : *list) meet(static_cast<uint32_t>(item));
    }
  }
  return out;
}

std::vector<bool> FileBuilder::used_values() const {
  std::vector<bool> out;
  for (const Life& life : lives()) out.push_back(life.first != SIZE_MAX);
  return out;
}

// Goes through the tensors in the order of their first calls. Each takes the object that became free and has the nearest
// number of elements. Textures and buffers share no object: the memory that a texture needs depends on the device.
void FileBuilder::share_memory(const std::vector<uint32_t>& kept) {
  struct Object {
    Storage storage;
    uint64_t numel;
    size_t last;
  };
  std::vector<Object> objects;
  const std::vector<Life> life = lives();
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < values_.size(); ++i) {
    const auto* tensor = std::get_if<TensorDesc>(&values_[i]);
    if (tensor == nullptr || tensor->constant >= 0 || life[i].first == SIZE_MAX) continue;
    if (calls_[life[i].first].op == "et_vk.prepack.default") continue;  // filled once, at load
    if (std::find(kept.begin(), kept.end(), i) == kept.end()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return life[a].first < life[b].first; });
  for (const uint32_t i : order) {
    auto& tensor = std::get<TensorDesc>(values_[i]);
    const uint64_t numel = tensor.shape.numel();
    const auto distance = [&](const Object& object) {
      return std::max(object.numel, numel) - std::min(object.numel, numel);
    };
    Object* nearest = nullptr;
    for (Object& object : objects)
      if (object.storage == tensor.storage && object.last < life[i].first &&
          (nearest == nullptr || distance(object) < distance(*nearest)))
        nearest = &object;
    if (nearest == nullptr) nearest = &objects.emplace_back(Object{tensor.storage, 0, 0});
    nearest->numel = std::max(nearest->numel, numel);
    nearest->last = life[i].last;
    tensor.memory_object = static_cast<int32_t>(nearest - objects.data());
  }
}

std::vector<std::byte> FileBuilder::finish(const std::vector<uint32_t>& inputs,
                                           const std::vector<uint32_t>& outputs) const {
  std::vector<bool> is_used = used_values();
  for (const auto* list : {&inputs, &outputs})
    for (const uint32_t value : *list) is_used[value] = true;
  std::vector<int32_t> position(values_.size(), -1);
  for (int32_t i = 0, count = 0; i < static_cast<int32_t>(values_.size()); ++i)
    if (is_used[static_cast<size_t>(i)]) position[static_cast<size_t>(i)] = count++;
  const auto renumbered = [&]<class To>(const auto& from, To) {
    std::vector<To> out;
    for (const auto value : from) out.push_back(static_cast<To>(position[static_cast<size_t>(value)]));
    return out;
  };
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::Value>> values;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!is_used[i]) continue;
    const auto* list = std::get_if<std::vector<int32_t>>(&values_[i]);
    const auto [kind, content] = list == nullptr ? std::visit(ContentWriter(builder), values_[i])
                                                 : ContentWriter(builder)(renumbered(*list, int32_t{}));
    values.push_back(fb::CreateValue(builder, kind, content));
  }
  std::vector<flatbuffers::Offset<fb::Constant>> constants;
  for (const Constant& constant : constants_)
    constants.push_back(fb::CreateConstantDirect(builder, std::numeric_limits<uint64_t>::max(),
                                                 constant.nbytes, constant.key.c_str()));
  std::vector<flatbuffers::Offset<fb::Call>> calls;
  for (const Call& call : calls_) {
    const std::vector<int32_t> arguments = renumbered(call.arguments, int32_t{});
    calls.push_back(fb::CreateCallDirect(builder, call.debug_id, call.op.c_str(), &arguments));
  }
  const std::vector<uint32_t> input_ids = renumbered(inputs, uint32_t{}),
                              output_ids = renumbered(outputs, uint32_t{});
  const std::vector<flatbuffers::Offset<fb::Constant>> shaders;
  constexpr uint8_t kDefault = 255;  // each tensor states its own storage and layout
  builder.Finish(fb::CreateGraphDirect(builder, "0", &calls, &values, &input_ids, &output_ids, &constants,
                                       &shaders, kDefault, kDefault),
                 "VK00");
  return with_header(builder);
}

}  // namespace etb::gpu
