// SPDX-License-Identifier: Apache-2.0
// Modules on one program run one delegate, each with a context.
#include "host/delegates/shared_delegates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "etb/cpp/fail.hpp"
#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "host/testing/delegate_program.hpp"
#include "host/testing/linked_only.hpp"
#include "host/testing/scratch_dir.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kResidentBytes = 1000, kContextBytes = 200;
constexpr char kKey[] = "weights";
constexpr char kWeights[] = "the weights";

struct Counts {
  std::atomic<int> created{0}, destroyed{0}, contexts{0}, contexts_destroyed{0};
  int delegates_alive() const { return created - destroyed; }
  int contexts_alive() const { return contexts - contexts_destroyed; }
};
Counts counts;
std::atomic<uint32_t> max_contexts{ETB_UNLIMITED};
std::atomic<bool> is_lost{false};  // the next run finds that the device was lost
std::atomic<int> running{0}, most_running{0};

// Reads the program's named data in each run, as a plugin may until its delegate is destroyed.
etb_status read_named_data(const ToyDelegateState& state, etb_error* error) {
  if (state.named_data.empty()) return fail(error, ETB_INTERNAL, "no named data");
  etb_payload_view view{};
  view.struct_size = sizeof view;
  const etb_status status = state.named_data[0].get(state.named_data[0].ctx, kKey, &view, error);
  if (status != ETB_OK) return status;
  const bool is_right =
      view.nbytes >= std::strlen(kWeights) && std::memcmp(view.data, kWeights, std::strlen(kWeights)) == 0;
  view.release(view.release_ctx);
  return is_right ? ETB_OK : fail(error, ETB_INVALID_DATA, "other named data");
}

etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  if (is_lost.exchange(false)) return fail(error, ETB_UNAVAILABLE, "the device was lost");
  const int now = ++running;
  for (int most = most_running; most < now && !most_running.compare_exchange_weak(most, now);) continue;
  etb_status status = read_named_data(*toy(context)->delegate, error);
  if (status == ETB_OK) status = toy_tables().delegate.execute(context, args, error);
  --running;
  return status;
}

const etb_plugin_table* ETB_CALL query(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) -> etb_status {
    ++counts.created;
    return toy_tables().delegate.create(plugin, args, out, error);
  };
  toy.delegate.destroy = [](etb_delegate* delegate, etb_error* error) -> etb_status {
    ++counts.destroyed;
    return toy_tables().delegate.destroy(delegate, error);
  };
  toy.delegate.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t option_count,
                                   etb_context** out, etb_error* error) -> etb_status {
    ++counts.contexts;
    return toy_tables().delegate.context_create(delegate, options, option_count, out, error);
  };
  toy.delegate.context_destroy = [](etb_context* context, etb_error* error) -> etb_status {
    ++counts.contexts_destroyed;
    return toy_tables().delegate.context_destroy(context, error);
  };
  toy.delegate.query = [](etb_delegate*, etb_delegate_info* info, etb_error*) -> etb_status {
    info->input_count = info->output_count = 1;
    info->max_contexts = max_contexts;
    info->resident_bytes = kResidentBytes;
    info->context_bytes = kContextBytes;
    return ETB_OK;
  };
  toy.delegate.execute = execute;
  return &toy.plugin;
}

const etb_static_plugin kPlugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query, kToyBackend}};

// y = delegate(x), with named data.
std::vector<std::byte> make_program() {
  DelegateProgram made({{kToyBackend, 1, 0, {}}});
  made.call(0, 0, 1);
  made.method().outputs = {1};
  made.program.segments = {kToyPayload, kWeights};
  made.program.named_data = {{kKey, 1}};
  return format::build_program(made.program);
}

class SharedDelegatesTest : public testing::Test {
 protected:
  void SetUp() override {
    counts.created = counts.destroyed = counts.contexts = counts.contexts_destroyed = 0;
    max_contexts = ETB_UNLIMITED;
    is_lost = false;
    most_running = 0;
    options_.delegates = &delegates_;
  }
  void TearDown() override {
    modules_.clear();
    EXPECT_EQ(counts.delegates_alive(), 0) << "delegates outlive the modules";
    EXPECT_EQ(counts.contexts_alive(), 0);
  }

  // Opens a module and loads its method. The first one opens the program.
  Status open() {
    auto made = modules_.empty() ? Module::from_bytes(bytes_, options_)
                                 : Module::from_program(modules_[0].program(), options_);
    if (!made) return tl::make_unexpected(made.error());
    ETB_TRY(made->load_method("forward"));
    modules_.push_back(*std::move(made));
    return {};
  }
  void open(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const Status opened = open();
      ASSERT_TRUE(opened) << opened.error().message;
    }
  }
  static void expect_right(Module& module, float x) {
    OwnedTensor input = OwnedTensor::make<float>({4}, {x, x + 1, x + 2, x + 3});
    const auto outputs = module.forward({input.value()});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_THAT(floats((*outputs)[0]), ElementsAre(x + 1, x + 2, x + 3, x + 4));
  }

  const std::vector<std::byte> bytes_ = make_program();
  Registry registry_{linked_only(kPlugins)};
  PluginDelegates delegates_{registry_};
  ModuleOptions options_;
  std::vector<Module> modules_;
};

TEST_F(SharedDelegatesTest, ModulesOnAProgramShareADelegateAndHaveAContextEach) {
  open(4);
  EXPECT_EQ(counts.created, 1);
  EXPECT_EQ(counts.contexts, 4);
  for (size_t i = 0; i < modules_.size(); ++i) expect_right(modules_[i], static_cast<float>(10 * i));
  modules_.erase(modules_.begin(), modules_.begin() + 3);  // the module that made the delegate, too
  EXPECT_EQ(counts.contexts_destroyed, 3);
  EXPECT_EQ(counts.destroyed, 0) << "a module still uses it";
  expect_right(modules_[0], 5);
  modules_.clear();
  EXPECT_EQ(counts.destroyed, 1);
  open(1);
  EXPECT_EQ(counts.created, 2) << "the next module makes a delegate anew";
}

TEST_F(SharedDelegatesTest, AMethodThatIsLoadedAgainUsesTheDelegateOfAnotherModule) {
  open(2);
  modules_[0].unload_method("forward");
  expect_right(modules_[1], 3);
  expect_right(modules_[0], 7);
  EXPECT_EQ(counts.created, 1);
  EXPECT_EQ(counts.contexts, 3);
}

// Loads and runs on several threads at the same time.
TEST_F(SharedDelegatesTest, ThreadsLoadAndRunAtTheSameTime) {
  constexpr int kThreads = 4, kRuns = 200;
  open(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([this, t] {
      for (int load = 0; load < 5; ++load) {
        auto module = Module::from_program(modules_[0].program(), options_);
        ASSERT_TRUE(module) << module.error().message;
        for (int i = 0; i < kRuns; ++i) expect_right(*module, static_cast<float>(1000 * t + i));
      }
    });
  for (int i = 0; i < kRuns; ++i) expect_right(modules_[0], static_cast<float>(-i));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts.created, 1);
  EXPECT_EQ(counts.contexts, 1 + kThreads * 5);
}

// The first module does not exist yet, so that the threads make the delegate.
TEST_F(SharedDelegatesTest, ThreadsThatLoadFirstMakeOneDelegate) {
  auto first = Module::from_bytes(bytes_, options_);
  ASSERT_TRUE(first) << first.error().message;
  std::vector<std::optional<Module>> made(4);
  std::vector<std::thread> threads;
  for (auto& module : made)
    threads.emplace_back([&] {
      auto opened = Module::from_program(first->program(), options_);
      ASSERT_TRUE(opened) << opened.error().message;
      const Status loaded = opened->load_method("forward");
      EXPECT_TRUE(loaded) << loaded.error().message;
      module.emplace(*std::move(opened));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts.created, 1);
  EXPECT_EQ(counts.contexts, 4);
}

TEST_F(SharedDelegatesTest, ADelegateWithAllItsContextsInUseIsMadeAgain) {
  max_contexts = 2;
  open(5);
  EXPECT_EQ(counts.created, 3);
  EXPECT_EQ(counts.contexts, 5);
  modules_.erase(modules_.begin());  // one of the first delegate
  open(1);
  EXPECT_EQ(counts.created, 3) << "its place is free";
  modules_.clear();
  max_contexts = 1;
  counts.created = counts.destroyed = 0;
  open(3);
  EXPECT_EQ(counts.created, 3);
}

TEST_F(SharedDelegatesTest, MemoryOfASharedDelegateCountsOnce) {
  delegates_.limit_device_memory(kResidentBytes + 2 * kContextBytes);
  open(2);
  const auto holdings = delegates_.holdings();
  ASSERT_EQ(holdings.size(), 1u);
  EXPECT_EQ(holdings[0].resident_bytes, kResidentBytes);
  EXPECT_EQ(holdings[0].context_bytes, 2 * kContextBytes);
  const Status third = open();
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::OUT_OF_RESOURCES);
  EXPECT_THAT(third.error().message, HasSubstr("its delegates need 1600 bytes, expected at most 1400 (the "
                                               "limit max_device_bytes): 'ToyBackend' of method 'forward' "
                                               "1000 resident and 600 for runs"));
  EXPECT_EQ(counts.contexts_alive(), 2);
  modules_.erase(modules_.begin());
  EXPECT_EQ(delegates_.holdings()[0].context_bytes, kContextBytes);
  open(1);
  modules_.clear();
  EXPECT_TRUE(delegates_.holdings().empty());
}

// Resolvers share what share_delegates() names, and only delegates on the same device.
TEST_F(SharedDelegatesTest, ResolversShareOnOneDevice) {
  const auto shared = std::make_shared<SharedDelegates>();
  PluginDelegates first(registry_), second(registry_), on_device(registry_), unrelated(registry_);
  for (PluginDelegates* const each : {&first, &second, &on_device}) each->share_delegates(shared);
  on_device.set_device("", "toy");
  int expected = 0;
  for (auto& [resolver, is_new] :
       {std::pair{&first, true}, {&second, false}, {&on_device, true}, {&unrelated, true}}) {
    options_.delegates = resolver;
    open(1);
    expected += is_new ? 1 : 0;
    EXPECT_EQ(counts.created, expected);
  }
  for (Module& module : modules_) expect_right(module, 1);
  modules_.clear();  // before their resolvers
}

TEST_F(SharedDelegatesTest, DelegatesOfAnotherProgramAreOthers) {
  open(1);
  auto other = Module::from_bytes(bytes_, options_);
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE(other->load_method("forward"));
  EXPECT_EQ(counts.created, 2);
}

TEST_F(SharedDelegatesTest, OtherDataFilesMakeOtherDelegates) {
  const std::string weights = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/external.ptd";
  ScratchDir folder;
  const std::string path = folder.path("data.ptd");
  std::filesystem::copy_file(weights, path);
  open(1);
  options_.data_files = {path};
  open(2);
  EXPECT_EQ(counts.created, 2) << "the modules with the file share";
  std::filesystem::copy_file(weights, folder.path("new.ptd"));
  std::filesystem::rename(folder.path("new.ptd"), path);
  open(1);
  EXPECT_EQ(counts.created, 3) << "the file was replaced";
  open(1);
  EXPECT_EQ(counts.created, 3);
  modules_.erase(modules_.begin(), modules_.begin() + 4);
  expect_right(modules_[0], 1);
}

TEST_F(SharedDelegatesTest, ADelegateOfALostDeviceIsNotSharedAgain) {
  open(2);
  is_lost = true;
  OwnedTensor input = OwnedTensor::make<float>({4}, {1, 2, 3, 4});
  const auto outputs = modules_[0].forward({input.value()});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, Code::UNAVAILABLE);
  open(1);
  EXPECT_EQ(counts.created, 2);
  open(1);
  EXPECT_EQ(counts.created, 2) << "the new delegate is shared";
  expect_right(modules_[3], 2);
}

}  // namespace
}  // namespace etb::host
