// Internal to the graph verifier: what the checks of the whole image and those of its graphs share.
#pragma once

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/graph.h"
#include "etb_schema/graph_generated.h"

namespace etb::graph {

// Image > graph > node > argument, and image > spec > dynamic dimension.
inline constexpr uint32_t kMaxTableDepth = 4;

// Every table takes at least 8 bytes: the offset that leads to it and the one to its vtable.
constexpr uint32_t max_table_count(size_t image_nbytes) { return static_cast<uint32_t>(image_nbytes / 8); }

// Text of an untrusted file inside a message: short, and nothing that a terminal obeys.
std::string printable(std::string_view text);

template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::INVALID_DATA, "graph image: " + fmt::format(format, std::forward<Args>(args)...));
}

template <class Vector>
uint32_t count(const Vector* vector) {
  return vector != nullptr ? vector->size() : 0;
}

// What later checks need of earlier ones. Indices into these were checked when they were filled.
struct ImageFacts {
  const fb::Image& image;
  std::span<const uint8_t> bytes;
  uint64_t bytes_left;  // that the elements of lists may still take; honest images never use it up
  std::vector<int64_t> spec_numels;  // -1: unbounded

  std::string_view text(uint32_t index) const {
    const flatbuffers::String* text = image.strings()->Get(index);
    return {text->c_str(), text->size()};
  }

  [[nodiscard]] Status check_string(uint32_t index, const char* field) const {
    if (index < count(image.strings())) return {};
    return refuse("{}: string {} of {}", field, index, count(image.strings()));
  }

  // A list whose elements will be read one by one: aligned (FlatBuffers checks that of its count only), and
  // not a list that was read before.
  template <class T>
  [[nodiscard]] Status visit(const flatbuffers::Vector<T>* list, const char* field) {
    if (list == nullptr || list->size() == 0) return {};
    if (static_cast<size_t>(list->Data() - bytes.data()) % sizeof(T) != 0) {
      return refuse("{}: not aligned to {} bytes", field, sizeof(T));
    }
    const uint64_t nbytes = uint64_t{list->size()} * sizeof(T);
    if (nbytes > bytes_left) return refuse("{}: lists overlap", field);
    bytes_left -= nbytes;
    return {};
  }
};

// Checks graph by graph, in order (graph_body_verifier.cpp).
[[nodiscard]] Status verify_graphs(ImageFacts& facts);

// Puts where it happened behind the "graph image: " of an error.
template <class... Args>
Status at(Status status, fmt::format_string<Args...> format, Args&&... args) {
  if (status) return status;
  constexpr std::string_view kHead = "graph image: ";
  status.error().message.insert(kHead.size(), fmt::format(format, std::forward<Args>(args)...) + ": ");
  return status;
}

}  // namespace etb::graph
