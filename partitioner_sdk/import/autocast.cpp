// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/autocast.hpp"

#include <algorithm>

#include "api/ops/argument_reader.hpp"
#include "ops/to.hpp"

namespace etb::pt2 {

namespace {

using To = ops::to_dtype<ops::NoReader>::Index;

bool is_in(std::span<const std::string_view> names, std::string_view op) {
  // All overloads count: a list with "aten.conv2d" includes "aten.conv2d.padding".
  const std::string_view name = op.substr(0, op.rfind('.'));
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::string_view kLowerPrecision[] = {
    "aten.conv1d",
    "aten.conv2d",
    "aten.conv3d",
    "aten.conv_transpose1d",
    "aten.conv_transpose2d",
    "aten.conv_transpose3d",
    "aten.conv_tbc",
    "aten._convolution",
    "aten.mm",
    "aten.bmm",
    "aten.addmm",
    "aten.addbmm",
    "aten.baddbmm",
    "aten.matmul",
    "aten.linear",
    "aten.linalg_vecdot",
    "aten.prelu",
    "aten.scaled_dot_product_attention",
};
constexpr std::string_view kFloat32[] = {
    "aten.avg_pool3d",
    "aten.binary_cross_entropy",
    "aten.grid_sampler",
    "aten.grid_sampler_2d",
    "aten.grid_sampler_3d",
    "aten.polar",
    "aten.prod",
    "aten.quantile",
    "aten.nanquantile",
    "aten.stft",
    "aten.cdist",
    "aten.trace",
    "aten.view_as_complex",
    "aten.cholesky",
    "aten.cholesky_inverse",
    "aten.cholesky_solve",
    "aten.inverse",
    "aten.lu_solve",
    "aten.orgqr",
    "aten.ormqr",
    "aten.pinverse",
    "aten.max_pool3d",
    "aten.max_unpool2d",
    "aten.max_unpool3d",
    "aten.adaptive_avg_pool3d",
    "aten.reflection_pad1d",
    "aten.reflection_pad2d",
    "aten.replication_pad1d",
    "aten.replication_pad2d",
    "aten.replication_pad3d",
    "aten.mse_loss",
    "aten.cosine_embedding_loss",
    "aten.nll_loss",
    "aten.nll_loss2d",
    "aten.hinge_embedding_loss",
    "aten.poisson_nll_loss",
    "aten.smooth_l1_loss",
    "aten.cross_entropy_loss",
    "aten.l1_loss",
    "aten.huber_loss",
    "aten.margin_ranking_loss",
    "aten.soft_margin_loss",
    "aten.triplet_margin_loss",
    "aten.multi_margin_loss",
    "aten.ctc_loss",
    "aten.kl_div",
    "aten.multilabel_margin_loss",
    "aten.binary_cross_entropy_with_logits",
};

// True for a float tensor of another dtype. Doubles stay doubles.
bool is_cast(const ir::Value& value, ir::Dtype dtype) {
  if (value.kind != ir::ValueKind::kTensor || value.spec.dtype == dtype) return false;
  return value.spec.dtype == ir::Dtype::FLOAT32 || value.spec.dtype == ir::Dtype::FLOAT16 ||
         value.spec.dtype == ir::Dtype::BFLOAT16;
}

}  // namespace

bool apply_autocast(ir::Module& module, uint32_t graph, ir::Node& node, ir::Dtype dtype) {
  const std::string_view name = module.op(node).name;
  ir::Graph& to = module.graphs[graph];
  if (is_in(kFloat32, name)) {
    bool is_float32 = true;
    for (const ir::Argument& argument : node.args)
      ir::for_each_value(argument, [&](ir::ValueId id) {
        is_float32 = is_float32 && !is_cast(to.values[id], ir::Dtype::FLOAT32);
      });
    return is_float32;
  }
  if (!is_in(kLowerPrecision, name)) return true;
  const ir::OpId cast = module.op("aten.to.dtype");
  for (ir::Argument& argument : node.args) {
    ir::for_each_value(argument, [&](ir::ValueId& id) {
      if (!is_cast(to.values[id], dtype)) return;
      ir::Value value = to.values[id];
      value.name.clear();
      value.spec.dtype = dtype;
      ir::Node made;
      made.op = cast;
      made.args = module.op(cast).defaults;
      made.args[To::self] = ir::ValueRef{id};
      made.args[To::dtype] = dtype;
      made.source = node.source;
      made.debug_handle = node.debug_handle;
      id = to.add_value(std::move(value));
      made.outputs = {id};
      to.nodes.push_back(std::move(made));
    });
  }
  return true;
}

}  // namespace etb::pt2
