// SPDX-License-Identifier: Apache-2.0
// Internal to the graph verifier: shared parts of the checks of the image and of its graphs.
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

// Nesting: image > graph > node > argument, and image > spec > dynamic dimension.
inline constexpr uint32_t kMaxTableDepth = 4;

// Every table needs at least 8 bytes: the offset that refers to it and the offset to its vtable.
constexpr uint32_t max_table_count(size_t image_nbytes) { return static_cast<uint32_t>(image_nbytes / 8); }

// Escapes text of an untrusted file for a message: short, without characters that control a terminal.
std::string printable(std::string_view text);

template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::INVALID_DATA, "graph image: " + fmt::format(format, std::forward<Args>(args)...));
}

template <class Vector>
uint32_t count(const Vector* vector) {
  return vector != nullptr ? vector->size() : 0;
}

// Results of earlier checks for later ones. Every index in them is checked.
struct ImageFacts {
  const fb::Image& image;
  std::span<const uint8_t> bytes;
  uint64_t bytes_left;               // budget for elements of lists; honest images never use it up
  std::vector<int64_t> spec_numels;  // -1: unbounded

  std::string_view text(uint32_t index) const {
    const flatbuffers::String* text = image.strings()->Get(index);
    return {text->c_str(), text->size()};
  }

  [[nodiscard]] Status check_string(uint32_t index, const char* field) const {
    if (index < count(image.strings())) return {};
    return refuse("{}: string {} of {}", field, index, count(image.strings()));
  }

  // Checks a list before its elements are read: it must be aligned (FlatBuffers checks that only for its
  // count), and must not overlap a list that was read before.
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

// Verifies the graphs one by one, in order (graph_body_verifier.cpp).
[[nodiscard]] Status verify_graphs(ImageFacts& facts);

// Inserts the location after the "graph image: " of an error.
template <class... Args>
Status at(Status status, fmt::format_string<Args...> format, Args&&... args) {
  if (status) return status;
  constexpr std::string_view kHead = "graph image: ";
  status.error().message.insert(kHead.size(), fmt::format(format, std::forward<Args>(args)...) + ": ");
  return status;
}

}  // namespace etb::graph
