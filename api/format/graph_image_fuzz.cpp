// SPDX-License-Identifier: Apache-2.0
// Fuzzes bytes as a graph image: the C reader accepts any bytes without a fault, and images that the
// verifier accepts are consistent.
#include <cstdio>
#include <cstdlib>

#include "api/format/graph_text.hpp"
#include "api/format/graph_verifier.hpp"
#include "api/testing/graph_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etb::graph;
  constexpr uint64_t kMaxSteps = 1 << 20;
  const ImageBytes image({data, size});
  const etb_graph_image c = image.to_c();
  etb_graph_walk_result result;
  etb_graph_walk(&c, kMaxSteps, &result);
  if (!verify_graph_image(image.span())) return 0;
  const auto view = View::open(image.span());
  if (!view) std::abort();
  PrintOptions options;
  options.max_text_bytes = 1 << 20;
  const std::string text = print_graph_image(*view, options);
  if (text.size() > options.max_text_bytes) return 0;
  const auto parsed = parse_graph_text(text);
  if (!parsed || print_graph_image(*View::open(parsed->span())) != text) {
    std::fprintf(stderr, "%s\n%s\n", text.c_str(),
                 parsed ? "prints differently" : parsed.error().message.c_str());
    std::abort();
  }
  return 0;
}
