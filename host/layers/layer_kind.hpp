// SPDX-License-Identifier: Apache-2.0
// Layers by text, "validate:strict" or "fault=delay,ms=5": what the command line and applications name.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/layers/layer.hpp"
#include "host/plugin/plugin_context.hpp"

namespace etb::host {

// Functions of the application that names a layer.
struct LayerHost {
  // Receives a line for people, on any thread, one at a time. Never empty.
  std::function<void(const std::string& line)> print;
  // Opens another plugin by name, without layers: for `compare`. Not set: the application offers none.
  std::function<Result<std::shared_ptr<const PluginContext>>(const std::string& name)> open_plugin;
  std::string command;  // what the user ran, for recordings
};

// A layer in use. It outlives every plugin that it wraps.
class ActiveLayer {
 public:
  virtual ~ActiveLayer() = default;
  virtual Layer layer() const noexcept = 0;

  // Called after the plugins are closed: prints what is left to say. False if the layer found something wrong.
  virtual bool finish() { return true; }
};

// One kind of layer: a row of the application's table.
struct LayerKind {
  const char* name;
  const char* syntax;   // "validate[:strict][:guard-pages]"
  const char* purpose;  // "checks every call against the rules of the ABI"
  // `settings` follows the name: "", ":strict", "=FILE".
  Result<std::unique_ptr<ActiveLayer>> (*make)(const std::string& settings, const LayerHost& host);
};

// The layers that texts name, outermost first.
class LayerSet {
 public:
  // Returns INVALID_ARGUMENT for a kind that is not in `kinds`, with those that are, and for a kind named twice.
  [[nodiscard]] static Result<LayerSet> make(std::span<const std::string> texts,
                                             std::span<const LayerKind> kinds, const LayerHost& host);

  const std::vector<Layer>& layers() const noexcept { return layers_; }
  bool finish();

 private:
  std::vector<std::unique_ptr<ActiveLayer>> active_;
  std::vector<Layer> layers_;
};

}  // namespace etb::host
