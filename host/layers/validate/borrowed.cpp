// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/borrowed.hpp"

#include <cstring>

namespace etb::host::validate {

const void* ArgumentCopier::bytes(const void* from, uint64_t nbytes, uint64_t alignment) {
  if (from == nullptr) return nullptr;
  nbytes_ = (nbytes_ + alignment - 1) / alignment * alignment;
  const uint64_t at = nbytes_;
  nbytes_ += nbytes;
  if (inside_ == nullptr) return from;
  if (nbytes != 0) std::memcpy(inside_ + at, from, nbytes);
  return block_ + at;
}

void ArgumentCopier::replace(const void* copy, const void* from, uint64_t nbytes) {
  if (inside_ == nullptr) return;
  std::memcpy(inside_ + (static_cast<const uint8_t*>(copy) - block_), from, nbytes);
}

const char* ArgumentCopier::text(const char* from) {
  return static_cast<const char*>(bytes(from, from == nullptr ? 0 : std::strlen(from) + 1, 1));
}

// The elements of an array are struct_size bytes apart (ABI-SIZE-04).
template <class T, class Patch>
const T* ArgumentCopier::array(const T* from, uint64_t count, Patch&& patch) {
  if (from == nullptr || count == 0) return from;
  const uint64_t stride = from->struct_size;
  const void* const copy = bytes(from, count * stride, alignof(T));
  for (uint64_t i = 0; i < count; ++i) {
    T element{};
    const uint64_t known = std::min<uint64_t>(stride, sizeof(T));
    std::memcpy(&element, reinterpret_cast<const uint8_t*>(from) + i * stride, known);
    patch(element);
    replace(static_cast<const uint8_t*>(copy) + i * stride, &element, known);
  }
  return static_cast<const T*>(copy);
}

const etb_option* ArgumentCopier::options(const etb_option* from, uint64_t count) {
  return array(from, count, [this](etb_option& option) {
    option.key = text(option.key);
    if (option.type == ETB_OPTION_TEXT) option.text = text(option.text);
    if (option.type == ETB_OPTION_BYTES) option.bytes.data = bytes(option.bytes.data, option.bytes.nbytes, 1);
    if (option.type == ETB_OPTION_LIST) option.items = options(option.items, option.item_count);
  });
}

const etb_compile_spec* ArgumentCopier::specs(const etb_compile_spec* from, uint64_t count) {
  return array(from, count, [this](etb_compile_spec& spec) {
    spec.key = text(spec.key);
    spec.value.data = bytes(spec.value.data, spec.value.nbytes, 1);
  });
}

const etb_target* ArgumentCopier::target(const etb_target* from) {
  if (from == nullptr) return nullptr;
  return array(from, 1, [this](etb_target& target) {
    target.kind = text(target.kind);
    target.name = text(target.name);
    target.attributes = options(target.attributes, target.attribute_count);
  });
}

const etb_graph_image* ArgumentCopier::graphs(const etb_graph_image* from, uint64_t count) {
  return array(from, count, [this](etb_graph_image& graph) {
    graph.image.data = bytes(graph.image.data, graph.image.nbytes, ETB_GRAPH_ALIGNMENT);
  });
}

const etb_fence* ArgumentCopier::fences(const etb_fence* from, uint64_t count) {
  return array(from, count, [this](etb_fence& fence) { fence.kind = text(fence.kind); });
}

void BorrowedCopy::end() {
  if (block_ == nullptr) return;
  if (const auto damage = block_->take_damage()) call_.plugin("ABI-OWN-01", "{}: {}", what_, *damage);
  call_.state().watch(std::move(block_), "ABI-OWN-01", Side::PLUGIN, call_.function(),
                      what_ + std::string(" after the call"));
}

}  // namespace etb::host::validate
