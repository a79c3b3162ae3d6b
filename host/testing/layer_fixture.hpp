// SPDX-License-Identifier: Apache-2.0
// A toy plugin with layers before it, and all that a host needs to use it: for tests and benchmarks.
//
//   LayerFixture fixture({.memory = GUARD_PAGES});
//   fixture.toy.delegate.execute = [](...) { ... };   // a wrong plugin
//   fixture.start();
//   fixture.execute();                                // or a wrong host: fixture.delegates().query(nullptr, ...)
//   EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-TENSOR-02", Side::PLUGIN, "after its end")));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "host/layers/chain.hpp"
#include "host/layers/start_plugin.hpp"
#include "host/layers/validate/validation.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {

// Tensors and arguments of one run of the toy: `count` floats as input and as output.
struct ToyRun {
  explicit ToyRun(int64_t count = 3);
  ToyRun(const ToyRun&) = delete;
  ToyRun& operator=(const ToyRun&) = delete;

  // Makes the end of an asynchronous run call `signal` with `handle`; before, the run has no fence.
  void signal_by_call(void(ETB_CALL* signal)(void* handle, etb_status status), void* handle = nullptr);
  void signal_nothing() { args.signal = nullptr, args.signal_count = 0; }

  std::vector<float> in;
  std::vector<float> out;
  int64_t in_sizes[1];
  int64_t out_sizes[1];
  int64_t out_upper[1];
  etb_tensor input{};
  etb_tensor output{};
  etb_exec_args args{};
  etb_fence fence{};
};

class LayerFixture {
 public:
  explicit LayerFixture(const ValidateOptions& options = {});
  explicit LayerFixture(std::vector<Layer> layers);
  LayerFixture(const LayerFixture&) = delete;
  LayerFixture& operator=(const LayerFixture&) = delete;
  ~LayerFixture();

  ToyPlugin toy;
  etb_payload_view payload{};
  etb_delegate_args delegate_args{};
  etb_error error = ETB_ERROR_INIT;
  ToyRun run;

  // Initialises the plugin. `error` has the result.
  etb_status start(std::span<const etb_option> options = {});

  // Tables of the outermost layer.
  const etb_plugin_table& table() const { return chain_->table(); }
  const etb_delegate_table& delegates() const { return *table().delegate; }
  const etb_host& host() const { return record_->host(); }
  etb_plugin* plugin = nullptr;

  etb_status create(etb_delegate** out) {
    return delegates().create(plugin, &delegate_args, out, fresh_error());
  }

  // A delegate and its context, created at the first use and destroyed with the fixture.
  etb_delegate* delegate();
  etb_context* context();
  etb_status execute() { return delegates().execute(context(), &run.args, fresh_error()); }

  // Destroys the objects of `delegate` and `context`.
  void end_delegate();

  // Destroys them and the plugin.
  etb_status stop();

  // The graph image of a method with an add and a mul node.
  const graph::ImageBytes& image();

  etb_error* fresh_error();
  std::vector<Violation> found() { return validation_->take(); }
  Validation& validation() { return *validation_; }
  PluginServices& services() { return services_; }

 private:
  std::unique_ptr<Validation> validation_;
  std::vector<Layer> layers_;
  PluginServices services_{SharedServices{}};
  std::optional<Chain> chain_;
  std::optional<HostRecord> record_;
  etb_delegate* delegate_ = nullptr;
  etb_context* context_ = nullptr;
  std::optional<graph::ImageBytes> image_;
};

}  // namespace etb::host
