// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/official/file.hpp"

#include <algorithm>
#include <cstring>

#include "api/format/delegate_sections.hpp"
#include "plugins/gpu/official/payload.hpp"

namespace etb::gpu {

namespace fb = vulkan_schema;

namespace {

constexpr uint32_t kMaxArguments = 4096;  // inputs, outputs

constexpr std::string_view kMagic = "VH00";

// Exporters state the longest texture for a dimension without a bound: two of these are more than any memory. Long dimensions are then
// divided by a power of two, so that tensors have this many elements at most, and a little shortened, so that no loop over an image has
// more turns than lavapipe allows. The rules of the operators must still agree.
constexpr uint32_t kLongDimension = 4096, kMostDivisor = 64;
constexpr uint64_t kMostDividedNumel = uint64_t{1} << 20;

Result<FileTensor> read_tensor(const fb::Tensor& from, size_t constant_count, uint32_t divisor) {
  FileTensor tensor;
  if (from.element_type() < 0 || from.element_type() > static_cast<int8_t>(ElementType::kInt64))
    return bad("element type ", static_cast<int>(from.element_type()), ", expected 0 to 7");
  tensor.type = static_cast<ElementType>(from.element_type());
  tensor.is_half_outside = tensor.type == ElementType::kFloat16 &&
                           from.staging_type() != static_cast<int8_t>(ElementType::kFloat32);
  const uint32_t rank = from.sizes() == nullptr ? 0 : from.sizes()->size();
  if (rank > kMaxRank) return bad("rank ", rank, ", expected at most ", kMaxRank);
  tensor.shape.rank = rank;
  const uint64_t most = divisor == 1 ? kMaxNumel : kMostDividedNumel;
  uint64_t numel = 1;
  for (uint32_t d = 0; d < rank; ++d) {
    const uint32_t size = from.sizes()->Get(d);
    const bool is_divided =
        from.constant() < 0 && size >= kLongDimension && size % (divisor * 128) == 0 && divisor > 1;
    tensor.shape.sizes[d] = is_divided ? size / (divisor * 128) * 127 : size;
    numel *= std::max<uint64_t>(tensor.shape.sizes[d], 1);
    if (numel > most) return failed(Code::OUT_OF_MEMORY, {"more than ", kMaxNumel, " elements"});
  }
  if (from.constant() >= 0 && static_cast<size_t>(from.constant()) >= constant_count)
    return bad("constant ", from.constant(), ", expected less than ", constant_count);
  tensor.constant = std::max(from.constant(), -1);
  return tensor;
}

}  // namespace

void MessagePart::append_to(std::string& out) const {
  if (is_text_)
    out += text_;
  else if (!is_whole_)
    out += std::to_string(number_);
  else
    out += is_unsigned_ ? std::to_string(static_cast<uint64_t>(whole_)) : std::to_string(whole_);
}

tl::unexpected<Error> failed(Code code, std::initializer_list<MessagePart> parts) {
  std::string text;
  for (const MessagePart& part : parts) part.append_to(text);
  return make_error(code, std::move(text));
}

const char* to_text(ElementType type) {
  static constexpr const char* kNames[] = {"bool",    "uint8",   "int8",    "int32",
                                           "float16", "float32", "float64", "int64"};
  return kNames[static_cast<uint8_t>(type) & 7];
}

uint32_t nbytes_of(ElementType type) {
  static constexpr uint32_t kNbytes[] = {1, 1, 1, 4, 2, 4, 8, 8};
  return kNbytes[static_cast<uint8_t>(type) & 7];
}

bool is_official_payload(std::span<const std::byte> prefix) {
  return format::has_delegate_header(prefix, kMagic);
}

Status VulkanFile::verify_values() {
  const Status whole = read_tensors(1);
  if (whole || whole.error().code != Code::OUT_OF_MEMORY) return whole;
  for (uint32_t divisor = 2; divisor <= kMostDivisor; divisor *= 2) {
    if (!read_tensors(divisor)) continue;
    divisor_ = divisor;
    return {};
  }
  return bad(whole.error().message);
}

Status VulkanFile::read_tensors(uint32_t divisor) {
  const auto* values = graph_->values();
  const size_t count = values == nullptr ? 0 : values->size(),
               constants = graph_->constants() == nullptr ? 0 : graph_->constants()->size();
  tensors_.resize(count);
  is_tensor_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (values->Get(i)->content() == nullptr) return bad("value ", i, ": without content");
    const fb::Tensor* tensor = values->Get(i)->content_as_Tensor();
    if (tensor == nullptr) continue;
    auto made = read_tensor(*tensor, constants, divisor);
    if (!made)
      return tl::make_unexpected(with_context(std::move(made).error(), "value " + std::to_string(i)));
    tensors_[i] = *made;
    is_tensor_[i] = true;
  }
  return {};
}

Status VulkanFile::verify_constants() {
  const auto* constants = graph_->constants();
  for (uint32_t i = 0; constants != nullptr && i < constants->size(); ++i) {
    const fb::Constant& constant = *constants->Get(i);
    if (const auto* key = constant.key(); key != nullptr && key->size() != 0) {
      if (key->size() > 4096 || std::memchr(key->data(), 0, key->size()) != nullptr)
        return bad("constant ", i, ": a key with a zero byte or more than 4096 bytes");
      continue;
    }
    if (constant.offset() > bytes_.size() || constant.nbytes() > bytes_.size() - constant.offset())
      return bad("constant ", i, ": ", constant.nbytes(), " bytes at ", constant.offset(),
                 ", the payload stores ", bytes_.size());
  }
  return {};
}

Status VulkanFile::verify_calls() {
  const auto* calls = graph_->calls();
  for (uint32_t i = 0; calls != nullptr && i < calls->size(); ++i) {
    const fb::Call& call = *calls->Get(i);
    if (call.op() == nullptr || call.op()->size() == 0) return bad("call ", i, ": without an operator");
    if (call.arguments() == nullptr || call.arguments()->size() == 0)
      return bad("call ", i, ": without arguments");
    for (const int32_t id : *call.arguments())
      if (id < 0 || static_cast<uint32_t>(id) >= value_count())
        return bad("call ", i, ": no value ", id, ", expected less than ", value_count());
  }
  return {};
}

Status VulkanFile::verify_arguments(const flatbuffers::Vector<uint32_t>* ids, const char* what) {
  if (ids == nullptr) return {};
  if (ids->size() > kMaxArguments) return bad(ids->size(), " ", what, "s, expected at most ", kMaxArguments);
  for (uint32_t i = 0; i < ids->size(); ++i) {
    if (ids->Get(i) >= value_count()) return bad(what, " ", i, ": no value ", ids->Get(i));
    const fb::Content kind = value(ids->Get(i)).content_type();
    if (!is_tensor_[ids->Get(i)] && kind != fb::Content::Size)
      return bad(what, " ", i, ": value ", ids->Get(i), ", expected a tensor or a size");
  }
  return {};
}

Status VulkanFile::verify() {
  if (const auto* version = graph_->version(); version != nullptr && version->string_view() != "0")
    return make_error(Code::INCOMPATIBLE,
                      "graph of version '" + version->str().substr(0, 32) + "', plugin reads version 0");
  ETB_TRY(verify_values());
  ETB_TRY(verify_constants());
  ETB_TRY(verify_calls());
  ETB_TRY(verify_arguments(graph_->inputs(), "input"));
  return verify_arguments(graph_->outputs(), "output");
}

Result<VulkanFile> VulkanFile::read(std::span<const std::byte> bytes) {
  if (!is_official_payload(bytes)) return bad("payload header: no 'VH00' in the first 30 bytes");
  ETB_ASSIGN(const format::DelegateSections sections, format::read_delegate_sections(bytes));
  const size_t nbytes = sections.graph.size();
  const std::byte* data = sections.graph.data();
  VulkanFile file;
  file.bytes_ = sections.constants;
  if (nbytes < 8 || std::memcmp(data + 4, "VK00", 4) != 0)
    return make_error(Code::INCOMPATIBLE, "graph without identifier VK00");
  if (reinterpret_cast<uintptr_t>(data) % 8 != 0) {
    file.aligned_.resize((nbytes + 7) / 8);
    std::memcpy(file.aligned_.data(), data, nbytes);
    data = reinterpret_cast<const std::byte*>(file.aligned_.data());
  }
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(data), nbytes, 64, 1u << 22);
  if (!verifier.VerifyBuffer<fb::Graph>(nullptr)) return bad("graph is no valid FlatBuffer");
  file.graph_ = flatbuffers::GetRoot<fb::Graph>(data);
  ETB_TRY(file.verify());
  return file;
}

}  // namespace etb::gpu
