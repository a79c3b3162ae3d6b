// SPDX-License-Identifier: Apache-2.0
// Tests overlapping constants, a thousand in one payload: the bytes copied depend on the underlying bytes,
// not on the number of constants.
#include <algorithm>

#include "plugins/xnnpack/subgraph.hpp"
#include "plugins/xnnpack/testing/compile_fixture.hpp"
#include "plugins/xnnpack/testing/payload_fixture.hpp"

namespace etb::xnnpack {
namespace {

const std::byte* bytes_of(const void* data) { return static_cast<const std::byte*>(data); }

TEST(XnnpackConstants, CopiesKeepTheirContentsAndHaveRoomBehindThem) {
  std::mt19937 random(kSeed);
  const auto below = [&](size_t limit) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
  };
  std::vector<std::byte> source(1000);
  for (std::byte& byte : source) byte = static_cast<std::byte>(random());
  for (int round = 0; round < 50; ++round) {
    std::vector<std::span<const std::byte>> wanted(1 + below(300));
    std::vector<const void*> found(wanted.size(), nullptr);
    std::vector<Constants::Move> moves;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const size_t begin = below(source.size());
      wanted[i] = std::span(source).subspan(begin, below(std::min<size_t>(source.size() - begin, 200) + 1));
      moves.push_back({wanted[i], &found[i]});
    }
    Constants constants;
    constants.copy(moves);
    EXPECT_LE(constants.copied_nbytes(), 4 * source.size() + wanted.size() * XNN_EXTRA_BYTES)
        << "seed " << kSeed;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const std::byte* const copy = bytes_of(found[i]);
      ASSERT_TRUE(std::equal(wanted[i].begin(), wanted[i].end(), copy)) << "seed " << kSeed;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(copy) % 4, 0u) << "seed " << kSeed;
      int sum = 0;  // lets sanitizers detect reads after the end
      for (size_t b = 0; b < XNN_EXTRA_BYTES; ++b) sum += std::to_integer<int>(copy[wanted[i].size() + b]);
      EXPECT_GE(sum, 0);
    }
  }
}

// x + constant + constant + ...: the first constant has `count` numbers, each further one `step` fewer.
XnnPayload sum_of(uint32_t term_count, uint32_t count, uint32_t step) {
  XnnPayload payload;
  payload.constants.resize(1 + term_count);
  payload.values.push_back(value_of(0, {1}));
  payload.values[0].external_id = 0;
  payload.values[0].is_input = true;
  for (uint32_t i = 1; i <= term_count; ++i) {
    XnnValue term = value_of(2 * i, {count - i * step});
    term.constant_index = i;
    payload.values.push_back(value_of(2 * i - 1, {1}));
    payload.values.push_back(term);
    payload.nodes.push_back(node_of(XnnOperator::kAdd, {i == 1 ? 0 : 2 * i - 3, 2 * i}, 2 * i - 1));
  }
  for (uint32_t position = 0; position < payload.values.size(); ++position) {
    payload.value_of_id.resize(payload.values.size());
    payload.value_of_id[payload.values[position].id] = position;
  }
  XnnValue& last = payload.values[payload.value_of_id[2 * term_count - 1]];
  last.external_id = 1;
  last.is_output = true;
  payload.input_ids = {0};
  payload.output_ids = {last.id};
  return payload;
}

uint64_t copied_nbytes(const XnnPayload& payload) {
  PackedStore store;
  PackedWeights packed(store, true);
  Constants constants;
  SubgraphBuilder builder(payload, NamedData(), constants, packed);
  const auto made = builder.build();
  EXPECT_TRUE(made) << made.error().message;
  return constants.copied_nbytes();
}

TEST(XnnpackConstants, WhatManyValuesShareIsCopiedOnce) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  constexpr uint32_t kCount = 250000, kTerms = 500;
  const std::vector<float> numbers(kCount, 1);
  const auto bytes = std::as_bytes(std::span(numbers));
  const uint64_t limit = bytes.size() + kTerms * XNN_EXTRA_BYTES;
  for (const uint32_t step : {0u, 1u}) {  // all of one size, all different
    XnnPayload payload = sum_of(kTerms, kCount, step);
    for (size_t i = 1; i < payload.constants.size(); ++i) payload.constants[i].bytes = bytes;
    EXPECT_LE(copied_nbytes(payload), limit) << "step " << step;
    for (size_t i = 1; i < payload.constants.size(); ++i)  // each after the one before
      payload.constants[i].bytes = bytes.subspan(4 * i * step);
    EXPECT_LE(copied_nbytes(payload), limit) << "step " << step;
  }
  XnnPayload payload = sum_of(kTerms, 4, 0);  // a few bytes of a large constant
  for (size_t i = 1; i < payload.constants.size(); ++i)
    payload.constants[i].bytes = bytes.subspan(1000 * i, bytes.size() - 1000 * i);
  EXPECT_LE(copied_nbytes(payload), kTerms * (16 + XNN_EXTRA_BYTES));
}

TEST(XnnpackConstants, ScalesOfTheGraphAreKeptOncePerContent) {
  Constants constants;
  const std::vector<float> first = {1, 2, 3, 4, 5, 6}, same = first, other = {1, 2, 3, 4, 5, 7};
  const void* const kept = constants.keep(std::as_bytes(std::span(first)));
  EXPECT_EQ(constants.keep(std::as_bytes(std::span(same))), kept);
  EXPECT_NE(constants.keep(std::as_bytes(std::span(other))), kept);
  for (uint32_t i = 0; i < 1000; ++i) {
    const void* const next = constants.keep(std::as_bytes(std::span(&i, 1)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(next) % alignof(float), 0u);
  }
  EXPECT_TRUE(std::equal(first.begin(), first.end(), static_cast<const float*>(kept))) << "moved";
  EXPECT_EQ(constants.copied_nbytes(), 2 * 6 * sizeof(float) + 1000 * sizeof(uint32_t));
}

// Only XNNPACK checks scales in constants, and it must check them each time.
TEST(XnnpackConstants, BadScalesInConstantsAreRefusedWithTheirValue) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const std::vector<std::byte> weights(2 * 32);
  const auto refusal = [&](std::span<const std::byte> scales, XnnQuantisation quantisation) {
    XnnPayload payload;
    payload.constants.resize(3);
    payload.constants[1].bytes = weights;
    payload.constants[2].bytes = scales;
    payload.values = {value_of(0, {1, 32}), value_of(1, {2, 32}), value_of(2, {1, 2})};
    payload.value_of_id = {0, 1, 2};
    payload.values[0].external_id = 0;
    payload.values[0].is_input = true;
    payload.values[2].external_id = 1;
    payload.values[2].is_output = true;
    XnnValue& filter = payload.values[1];
    const bool is_group = quantisation == XnnQuantisation::kPerChannelGroup;
    filter.datatype = is_group ? XnnDatatype::kQbint4 : XnnDatatype::kQcint8;
    filter.quantisation = quantisation;
    filter.constant_index = 1;
    filter.scale_constant_index = 2;
    filter.scale_count = 2;
    filter.group_size = 32;
    payload.input_ids = {0};
    payload.output_ids = {2};
    PackedStore store;
    PackedWeights packed(store, true);
    Constants constants;
    SubgraphBuilder builder(payload, NamedData(), constants, packed);
    const auto made = builder.build();
    return made ? std::string() : made.error().message;
  };
  for (const float bad : {0.0f, -1.0f, NAN, INFINITY, 1e-42f}) {
    const float scales[] = {1, bad};
    EXPECT_THAT(refusal(std::as_bytes(std::span(scales)), XnnQuantisation::kPerChannel), HasSubstr("value 1"))
        << bad;
  }
  constexpr uint16_t kOne = 0x3f80;
  for (const uint16_t bad : {0x0000, 0x8000, 0xbf80, 0x7f80, 0x7fc0, 0x0001}) {
    const uint16_t scales[] = {kOne, bad};
    EXPECT_THAT(refusal(std::as_bytes(std::span(scales)), XnnQuantisation::kPerChannelGroup),
                HasSubstr("value 1"))
        << bad;
  }
  const uint16_t good[] = {kOne, kOne};
  EXPECT_EQ(refusal(std::as_bytes(std::span(good)), XnnQuantisation::kPerChannelGroup), "");
  const float ones[] = {1, 1};
  EXPECT_EQ(refusal(std::as_bytes(std::span(ones)), XnnQuantisation::kPerChannel), "");
}

using XnnpackConstantsOfDelegates = XnnpackCompile;

// XNNPACK does not pack an operand of a sum, so it reads a copy.
TEST_F(XnnpackConstantsOfDelegates, CopiesAreCountedAndSharedByContexts) {
  constexpr int64_t kSize = 1 << 16;
  Model model;
  const uint32_t x = model.input({kSize}), c = model.constant({kSize}, random(kSize));
  model.output(model.node("aten.add.Tensor", {arg(x, "self"), arg(c, "other")}, {kSize}));
  Compiled made;
  ASSERT_EQ(compile(model.image(), made), ETB_OK) << error_.text;
  struct Counted {
    Blobs& blobs;
    int gets = 0;
  } counted{made.blobs};
  const etb_named_data named = {
      ETB_INIT_SIZE(etb_named_data), 0, &counted,
      [](void* ctx, const char* key, etb_payload_view* out, etb_error* error) -> etb_status {
        auto& self = *static_cast<Counted*>(ctx);
        ++self.gets;
        const etb_named_data all = named_data_of(self.blobs);
        return all.get(all.ctx, key, out, error);
      }};
  const PayloadArguments given(made.payload, &named);
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(table_->delegate->create(plugin_, &given.args, &delegate, &error_), ETB_OK) << error_.text;
  std::vector<etb_context*> contexts(3);
  for (etb_context*& context : contexts) {
    ASSERT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error_), ETB_OK)
        << error_.text;
    TestTensor input = random_tensor({kSize}), found = input;
    const etb_tensor in = to_c(input);
    etb_tensor out = to_c(found);
    out.role = ETB_ROLE_OUTPUT;
    etb_exec_args call{};
    call.struct_size = ETB_INIT_SIZE(etb_exec_args);
    call.inputs = &in;
    call.outputs = &out;
    call.input_count = call.output_count = 1;
    EXPECT_EQ(table_->delegate->execute(context, &call, &error_), ETB_OK) << error_.text;
    etb_delegate_info info{};
    info.struct_size = ETB_INIT_SIZE(etb_delegate_info);
    ASSERT_EQ(table_->delegate->query(delegate, &info, &error_), ETB_OK) << error_.text;
    EXPECT_GE(info.resident_bytes, kSize * sizeof(float));
    EXPECT_LT(info.resident_bytes, 2 * kSize * sizeof(float));
  }
  EXPECT_EQ(counted.gets, 1);
  for (etb_context* context : contexts)
    EXPECT_EQ(table_->delegate->context_destroy(context, &error_), ETB_OK);
  EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
}

}  // namespace
}  // namespace etb::xnnpack
