// SPDX-License-Identifier: Apache-2.0
#include "host/testing/layer_fixture.hpp"

#include <cstdio>
#include <cstdlib>

namespace etb::host {
namespace {

// Aligned like a payload.
alignas(16) constexpr char kPayload[16] = "TOY1 of a test.";

etb_tensor float_tensor(std::vector<float>& data, int64_t* sizes, uint32_t role) {
  etb_tensor tensor{};
  tensor.struct_size = sizeof(tensor);
  tensor.dtype = ETB_DTYPE_FLOAT32;
  tensor.rank = 1;
  tensor.role = role;
  tensor.sizes = sizes;
  tensor.data = data.data();
  tensor.capacity_bytes = data.size() * sizeof(float);
  return tensor;
}

}  // namespace

ToyRun::ToyRun(int64_t count)
    : in(static_cast<size_t>(count), 1.0f),
      out(in.size()),
      in_sizes{count},
      out_sizes{count},
      out_upper{count} {
  input = float_tensor(in, in_sizes, ETB_ROLE_INPUT);
  output = float_tensor(out, out_sizes, ETB_ROLE_OUTPUT);
  output.upper_sizes = out_upper;
  args.struct_size = sizeof(args);
  args.inputs = &input;
  args.outputs = &output;
  args.input_count = args.output_count = 1;
  args.priority = 500;
}

void ToyRun::signal_by_call(void(ETB_CALL* signal)(void* handle, etb_status status), void* handle) {
  fence.struct_size = sizeof(fence);
  fence.kind = "callback";
  fence.handle = handle;
  fence.fd = -1;
  fence.signal = signal;
  args.signal = &fence;
  args.signal_count = 1;
}

LayerFixture::LayerFixture(const ValidateOptions& options)
    : validation_(std::make_unique<Validation>(options)) {
  layers_.push_back(validation_->layer());
  payload.struct_size = sizeof(payload);
  payload.data = kPayload;
  payload.nbytes = sizeof(kPayload);
  payload.alignment = 16;
  payload.fd = -1;
  delegate_args.struct_size = sizeof(delegate_args);
  delegate_args.backend_id = kToyBackend;
  delegate_args.method_name = "forward";
  delegate_args.payload = &payload;
}

LayerFixture::LayerFixture(std::vector<Layer> layers) : LayerFixture(ValidateOptions{}) {
  layers_ = std::move(layers);
}

LayerFixture::~LayerFixture() { stop(); }

etb_status LayerFixture::start(std::span<const etb_option> options) {
  Result<Chain> chain = Chain::make(toy.plugin, layers_);
  if (!chain) {
    std::fprintf(stderr, "%s\n", chain.error().message.c_str());
    std::abort();
  }
  chain_.emplace(*std::move(chain));
  for (const Layer& layer : layers_)
    if (layer.service_id != nullptr) services_.table().add(layer.service_id, layer.service);
  record_.emplace(services_.table(), "");
  record_->set_layer_link(chain_->link());
  return table().init(&record_->host(), options.data(), options.size(), &plugin, fresh_error());
}

etb_delegate* LayerFixture::delegate() {
  if (delegate_ == nullptr) create(&delegate_);
  return delegate_;
}

etb_context* LayerFixture::context() {
  if (context_ == nullptr) delegates().context_create(delegate(), nullptr, 0, &context_, fresh_error());
  return context_;
}

void LayerFixture::end_delegate() {
  if (context_ != nullptr) delegates().context_destroy(context_, nullptr);
  if (delegate_ != nullptr) delegates().destroy(delegate_, nullptr);
  context_ = nullptr;
  delegate_ = nullptr;
}

etb_status LayerFixture::stop() {
  end_delegate();
  if (plugin == nullptr) return ETB_OK;
  return table().deinit(std::exchange(plugin, nullptr), fresh_error());
}

const graph::ImageBytes& LayerFixture::image() {
  if (image_) return *image_;
  graph::Builder builder("forward");
  const uint32_t spec = builder.add_spec({ETB_DTYPE_FLOAT32, {3}, {}, {}});
  graph::GraphBuilder& body = builder.add_graph("forward");
  const uint32_t x = body.add_input(graph::tensor("x", spec));
  const auto node = [&](const char* op, const char* name) {
    graph::NodeDesc desc;
    desc.op = op;
    desc.args = {graph::value_arg(x, "self"), graph::value_arg(x, "other")};
    desc.outputs = {graph::tensor(name, spec)};
    return body.add_node(desc);
  };
  node("aten.add.Tensor", "sum");
  body.add_output(node("aten.mul.Tensor", "product"));
  Result<graph::ImageBytes> image = builder.finish();
  if (!image) {
    std::fprintf(stderr, "%s\n", image.error().message.c_str());
    std::abort();
  }
  return image_.emplace(*std::move(image));
}

etb_error* LayerFixture::fresh_error() {
  error = ETB_ERROR_INIT;
  return &error;
}

}  // namespace etb::host
