// SPDX-License-Identifier: Apache-2.0
// A view between two permutations. A plugin that stores values in an order of its own finds which dimensions the view keeps, splits and
// merges; dimensions of size 1 and equal sizes make that ambiguous.
#include <algorithm>
#include <string>
#include <vector>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

struct Chain {
  std::vector<int64_t> sizes;  // sizes of the input
  std::vector<int64_t> first;  // permutation before the view
  std::vector<int64_t> view;
  std::vector<int64_t> second;  // permutation after the view
};

std::vector<int64_t> permuted(const std::vector<int64_t>& sizes, const std::vector<int64_t>& order) {
  std::vector<int64_t> out;
  for (const int64_t dim : order) out.push_back(sizes[static_cast<size_t>(dim)]);
  return out;
}

const std::vector<Chain>& chains() {
  static const std::vector<Chain> list = {
      {{2, 3, 4}, {0, 2, 1}, {2, 12}, {1, 0}},
      {{2, 3, 4}, {0, 2, 1}, {8, 3}, {1, 0}},
      {{2, 3, 4}, {0, 2, 1}, {2, 4, 1, 3}, {0, 3, 1, 2}},
      {{2, 3, 4}, {2, 0, 1}, {1, 4, 2, 3}, {0, 2, 3, 1}},
      {{2, 3, 4}, {1, 2, 0}, {3, 2, 2, 2}, {3, 1, 0, 2}},
      {{2, 3, 4}, {2, 1, 0}, {24}, {0}},
      {{2, 1, 3, 4}, {0, 2, 3, 1}, {2, 3, 4}, {2, 0, 1}},
      {{2, 1, 3, 4}, {0, 3, 1, 2}, {8, 3}, {1, 0}},
      {{1, 6, 5, 4}, {0, 2, 3, 1}, {1, 20, 6}, {0, 2, 1}},
      {{1, 6, 5, 4}, {0, 2, 3, 1}, {20, 2, 3}, {1, 2, 0}},
      {{1, 6, 5, 4}, {0, 3, 1, 2}, {4, 6, 5, 1}, {3, 1, 2, 0}},
      {{2, 2, 2, 2}, {0, 2, 1, 3}, {4, 4}, {1, 0}},
      {{2, 2, 2, 2}, {3, 1, 2, 0}, {2, 4, 2}, {2, 1, 0}},
      {{2, 2, 2, 2}, {1, 0, 3, 2}, {1, 2, 2, 4}, {0, 3, 1, 2}},
      {{12, 5}, {1, 0}, {5, 3, 4}, {2, 0, 1}},
      {{12, 5}, {1, 0}, {5, 1, 12}, {1, 2, 0}},
      {{3, 4, 1, 5}, {1, 3, 0, 2}, {4, 15}, {1, 0}},
      {{3, 4, 1, 5}, {1, 3, 0, 2}, {20, 3, 1, 1}, {2, 1, 3, 0}},
  };
  return list;
}

// Every order of four dimensions, of which the view merges neighbours: two, three, two pairs, all.
std::vector<Chain> merges() {
  const std::vector<std::vector<int>> all_parts = {{1, 3},    {3, 1},    {2, 2}, {1, 2, 1},
                                                   {2, 1, 1}, {1, 1, 2}, {4}};
  std::vector<Chain> out;
  std::vector<int64_t> order = {0, 1, 2, 3};
  do {
    for (const std::vector<int>& parts : all_parts) {
      Chain chain{{2, 3, 4, 5}, order, {}, {}};
      const std::vector<int64_t> before = permuted(chain.sizes, order);
      size_t at = 0;
      for (const int part : parts) {
        chain.view.push_back(1);
        for (int i = 0; i < part; ++i) chain.view.back() *= before[at++];
        chain.second.insert(chain.second.begin(), static_cast<int64_t>(chain.view.size()) - 1);
      }
      out.push_back(std::move(chain));
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return out;
}

// Every order of three dimensions, of which the view splits the largest into three.
std::vector<Chain> splits() {
  std::vector<Chain> out;
  std::vector<int64_t> order = {0, 1, 2};
  do {
    Chain chain{{24, 5, 7}, order, {}, {}};
    for (const int64_t size : permuted(chain.sizes, order)) {
      const std::vector<int64_t> parts =
          size == 24 ? std::vector<int64_t>{2, 3, 4} : std::vector<int64_t>{size};
      chain.view.insert(chain.view.end(), parts.begin(), parts.end());
    }
    for (const std::vector<int64_t>& second : {std::vector<int64_t>{4, 3, 2, 1, 0}, {1, 3, 0, 4, 2}}) {
      chain.second = second;
      out.push_back(chain);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return out;
}

const std::vector<Chain>& made_chains() {
  static const std::vector<Chain> list = [] {
    std::vector<Chain> out = merges();
    for (Chain& chain : splits()) out.push_back(std::move(chain));
    return out;
  }();
  return list;
}

std::string text_of(const char* letter, const std::vector<int64_t>& dims) {
  std::string out = letter;
  for (const int64_t dim : dims) out += std::to_string(dim);
  return out;
}

Result<BuiltCase> build_chain(const Chain& chain, etb_dtype dtype, bool has_neg, std::string_view name) {
  CaseBuilder builder(name);
  const Shape input{dtype, chain.sizes, {}}, before{dtype, permuted(chain.sizes, chain.first), {}},
      view{dtype, chain.view, {}}, after{dtype, permuted(chain.view, chain.second), {}};
  const auto permute = [&](uint32_t value, const std::vector<int64_t>& order, const Shape& shape) {
    return builder.node("aten.permute_copy.default",
                        {graph::value_arg(value, "self"), graph::ints_arg(order, "dims")}, shape);
  };
  uint32_t value = builder.input(input, Values::kExact);
  value = permute(value, chain.first, before);
  value = builder.node("aten.view_copy.default",
                       {graph::value_arg(value, "self"), graph::ints_arg(chain.view, "size")}, view);
  // A second reader of the view: its elements must also be right in row-major order.
  if (has_neg) builder.output(builder.node("aten.neg.default", {graph::value_arg(value, "self")}, view));
  builder.output(permute(value, chain.second, after));
  return builder.finish({});
}

// A view of a view, of which a compiler may skip the first.
Result<BuiltCase> build_two_views(etb_dtype dtype, std::string_view name) {
  CaseBuilder builder(name);
  const Shape input{dtype, {6, 4}, {}}, first{dtype, {24}, {}}, second{dtype, {2, 3, 4}, {}};
  uint32_t value = builder.input(input, Values::kExact);
  value = builder.node("aten.neg.default", {graph::value_arg(value, "self")}, input);
  for (const Shape& shape : {first, second})
    value = builder.node("aten.view_copy.default",
                         {graph::value_arg(value, "self"), graph::ints_arg(shape.sizes, "size")}, shape);
  builder.output(builder.node("aten.neg.default", {graph::value_arg(value, "self")}, second));
  return builder.finish({});
}

void add_chain(CaseList& out, const Chain& chain, etb_dtype dtype, bool has_neg) {
  out.add(
      {std::string("call.permuted_view.") + short_name(dtype) + "." + shape_text({dtype, chain.sizes, {}}) +
           "." + text_of("p", chain.first) + ".v" + shape_text({dtype, chain.view, {}}) + "." +
           text_of("p", chain.second) + (has_neg ? ".neg" : ""),
       "model", dtype,
       [&chain, dtype, has_neg](std::string_view name) { return build_chain(chain, dtype, has_neg, name); }});
}

}  // namespace

void add_view_chains(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_INT32})
    for (const Chain& chain : chains())
      for (const bool has_neg : {false, true}) add_chain(out, chain, dtype, has_neg);
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16})
    out.add({std::string("call.two_views.") + short_name(dtype), "model", dtype,
             [dtype](std::string_view name) { return build_two_views(dtype, name); }});
  size_t at = 0;
  for (const Chain& chain : made_chains()) add_chain(out, chain, ETB_DTYPE_FLOAT32, at++ % 2 != 0);
}

}  // namespace etb::conformance
