// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/search.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "conformance/cases/mutable_graph.hpp"
#include "conformance/judge/reference.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;
using Runs = std::vector<std::vector<TensorData>>;

// A case in editable form, with the inputs of its runs.
struct Candidate {
  MutableGraph graph;
  Runs runs;
};

// A dimension of an input.
struct Dim {
  size_t input, dim;
};

bool is_dynamic(const graph::SpecDesc& spec, size_t dim) {
  for (const graph::SpecDesc::DynamicDim& one : spec.dynamic_dims)
    if (one.dim == dim) return true;
  return false;
}

// Returns the leading corner of these sizes. Elements are stored in dim order.
std::vector<uint8_t> crop(const uint8_t* data, etb_dtype dtype, std::vector<uint8_t> order,
                          const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  const size_t rank = to.size(), step = element_nbytes(dtype);
  for (size_t i = order.size(); i < rank; ++i) order.push_back(static_cast<uint8_t>(i));
  std::vector<int64_t> strides(rank, 1), at(rank, 0);
  for (size_t i = rank; i-- > 1;)
    strides[order[i - 1]] = strides[order[i]] * std::max<int64_t>(from[order[i]], 1);
  int64_t count = 1;
  for (const int64_t size : to) count *= size;
  std::vector<uint8_t> out;
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) offset += at[d] * strides[d];
    const uint8_t* const element = data + static_cast<size_t>(offset) * step;
    out.insert(out.end(), element, element + step);
    for (size_t i = rank; i-- > 0;) {
      if (++at[order[i]] < to[order[i]]) break;
      at[order[i]] = 0;
    }
  }
  return out;
}

void crop_tensor(TensorData& data, const std::vector<uint8_t>& order, const std::vector<int64_t>& sizes) {
  const std::vector<uint8_t> bytes = crop(reinterpret_cast<const uint8_t*>(data.bytes.data()),
                                          data.shape.dtype, order, data.shape.sizes, sizes);
  data.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(data.bytes.data(), bytes.data(), bytes.size());
  data.shape.sizes = sizes;
}

// Computes every value of the graph with the portable kernels. Results may be smaller than their specs, never
// larger.
Result<std::vector<TensorData>> values_of(const MutableGraph& graph, const std::vector<TensorData>& inputs) {
  MutableGraph all = graph;
  all.outputs.clear();
  const auto first = static_cast<uint32_t>(all.inputs.size());
  for (uint32_t i = first; i < all.value_count(); ++i) all.outputs.push_back(i);
  ETB_ASSIGN(const graph::ImageBytes image, write_image(all));
  ETB_ASSIGN(host::GraphExecutor executor, host::GraphExecutor::make(image.span(), reference_kernels()));
  for (uint32_t i = 0; i < executor.input_count(); ++i)
    ETB_TRY(executor.set_input(i, inputs[i].shape.sizes, inputs[i].bytes.data(), inputs[i].bytes.size()));
  ETB_TRY(executor.run());
  std::vector<TensorData> out;
  for (uint32_t i = 0; i < executor.output_count(); ++i) {
    const host::Tensor& tensor = executor.output(i);
    TensorData& made = out.emplace_back();
    made.shape = {static_cast<etb_dtype>(tensor.dtype()),
                  {tensor.sizes().begin(), tensor.sizes().end()},
                  all.spec_of(first + i).dim_order};
    const auto* bytes = static_cast<const std::byte*>(tensor.data());
    made.bytes.assign(bytes, bytes + tensor.nbytes());
  }
  return out;
}

// Returns the inputs of the first run; zeros of the upper bounds where sizes are dynamic.
std::vector<TensorData> inputs_at_bounds(const Candidate& candidate) {
  std::vector<TensorData> out = candidate.runs[0];
  size_t number = 0;
  for (const MutableGraph::Input& input : candidate.graph.inputs) {
    if (input.constant) continue;
    TensorData& data = out[number++];
    if (input.spec.dynamic_dims.empty()) continue;
    data.shape.sizes = input.spec.sizes;
    data.bytes.assign(static_cast<size_t>(data.shape.numel()) * element_nbytes(data.shape.dtype),
                      std::byte{});
  }
  return out;
}

// Updates the specs of results by the portable kernels. Returns false if the graph is no longer valid.
bool fit_results(Candidate& candidate) {
  const Result<std::vector<TensorData>> values = values_of(candidate.graph, inputs_at_bounds(candidate));
  if (!values) return false;
  size_t at = 0;
  for (MutableGraph::Node& node : candidate.graph.nodes)
    for (graph::SpecDesc& spec : node.results) spec.sizes = (*values)[at++].shape.sizes;
  return true;
}

class Search {
 public:
  Search(const BuiltCase& built, const FailsAlike& fails_alike) : built_(built), fails_alike_(fails_alike) {}

  std::optional<SmallCase> run() {
    if (built_.runs.empty()) return std::nullopt;
    Result<MutableGraph> graph = read_mutable_graph(built_.image);
    if (!graph) return fewer_runs_only();
    best_ = {std::move(*graph), built_.runs};
    fewer_runs();
    fewer_nodes();
    smaller_sizes();
    smaller_dims();
    smaller_runs();
    lower_bounds();
    row_major();
    plainer_attributes();
    return has_shrunk_ ? to_case(best_) : std::nullopt;
  }

 private:
  std::optional<SmallCase> to_case(const Candidate& candidate) const {
    Result<graph::ImageBytes> image = write_image(candidate.graph);
    if (!image) return std::nullopt;
    SmallCase out;
    out.image = std::move(*image);
    out.runs = candidate.runs;
    return out;
  }

  bool is_meaningful(const SmallCase& small) const {
    const BuiltCase built = with_error_model(small, built_);
    for (size_t run = 0; run < built.runs.size(); ++run)
      if (!make_reference(built, run)) return false;
    return true;
  }

  // If the candidate fails like the original, it becomes the best one.
  bool accept(Candidate candidate) {
    const std::optional<SmallCase> small = to_case(candidate);
    if (!small || !is_meaningful(*small) || !fails_alike_(*small)) return false;
    best_ = std::move(candidate);
    has_shrunk_ = true;
    return true;
  }

  // Drops runs on the context while the case still fails; the order stays.
  void fewer_runs() {
    for (size_t i = 0; i < best_.runs.size() && best_.runs.size() > 1;) {
      Candidate candidate = best_;
      candidate.runs.erase(candidate.runs.begin() + static_cast<long>(i));
      if (!accept(std::move(candidate))) ++i;
    }
  }

  // As fewer_runs(), for a graph without an editable form.
  std::optional<SmallCase> fewer_runs_only() {
    SmallCase whole{built_.image, built_.runs};
    for (size_t i = 0; i < whole.runs.size() && whole.runs.size() > 1;) {
      SmallCase less = whole;
      less.runs.erase(less.runs.begin() + static_cast<long>(i));
      if (fails_alike_(less)) {
        whole = std::move(less);
        has_shrunk_ = true;
      } else {
        ++i;
      }
    }
    if (!has_shrunk_) return std::nullopt;
    return whole;
  }

  // Tries each node alone, on inputs from the portable kernels, then shorter prefixes.
  void fewer_nodes() {
    if (best_.graph.nodes.size() < 2 || best_.runs.size() != 1) return;
    const Candidate whole = best_;
    for (size_t i = 0; i < whole.graph.nodes.size(); ++i)
      if (accept_slice(whole, i, i + 1)) return;
    for (size_t last = 2; last < whole.graph.nodes.size(); ++last)
      if (accept_slice(whole, 0, last)) return;
  }

  bool accept_slice(const Candidate& whole, size_t first, size_t last) {
    const Result<std::vector<TensorData>> values = values_of(whole.graph, whole.runs[0]);
    if (!values) return false;
    std::vector<uint32_t> taken;
    Candidate candidate{slice(whole.graph, first, last, taken), {{}}};
    for (size_t i = 0; i < taken.size(); ++i) {
      if (candidate.graph.inputs[i].constant) continue;
      if (taken[i] >= whole.graph.inputs.size()) {
        candidate.runs[0].push_back((*values)[taken[i] - whole.graph.inputs.size()]);
        continue;
      }
      size_t number = 0;  // index among the run's inputs
      for (uint32_t k = 0; k < taken[i]; ++k) number += whole.graph.inputs[k].constant ? 0 : 1;
      candidate.runs[0].push_back(whole.runs[0][number]);
    }
    return accept(std::move(candidate));
  }

  // Static dimensions of one size shrink together, as if they were one quantity.
  void smaller_sizes() {
    std::set<int64_t, std::greater<>> sizes;
    for (const MutableGraph::Input& input : best_.graph.inputs)
      for (size_t d = 0; d < input.spec.sizes.size(); ++d)
        if (input.spec.sizes[d] > 1 && !is_dynamic(input.spec, d)) sizes.insert(input.spec.sizes[d]);
    for (const int64_t size : sizes)
      shrink_number(size, [&](int64_t from, int64_t to) { return accept_sizes(dims_of(from), to, from); });
  }

  // Then each alone, and each with one other: two sizes may be equal by chance.
  void smaller_dims() {
    std::vector<Dim> dims;
    for (size_t i = 0; i < best_.graph.inputs.size(); ++i)
      for (size_t d = 0; d < best_.graph.inputs[i].spec.sizes.size(); ++d)
        if (!is_dynamic(best_.graph.inputs[i].spec, d)) dims.push_back({i, d});
    const auto size_of = [&](const Dim& at) { return best_.graph.inputs[at.input].spec.sizes[at.dim]; };
    for (size_t a = 0; a < dims.size(); ++a)
      for (size_t b = a; b < dims.size(); ++b)
        if (size_of(dims[a]) > 1 && size_of(dims[a]) == size_of(dims[b]))
          shrink_number(size_of(dims[a]), [&](int64_t from, int64_t to) {
            return accept_sizes({dims[a], dims[b]}, to, from);
          });
  }

  // Shrinks the dynamic dimensions of each run.
  void smaller_runs() {
    for (size_t run = 0; run < best_.runs.size(); ++run)
      for (uint32_t symbol = 0; symbol < best_.graph.symbols.size(); ++symbol)
        shrink_number(size_in_run(best_, run, symbol),
                      [&](int64_t, int64_t to) { return accept_run(run, symbol, to); });
  }

  // Lowers each bound to the size of the largest run.
  void lower_bounds() {
    for (uint32_t symbol = 0; symbol < best_.graph.symbols.size(); ++symbol) {
      int64_t largest = best_.graph.symbols[symbol].min;
      for (size_t run = 0; run < best_.runs.size(); ++run)
        largest = std::max(largest, size_in_run(best_, run, symbol));
      Candidate candidate = best_;
      candidate.graph.symbols[symbol].max = largest;
      candidate.graph.symbols[symbol].hint.reset();
      const auto lower = [&](graph::SpecDesc& spec) {
        for (const graph::SpecDesc::DynamicDim& dim : spec.dynamic_dims)
          if (dim.expr == symbol) spec.sizes[dim.dim] = largest;
      };
      for (MutableGraph::Input& input : candidate.graph.inputs) lower(input.spec);
      if (fit_results(candidate)) accept(std::move(candidate));
    }
  }

  // Reads the same bytes as row-major.
  void row_major() {
    Candidate candidate = best_;
    bool has_order = false;
    const auto plain = [&](std::vector<uint8_t>& order) {
      has_order = has_order || !order.empty();
      order.clear();
    };
    for (MutableGraph::Input& input : candidate.graph.inputs) plain(input.spec.dim_order);
    for (MutableGraph::Node& node : candidate.graph.nodes)
      for (graph::SpecDesc& spec : node.results) plain(spec.dim_order);
    for (std::vector<TensorData>& inputs : candidate.runs)
      for (TensorData& data : inputs) plain(data.shape.dim_order);
    if (has_order && fit_results(candidate)) accept(std::move(candidate));
  }

  // Tries 1, half, and one less, as long as they are accepted.
  static void shrink_number(int64_t number, const std::function<bool(int64_t from, int64_t to)>& try_it) {
    for (bool goes_on = true; goes_on && number > 1;) {
      goes_on = false;
      for (const int64_t next : {int64_t{1}, number / 2, number - 1}) {
        if (next < 1 || next >= number || !try_it(number, next)) continue;
        number = next;
        goes_on = true;
        break;
      }
    }
  }

  static int64_t size_in_run(const Candidate& candidate, size_t run, uint32_t symbol) {
    size_t number = 0;
    for (const MutableGraph::Input& input : candidate.graph.inputs) {
      if (input.constant) continue;
      const TensorData& data = candidate.runs[run][number++];
      for (const graph::SpecDesc::DynamicDim& dim : input.spec.dynamic_dims)
        if (dim.expr == symbol) return data.shape.sizes[dim.dim];
    }
    return 0;
  }

  bool accept_run(size_t run, uint32_t symbol, int64_t to) {
    if (to < best_.graph.symbols[symbol].min) return false;
    Candidate candidate = best_;
    size_t number = 0;
    for (const MutableGraph::Input& input : candidate.graph.inputs) {
      if (input.constant) continue;
      TensorData& data = candidate.runs[run][number++];
      std::vector<int64_t> sizes = data.shape.sizes;
      for (const graph::SpecDesc::DynamicDim& dim : input.spec.dynamic_dims)
        if (dim.expr == symbol) sizes[dim.dim] = to;
      if (sizes != data.shape.sizes) crop_tensor(data, input.spec.dim_order, sizes);
    }
    return accept(std::move(candidate));
  }

  std::vector<Dim> dims_of(int64_t size) const {
    std::vector<Dim> out;
    for (size_t i = 0; i < best_.graph.inputs.size(); ++i)
      for (size_t d = 0; d < best_.graph.inputs[i].spec.sizes.size(); ++d)
        if (best_.graph.inputs[i].spec.sizes[d] == size && !is_dynamic(best_.graph.inputs[i].spec, d))
          out.push_back({i, d});
    return out;
  }

  // Changes these dimensions from size `from` to `to`, and sizes in arguments (of views and windows) with
  // them.
  bool accept_sizes(const std::vector<Dim>& dims, int64_t to, int64_t from) {
    Candidate candidate = best_;
    std::vector<size_t> numbers;  // indices among the runs' inputs
    for (size_t i = 0, number = 0; i < candidate.graph.inputs.size(); ++i)
      numbers.push_back(candidate.graph.inputs[i].constant ? SIZE_MAX : number++);
    for (const Dim& at : dims) {
      MutableGraph::Input& input = candidate.graph.inputs[at.input];
      std::vector<int64_t> sizes = input.spec.sizes;
      sizes[at.dim] = to;
      if (input.constant)
        input.constant = crop(input.constant->data(), static_cast<etb_dtype>(input.spec.dtype),
                              input.spec.dim_order, input.spec.sizes, sizes);
      else
        for (std::vector<TensorData>& inputs : candidate.runs) {
          TensorData& data = inputs[numbers[at.input]];
          std::vector<int64_t> cropped = data.shape.sizes;
          cropped[at.dim] = to;
          crop_tensor(data, input.spec.dim_order, cropped);
        }
      input.spec.sizes = sizes;
    }
    for (MutableGraph::Node& node : candidate.graph.nodes)
      for (ArgumentDesc& arg : node.args)
        if (arg.name == "size") std::replace(arg.ints.begin(), arg.ints.end(), from, to);
    return fit_results(candidate) && accept(std::move(candidate));
  }

  static std::vector<ArgumentDesc> plainer_than(const ArgumentDesc& arg) {
    std::vector<ArgumentDesc> out;
    if (arg.kind == ETB_GRAPH_ARGUMENT_INT)
      for (const int64_t value : {0, 1}) out.push_back(graph::int_arg(value, arg.name));
    if (arg.kind == ETB_GRAPH_ARGUMENT_FLOAT) out.push_back(graph::float_arg(1, arg.name));
    if (arg.kind == ETB_GRAPH_ARGUMENT_BOOL && arg.as_int != 0)
      out.push_back(graph::bool_arg(false, arg.name));
    if (arg.kind == ETB_GRAPH_ARGUMENT_INTS)
      for (const int64_t value : {0, 1})
        out.push_back(graph::ints_arg(std::vector<int64_t>(arg.ints.size(), value), arg.name));
    return out;
  }

  // Changes each number to 0 or 1.
  void plainer_attributes() {
    for (size_t n = 0; n < best_.graph.nodes.size(); ++n)
      for (size_t a = 0; a < best_.graph.nodes[n].args.size(); ++a) {
        const ArgumentDesc arg = best_.graph.nodes[n].args[a];
        for (const ArgumentDesc& next : plainer_than(arg)) {
          if (next.as_int == arg.as_int && next.as_float == arg.as_float && next.ints == arg.ints) break;
          Candidate candidate = best_;
          candidate.graph.nodes[n].args[a] = next;
          if (fit_results(candidate) && accept(std::move(candidate))) break;
        }
      }
  }

  const BuiltCase& built_;
  const FailsAlike& fails_alike_;
  Candidate best_;
  bool has_shrunk_ = false;
};

}  // namespace

std::optional<SmallCase> search_smaller(const BuiltCase& built, const FailsAlike& fails_alike) {
  return Search(built, fails_alike).run();
}

}  // namespace etb::conformance
