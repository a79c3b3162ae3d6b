#include "plugins/xnnpack/operator_events.hpp"

#include <algorithm>
#include <string_view>

namespace etb::xnnpack {

using format::XnnNode;
using format::XnnOperator;

namespace {

// How the name of XNNPACK's operator for a node begins; what is not here is one of the unary operators.
std::string_view kind_of(XnnOperator op) {
  switch (op) {
    case XnnOperator::kAdd:
    case XnnOperator::kSubtract:
    case XnnOperator::kMultiply:
    case XnnOperator::kDivide:
    case XnnOperator::kMinimum:
    case XnnOperator::kMaximum:
    case XnnOperator::kPrelu:
      return "Binary Elementwise";
    case XnnOperator::kFullyConnected:
      return "Fully Connected";
    case XnnOperator::kBatchMatrixMultiply:
      return "Batch Matrix Multiply";
    case XnnOperator::kScaledDotProductAttention:
      return "Scaled Dot-Product Attention";
    case XnnOperator::kConv2d:
    case XnnOperator::kDepthwiseConv2d:
      return "Convolution";
    case XnnOperator::kConvTranspose2d:
      return "Deconvolution";
    case XnnOperator::kAveragePooling2d:
      return "Average Pooling";
    case XnnOperator::kMaxPooling2d:
      return "Max Pooling";
    case XnnOperator::kArgMaxPooling2d:
      return "ArgMax Pooling";
    case XnnOperator::kGlobalAveragePooling2d:
      return "Mean";
    case XnnOperator::kSoftmax:
      return "Softmax";
    case XnnOperator::kCopy:
    case XnnOperator::kStaticReshape:
    case XnnOperator::kConcatenate2:
    case XnnOperator::kConcatenate3:
    case XnnOperator::kConcatenate4:
    case XnnOperator::kConcatenate5:
      return "Copy";
    case XnnOperator::kStaticTranspose:
      return "Transpose";
    case XnnOperator::kStaticSlice:
      return "Slice";
    case XnnOperator::kConstantPad:
      return "Constant Pad";
    case XnnOperator::kResizeBilinear2d:
      return "Resize Bilinear";
    case XnnOperator::kConvert:
      return "Convert";
    case XnnOperator::kReciprocalSquareRoot:
      return "Reciprocal Square Root";
    default:
      return "Unary Elementwise";
  }
}

bool can_be(XnnOperator op, std::string_view kind) {
  const auto begins_with = [&](std::string_view text) { return kind.substr(0, text.size()) == text; };
  if (begins_with("Unary Elementwise"))
    return kind_of(op) == "Unary Elementwise" || op == XnnOperator::kConvert ||
           op == XnnOperator::kReciprocalSquareRoot;
  if (begins_with("Dynamic Fully Connected")) return op == XnnOperator::kFullyConnected;
  return begins_with(kind_of(op));
}

// Asks twice: how much there is, then for it.
template <class T>
Status read(xnn_runtime_t runtime, xnn_profile_info what, std::vector<T>& out) {
  size_t nbytes = 0;
  for (int round = 0; round < 2; ++round) {
    const xnn_status status =
        xnn_get_runtime_profiling_info(runtime, what, out.size() * sizeof(T), out.data(), &nbytes);
    if (status == xnn_status_success) return {};
    if (status != xnn_status_out_of_memory) return from_xnn(status, "profile");
    out.resize((nbytes + sizeof(T) - 1) / sizeof(T));
  }
  return make_error(Code::INTERNAL, "profile: its size changes while it is read");
}

}  // namespace

std::string event_name(const XnnNode& node, size_t position) {
  return std::string(format::to_text(node.op)) + " #" + std::to_string(position);
}

Result<OperatorEvents> OperatorEvents::make(xnn_runtime_t runtime, const format::XnnPayload& payload) {
  std::vector<char> text;
  ETB_TRY(read(runtime, xnn_profile_info_operator_name, text));
  OperatorEvents made;
  size_t cursor = 0;
  for (size_t at = 0; at < text.size();) {
    const auto end = std::find(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), '\0');
    const std::string kind(text.begin() + static_cast<std::ptrdiff_t>(at), end);
    at += kind.size() + 1;
    if (kind.empty()) continue;
    size_t next = cursor;
    while (next < payload.nodes.size() && !can_be(payload.nodes[next].op, kind)) ++next;
    const bool is_known = next < payload.nodes.size();
    made.operators_.push_back({is_known ? event_name(payload.nodes[next], next) : kind, kind});
    if (is_known) cursor = next + 1;
  }
  made.micros_.resize(made.operators_.size());
  return made;
}

Status OperatorEvents::put(const Run& run, xnn_runtime_t runtime, uint64_t begin_ns) {
  ETB_TRY(read(runtime, xnn_profile_info_operator_timing, micros_));
  const uint64_t end_ns = run.host().now_ns();
  uint64_t now_ns = begin_ns;
  for (size_t i = 0; i < operators_.size() && i < micros_.size(); ++i) {
    etb_event event{};
    event.struct_size = ETB_INIT_SIZE(etb_event);
    event.flags = ETB_EVENT_LOSSY;
    event.name = operators_[i].name.c_str();
    event.debug_id = -1;
    event.begin_ticks = now_ns;
    now_ns = std::min(now_ns + micros_[i] * 1000, end_ns);
    event.end_ticks = now_ns;
    event.timebase = ETB_TIMEBASE_HOST;
    event.ns_numerator = event.ns_denominator = 1;
    event.metadata = {reinterpret_cast<const uint8_t*>(operators_[i].kind.data()), operators_[i].kind.size()};
    ETB_TRY(from_host(run.raw().events->put(run.raw().events->ctx, &event), "event sink"));
  }
  return {};
}

}  // namespace etb::xnnpack
