// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/pickle.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace etb::pt2 {

namespace {

// A model of 10^4 tensors has less than a tenth of it.
constexpr size_t kMaxPickleNbytes = size_t{16} << 20;
// An object needs one byte of a pickle and fifty here. A tensor of a valid file has about twenty objects.
constexpr size_t kMaxObjectCount = size_t{2} << 20;
// The limit of the archive's other format for weights.
constexpr size_t kMaxRank = 16;

using Kind = PickleKind;
using Id = PickleId;
using Object = PickleObject;

std::optional<ir::Dtype> dtype_of(std::string_view global) {
  static constexpr struct {
    std::string_view name;
    ir::Dtype dtype;
  } kRows[] = {{"torch FloatStorage", ir::Dtype::FLOAT32},
               {"torch DoubleStorage", ir::Dtype::FLOAT64},
               {"torch HalfStorage", ir::Dtype::FLOAT16},
               {"torch BFloat16Storage", ir::Dtype::BFLOAT16},
               {"torch LongStorage", ir::Dtype::INT64},
               {"torch IntStorage", ir::Dtype::INT32},
               {"torch ShortStorage", ir::Dtype::INT16},
               {"torch CharStorage", ir::Dtype::INT8},
               {"torch ByteStorage", ir::Dtype::UINT8},
               {"torch BoolStorage", ir::Dtype::BOOL},
               {"torch ComplexFloatStorage", ir::Dtype::COMPLEX64},
               {"torch ComplexDoubleStorage", ir::Dtype::COMPLEX128},
               {"torch uint16", ir::Dtype::UINT16},
               {"torch float32", ir::Dtype::FLOAT32},
               {"torch float64", ir::Dtype::FLOAT64},
               {"torch float16", ir::Dtype::FLOAT16},
               {"torch bfloat16", ir::Dtype::BFLOAT16},
               {"torch int64", ir::Dtype::INT64},
               {"torch int32", ir::Dtype::INT32},
               {"torch int16", ir::Dtype::INT16},
               {"torch int8", ir::Dtype::INT8},
               {"torch uint8", ir::Dtype::UINT8},
               {"torch bool", ir::Dtype::BOOL}};
  for (const auto& row : kRows) {
    if (row.name == global) return row.dtype;
  }
  return std::nullopt;
}

std::optional<std::span<const std::byte>> no_storage(std::string_view) { return std::nullopt; }

}  // namespace

// The stack machine of pickle, protocols 2 to 5, without the ability to call functions.
class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> pickle, const FindStorage& find_storage)
      : pickle_(pickle), find_storage_(find_storage) {}

  // Returns the number of bytes read. The result's root is the object on top.
  Result<size_t> run(Pickle& out) {
    if (pickle_.size() > kMaxPickleNbytes)
      return make_error(Code::NOT_SUPPORTED, "pickle: " + std::to_string(pickle_.size()) +
                                                 " bytes, expected at most " +
                                                 std::to_string(kMaxPickleNbytes));
    bool is_done = false;
    while (!is_done && error_.empty()) is_done = step();
    out.root_ = pop();
    if (!error_.empty()) return make_error(Code::INVALID_DATA, "pickle: " + error_);
    out.objects_ = std::move(objects_);
    out.tensors_ = std::move(tensors_);
    out.globals_ = std::move(globals_);
    return at_;
  }

 private:
  void fail(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }

  // Returns the next `count` bytes. Missing bytes are an error and read as zeros.
  std::string_view take(size_t count) {
    if (count > pickle_.size() - at_) {
      fail("ends within an instruction");
      return {};
    }
    const auto* text = reinterpret_cast<const char*>(pickle_.data()) + at_;
    at_ += count;
    return {text, count};
  }
  uint64_t take_number(size_t count) {
    uint64_t number = 0;
    const std::string_view bytes = take(count);
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }
  std::string_view take_line() {
    const auto* begin = reinterpret_cast<const char*>(pickle_.data()) + at_;
    const std::string_view rest(begin, pickle_.size() - at_);
    const size_t end = rest.find('\n');
    if (end == rest.npos) {
      fail("ends within a line");
      return {};
    }
    at_ += end + 1;
    return rest.substr(0, end);
  }

  void push(Object object) {
    if (objects_.size() >= kMaxObjectCount) fail("more than " + std::to_string(kMaxObjectCount) + " objects");
    objects_.push_back(std::move(object));
    stack_.push_back(static_cast<Id>(objects_.size() - 1));
  }
  void push_number(int64_t number) { push({.kind = Kind::kInt, .number = number}); }
  void push_text(std::string_view text) { push({.kind = Kind::kText, .text = text}); }
  // A placeholder object replaces missing ones.
  Id pop() {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() > floor) {
      const Id id = stack_.back();
      stack_.pop_back();
      return id;
    }
    fail("pops from an empty stack");
    objects_.emplace_back();
    return static_cast<Id>(objects_.size() - 1);
  }
  std::vector<Id> pop_to_mark() {
    if (marks_.empty()) {
      fail("the stack has no mark");
      return {};
    }
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Id> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::vector<Id> pop_some(size_t count) {
    std::vector<Id> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  // Executes one instruction. Returns true after the last.
  bool step() {
    const auto code = static_cast<unsigned char>(take_number(1));
    switch (code) {
      case '.':
        return true;
      case 0x80:  // protocol
        take(1);
        break;
      case 0x95:  // frame
        take(8);
        break;
      case '(':
        marks_.push_back(stack_.size());
        break;
      case 0x94:
        remember(memo_.size());
        break;
      case 'q':
        remember(take_number(1));
        break;
      case 'r':
        remember(take_number(4));
        break;
      case 'h':
        recall(take_number(1));
        break;
      case 'j':
        recall(take_number(4));
        break;
      case 'Q':
        push_storage(pop());
        break;
      case 'R': {
        const Id arguments = pop(), callee = pop();
        call(callee, arguments);
        break;
      }
      case 'b':  // the state of an object, which no dict of tensors needs
        pop();
        break;
      default:
        if (!step_literal(code) && !step_container(code))
          fail("unsupported instruction " + std::to_string(code) + " at byte " + std::to_string(at_ - 1));
    }
    return false;
  }

  bool step_literal(unsigned char code) {
    switch (code) {
      case 'c': {
        const std::string module(take_line());
        globals_.push_back(std::make_unique<std::string>(module + " " + std::string(take_line())));
        push({.kind = Kind::kGlobal, .text = *globals_.back()});
        return true;
      }
      case 0x93:  // a global by the two texts on the stack
        push_global(pop_some(2));
        return true;
      case 'X':
        push_text(take(take_number(4)));
        return true;
      case 0x8c:
        push_text(take(take_number(1)));
        return true;
      case 'B':
        push({.kind = Kind::kBytes, .text = take(take_number(4))});
        return true;
      case 'C':
        push({.kind = Kind::kBytes, .text = take(take_number(1))});
        return true;
      case 0x8e:
        push({.kind = Kind::kBytes, .text = take(take_number(8))});
        return true;
      case 'K':
        push_number(static_cast<int64_t>(take_number(1)));
        return true;
      case 'M':
        push_number(static_cast<int64_t>(take_number(2)));
        return true;
      case 'J':
        push_number(static_cast<int32_t>(take_number(4)));
        return true;
      case 0x8a: {
        const uint64_t count = take_number(1);
        // The magic number of a storage, which is of no use here.
        if (count > 8 && is_inside_storage_) {
          take(count);
          push({});
          return true;
        }
        if (count > 8) fail("an integer exceeds 64 bits");
        const uint64_t number = count > 8 ? 0 : take_number(count);
        // The highest bit present is the sign.
        const unsigned shift = count == 0 || count > 8 ? 0 : static_cast<unsigned>(64 - 8 * count);
        push_number(static_cast<int64_t>(number << shift) >> shift);
        return true;
      }
      case 'G': {
        // Big-endian, unlike the other numbers.
        uint64_t bits = take_number(8);
        bits = __builtin_bswap64(bits);
        Object number{.kind = Kind::kFloat};
        std::memcpy(&number.real, &bits, sizeof(bits));
        push(std::move(number));
        return true;
      }
      case 'N':
        push({});
        return true;
      case 0x88:
      case 0x89:
        push({.kind = Kind::kBool, .number = code == 0x88});
        return true;
      default:
        return false;
    }
  }

  bool step_container(unsigned char code) {
    switch (code) {
      case ')':
      case ']':
        push({.kind = Kind::kList});
        return true;
      case '}':
        push({.kind = Kind::kDict});
        return true;
      case 't':
        push({.kind = Kind::kList, .items = pop_to_mark()});
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        push({.kind = Kind::kList, .items = pop_some(code - 0x84u)});
        return true;
      case 's':
      case 'a':
        extend(pop_some(code == 's' ? 2 : 1));
        return true;
      case 'u':
      case 'e':
        extend(pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  // Appends to the list or dict on top of the stack.
  void extend(std::vector<Id> items) {
    if (stack_.empty()) return fail("pops from an empty stack");
    std::vector<Id>& to = objects_[stack_.back()].items;
    to.insert(to.end(), items.begin(), items.end());
  }

  void remember(uint64_t key) {
    if (stack_.empty()) return fail("pops from an empty stack");
    memo_[key] = stack_.back();
  }
  void recall(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return fail("reads a memo entry that was never written");
    stack_.push_back(found->second);
  }

  const Object* item(const Object& tuple, size_t index, Kind kind) {
    if (tuple.kind == Kind::kList && index < tuple.items.size() && objects_[tuple.items[index]].kind == kind)
      return &objects_[tuple.items[index]];
    fail("the arguments of a tensor are malformed");
    return nullptr;
  }

  void push_global(const std::vector<Id>& names) {
    const Object &module = objects_[names[0]], &name = objects_[names[1]];
    if (module.kind != Kind::kText || name.kind != Kind::kText) return fail("a global without a name");
    globals_.push_back(
        std::make_unique<std::string>(std::string(module.text) + " " + std::string(name.text)));
    push({.kind = Kind::kGlobal, .text = *globals_.back()});
  }

  // ("storage", class, key, device, element count)
  void push_storage(Id id) {
    const Object& tuple = objects_[id];
    const Object *type = item(tuple, 1, Kind::kGlobal), *key = item(tuple, 2, Kind::kText);
    if (type == nullptr || key == nullptr) return;
    const auto bytes = find_storage_(key->text);
    if (!bytes && !is_inside_storage_)
      return fail("the file has no storage '" + std::string(key->text.substr(0, 80)) + "'");
    add_storage(tuple.items[1], key->text, bytes.value_or(std::span<const std::byte>()));
  }

  void add_storage(Id type, std::string_view key, std::span<const std::byte> bytes) {
    storages_.push_back(bytes);
    push({.kind = Kind::kStorage,
          .number = static_cast<int64_t>(storages_.size() - 1),
          .text = key,
          .items = {type}});
  }

  // A storage that pickle.dumps() wrote: five pickles (a magic number, a version, facts about the machine, the storage
  // without its bytes, and the list of keys), then the number of elements and the elements.
  void push_legacy_storage(const Object& given) {
    const Object* text = item(given, 0, Kind::kBytes);
    if (text == nullptr) return;
    std::span<const std::byte> rest = std::as_bytes(std::span(text->text));
    std::string type;
    constexpr int kPickleCount = 5, kStorageIndex = 3;
    for (int i = 0; i < kPickleCount; ++i) {
      Pickle part;
      PickleMachine machine(rest, find_storage_);
      machine.is_inside_storage_ = true;
      if (is_inside_storage_) return fail("a storage inside of a storage");
      const auto nbytes = machine.run(part);
      if (!nbytes) return fail("a storage: " + nbytes.error().message);
      rest = rest.subspan(*nbytes);
      if (i != kStorageIndex) continue;
      const bool is_storage = part.root().kind == Kind::kStorage;
      if (is_storage) type = part.object(part.root().items[0]).text;
    }
    const auto dtype = dtype_of(type);
    uint64_t count = 0;
    if (!dtype || rest.size() < sizeof(count)) return fail("a storage without elements of a known type");
    std::memcpy(&count, rest.data(), sizeof(count));
    rest = rest.subspan(sizeof(count));
    if (count > rest.size() / ops::element_nbytes(*dtype))
      return fail("a storage of " + std::to_string(count) + " elements in " + std::to_string(rest.size()) +
                  " bytes");
    globals_.push_back(std::make_unique<std::string>(type));
    push({.kind = Kind::kGlobal, .text = *globals_.back()});
    const Id type_id = stack_.back();
    stack_.pop_back();
    add_storage(type_id, "", rest.first(static_cast<size_t>(count) * ops::element_nbytes(*dtype)));
  }

  void call(Id callee, Id arguments) {
    const std::string_view name = objects_[callee].text;
    // No copy: one long tuple may be the arguments of a million calls.
    const Object& given = objects_[arguments];
    if (name == "collections OrderedDict") return push({.kind = Kind::kDict});
    if (name == "torch._utils _rebuild_parameter") {
      if (item(given, 0, Kind::kTensor) != nullptr) stack_.push_back(given.items[0]);
      return;
    }
    if (name == "torch._utils _rebuild_tensor_v2") return push_tensor(given, std::nullopt);
    if (name == "torch._utils _rebuild_tensor_v3") {
      const Object* type = item(given, 6, Kind::kGlobal);
      if (type != nullptr) push_tensor(given, dtype_of(type->text));
      return;
    }
    if (name == "torch.storage _load_from_bytes") return push_legacy_storage(given);
    fail("'" + std::string(name.substr(0, 80)) + "' is not a plain tensor");
  }

  // storage, offset, sizes, strides, ...
  void push_tensor(const Object& given, std::optional<ir::Dtype> dtype) {
    const Object *storage = item(given, 0, Kind::kStorage), *offset = item(given, 1, Kind::kInt);
    const Object *sizes = item(given, 2, Kind::kList), *strides = item(given, 3, Kind::kList);
    if (!error_.empty()) return;
    if (!dtype) dtype = dtype_of(objects_[storage->items[0]].text);
    if (!dtype)
      return fail("unsupported elements of '" + std::string(objects_[storage->items[0]].text) + "'");
    if (sizes->items.size() > kMaxRank || strides->items.size() > kMaxRank)
      return fail("a tensor of rank " + std::to_string(sizes->items.size()) + ", expected at most " +
                  std::to_string(kMaxRank));
    ir::Constant constant;
    constant.dtype = *dtype;
    constant.offset = offset->number;
    for (const auto& [from, to] : {std::pair{sizes, &constant.sizes}, {strides, &constant.strides}}) {
      for (const Id id : from->items) to->push_back(objects_[id].number);
    }
    constant.storage = storages_[static_cast<size_t>(storage->number)];
    tensors_.push_back(std::move(constant));
    push({.kind = Kind::kTensor, .number = static_cast<int64_t>(tensors_.size() - 1)});
  }

  std::span<const std::byte> pickle_;
  const FindStorage& find_storage_;
  bool is_inside_storage_ = false;  // a pickle of push_legacy_storage()
  size_t at_ = 0;
  std::vector<Object> objects_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;
  std::map<uint64_t, Id> memo_;
  std::vector<std::unique_ptr<std::string>> globals_;
  std::vector<ir::Constant> tensors_;
  std::vector<std::span<const std::byte>> storages_;
  std::string error_;
};

Result<Pickle> Pickle::read(std::span<const std::byte> bytes, const FindStorage& find_storage) {
  Pickle out;
  ETB_TRY(PickleMachine(bytes, find_storage ? find_storage : no_storage).run(out));
  return out;
}

}  // namespace etb::pt2
