// SPDX-License-Identifier: Apache-2.0
// Fuzzes any text as a graph image's text form: the parser rejects it, or its image prints, parses and
// prints again to the same text.
#include <cstdio>
#include <cstdlib>

#include "api/format/graph_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etb::graph;
  const auto image = parse_graph_text({reinterpret_cast<const char*>(data), size});
  if (!image) return 0;
  PrintOptions options;
  options.max_text_bytes = 1 << 20;
  const std::string text = print_graph_image(*View::open(image->span()), options);
  if (text.size() > options.max_text_bytes) return 0;
  const auto again = parse_graph_text(text);
  if (!again || print_graph_image(*View::open(again->span())) != text) {
    std::fprintf(stderr, "%s\n%s\n", text.c_str(),
                 again ? "prints differently" : again.error().message.c_str());
    std::abort();
  }
  return 0;
}
