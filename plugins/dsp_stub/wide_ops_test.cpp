// SPDX-License-Identifier: Apache-2.0
// Windows, moves and functions of int16 codes, what is rejected, and whole networks of them.
#include <cstdlib>
#include <functional>

#include "plugins/dsp_stub/testing/wide_fixture.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(dsp_stub_driver);
}

namespace etb::dsp_stub {
namespace {

using graph::ints_arg;

// Windows of [1, 3, 8, 8] codes: 3 x 3, stride 2, padding 1.
TEST_F(DspWide, PoolsOfAllWidths) {
  for (const char* op : {"aten.max_pool2d.default", "aten.avg_pool2d.default"})
    for (int mix = 1; mix < 8; ++mix) {
      const bool is_max = std::string(op) == "aten.max_pool2d.default", counts_padding = mix >= 4;
      SCOPED_TRACE(op + std::to_string(mix));
      if (mix % 4 == 0) continue;
      const Quant in(mix & 1 ? k16 : k8, 0.03, 7), out(mix & 2 ? k16 : k8, 0.025, -4);
      const Sizes sizes = {1, 3, 8, 8}, result = {1, 3, 4, 4};
      model_.emplace();
      std::vector<ArgumentDesc> args = {arg(real(model_->input(sizes, in.dtype), sizes, in), "self"),
                                        ints_arg({3, 3}, "kernel_size"), ints_arg({2, 2}, "stride"),
                                        ints_arg({1, 1}, "padding")};
      if (!is_max) args.push_back(graph::bool_arg(counts_padding, "count_include_pad"));
      output(model_->node(op, args, result), result, out);
      const std::vector<double> x = reals({{192, in}})[0];
      std::vector<double> wanted;
      for (int c = 0; c < 3; ++c)
        for (int y = 0; y < 4; ++y)
          for (int z = 0; z < 4; ++z) {
            double sum = 0, largest = -HUGE_VAL, count = 0;
            for (int iy = std::max(2 * y - 1, 0); iy < std::min(2 * y + 2, 8); ++iy)
              for (int ix = std::max(2 * z - 1, 0); ix < std::min(2 * z + 2, 8); ++ix, ++count) {
                const double number = x[static_cast<size_t>((c * 8 + iy) * 8 + ix)];
                sum += number, largest = std::max(largest, number);
              }
            wanted.push_back(is_max ? largest : sum / (counts_padding ? 9 : count));
          }
      expect_results(wanted, out);
    }
}

TEST_F(DspWide, MeansOfAllWidths) {
  for (const auto& [from, to] : {std::pair(k8, k16), std::pair(k16, k8), std::pair(k16, k16)}) {
    const Quant in(from, 0.03, 7), out(to, 0.002, -4);
    model_.emplace();
    const uint32_t x = real(model_->input({4, 900}, in.dtype), {4, 900}, in);
    output(model_->node("aten.mean.dim",
                        {arg(x, "self"), ints_arg({1}, "dim"), graph::bool_arg(false, "keepdim")}, {4}),
           {4}, out);
    const std::vector<double> numbers = reals({{3600, in}})[0];
    std::vector<double> wanted(4);
    for (size_t i = 0; i < 3600; ++i) wanted[i / 900] += numbers[i] / 900;
    expect_results(wanted, out);
  }
}

// Permutes, cuts every second column and pads rows: strided copies of two bytes.
TEST_F(DspWide, MovesOfInt16Codes) {
  const Quant in(k16, 0.03, 0), out(k16, 0.035, 0);
  const Sizes sizes = {5, 4, 6}, permuted = {6, 5, 4}, cut = {6, 5, 2}, padded = {6, 8, 2};
  uint32_t y = real(model_->input(sizes, k16), sizes, in);
  y = model_->node("aten.permute_copy.default", {arg(y, "self"), ints_arg({2, 0, 1}, "dims")}, permuted);
  y = model_->node("aten.slice_copy.Tensor",
                   {arg(y, "self"), graph::int_arg(2, "dim"), graph::int_arg(1, "start"),
                    graph::int_arg(4, "end"), graph::int_arg(2, "step")},
                   cut);
  y = model_->node("aten.constant_pad_nd.default",
                   {arg(y, "self"), ints_arg({0, 0, 1, 2}, "pad"), graph::float_arg(0, "value")}, padded);
  output(y, padded, out);
  const std::vector<double> x = reals({{120, in}})[0];
  std::vector<double> wanted;
  for (size_t a = 0; a < 6; ++a)
    for (size_t b = 0; b < 8; ++b)
      for (size_t c = 0; c < 2; ++c)
        wanted.push_back(b < 1 || b > 5 ? 0 : x[((b - 1) * 4 + 1 + 2 * c) * 6 + a]);
  expect_results(wanted, out);
}

TEST_F(DspWide, CatsCodesOfBothWidths) {
  const Quant a(k16, 0.03, 0), b(k8, 0.02, 9);
  for (const etb_dtype to : {k16, k8}) {
    const Quant out(to, 0.025, -4);
    model_.emplace();
    const uint32_t x = model_->input({7, 3}, k16), y = model_->input({7, 5}, k8);
    const uint32_t left = real(x, {7, 3}, a), right = real(y, {7, 5}, b);
    output(model_->node("aten.cat.default",
                        {graph::values_arg({left, right}, "tensors"), graph::int_arg(1, "dim")}, {7, 8}),
           {7, 8}, out);
    const auto numbers = reals({{21, a}, {35, b}});
    std::vector<double> wanted;
    for (size_t i = 0; i < 56; ++i)
      wanted.push_back(i % 8 < 3 ? numbers[0][i / 8 * 3 + i % 8] : numbers[1][i / 8 * 5 + i % 8 - 3]);
    expect_results(wanted, out);
  }
}

TEST_F(DspWide, NearestNeighboursOfInt16Codes) {
  const Quant quant(k16, 0.03, 0);
  const Sizes sizes = {1, 3, 4, 4}, result = {1, 3, 8, 8};
  const uint32_t x = real(model_->input(sizes, k16), sizes, quant);
  output(model_->node(
             "aten.upsample_nearest2d.vec",
             {arg(x, "input"), graph::none_arg("output_size"), graph::floats_arg({2, 2}, "scale_factors")},
             result),
         result, quant);
  const std::vector<double> numbers = reals({{48, quant}})[0];
  std::vector<double> wanted;
  for (size_t i = 0; i < 192; ++i) wanted.push_back(numbers[i / 64 * 16 + i % 64 / 16 * 4 + i % 8 / 2]);
  expect_results(wanted, quant);
}

// int8 codes have a table with every result, int16 codes one with samples: within one code.
TEST_F(DspWide, FunctionsOfAllWidths) {
  const std::map<std::string, std::function<double(double)>> functions = {
      {"aten.sigmoid.default", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"aten.tanh.default", [](double v) { return std::tanh(v); }},
      {"aten.silu.default", [](double v) { return v / (1 + std::exp(-v)); }},
      {"aten.abs.default", [](double v) { return std::fabs(v); }}};
  for (const auto& [op, function] : functions)
    for (const auto& [from, to] : {std::pair(k8, k16), std::pair(k16, k8), std::pair(k16, k16)}) {
      SCOPED_TRACE(op + " to " + std::to_string(to));
      const Quant in(from, 0x1p-4, 3), out(to, 0x1p-4, -2), unit(to, 0x1p-7, -2);
      const Quant& result = op == "aten.sigmoid.default" || op == "aten.tanh.default" ? unit : out;
      model_.emplace();
      output(model_->node(op, {arg(real(model_->input({5000}, from), {5000}, in), "self")}, {5000}), {5000},
             result);
      std::vector<double> wanted = reals({{5000, in}})[0];
      for (double& number : wanted) number = function(number);
      expect_results(wanted, result, 1e-6, from == k16 ? 1.001 : 1e-3);
    }
}

TEST_F(DspWide, RejectsWhatInt16CodesLack) {
  const Quant in(k16, 0.03, 0);
  const auto x = [&](const Sizes& sizes) { return real(model_->input(sizes, k16), sizes, in); };
  Quant moved = in;
  moved.zero = 5;
  output(x({9}), {9}, moved);
  expect_rejected("zero point 5 of int16 codes, expected 0");
  softmax({4, 9}, 1, in, Quant(k16, 0x1p-15, 0));
  expect_rejected("scale of the result, expected 2^-22 to 4");
  output(model_->node("aten.mean.dim",
                      {arg(x({2, 65537}), "self"), ints_arg({1}, "dim"), graph::bool_arg(false, "keepdim")},
                      {2}),
         {2}, in);
  expect_rejected("a window of more than 65536 elements");
  const Quant coarse(k16, 2, 0), fine(k16, 0x1p-7, 0);
  output(model_->node("aten.tanh.default", {arg(real(model_->input({9}, k16), {9}, coarse), "self")}, {9}),
         {9}, fine);
  expect_rejected("8193 samples between int16 codes miss by more than one code");

  options_ = {number("payload_version", 2)};
  output(x({9}), {9}, Quant(k16, 0.05, 0));
  expect_rejected("int16 codes, expected payload_version 3 for them");
  softmax({4, 9}, 1, Quant(k8, 0.03, 0), Quant(k16, 1.0 / 128, 0));
  expect_rejected("int16 codes, expected payload_version 3 for them");
}

// A linear layer between int8 codes, whose weights have `dtype` and a scale for each output.
TEST_F(DspWide, RejectsWeightsOfOtherTypesAndOlderPayloads) {
  for (const etb_dtype dtype : {k16, etb_dtype{ETB_DTYPE_INT32}}) {
    const Quant in(k8, 0.03, 0);
    const uint32_t x = model_->input({9, 4});
    const uint32_t codes = dtype == k16 ? model_->constant(dtype, {2, 4}, std::vector<int16_t>(8, 1))
                                        : model_->constant(dtype, {2, 4}, std::vector<int32_t>(8, 1));
    const uint32_t scales = model_->constant(ETB_DTYPE_FLOAT32, {2}, std::vector<float>(2, 1));
    const uint32_t zeros = model_->constant(ETB_DTYPE_INT64, {2}, std::vector<int64_t>(2, 0));
    output(model_->node(
               "aten.linear.default",
               {arg(real(x, {9, 4}, in), "input"),
                arg(channel_weight(codes, {2, 4}, scales, zeros, dtype), "weight"), graph::none_arg("bias")},
               {9, 2}),
           {9, 2}, in);
    if (dtype == k16) options_ = {number("payload_version", 2)};
    expect_rejected(dtype == k16 ? "int16 weights, expected payload_version 3 for them"
                                 : "weight: no int8 or int16 codes");
    options_ = {};
  }
}

// ---- whole networks

// A host with the one service that the driver needs.
struct DriverHost {
  etb_alloc_service memory = {
      ETB_INIT_SIZE(etb_alloc_service), 0, nullptr,
      [](void*, uint64_t nbytes, uint64_t, const char*) { return std::malloc(nbytes); },
      [](void*, void* memory_of) { std::free(memory_of); }};
  etb_host host{};
  DriverHost() {
    host.struct_size = ETB_INIT_SIZE(etb_host);
    host.abi_version = ETB_ABI_VERSION;
    host.ctx = this;
    host.get_service = [](const etb_host* self, const char* id) -> const void* {
      return std::string_view(id) == ETB_SERVICE_ALLOC ? &static_cast<DriverHost*>(self->ctx)->memory
                                                       : nullptr;
    };
  }
};

TEST_F(DspWide, TheDriverInCRunsTheSameCodes) {
  std::vector<std::byte> narrow, wide;
  ASSERT_EQ(compile(small_net(1, 8, 8).image(), narrow), ETB_OK) << error_.text;
  ASSERT_EQ(compile(small_net(1, 8, 8, k16).image(), wide), ETB_OK) << error_.text;
  const std::vector<int8_t> narrow_codes = run(narrow), wide_codes = run(wide);
  EXPECT_EQ(wide_codes.size(), 2 * narrow_codes.size());
  DriverHost driver;
  const etb_plugin_table* const table = std::exchange(
      table_, etb_plugin_query_dsp_stub_driver(&driver.host, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION));
  etb_plugin* const plugin = std::exchange(plugin_, nullptr);
  ASSERT_EQ(table_->init(&driver.host, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(run(narrow), narrow_codes);
  EXPECT_EQ(run(wide), wide_codes);
  // The first width comes after nine words. It is read by both, which reject the same.
  ASSERT_EQ(static_cast<int>(wide[36]), 2);
  wide[36] = std::byte{3};
  EXPECT_TRUE(run(wide).empty());
  EXPECT_THAT(error_.text, testing::HasSubstr("bytes of a code, expected 1 or 2"));
  EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text;
  table_ = table, plugin_ = plugin;
}

TEST_F(DspWide, NetworksOfInt8KeepVersion2) {
  std::vector<std::byte> newest, older;
  ASSERT_EQ(compile(small_net(1, 8, 8).image(), newest), ETB_OK) << error_.text;
  EXPECT_EQ(static_cast<int>(newest[4]), 2);
  options_ = {number("payload_version", 2)};
  ASSERT_EQ(compile(small_net(1, 8, 8).image(), older), ETB_OK) << error_.text;
  EXPECT_EQ(newest, older);
}

TEST_F(DspWide, TilesDoNotChangeResults) {
  expect_same_in({256, 32, 16, 12, 9}, small_net(2, 20, 12, k16).image());
}

// Blocks of output channels: their weights have two bytes.
TEST_F(DspWide, TilesDoNotChangeInt16Weights) {
  const Quant in(k16, 0.02, 0), out(k16, 0.3, 0);
  const Sizes sizes = {1, 6, 9, 9}, filters = {40, 6, 3, 3}, result = {1, 40, 7, 7};
  const uint32_t x = model_->input(sizes, k16), codes = weights(filters, 35, k16).first;
  output(model_->node(
             "aten.convolution.default",
             {arg(real(x, sizes, in), "input"), arg(weight(codes, filters, 0x1p-16, k16), "weight"),
              graph::none_arg("bias"), graph::ints_arg({1, 1}, "stride"), graph::ints_arg({0, 0}, "padding"),
              graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
              graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(1, "groups")},
             result),
         result, out);
  expect_same_in({256, 8, 5}, model_->image());
}

TEST_F(DspWide, TilesDoNotChangeSoftmax) {
  softmax({60, 90}, 1, Quant(k16, 0.05, 0), Quant(k16, 1.0 / 128, 0));
  expect_same_in({256, 16, 6}, model_->image());
}

TEST_F(DspWide, DamagedPayloadsDoNoHarm) { flip_bits(small_net(1, 6, 4, k16).image()); }

TEST_F(DspWide, CorpusIsCurrent) {
  expect_corpus("wide", small_net(1, 10, 6, k16).image(), 256);
  expect_corpus("wide_tiles", small_net(1, 14, 8, k16).image(), 6);
  const Quant in(k16, 0x1p-4, 3), out(k8, 0x1p-7, -2);
  output(model_->node("aten.tanh.default", {arg(real(model_->input({50}, k16), {50}, in), "self")}, {50}),
         {50}, out);
  expect_corpus("wide_table", model_->image(), 256);
  model_.emplace();
  softmax({3, 40}, 1, in, Quant(k16, 1.0 / 128, 0));
  expect_corpus("wide_softmax", model_->image(), 256);
  model_.emplace();
  const uint32_t x = model_->input({3, 9}, k16);
  const uint32_t codes = weights({5, 9}, 3, k16).first;
  output(model_->node("aten.linear.default",
                      {arg(real(x, {3, 9}, in), "input"), arg(weight(codes, {5, 9}, 0x1p-16, k16), "weight"),
                       graph::none_arg("bias")},
                      {3, 5}),
         {3, 5}, in);
  expect_corpus("wide_weights", model_->image(), 256);
}

}  // namespace
}  // namespace etb::dsp_stub
