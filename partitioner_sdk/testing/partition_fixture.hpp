// SPDX-License-Identifier: Apache-2.0
// A program that fake compilers partition, for tests.
#pragma once

#include <gtest/gtest.h>

#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/partition/partition.hpp"
#include "partitioner_sdk/testing/fake_compiler.hpp"

namespace etb::partition {

inline constexpr const char* kAdd = "aten.add.Tensor";
inline constexpr const char* kMul = "aten.mul.Tensor";
inline constexpr const char* kRelu = "aten.relu.default";

// A program of methods, and its partition.
struct TestFixture {
  std::vector<ir::Module> modules;
  std::vector<std::unique_ptr<Compiler>> compilers;
  PartitionOptions options;
  ConstantKeys keys;
  Partition done;

  TestFixture& method(const std::string& text) {
    auto module = ir::parse(text);
    EXPECT_TRUE(module) << module.error().message;
    if (module) modules.push_back(*std::move(module));
    return *this;
  }
  FakeCompiler& plugin(const std::string& name, std::set<std::string, std::less<>> ops, uint32_t flags = 0) {
    auto made = std::make_unique<FakeCompiler>(name, std::move(ops), flags);
    FakeCompiler& plugin = *made;
    compilers.push_back(std::move(made));
    return plugin;
  }
  TestFixture& run() {
    auto got = partition(modules, compilers, options, keys);
    EXPECT_TRUE(got) << got.error().message;
    if (got) done = *std::move(got);
    return *this;
  }
  std::string lowered(size_t method = 0) {
    const Status status = lower(modules, done);
    if (!status) return status.error().message;
    const Status verified = ir::verify(modules[method]);
    return verified ? ir::print(modules[method]) : verified.error().message;
  }
  std::string payload(size_t region) const {
    const auto& bytes = done.regions[region].artifact.payload;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string rejection(uint32_t node, size_t index = 0) const {
    const auto& rejections = done.assignments[0][0][node].rejections;
    return index < rejections.size() ? rejections[index].reason + ": " + rejections[index].text : "";
  }
};

inline constexpr const char* kDiamond = R"(etg 1
module "forward"
constant "w": float32[2] = [1, 2]

graph @forward {
  parameter %w: float32[2] = "w" as "w"
  user %x: float32[2]
  %a: float32[2] = aten.add.Tensor(%x, %w)
  %r: float32[2] = aten.relu.default(%a)
  %b: float32[2] = aten.add.Tensor(%a, %w)
  %c: float32[2] = aten.mul.Tensor(%r, %b)
  return %c
}
)";

}  // namespace etb::partition
