// SPDX-License-Identifier: Apache-2.0
// Runs a handmade payload for each node kind of the official schema and compares it with a plain loop.
// Includes kinds that no current exporter writes (1.5.1 still has the pass for ScaledDotProductAttention, but
// no code that writes the node).
#include <algorithm>
#include <functional>
#include <numeric>

#include "plugins/xnnpack/payload/writer.hpp"
#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

using Sizes = std::vector<int64_t>;
using Floats = std::vector<float>;
using Tensors = std::vector<TestTensor>;

// One kind: inputs of its node (the last ones are constants), its output, and the expected elements.
struct Kind {
  XnnOperator op = XnnOperator::kNone;
  std::vector<Sizes> inputs;
  Sizes output;
  std::function<Floats(Tensors&)> expected;
  size_t constant_count = 0;
  std::function<void(XnnNode&)> set = [](XnnNode&) {};
};

// ---- Elementwise

Kind unary(
    XnnOperator op, std::function<float(float)> f, std::function<void(XnnNode&)> set = [](XnnNode&) {}) {
  return {op,
          {{2, 3}},
          {2, 3},
          [f](Tensors& in) {
            Floats out = in[0].data;
            std::transform(out.begin(), out.end(), out.begin(), f);
            return out;
          },
          0,
          std::move(set)};
}

// Inputs [2, 3] and [3].
Kind binary(XnnOperator op, std::function<float(float, float)> f, size_t constant_count = 0) {
  return {op,
          {{2, 3}, {3}},
          {2, 3},
          [f](Tensors& in) {
            Floats out = in[0].data;
            for (size_t i = 0; i < out.size(); ++i) out[i] = f(out[i], in[1].data[i % 3]);
            return out;
          },
          constant_count};
}

void add_elementwise(std::vector<Kind>& kinds) {
  using Op = XnnOperator;
  kinds.push_back(binary(Op::kAdd, [](float a, float b) { return a + b; }));
  kinds.push_back(binary(Op::kSubtract, [](float a, float b) { return a - b; }));
  kinds.push_back(binary(Op::kMultiply, [](float a, float b) { return a * b; }));
  kinds.push_back(binary(Op::kDivide, [](float a, float b) { return a / b; }));
  kinds.push_back(binary(Op::kMinimum, [](float a, float b) { return std::min(a, b); }));
  kinds.push_back(binary(Op::kMaximum, [](float a, float b) { return std::max(a, b); }));
  kinds.push_back(binary(
      Op::kPrelu, [](float a, float b) { return a < 0 ? a * b : a; }, 1));
  kinds.push_back(unary(Op::kSigmoid, [](float x) { return 1 / (1 + std::exp(-x)); }));
  kinds.push_back(unary(Op::kFloor, [](float x) { return std::floor(x); }));
  kinds.push_back(unary(Op::kCeiling, [](float x) { return std::ceil(x); }));
  kinds.push_back(unary(Op::kSquareRoot, [](float x) { return std::sqrt(x); }));
  kinds.push_back(unary(Op::kReciprocalSquareRoot, [](float x) { return 1 / std::sqrt(x); }));
  kinds.push_back(unary(Op::kHardSwish, [](float x) { return x * std::clamp(x + 3, 0.0f, 6.0f) / 6; }));
  kinds.push_back(unary(Op::kNegate, [](float x) { return -x; }));
  kinds.push_back(unary(Op::kSquare, [](float x) { return x * x; }));
  kinds.push_back(unary(Op::kAbs, [](float x) { return std::abs(x); }));
  kinds.push_back(unary(Op::kLog, [](float x) { return std::log(x); }));
  kinds.push_back(unary(Op::kGelu, [](float x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0f))); }));
  kinds.push_back(unary(Op::kTanh, [](float x) { return std::tanh(x); }));
  kinds.push_back(unary(Op::kExp, [](float x) { return std::exp(x); }));
  kinds.push_back(unary(Op::kSin, [](float x) { return std::sin(x); }));
  kinds.push_back(unary(Op::kCos, [](float x) { return std::cos(x); }));
  kinds.push_back(unary(Op::kCopy, [](float x) { return x; }));
  kinds.push_back(unary(
      Op::kLeakyRelu, [](float x) { return x < 0 ? x / 8 : x; }, [](XnnNode& n) { n.value = 0.125f; }));
  kinds.push_back(unary(
      Op::kElu, [](float x) { return x < 0 ? std::expm1(x) / 2 : x; }, [](XnnNode& n) { n.value = 0.5f; }));
  kinds.push_back(unary(
      Op::kClamp, [](float x) { return std::clamp(x, -0.25f, 0.5f); },
      [](XnnNode& n) {
        n.is_clamped = true;
        n.clamp_min = -0.25f;
        n.clamp_max = 0.5f;
      }));
}

// ---- Windows over [N, H, W, C]

void set_window(XnnNode& node, uint32_t kernel, uint32_t stride, uint32_t padding) {
  auto& w = node.window;
  w.kernel_height = w.kernel_width = kernel;
  w.stride_height = w.stride_width = stride;
  w.padding_top = w.padding_right = w.padding_bottom = w.padding_left = padding;
}

// Filters [O, 3, 3, I]; depthwise [1, 3, 3, C].
Floats convolve(Tensors& in, bool is_depthwise) {
  TestTensor &x = in[0], &filter = in[1], &bias = in[2];
  TestTensor y{{1, 4, 4, bias.sizes[0]}, Floats(static_cast<size_t>(16 * bias.sizes[0]))};
  for (int64_t h = 0; h < 4; ++h)
    for (int64_t w = 0; w < 4; ++w)
      for (int64_t o = 0; o < bias.sizes[0]; ++o) {
        float sum = bias.at({o});
        for (int64_t i = 0; i < 3; ++i)
          for (int64_t j = 0; j < 3; ++j)
            for (int64_t c = 0; c < filter.sizes[3]; ++c) {
              const int64_t a = h + i - 1, b = w + j - 1;
              if (a < 0 || a > 3 || b < 0 || b > 3 || (is_depthwise && c != o)) continue;
              sum += x.at({0, a, b, c}) * filter.at({is_depthwise ? 0 : o, i, j, c});
            }
        y.at({0, h, w, o}) = sum;
      }
  return y.data;
}

// Windows of 2x2 without overlap: each input contributes to one pixel of each output channel.
Floats convolve_transposed(Tensors& in) {
  TestTensor &x = in[0], &filter = in[1], &bias = in[2];
  TestTensor y{{1, 6, 6, 3}, Floats(108)};
  for (int64_t h = 0; h < 6; ++h)
    for (int64_t w = 0; w < 6; ++w)
      for (int64_t o = 0; o < 3; ++o) {
        float sum = bias.at({o});
        for (int64_t c = 0; c < 2; ++c) sum += x.at({0, h / 2, w / 2, c}) * filter.at({o, h % 2, w % 2, c});
        y.at({0, h, w, o}) = sum;
      }
  return y.data;
}

// [1, 4, 4, 2] in windows of 2x2: `f` reduces the four elements.
Floats pool(Tensors& in, const std::function<float(std::array<float, 4>)>& f) {
  TestTensor& x = in[0];
  Floats out;
  for (int64_t h = 0; h < 4; h += 2)
    for (int64_t w = 0; w < 4; w += 2)
      for (int64_t c = 0; c < 2; ++c)
        out.push_back(f({x.at({0, h, w, c}), x.at({0, h, w + 1, c}), x.at({0, h + 1, w, c}),
                         x.at({0, h + 1, w + 1, c})}));
  return out;
}
float average(std::array<float, 4> four) { return (four[0] + four[1] + four[2] + four[3]) / 4; }
float greatest(std::array<float, 4> four) { return *std::max_element(four.begin(), four.end()); }

void add_windows(std::vector<Kind>& kinds) {
  using Op = XnnOperator;
  kinds.push_back({Op::kConv2d,
                   {{1, 4, 4, 2}, {3, 3, 3, 2}, {3}},
                   {1, 4, 4, 3},
                   [](Tensors& in) { return convolve(in, false); },
                   2,
                   [](XnnNode& n) {
                     set_window(n, 3, 1, 1);
                     n.window.group_input_channels = 2;
                     n.window.group_output_channels = 3;
                   }});
  kinds.push_back({Op::kDepthwiseConv2d,
                   {{1, 4, 4, 2}, {1, 3, 3, 2}, {2}},
                   {1, 4, 4, 2},
                   [](Tensors& in) { return convolve(in, true); },
                   2,
                   [](XnnNode& n) {
                     set_window(n, 3, 1, 1);
                     n.window.groups = 2;
                     n.window.group_input_channels = n.window.group_output_channels = 1;
                   }});
  kinds.push_back({Op::kConvTranspose2d,
                   {{1, 3, 3, 2}, {3, 2, 2, 2}, {3}},
                   {1, 6, 6, 3},
                   convolve_transposed,
                   2,
                   [](XnnNode& n) {
                     set_window(n, 2, 2, 0);
                     n.window.group_input_channels = 2;
                     n.window.group_output_channels = 3;
                   }});
  const auto halves = [](XnnNode& n) { set_window(n, 2, 2, 0); };
  kinds.push_back({Op::kAveragePooling2d,
                   {{1, 4, 4, 2}},
                   {1, 2, 2, 2},
                   [](Tensors& in) { return pool(in, average); },
                   0,
                   halves});
  kinds.push_back({Op::kMaxPooling2d,
                   {{1, 4, 4, 2}},
                   {1, 2, 2, 2},
                   [](Tensors& in) { return pool(in, greatest); },
                   0,
                   halves});
  kinds.push_back({Op::kArgMaxPooling2d,
                   {{1, 4, 4, 2}},
                   {1, 2, 2, 2},
                   [](Tensors& in) { return pool(in, greatest); },
                   0,
                   halves});
  kinds.push_back({Op::kGlobalAveragePooling2d, {{1, 2, 2, 3}}, {1, 1, 1, 3}, [](Tensors& in) {
                     Floats out;
                     for (int64_t c = 0; c < 3; ++c)
                       out.push_back(average({in[0].at({0, 0, 0, c}), in[0].at({0, 0, 1, c}),
                                              in[0].at({0, 1, 0, c}), in[0].at({0, 1, 1, c})}));
                     return out;
                   }});
  // 2 rows and columns become 4, with pixel centres at halves: the first has weights 1, 3/4, 1/4 and 0.
  kinds.push_back({Op::kResizeBilinear2d,
                   {{1, 2, 2, 1}},
                   {1, 4, 4, 1},
                   [](Tensors& in) {
                     Floats out;
                     for (const float top : {1.0f, 0.75f, 0.25f, 0.0f})
                       for (const float left : {1.0f, 0.75f, 0.25f, 0.0f}) {
                         const Floats& x = in[0].data;
                         out.push_back(top * (left * x[0] + (1 - left) * x[1]) +
                                       (1 - top) * (left * x[2] + (1 - left) * x[3]));
                       }
                     return out;
                   },
                   0,
                   [](XnnNode& n) {
                     n.first = {4, 4};
                   }});
}

// ---- Moves

void add_moves(std::vector<Kind>& kinds) {
  using Op = XnnOperator;
  const auto same = [](Tensors& in) { return in[0].data; };
  kinds.push_back({Op::kStaticTranspose,
                   {{2, 3}},
                   {3, 2},
                   [](Tensors& in) {
                     const Floats& x = in[0].data;
                     return Floats{x[0], x[3], x[1], x[4], x[2], x[5]};
                   },
                   0,
                   [](XnnNode& n) {
                     n.first = {1, 0};
                   }});
  kinds.push_back({Op::kStaticReshape, {{2, 3}}, {3, 2}, same, 0, [](XnnNode& n) { n.first = {3, 2}; }});
  kinds.push_back({Op::kStaticSlice,
                   {{3, 3}},
                   {2, 1},
                   [](Tensors& in) {
                     return Floats{in[0].at({1, 2}), in[0].at({2, 2})};
                   },
                   0,
                   [](XnnNode& n) {
                     n.first = {1, 2};
                     n.second = {2, 1};
                   }});
  kinds.push_back({Op::kConstantPad,
                   {{1, 2}},
                   {2, 3},
                   [](Tensors& in) { return Floats{0.5f, in[0].data[0], in[0].data[1], 0.5f, 0.5f, 0.5f}; },
                   0,
                   [](XnnNode& n) {
                     n.first = {0, 1};
                     n.second = {1, 0};
                     n.value = 0.5f;
                   }});
  for (const auto& [op, count] : {std::pair(Op::kConcatenate2, 2), std::pair(Op::kConcatenate3, 3),
                                  std::pair(Op::kConcatenate4, 4), std::pair(Op::kConcatenate5, 5)}) {
    kinds.push_back({op,
                     std::vector<Sizes>(static_cast<size_t>(count), {2, 3}),
                     {2, 3 * count},
                     [](Tensors& in) {
                       Floats out;
                       for (const size_t row : {0, 3})
                         for (const TestTensor& each : in)
                           out.insert(out.end(), each.data.begin() + static_cast<ptrdiff_t>(row),
                                      each.data.begin() + static_cast<ptrdiff_t>(row) + 3);
                       return out;
                     },
                     0,
                     [](XnnNode& n) { n.axis = 1; }});
  }
  // To int8 in steps of 1/16 and back by a second node.
  kinds.push_back(unary(Op::kConvert, [](float x) { return std::nearbyint(x * 16) / 16; }));
}

// ---- Products

Floats softmax(Floats row) {
  const float most = *std::max_element(row.begin(), row.end());
  for (float& x : row) x = std::exp(x - most);
  const float sum = std::accumulate(row.begin(), row.end(), 0.0f);
  for (float& x : row) x /= sum;
  return row;
}

// Queries [1, 2, 3, 4], keys and values [1, 2, 5, 4], one scale for each of the 4 and an added mask [3, 5].
Floats attend(Tensors& in) {
  TestTensor &q = in[0], &k = in[1], &v = in[2], &scale = in[3], &mask = in[4];
  Floats out;
  for (int64_t head = 0; head < 2; ++head)
    for (int64_t row = 0; row < 3; ++row) {
      Floats scores;
      for (int64_t key = 0; key < 5; ++key) {
        float sum = mask.at({row, key});
        for (int64_t c = 0; c < 4; ++c)
          sum += q.at({0, head, row, c}) * scale.at({c}) * k.at({0, head, key, c});
        scores.push_back(sum);
      }
      const Floats weights = softmax(scores);
      for (int64_t c = 0; c < 4; ++c) {
        float sum = 0;
        for (int64_t key = 0; key < 5; ++key)
          sum += weights[static_cast<size_t>(key)] * v.at({0, head, key, c});
        out.push_back(sum);
      }
    }
  return out;
}

void add_products(std::vector<Kind>& kinds) {
  using Op = XnnOperator;
  kinds.push_back({Op::kFullyConnected,
                   {{2, 4}, {3, 4}, {3}},
                   {2, 3},
                   [](Tensors& in) {
                     Floats out;
                     for (int64_t row = 0; row < 2; ++row)
                       for (int64_t o = 0; o < 3; ++o) {
                         float sum = in[2].at({o});
                         for (int64_t c = 0; c < 4; ++c) sum += in[0].at({row, c}) * in[1].at({o, c});
                         out.push_back(sum);
                       }
                     return out;
                   },
                   2});
  kinds.push_back({Op::kBatchMatrixMultiply, {{2, 3, 4}, {2, 4, 5}}, {2, 3, 5}, [](Tensors& in) {
                     Floats out;
                     for (int64_t batch = 0; batch < 2; ++batch)
                       for (int64_t row = 0; row < 3; ++row)
                         for (int64_t o = 0; o < 5; ++o) {
                           float sum = 0;
                           for (int64_t c = 0; c < 4; ++c)
                             sum += in[0].at({batch, row, c}) * in[1].at({batch, c, o});
                           out.push_back(sum);
                         }
                     return out;
                   }});
  kinds.push_back({Op::kSoftmax, {{2, 3}}, {2, 3}, [](Tensors& in) {
                     Floats out;
                     for (const ptrdiff_t row : {0, 3}) {
                       const auto first = in[0].data.begin() + row;
                       for (const float x : softmax({first, first + 3})) out.push_back(x);
                     }
                     return out;
                   }});
  kinds.push_back({Op::kScaledDotProductAttention,
                   {{1, 2, 3, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}, {4}, {3, 5}},
                   {1, 2, 3, 4},
                   attend,
                   2});
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  add_elementwise(kinds);
  add_windows(kinds);
  add_moves(kinds);
  add_products(kinds);
  return kinds;
}

// ---- The payload of a kind

class Payload {
 public:
  Payload(const Kind& kind, const Tensors& inputs) {
    graph_.constants.emplace_back();
    node_.op = kind.op;
    for (size_t i = 0; i < inputs.size(); ++i) {
      XnnValue& value = add(inputs[i].sizes);
      if (i + kind.constant_count < inputs.size()) {
        value.is_input = true;
        make_external(value, graph_.input_ids);
      } else {
        value.constant_index = static_cast<uint32_t>(graph_.constants.size());
        const std::string key = "c" + std::to_string(i);
        graph_.constants.push_back({key, {}});
        const auto bytes = std::as_bytes(std::span(inputs[i].data));
        blobs[key].assign(bytes.begin(), bytes.end());
      }
      node_.inputs[node_.input_count++] = value.id;
    }
    kind.set(node_);
    if (kind.op == XnnOperator::kConvert) {
      XnnValue& integers = add(kind.output);
      integers.datatype = XnnDatatype::kQint8;
      integers.quantisation = XnnQuantisation::kPerTensor;
      integers.scale = 1.0f / 16;
      node_.outputs[node_.output_count++] = integers.id;
      graph_.nodes.push_back(node_);
      node_.inputs[0] = integers.id;
      node_.output_count = 0;
    }
    add_result(kind.output, XnnDatatype::kFloat32);
    if (kind.op == XnnOperator::kArgMaxPooling2d) add_result(kind.output, XnnDatatype::kInt32);
    graph_.nodes.push_back(node_);
  }
  std::vector<std::byte> bytes() const { return write_xnnpack_payload(graph_); }

  Blobs blobs;

 private:
  XnnValue& add(const Sizes& sizes) {
    XnnValue& value = graph_.values.emplace_back();
    value.id = static_cast<uint32_t>(graph_.values.size() - 1);
    value.datatype = XnnDatatype::kFloat32;
    value.sizes.assign(sizes.begin(), sizes.end());
    return value;
  }
  void make_external(XnnValue& value, std::vector<uint32_t>& ids) {
    value.external_id = external_count_++;
    ids.push_back(value.id);
  }
  void add_result(const Sizes& sizes, XnnDatatype datatype) {
    XnnValue& value = add(sizes);
    value.datatype = datatype;
    value.is_output = true;
    make_external(value, graph_.output_ids);
    node_.outputs[node_.output_count++] = value.id;
  }

  XnnPayload graph_;
  XnnNode node_;
  uint32_t external_count_ = 0;
};

// For failure messages.
void PrintTo(const Kind& kind, std::ostream* out) { *out << to_text(kind.op); }

class XnnpackKinds : public XnnpackCompile, public testing::WithParamInterface<Kind> {};

TEST_P(XnnpackKinds, RunsAsAPlainLoopSays) {
  const Kind& kind = GetParam();
  const bool wants_positive = kind.op == XnnOperator::kSquareRoot || kind.op == XnnOperator::kLog ||
                              kind.op == XnnOperator::kReciprocalSquareRoot;
  Tensors inputs;
  for (const Sizes& sizes : kind.inputs) {
    TestTensor& made = inputs.emplace_back(random_tensor(sizes));
    if (wants_positive)
      for (float& x : made.data) x = x * x + 0.1f;
  }
  Payload payload(kind, inputs);
  const Floats expected_data = kind.expected(inputs);
  TestTensor found{kind.output, Floats(expected_data.size(), NAN)};
  std::vector<int64_t> places(expected_data.size(), -1);
  std::vector<etb_tensor> given, results = {to_c(found)};
  for (size_t i = 0; i + kind.constant_count < inputs.size(); ++i) given.push_back(to_c(inputs[i]));
  results[0].role = ETB_ROLE_OUTPUT;
  if (kind.op == XnnOperator::kArgMaxPooling2d) {
    etb_tensor& indices = results.emplace_back(results[0]);
    indices.dtype = ETB_DTYPE_INT64;
    indices.data = places.data();
    indices.capacity_bytes = places.size() * sizeof(int64_t);
  }
  ASSERT_NO_FATAL_FAILURE(run(payload.bytes(), payload.blobs, given, results));
  expect_near(found, {kind.output, expected_data});
  if (kind.op == XnnOperator::kArgMaxPooling2d) {
    // XNNPACK numbers the elements of a window column by column.
    const Floats expected = pool(inputs, [](std::array<float, 4> four) {
      std::swap(four[1], four[2]);
      return static_cast<float>(std::max_element(four.begin(), four.end()) - four.begin());
    });
    EXPECT_EQ(places, std::vector<int64_t>(expected.begin(), expected.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Schema, XnnpackKinds, testing::ValuesIn(all_kinds()),
                         [](const auto& test) { return std::string(to_text(test.param.op)); });

TEST(XnnpackKindsOfTheSchema, EachHasItsPayloadHere) {
  std::vector<XnnOperator> found;
  for (const Kind& kind : all_kinds()) found.push_back(kind.op);
  std::sort(found.begin(), found.end());
  std::vector<XnnOperator> expected;
  for (uint8_t number = 1; number <= kXnnOperatorCount; ++number)
    expected.push_back(static_cast<XnnOperator>(number));
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace etb::xnnpack
