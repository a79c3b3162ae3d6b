// SPDX-License-Identifier: Apache-2.0
// Mutable buffers that stay in device memory between runs.
#include "host/delegates/device_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/kept_state.hpp"
#include "host/module/kept_values.hpp"
#include "host/module/loaded_method.hpp"
#include "host/module/module.hpp"
#include "host/services/accounted_allocator.hpp"
#include "host/testing/buffer_toy.hpp"
#include "host/testing/heap_calls.hpp"
#include "host/testing/linked_only.hpp"
#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

using testing::Each;
using testing::ElementsAre;

etb_status copy_floats(KernelContext&, EValue** args) {
  std::memmove(args[0]->tensor().data(), args[1]->tensor().data(), args[1]->tensor().nbytes());
  return ETB_OK;
}
constexpr Kernel kCopyRows[] = {Kernel("aten::copy_", "T!Tb", &copy_floats)};
const KernelRows kCopyTable(kCopyRows);

// A chain with a buffer of the initial value {10, 20, 30, 40}.
struct StateChain : Chain {
  StateChain() {
    const float initial[4] = {10, 20, 30, 40};
    program.segments.emplace_back(reinterpret_cast<const char*>(initial), sizeof(initial));
    program.mutable_segment = 1;
    program.mutable_offsets = {0, 0};
    method().operators.push_back({"aten::copy_", ""});
    buffer = add_vector(48);
    std::get<format::TensorSpec>(method().values.back()).data_index = 1;
    next = add_vector(64);
    w = add_vector(80);
    out = add_vector(96);
    no = static_cast<int32_t>(method().values.size());
    method().values.emplace_back(false);
    method().outputs = {out};
  }
  void copy(int32_t to, int32_t from) { method().instructions.push_back({1, 1, 0, {to, from, no, to}}); }

  int32_t buffer, next, w, out, no;
};

// Each run adds one to the buffer. out = x + buffer + 1, of the new buffer: delegate 1 reads what delegate 0 wrote.
StateChain counter() {
  StateChain made;
  made.call(0, made.buffer, made.next);
  made.call(1, made.next, made.w);
  made.sum(0, made.w, made.out);
  made.copy(made.buffer, made.next);
  return made;
}

// The same, but delegate 1 reads the buffer after the copy.
StateChain early_counter() {
  StateChain made;
  made.call(0, made.buffer, made.next);
  made.copy(made.buffer, made.next);
  made.call(1, made.buffer, made.w);
  made.sum(0, made.w, made.out);
  return made;
}

// A loaded method whose values and state may be on the device.
class Loaded {
 public:
  Loaded(const Chain& chain, PluginDelegates& delegates) : fixture_(chain.program), delegates_(delegates) {
    EXPECT_EQ(fixture_.registry.add(kCopyTable), ETB_OK);
    fixture_.options.delegates = &delegates;
    EXPECT_EQ(fixture_.load(), ETB_OK) << fixture_.error.text;
    KeptValues::keep(fixture_.method);
    kept_ = KeptState::keep(fixture_.method);
  }
  uint32_t kept() const { return kept_.count(); }
  Method& method() { return fixture_.method; }
  const char* error() const { return fixture_.error.text; }

  etb_status run(float first = 1) {
    FloatVector x({first, 2, 3, 4});
    EXPECT_EQ(method().set_input(0, x.value(), &fixture_.error), ETB_OK) << error();
    fixture_.error = ETB_ERROR_INIT;
    host_before_ = delegates_.transfers().host_arguments;
    device_before_ = delegates_.transfers().device_arguments;
    return method().execute(&fixture_.error);
  }
  uint64_t by_host() const { return delegates_.transfers().host_arguments - host_before_; }
  uint64_t by_device() const { return delegates_.transfers().device_arguments - device_before_; }
  std::vector<float> output() { return floats(method().output(0)); }
  // The four floats at an offset in the planned arena.
  std::vector<float> arena_at(uint64_t offset) const {
    std::vector<float> out(4);
    std::memcpy(out.data(), fixture_.arenas[0].data() + offset, 16);
    return out;
  }

 private:
  KeptState kept_;  // outlives the method
  AddFixture fixture_;
  PluginDelegates& delegates_;
  uint64_t host_before_ = 0, device_before_ = 0;
};

class KeptStateTest : public testing::Test {
 protected:
  void SetUp() override {
    device_count = io_kinds = 1;
    refused_kinds = syncs = failing_run = 0;
    can_sync = true;
  }
  void TearDown() override { EXPECT_EQ(alive, 0) << "buffers outlive the method"; }

  std::unique_ptr<Loaded> load(const Chain& chain) { return std::make_unique<Loaded>(chain, delegates_); }
  std::unique_ptr<Loaded> load_on_host(const Chain& chain) {
    io_kinds = 0;
    auto made = load(chain);
    EXPECT_EQ(made->kept(), 0u);
    io_kinds = 1;
    return made;
  }

  Registry registry_{linked_only(kPlugins)};
  PluginDelegates delegates_{registry_};
};

TEST_F(KeptStateTest, ABufferOfOneRegionIsCopiedInTheFirstRunOnly) {
  const auto loaded = load(counter());
  ASSERT_EQ(loaded->kept(), 1u);
  EXPECT_EQ(alive, 2);
  for (int n = 0; n < 20; ++n) {
    ASSERT_EQ(loaded->run(), ETB_OK) << loaded->error();
    const auto added = static_cast<float>(n);
    EXPECT_THAT(loaded->output(), ElementsAre(13 + added, 24 + added, 35 + added, 46 + added));
    EXPECT_EQ(loaded->by_host(), n == 0 ? 2u : 1u) << "w, and the initial value";
    EXPECT_EQ(loaded->by_device(), n == 0 ? 2u : 3u);
    EXPECT_THAT(loaded->arena_at(48), ElementsAre(10, 20, 30, 40)) << "the host's memory of the buffer";
    EXPECT_THAT(loaded->arena_at(64), Each(0.0f)) << "the host's memory of the result";
  }
  EXPECT_EQ(syncs, 0);
}

// Runs at random positions fail. A run that fails after the copy keeps the new state, one that fails before keeps the old.
TEST_F(KeptStateTest, FailedRunsLeaveTheStateThatMemoryOfTheHostWouldHave) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const StateChain& chain : {counter(), early_counter()}) {
    const auto kept = load(chain), copied = load_on_host(chain);
    ASSERT_EQ(kept->kept(), 1u);
    int failed = 0;
    for (int n = 0; n < 200; ++n) {
      const int failing = std::max(0, static_cast<int>(random() % 5) - 2);  // number of a delegate; 0: none
      failing_run = failing;
      const etb_status status = kept->run();
      failing_run = failing;
      ASSERT_EQ(status, copied->run());
      ASSERT_EQ(status, failing == 0 ? ETB_OK : ETB_UNAVAILABLE);
      failed += status != ETB_OK;
      if (status != ETB_OK) continue;
      ASSERT_EQ(kept->output(), copied->output()) << "run " << n;
    }
    EXPECT_GT(failed, 0);
    EXPECT_LT(failed, 200);
  }
}

TEST_F(KeptStateTest, MethodsOfOneProgramHaveStateOfTheirOwn) {
  const auto one = load(counter()), other = load(counter());
  EXPECT_EQ(alive, 4);
  for (int n = 0; n < 5; ++n) ASSERT_EQ(one->run(), ETB_OK);
  ASSERT_EQ(other->run(), ETB_OK);
  EXPECT_EQ(one->output()[0], 17);
  EXPECT_EQ(other->output()[0], 13);
}

// Another method or the application may use memory of the host.
TEST_F(KeptStateTest, AModuleKeepsOnlyStateOfItsOwnArenas) {
  format::ProgramSpec one = counter().program, two = one;
  two.methods.push_back(two.methods[0]);
  two.methods[1].name = "other";
  const AccountedAllocator allocator;
  struct Case {
    const format::ProgramSpec& program;
    bool shares_arenas;
    std::vector<const etb_alloc_service*> allocators;
    uint32_t kept;
  };
  for (const Case& each : {Case{one, false, {}, 1}, Case{one, true, {nullptr}, 1}, Case{two, false, {}, 1},
                           Case{two, true, {}, 0}, Case{one, false, {allocator.service()}, 0}}) {
    SCOPED_TRACE(std::to_string(each.program.methods.size()) + " methods, shared " +
                 std::to_string(each.shares_arenas));
    const auto file = format::build_program(each.program);
    ModuleOptions options;
    options.delegates = &delegates_;
    options.shares_arenas = each.shares_arenas;
    options.arena_allocators = each.allocators;
    auto module = Module::from_bytes(file, options);
    ASSERT_TRUE(module) << module.error().message;
    const auto loaded = module->loaded("forward");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ((*loaded)->kept_count(), each.kept);
    for (int n = 0; n < 3; ++n) {
      FloatVector x({1, 2, 3, 4});
      const auto outputs = module->forward({x.value()});
      ASSERT_TRUE(outputs) << outputs.error().message;
      EXPECT_EQ(floats((*outputs)[0])[0], 13 + static_cast<float>(n));
    }
  }
}

// A module whose two methods, "forward" and "other", each add one to a buffer that they share.
class TwoMethods {
 public:
  explicit TwoMethods(PluginDelegates& delegates, bool is_async = false) : delegates_(delegates) {
    format::ProgramSpec program = counter().program;
    program.methods.push_back(early_counter().method());
    program.methods[1].name = "other";
    file_ = format::build_program(program);
    ModuleOptions options;
    options.delegates = &delegates;
    options.shares_arenas = true;
    options.async = is_async;
    auto opened = Module::from_bytes(file_, options);
    EXPECT_TRUE(opened) << opened.error().message;
    module_.emplace(*std::move(opened));
  }
  Module& module() { return *module_; }
  uint32_t kept(const char* method) { return (*module_->loaded(method))->kept_count(); }
  void load() {
    for (const char* method : {"forward", "other"}) EXPECT_TRUE(module_->load_method(method)) << method;
  }
  // The first element of the output, which is one larger after each run; -1: the run failed.
  float run(const char* method) {
    FloatVector x({1, 2, 3, 4});
    const EValue inputs[] = {x.value()};
    host_before_ = delegates_.transfers().host_arguments;
    const auto outputs = module_->execute(method, inputs);
    by_host_ = delegates_.transfers().host_arguments - host_before_;
    return outputs ? floats((*outputs)[0])[0] : -1;
  }
  uint64_t by_host() const { return by_host_; }

 private:
  PluginDelegates& delegates_;
  std::vector<std::byte> file_;
  std::optional<Module> module_;
  uint64_t host_before_ = 0, by_host_ = 0;
};

TEST_F(KeptStateTest, MethodsOnSharedArenasExchangeOnePairOfBuffers) {
  for (const bool is_async : {false, true}) {
    TwoMethods made(delegates_, is_async);
    made.load();
    EXPECT_EQ(made.kept("forward"), 1u);
    EXPECT_EQ(made.kept("other"), 1u);
    EXPECT_EQ(alive, 2) << "one pair";
    float expected = 13;
    for (const char* method : {"forward", "other", "other", "forward", "other", "forward", "forward"}) {
      EXPECT_EQ(made.run(method), expected) << method;
      EXPECT_EQ(made.by_host(), expected == 13 ? 2u : 1u) << "w, and the initial value";
      ++expected;
    }
  }
}

// The program counts from the initial value again when a method is loaded: the load writes that value.
TEST_F(KeptStateTest, StateOfSeveralMethodsIsOnTheHostUntilAllAreLoaded) {
  TwoMethods made(delegates_);
  EXPECT_EQ(made.run("forward"), 13);
  EXPECT_EQ(made.run("forward"), 14);
  EXPECT_EQ(made.kept("forward"), 0u);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(made.run("other"), 13);
  EXPECT_EQ(alive, 2);
  EXPECT_EQ(made.run("forward"), 14);
  EXPECT_EQ(made.by_host(), 1u);
  made.module().unload_method("other");
  EXPECT_EQ(made.run("forward"), 15) << "the other method keeps the state";
  EXPECT_EQ(made.run("other"), 13);
  EXPECT_EQ(made.run("forward"), 14);
  made.module().unload_method("other");
  made.module().unload_method("forward");
  EXPECT_EQ(alive, 0);
}

// Random loads, ends and runs, some of which fail: the results are those of memory of the host.
TEST_F(KeptStateTest, StateOfSeveralMethodsIsThatOfMemoryOfTheHost) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  TwoMethods kept(delegates_);
  io_kinds = 0;  // delegates of the second module accept memory of the host only
  TwoMethods copied(delegates_);
  int kept_runs = 0;
  for (int n = 0; n < 400; ++n) {
    const char* const method = random() % 2 == 0 ? "forward" : "other";
    const bool is_end = random() % 16 == 0;
    const int failing = random() % 8 == 0 ? 1 : 0;
    float results[2] = {0, 0};
    for (TwoMethods* const each : {&kept, &copied}) {
      io_kinds = each == &kept ? 1 : 0;
      if (is_end) {
        each->module().unload_method(method);
        continue;
      }
      ASSERT_TRUE(each->module().load_method(method));
      failing_run = failing;
      results[each == &kept ? 0 : 1] = each->run(method);
      failing_run = 0;
    }
    ASSERT_EQ(results[0], results[1]) << "step " << n;
    kept_runs += kept.module().is_method_loaded(method) && kept.kept(method) != 0 ? 1 : 0;
  }
  EXPECT_GT(kept_runs, 20);
  EXPECT_EQ(copied.kept("forward"), 0u);
}

TEST_F(KeptStateTest, AMethodWithoutTheDeviceTakesTheStateOfAllToTheHost) {
  TwoMethods made(delegates_);
  made.load();
  EXPECT_EQ(made.run("forward"), 13);
  made.module().unload_method("other");
  io_kinds = 0;
  EXPECT_EQ(made.run("other"), 13);
  io_kinds = 1;
  EXPECT_EQ(made.run("forward"), 14);
  EXPECT_EQ(made.run("other"), 15);
  EXPECT_EQ(made.run("forward"), 16);
  EXPECT_EQ(alive, 0);
}

#if ETB_COUNTS_HEAP
TEST_F(KeptStateTest, ARunDoesNotUseTheHeap) {
  const auto loaded = load(counter());
  ASSERT_EQ(loaded->run(), ETB_OK);
  const int before = heap_calls;
  for (int i = 0; i < 20; ++i) ASSERT_EQ(loaded->method().execute(nullptr), ETB_OK);
  EXPECT_EQ(heap_calls, before);
}
#endif

// The next run reads the state of the device and writes that of the host. It may fail and run again.
TEST_F(KeptStateTest, StateGoesToMemoryOfTheHostWithTheNextRun) {
  for (const StateChain& chain : {counter(), early_counter()}) {
    for (const int runs : {0, 1, 2}) {
      const auto loaded = load(chain);
      for (int n = 0; n < runs; ++n) ASSERT_EQ(loaded->run(), ETB_OK);
      KeptValues::let_go(loaded->method());
      EXPECT_EQ(alive, runs == 0 ? 0 : 1);
      for (int n = runs; n < 6; ++n) {
        failing_run = n == runs ? 1 : 0;
        if (failing_run != 0) {
          ASSERT_EQ(loaded->run(), ETB_UNAVAILABLE);
        }
        ASSERT_EQ(loaded->run(), ETB_OK) << loaded->error();
        const auto added = static_cast<float>(n);
        EXPECT_THAT(loaded->output(), ElementsAre(13 + added, 24 + added, 35 + added, 46 + added));
        EXPECT_THAT(loaded->arena_at(48), ElementsAre(11 + added, 21 + added, 31 + added, 41 + added));
        EXPECT_EQ(alive, 0);
      }
    }
  }
}

// A program in which something else uses the buffer.
struct Other {
  const char* use;
  std::function<StateChain()> make;
};

TEST_F(KeptStateTest, ABufferThatOthersUseStaysInMemoryOfTheHost) {
  const auto changed = [](const std::function<void(StateChain&)>& change) {
    return [change] {
      StateChain made = counter();
      change(made);
      return made;
    };
  };
  const auto spec = [](StateChain& c, int32_t value) -> format::TensorSpec& {
    return std::get<format::TensorSpec>(c.method().values[static_cast<size_t>(value)]);
  };
  const Other others[] = {
      {"output of the method", changed([](auto& c) {
         c.method().outputs = {c.out, c.buffer};
       })},
      {"result as output", changed([](auto& c) {
         c.method().outputs = {c.out, c.next};
       })},
      {"input of the method", changed([](auto& c) {
         c.method().inputs = {0, c.buffer};
       })},
      {"kernel that reads the buffer", changed([](auto& c) { c.sum(c.buffer, c.w, c.out); })},
      {"kernel that reads the result", changed([](auto& c) { c.sum(c.next, c.w, c.out); })},
      {"kernel that writes the buffer", changed([](auto& c) { c.sum(0, c.w, c.buffer); })},
      {"two copies into it", changed([](auto& c) { c.copy(c.buffer, c.next); })},
      {"result of two buffers", changed([](auto& c) { c.copy(1, c.next); })},
      {"another name of its memory", changed([](auto& c) {
         const int32_t alias = c.add_vector(48);
         c.sum(0, alias, c.out);
       })},
      {"part of its memory", changed([](auto& c) {
         const int32_t alias = c.add_vector(56);
         c.sum(0, 0, alias);
       })},
      {"another name of the result", changed([](auto& c) {
         const int32_t alias = c.add_vector(64);
         c.sum(0, alias, c.out);
       })},
      {"delegate that is called twice", changed([](auto& c) { c.call(0, c.w, 1); })},
      {"reader that is called twice", changed([](auto& c) { c.call(1, c.next, c.w); })},
      {"reader of another device", changed([](auto& c) { c.call(3, c.next, c.w); })},
      {"delegate that writes it", changed([](auto& c) { c.call(2, c.w, c.buffer); })},
      {"result of a dynamic size", changed([&](auto& c) { spec(c, c.next).dynamism = 1; })},
      {"result of another type", changed([&](auto& c) { spec(c, c.next).dtype = 3; })},
      {"returned buffer that is used", changed([](auto& c) {
         const int32_t alias = c.add_vector(48);
         c.method().instructions.back().args.back() = alias;
         c.sum(0, alias, c.out);
       })},
      {"copy before the call",
       [] {
         StateChain made;
         made.copy(made.buffer, made.next);
         made.call(0, made.buffer, made.next);
         return made;
       }},
      {"no reader",
       [] {
         StateChain made;
         made.call(0, 0, made.next);
         made.copy(made.buffer, made.next);
         return made;
       }},
  };
  for (const Other& other : others) EXPECT_EQ(load(other.make())->kept(), 0u) << other.use;
  const auto alias = changed([](auto& c) { c.method().instructions.back().args.back() = c.add_vector(48); });
  EXPECT_EQ(load(alias())->kept(), 1u)
      << "the copy returns the buffer under another name, which nothing uses";
}

TEST_F(KeptStateTest, WithoutMemoryOfTheDeviceABufferIsCopied) {
  refused_kinds = 1;
  const auto refused = load(counter());
  EXPECT_EQ(refused->kept(), 0u);
  for (int n = 0; n < 3; ++n) ASSERT_EQ(refused->run(), ETB_OK) << refused->error();
  EXPECT_THAT(refused->arena_at(48), ElementsAre(13, 23, 33, 43));
  refused_kinds = 0;
  device_count = 2;  // then the host does not know which one the plugin chose
  EXPECT_EQ(load(counter())->kept(), 0u);
}

}  // namespace
}  // namespace etb::host
