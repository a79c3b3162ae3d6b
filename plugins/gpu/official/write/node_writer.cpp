// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "plugins/gpu/official/write/region_writer.hpp"

namespace etb::gpu {

namespace {

const char* name_of(ElementType type) {
  return type == ElementType::kFloat32 ? "floats" : type == ElementType::kBool ? "bools" : "integers";
}

}  // namespace

Result<Shape> NodeWriter::result_shape(uint32_t index) const {
  // Entered like an operand, but not kept: the sizes of the graph are those of the result.
  RegionWriter fresh(region_.image_, region_.facts_, nullptr);
  ETB_ASSIGN(const uint32_t id, fresh.enter(node_.first_output() + index));
  return fresh.tensors_[id].shape;
}

bool NodeWriter::is_result_read(uint32_t index) const {
  return region_.facts_.use_counts[node_.first_output() + index] != 0;
}

// ---- Operands

Result<uint32_t> NodeWriter::operand(const char* name) {
  ETB_ASSIGN(const uint32_t value, args_.tensor(name));
  return region_.enter(value);
}

Result<uint32_t> NodeWriter::of_type(const char* name, ElementType type) {
  ETB_ASSIGN(const uint32_t id, operand(name));
  if (tensor(id).type != type)
    return reject("dtype",
                  std::string(name) + ": " + name_of(tensor(id).type) + ", expected " + name_of(type));
  return id;
}
Result<uint32_t> NodeWriter::floats(const char* name) { return of_type(name, ElementType::kFloat32); }
Result<uint32_t> NodeWriter::bools(const char* name) { return of_type(name, ElementType::kBool); }
Result<uint32_t> NodeWriter::integers(const char* name) { return of_type(name, ElementType::kInt32); }

Result<uint32_t> NodeWriter::integers(uint32_t value) {
  ETB_ASSIGN(const uint32_t id, region_.enter(value));
  if (tensor(id).type != ElementType::kInt32)
    return reject("dtype", std::string(name_of(tensor(id).type)) + ", expected integers");
  return id;
}

Result<std::vector<uint32_t>> NodeWriter::list(const char* name) {
  ETB_ASSIGN(const std::vector<uint32_t> values, args_.tensors(name));
  std::vector<uint32_t> out;
  for (const uint32_t value : values) {
    ETB_ASSIGN(const uint32_t id, region_.enter(value));
    out.push_back(id);
  }
  return out;
}

Result<uint32_t> NodeWriter::floats_or_number(const char* name) {
  const auto found = args_.find(name);
  if (found && found->value()) {
    ETB_ASSIGN(const std::optional<double> number, region_.number_of(*found->value()));
    return number ? add_number(*number) : floats(name);
  }
  ETB_ASSIGN(const double number, args_.number(name, 0));
  return add_number(number);
}

Result<std::vector<float>> NodeWriter::constant_floats(uint32_t id) const {
  ETB_ASSIGN(const std::vector<std::byte> bytes, region_.copied_floats(id));
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

uint32_t NodeWriter::add_constant(const std::vector<float>& floats, const Shape& shape) {
  WrittenTensor made;
  made.shape = shape;
  made.bytes.emplace(floats.size() * sizeof(float));
  std::memcpy(made.bytes->data(), floats.data(), made.bytes->size());
  return region_.add_tensor(std::move(made));
}

uint32_t NodeWriter::add_indices(const std::vector<int32_t>& indices) {
  WrittenTensor made;
  made.type = ElementType::kInt32;
  made.shape = {1, {static_cast<uint32_t>(indices.size())}};
  made.bytes.emplace(indices.size() * sizeof(int32_t));
  std::memcpy(made.bytes->data(), indices.data(), made.bytes->size());
  return region_.add_tensor(std::move(made));
}

uint32_t NodeWriter::add_number(double number, uint32_t rank) {
  Shape shape;
  shape.rank = rank;
  std::fill_n(shape.sizes.begin(), rank, 1u);
  return add_constant({static_cast<float>(number)}, shape);
}

uint32_t NodeWriter::reshaped_constant(uint32_t id, const Shape& shape) {
  WrittenTensor made;
  made.type = tensor(id).type;
  made.shape = shape;
  made.constant_input = tensor(id).constant_input;
  made.bytes = tensor(id).bytes;
  return region_.add_tensor(std::move(made));
}

std::optional<WrittenConvolution> NodeWriter::own_convolution(const char* name) const {
  const auto value = args_.tensor(name);
  if (!value || region_.facts_.use_counts[*value] != 1) return std::nullopt;
  const auto found = region_.by_value_.find(*value);
  if (found == region_.by_value_.end()) return std::nullopt;
  const WrittenTensor& tensor = region_.tensors_[found->second];
  if (tensor.name_count != 1 || tensor.copies.size() != 1) return std::nullopt;
  return tensor.convolution;
}

// ---- Results

uint32_t NodeWriter::call(const char* op, std::vector<uint32_t> arguments, const Shape& shape,
                          Storage storage, ElementType type) {
  WrittenTensor made;
  made.type = type;
  made.shape = shape;
  const uint32_t value = file().add_tensor({type, shape, storage});
  made.copies.emplace_back(storage, value);
  arguments.push_back(value);
  region_.add_call(op, std::move(arguments));
  return region_.add_tensor(std::move(made));
}

std::vector<uint32_t> NodeWriter::call_list(const char* op, std::vector<uint32_t> arguments,
                                            const std::vector<Shape>& shapes, ElementType type) {
  std::vector<uint32_t> out;
  std::vector<int32_t> items;
  for (const Shape& shape : shapes) {
    WrittenTensor made;
    made.type = type;
    made.shape = shape;
    const uint32_t value = file().add_tensor({type, shape, kRowMajorBuffer});
    made.copies.emplace_back(kRowMajorBuffer, value);
    items.push_back(static_cast<int32_t>(value));
    out.push_back(region_.add_tensor(std::move(made)));
  }
  arguments.push_back(file().add_values(std::move(items)));
  region_.add_call(op, std::move(arguments));
  return out;
}

uint32_t NodeWriter::view(uint32_t id, const Shape& to) {
  if (shape(id) == to) return id;
  if (is_constant(id)) return reshaped_constant(id, to);
  const uint32_t sizes =
      file().add_integers(std::vector<int64_t>(to.sizes.begin(), to.sizes.begin() + to.rank));
  return call("aten.view_copy.default", {in(id), sizes}, to, kRowMajorBuffer, tensor(id).type);
}

Status NodeWriter::define(uint32_t id, uint32_t index) {
  ETB_ASSIGN(const Shape expected, result_shape(index));
  if (!(shape(id) == expected))
    return reject("attribute", "result whose sizes do not follow from those of the operands");
  const uint32_t value = node_.first_output() + index;
  const uint32_t dtype = region_.image_.value(value).spec().dtype;
  const bool fits = tensor(id).type == ElementType::kFloat32 ? dtype == ETB_DTYPE_FLOAT32
                    : tensor(id).type == ElementType::kBool
                        ? dtype == ETB_DTYPE_BOOL
                        : dtype == ETB_DTYPE_INT64 || dtype == ETB_DTYPE_INT32;
  if (!fits) return reject("dtype", std::string("result: ") + dtype_text(static_cast<etb_dtype>(dtype)));
  region_.by_value_[value] = id;
  ++region_.tensors_[id].name_count;
  return {};
}

Storage NodeWriter::storage_of(uint32_t id) const {
  const auto& copies = tensor(id).copies;
  const bool is_texture =
      tensor(id).type == ElementType::kFloat32 && !copies.empty() && copies.front().first == kChannelTexture;
  return is_texture ? kChannelTexture : kRowMajorBuffer;
}

void NodeWriter::set_convolution(uint32_t id, WrittenConvolution convolution) {
  convolution.call = file().call_count() - 1;
  region_.tensors_[id].convolution = convolution;
}

// The operand gets the name of this node's result: nothing else reads it under its own.
WrittenTensor& NodeWriter::taken_over(const char* name) {
  WrittenTensor& tensor = region_.tensors_[region_.by_value_[*args_.tensor(name)]];
  tensor.name_count = 0;
  return tensor;
}

uint32_t NodeWriter::set_weights(const char* name, uint32_t weight, uint32_t bias) {
  const uint32_t stored_weight = stored(weight), stored_bias = stored(bias);
  WrittenTensor& made = taken_over(name);
  made.convolution->weight = weight;
  made.convolution->bias = bias;
  FileBuilder::Call& call = file().call(made.convolution->call);
  call.arguments[1] = stored_weight;
  call.arguments[2] = stored_bias;
  return region_.by_value_[*args_.tensor(name)];
}

uint32_t NodeWriter::set_limits(const char* name, double low, double high) {
  const uint32_t limits[] = {file().add_number(low), file().add_number(high)};
  WrittenTensor& made = taken_over(name);
  FileBuilder::Call& call = file().call(made.convolution->call);
  call.op = "et_vk.conv_with_clamp.default";
  call.arguments.insert(call.arguments.end() - 1, std::begin(limits), std::end(limits));
  made.convolution->is_clamped = true;
  return region_.by_value_[*args_.tensor(name)];
}

}  // namespace etb::gpu
