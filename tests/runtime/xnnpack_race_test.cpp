// SPDX-License-Identifier: Apache-2.0
// Tests delegates that several threads create, run with varying numbers of rows, and destroy at once. They
// use the host's threads and one folder of packed weights. With the tsan preset this test finds races of the
// plugin and of the host's threads; XNNPACK and pthreadpool are built without tsan.
#include <filesystem>

#include "host/services/thread_pool.hpp"
#include "plugins/xnnpack/testing/compile_fixture.hpp"
#include "plugins/xnnpack/testing/workers_fixture.hpp"

namespace etb::xnnpack {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostRows = 64;

class XnnpackRace : public XnnpackCompile {
 protected:
  // Two layers with a relu between them, and their expected results for all rows.
  struct Program {
    int64_t width = 0;
    Compiled compiled;
    etb_named_data named{};
    std::vector<float> input, expected;
  };

  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
    XnnpackCompile::TearDown();
  }

  // The host's threads are created before the plugin.
  void SetUp() override {}
  void start(const etb_parallel_service* parallel) {
    host_.ctx = const_cast<etb_parallel_service*>(parallel);
    XnnpackCompile::SetUp();
    folder_ = fs::temp_directory_path() / ("etb_xnnpack_race_" + std::to_string(getpid()));
    fs::remove_all(folder_);
  }

  void make(int64_t width, Program& out) {
    out.width = width;
    Model model;
    const uint32_t x = model.input({kMostRows, width});
    const uint32_t first = model.constant({width, width}, random(static_cast<size_t>(width * width))),
                   second = model.constant({width, width}, random(static_cast<size_t>(width * width)));
    const auto layer = [&](uint32_t in, uint32_t by) {
      return model.node("aten.linear.default", {arg(in, "input"), arg(by, "weight")}, {kMostRows, width});
    };
    const uint32_t relu = model.node("aten.relu.default", {arg(layer(x, first), "self")}, {kMostRows, width});
    model.output(layer(relu, second));
    ASSERT_EQ(compile(model.image(), out.compiled), ETB_OK) << error_.text;
    out.named = named_data_of(out.compiled.blobs);
    out.input = random(static_cast<size_t>(kMostRows * width));
    etb_delegate* delegate = nullptr;
    ASSERT_EQ(create(out, {}, &delegate), ETB_OK);
    out.expected = run(out, delegate, {kMostRows}).at(0);
    EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
  }

  etb_status create(const Program& program, const std::vector<etb_option>& options,
                    etb_delegate** out) const {
    PayloadArguments given(program.compiled.payload, &program.named);
    given.args.options = options.data();
    given.args.option_count = options.size();
    etb_error error = ETB_ERROR_INIT;
    return table_->delegate->create(plugin_, &given.args, out, &error);
  }

  // Runs once for each of `row_counts` in one context. Returns an empty list if one fails.
  std::vector<std::vector<float>> run(const Program& program, etb_delegate* delegate,
                                      const std::vector<int64_t>& row_counts) const {
    etb_error error = ETB_ERROR_INIT;
    etb_context* context = nullptr;
    if (table_->delegate->context_create(delegate, nullptr, 0, &context, &error) != ETB_OK) return {};
    std::vector<std::vector<float>> results;
    for (const int64_t rows : row_counts) {
      const auto count = static_cast<std::ptrdiff_t>(rows * program.width);
      TestTensor input{{rows, program.width}, {program.input.begin(), program.input.begin() + count}};
      TestTensor output{{rows, program.width}, std::vector<float>(static_cast<size_t>(count), NAN)};
      const etb_tensor in = to_c(input);
      etb_tensor out = to_c(output);
      out.role = ETB_ROLE_OUTPUT;
      etb_exec_args call{};
      call.struct_size = ETB_INIT_SIZE(etb_exec_args);
      call.inputs = &in;
      call.input_count = 1;
      call.outputs = &out;
      call.output_count = 1;
      if (table_->delegate->execute(context, &call, &error) != ETB_OK) break;
      results.push_back(std::move(output.data));
    }
    if (table_->delegate->context_destroy(context, &error) != ETB_OK || results.size() != row_counts.size())
      return {};
    return results;
  }

  // True if each run's rows are right. Rows do not depend on the number of other rows.
  bool is_right(const Program& program, etb_delegate* delegate,
                const std::vector<int64_t>& row_counts) const {
    const auto results = run(program, delegate, row_counts);
    for (const auto& result : results)
      for (size_t i = 0; i < result.size(); ++i)
        if (!(std::abs(result[i] - program.expected[i]) < 1e-2f)) return false;
    return !results.empty();
  }

  void race(int round_count) {
    Program medium, large;
    make(128, medium);
    make(768, large);  // over 4 MB, so packed on all threads
    const std::string folder = folder_.string();
    for (const char* mode : {"disabled", "concurrent", "global"}) {
      const std::vector<etb_option> plain = {given_text("workspace_sharing_mode", mode)};
      std::vector<etb_option> cached = plain;
      cached.push_back(given_text("packed_cache_path", folder.c_str()));
      etb_delegate* common = nullptr;
      ASSERT_EQ(create(medium, plain, &common), ETB_OK);
      std::atomic<int> failure_count{0};
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          for (int round = 0; round < round_count; ++round) {
            const Program& program = (t + round) % 2 == 0 ? large : medium;
            etb_error error = ETB_ERROR_INIT;
            etb_delegate* mine = nullptr;
            if (create(program, t < 2 ? cached : plain, &mine) != ETB_OK) {
              ++failure_count;
              continue;
            }
            if (!is_right(program, mine, {kMostRows, 1 + t, kMostRows / 2 + round, kMostRows}))
              ++failure_count;
            if (!is_right(medium, common, {1 + round, kMostRows - t})) ++failure_count;
            if (table_->delegate->destroy(mine, &error) != ETB_OK) ++failure_count;
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(failure_count, 0) << mode << ", seed " << kSeed;
      EXPECT_EQ(table_->delegate->destroy(common, &error_), ETB_OK);
    }
  }

  fs::path folder_;
};

TEST_F(XnnpackRace, OnThePoolOfTheHost) {
  host::ThreadPool pool(3);
  start(pool.service());
  race(10);
}

// A pool may serve one caller at a time; these threads serve all callers.
TEST_F(XnnpackRace, OnThreadsOfEachCall) {
  Workers workers;
  workers.count = 3;
  start(&workers.service);
  race(8);
  EXPECT_GT(workers.call_count, 0);
  // Many of the delegates that searched the folder packed at the same time.
  size_t file_count = 0;
  for (const auto& item : fs::directory_iterator(folder_)) {
    EXPECT_THAT(item.path().filename().string(),
                testing::AnyOf(testing::EndsWith(".xnnpack-weights"), testing::EndsWith(".verified")));
    file_count += item.path().extension() == ".xnnpack-weights" ? 1 : 0;
  }
  EXPECT_EQ(file_count, 2u) << "one for each payload";
}

}  // namespace
}  // namespace etb::xnnpack
