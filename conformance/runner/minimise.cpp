#include "conformance/runner/minimise.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "conformance/cases/graph_draft.hpp"
#include "conformance/judge/reference.hpp"
#include "conformance/runner/child.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxReplays = 48;
// Each try that hangs takes its whole time, so there are fewer of them, and they get less.
constexpr size_t kMaxHangs = 8;
constexpr uint32_t kHangMs = 1500;

using graph::ArgumentDraft;

// A case as a draft with the inputs of its one run: what is changed.
struct Candidate {
  GraphDraft draft;
  std::vector<TensorData> inputs;
};

// The leading corner of these sizes; elements lie in dim order.
std::vector<uint8_t> crop(const uint8_t* data, const graph::SpecDraft& from, const std::vector<int64_t>& to) {
  const size_t rank = to.size(), step = element_nbytes(static_cast<etb_dtype>(from.dtype));
  std::vector<uint8_t> order = from.dim_order;
  for (size_t i = order.size(); i < rank; ++i) order.push_back(static_cast<uint8_t>(i));
  std::vector<int64_t> strides(rank, 1), at(rank, 0);
  for (size_t i = rank; i-- > 1;)
    strides[order[i - 1]] = strides[order[i]] * std::max<int64_t>(from.sizes[order[i]], 1);
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

// What every value of the graph is, by the portable kernels. Results may come out smaller than their specs, never larger.
Result<std::vector<TensorData>> values_of(const Candidate& candidate) {
  GraphDraft all = candidate.draft;
  all.outputs.clear();
  const auto first = static_cast<uint32_t>(all.inputs.size());
  for (uint32_t i = first; i < all.value_count(); ++i) all.outputs.push_back(i);
  ETB_ASSIGN(const graph::ImageBytes image, write_draft(all));
  ETB_ASSIGN(host::GraphExecutor executor, host::GraphExecutor::make(image.span(), reference_kernels()));
  for (uint32_t i = 0; i < executor.input_count(); ++i) {
    const TensorData& input = candidate.inputs[i];
    ETB_TRY(executor.set_input(i, input.shape.sizes, input.bytes.data(), input.bytes.size()));
  }
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

// Specs of results as the portable kernels make them; false when the graph no longer means anything.
bool fit_results(Candidate& candidate) {
  const Result<std::vector<TensorData>> values = values_of(candidate);
  if (!values) return false;
  size_t at = 0;
  for (GraphDraft::Node& node : candidate.draft.nodes)
    for (graph::SpecDraft& spec : node.results) spec.sizes = (*values)[at++].shape.sizes;
  return true;
}

class Search {
 public:
  Search(const Plan& plan, uint32_t item, const Outcome& failure, const std::atomic<bool>& stop)
      : failure_(failure), stop_(stop), plan_(plan) {
    original_ = plan.items[item].item;
    name_ = plan.items[item].name;
    plan_.items = {plan.items[item]};
    plan_.confirms = false;
    if (failure.state == State::kHang) plan_.case_timeout_ms = std::min(plan.case_timeout_ms, kHangMs);
  }

  Minimised run() {
    Minimised out;
    const Result<BuiltCase> built = original_->build(name_);
    if (built && built->runs.size() > 1) {
      built_ = *built;
      if (std::optional<SmallCase> found = fewer_runs({built->image, built->runs}))
        out.found = std::move(*found);
    } else if (built) {
      built_ = *built;
      if (Result<GraphDraft> draft = read_draft(built->image)) {
        best_ = {std::move(*draft), built->runs[0]};
        fewer_nodes();
        smaller_sizes();
        plainer_attributes();
        if (has_shrunk_) out.found = to_case(best_);
      }
    }
    out.replay_count = replay_count_;
    return out;
  }

 private:
  std::optional<SmallCase> to_case(const Candidate& candidate) const {
    Result<graph::ImageBytes> image = write_draft(candidate.draft);
    if (!image) return std::nullopt;
    SmallCase out;
    out.image = std::move(*image);
    out.runs = {candidate.inputs};
    return out;
  }

  // Whether the candidate fails as the original does. It becomes the best one then.
  bool accept(Candidate candidate) {
    const std::optional<SmallCase> small = to_case(candidate);
    if (!small || !fails_alike(*small)) return false;
    best_ = std::move(candidate);
    has_shrunk_ = true;
    return true;
  }

  bool fails_alike(const SmallCase& small) {
    if (replay_count_ >= kMaxReplays || hang_count_ >= kMaxHangs || stop_.load()) return false;
    const BuiltCase built = with_judgement(small, built_);
    for (size_t run = 0; run < built.runs.size(); ++run)
      if (!make_reference(built, run)) return false;
    ++replay_count_;
    const Case item{name_, original_->op, original_->dtype,
                    [&](std::string_view) -> Result<BuiltCase> { return built; }};
    plan_.items[0] = {name_, &item, nullptr};
    Result<std::unique_ptr<Child>> child = Child::start(plan_, {0});
    if (!child) return false;
    std::optional<Outcome> seen;
    while ((*child)->step([&](const Outcome& outcome) { seen = outcome; })) {
      pollfd waiting{(*child)->fd(), POLLIN, 0};
      ::poll(&waiting, 1, 5);
    }
    const bool has_died = !seen && (*child)->died_in_item();
    const bool was_hanging = has_died && (*child)->was_hanging();
    hang_count_ += was_hanging ? 1 : 0;
    if (failure_.state == State::kHang) return was_hanging;
    if (failure_.state == State::kCrash) return has_died && !was_hanging;
    return seen && seen->state == failure_.state && !seen->findings.empty() &&
           seen->findings[0].check == failure_.findings[0].check;
  }

  // Of several runs on one context as few as still fail, each in its place; sizes and graph stay.
  std::optional<SmallCase> fewer_runs(SmallCase whole) {
    bool has_shrunk = false;
    for (size_t i = 0; i < whole.runs.size() && whole.runs.size() > 1;) {
      SmallCase less = whole;
      less.runs.erase(less.runs.begin() + static_cast<long>(i));
      if (fails_alike(less)) {
        whole = std::move(less);
        has_shrunk = true;
      } else {
        ++i;
      }
    }
    if (!has_shrunk) return std::nullopt;
    return whole;
  }

  // One node alone, with what the portable kernels would give it; else the shortest beginning.
  void fewer_nodes() {
    if (best_.draft.nodes.size() < 2) return;
    const Candidate whole = best_;
    for (size_t i = 0; i < whole.draft.nodes.size(); ++i)
      if (accept_slice(whole, i, i + 1)) return;
    for (size_t last = 2; last < whole.draft.nodes.size(); ++last)
      if (accept_slice(whole, 0, last)) return;
  }

  bool accept_slice(const Candidate& whole, size_t first, size_t last) {
    const Result<std::vector<TensorData>> values = values_of(whole);
    if (!values) return false;
    std::vector<uint32_t> taken;
    Candidate candidate{slice(whole.draft, first, last, taken), {}};
    for (size_t i = 0; i < taken.size(); ++i) {
      if (candidate.draft.inputs[i].constant) continue;
      if (taken[i] >= whole.draft.inputs.size()) {
        candidate.inputs.push_back((*values)[taken[i] - whole.draft.inputs.size()]);
        continue;
      }
      size_t number = 0;  // of the run's inputs
      for (uint32_t k = 0; k < taken[i]; ++k) number += whole.draft.inputs[k].constant ? 0 : 1;
      candidate.inputs.push_back(whole.inputs[number]);
    }
    return accept(std::move(candidate));
  }

  // Dimensions of one size are taken for one quantity and shrink together.
  void smaller_sizes() {
    std::set<int64_t, std::greater<>> sizes;
    for (const GraphDraft::Input& input : best_.draft.inputs)
      for (const int64_t size : input.spec.sizes)
        if (size > 1) sizes.insert(size);
    for (int64_t size : sizes)
      for (bool goes_on = true; goes_on && size > 1;) {
        goes_on = false;
        for (const int64_t next : {int64_t{1}, size / 2, size - 1}) {
          if (next < 1 || next >= size || !accept_size(size, next)) continue;
          size = next;
          goes_on = true;
          break;
        }
      }
  }

  bool accept_size(int64_t from, int64_t to) {
    Candidate candidate = best_;
    size_t number = 0;
    for (GraphDraft::Input& input : candidate.draft.inputs) {
      std::vector<int64_t> sizes = input.spec.sizes;
      std::replace(sizes.begin(), sizes.end(), from, to);
      if (input.constant) {
        input.constant = crop(input.constant->data(), input.spec, sizes);
      } else {
        TensorData& data = candidate.inputs[number++];
        const std::vector<uint8_t> bytes =
            crop(reinterpret_cast<const uint8_t*>(data.bytes.data()), input.spec, sizes);
        data.bytes.resize(bytes.size());
        if (!bytes.empty()) std::memcpy(data.bytes.data(), bytes.data(), bytes.size());
        data.shape.sizes = sizes;
      }
      input.spec.sizes = sizes;
    }
    // Sizes in arguments, of views and windows, follow.
    for (GraphDraft::Node& node : candidate.draft.nodes)
      for (ArgumentDraft& arg : node.args)
        if (arg.name == "size") std::replace(arg.ints.begin(), arg.ints.end(), from, to);
    return fit_results(candidate) && accept(std::move(candidate));
  }

  // Each number becomes 0 or 1, each bias none.
  void plainer_attributes() {
    for (size_t n = 0; n < best_.draft.nodes.size(); ++n)
      for (size_t a = 0; a < best_.draft.nodes[n].args.size(); ++a) {
        const ArgumentDraft arg = best_.draft.nodes[n].args[a];
        std::vector<ArgumentDraft> plainer;
        if (arg.kind == ETB_GRAPH_ARGUMENT_INT)
          for (const int64_t value : {0, 1}) plainer.push_back(graph::int_arg(value, arg.name));
        if (arg.kind == ETB_GRAPH_ARGUMENT_FLOAT) plainer.push_back(graph::float_arg(1, arg.name));
        if (arg.kind == ETB_GRAPH_ARGUMENT_BOOL && arg.as_int != 0)
          plainer.push_back(graph::bool_arg(false, arg.name));
        if (arg.kind == ETB_GRAPH_ARGUMENT_INTS)
          for (const int64_t value : {0, 1})
            plainer.push_back(graph::ints_arg(std::vector<int64_t>(arg.ints.size(), value), arg.name));
        for (const ArgumentDraft& next : plainer) {
          if (next.as_int == arg.as_int && next.as_float == arg.as_float && next.ints == arg.ints) break;
          Candidate candidate = best_;
          candidate.draft.nodes[n].args[a] = next;
          if (fit_results(candidate) && accept(std::move(candidate))) break;
        }
      }
  }

  const Outcome& failure_;
  const std::atomic<bool>& stop_;
  Plan plan_;
  const Case* original_ = nullptr;
  std::string name_;
  BuiltCase built_;
  Candidate best_;
  bool has_shrunk_ = false;
  size_t replay_count_ = 0;
  size_t hang_count_ = 0;
};

}  // namespace

Minimised minimise(const Plan& plan, uint32_t item, const Outcome& failure, const std::atomic<bool>& stop) {
  const bool is_death = failure.state == State::kCrash || failure.state == State::kHang;
  if (plan.items[item].item == nullptr || (!is_death && failure.findings.empty())) return {};
  return Search(plan, item, failure, stop).run();
}

}  // namespace etb::conformance
