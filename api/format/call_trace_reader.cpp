// SPDX-License-Identifier: Apache-2.0
#include "api/format/call_trace_reader.hpp"

#include <cstring>

#include "api/format/input_file.hpp"

namespace etb::format {
namespace {

constexpr size_t kHeadNbytes = 16;
constexpr uint64_t kMaxFileNbytes = uint64_t{64} << 30;
constexpr uint64_t kMaxRecordNbytes = uint64_t{1} << 30;  // of a record with fields
constexpr int kMaxDepth = 8;

// Reads fields. After an error it reads nothing more, and message() says what was wrong.
class FieldReader {
 public:
  // Items of a hostile record may be smaller in the file than in memory. Honest ones are at least a sixteenth.
  explicit FieldReader(std::span<const std::byte> bytes)
      : rest_(bytes), nbytes_(bytes.size()), memory_left_(bytes.size() * 16 + 65536) {}

  template <class... T>
  void operator()(T&... fields) {
    (read_if_present(fields), ...);
  }

  template <class T>
  void read(T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      read_bytes(&value, sizeof(value));
    else
      read_struct(value);
  }
  void read(std::string& text) {
    const uint32_t nbytes = count(1, 1, "bytes of text");
    text.assign(reinterpret_cast<const char*>(rest_.data()), nbytes);
    rest_ = rest_.subspan(nbytes);
  }
  template <class T>
  void read(std::vector<T>& items) {
    const uint32_t number = count(least_nbytes<T>(), sizeof(T), "items");
    items.resize(number);
    for (uint32_t i = 0; i < number && message_.empty(); ++i) read(items[i]);
  }
  template <size_t N>
  void read(std::array<uint8_t, N>& bytes) {
    read_bytes(bytes.data(), N);
  }

  const std::string& message() const { return message_; }

 private:
  // A field that the writer's version did not have keeps its default.
  template <class T>
  void read_if_present(T& field) {
    if (message_.empty() && !rest_.empty()) read(field);
  }

  template <class T>
  void read_struct(T& value) {
    uint32_t nbytes = 0;
    read_bytes(&nbytes, sizeof(nbytes));
    if (!message_.empty()) return;
    if (nbytes > rest_.size()) return stop(std::to_string(nbytes) + " bytes of a struct", rest_.size());
    if (++depth_ > kMaxDepth) return stop("structs nested " + std::to_string(depth_) + " deep", kMaxDepth);
    const std::span<const std::byte> after = rest_.subspan(nbytes);
    rest_ = rest_.first(nbytes);
    value.fields(*this);
    if (message_.empty()) rest_ = after;  // skips fields of a later version
    --depth_;
  }

  template <class T>
  static constexpr uint64_t least_nbytes() {
    return std::is_arithmetic_v<T> ? sizeof(T) : sizeof(uint32_t);
  }

  uint32_t count(uint64_t item_nbytes, uint64_t memory_nbytes, const char* what) {
    uint32_t number = 0;
    read_bytes(&number, sizeof(number));
    if (!message_.empty()) return 0;
    if (number > rest_.size() / item_nbytes) {
      stop(std::to_string(number) + " " + what, rest_.size() / item_nbytes);
      return 0;
    }
    if (number > memory_left_ / memory_nbytes) {
      stop(std::to_string(number) + " " + what + " in " + std::to_string(rest_.size()) + " bytes",
           memory_left_ / memory_nbytes);
      return 0;
    }
    memory_left_ -= number * memory_nbytes;
    return number;
  }

  void read_bytes(void* out, size_t nbytes) {
    if (!message_.empty()) return;
    if (nbytes > rest_.size()) return stop("a field of " + std::to_string(nbytes) + " bytes", rest_.size());
    std::memcpy(out, rest_.data(), nbytes);
    rest_ = rest_.subspan(nbytes);
  }

  void stop(const std::string& found, uint64_t most) {
    if (message_.empty())
      message_ = found + ", expected at most " + std::to_string(most) + ", " + std::to_string(rest_.size()) +
                 " bytes before an end";
    rest_ = {};
  }

  std::span<const std::byte> rest_;
  uint64_t nbytes_;
  uint64_t memory_left_;
  int depth_ = 0;
  std::string message_;
};

template <class T>
T load(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

class TraceReader {
 public:
  explicit TraceReader(std::span<const std::byte> file) : file_(file) {}

  Result<CallTrace> read() {
    ETB_TRY(read_head());
    size_t at = kHeadNbytes;
    while (at < file_.size()) {
      if (file_.size() - at < kHeadNbytes || nbytes_at(at) > file_.size() - at - kHeadNbytes) {
        trace_.notes.push_back("the file ends at byte " + std::to_string(file_.size()) +
                               ", inside the record at byte " + std::to_string(at) +
                               ": the recording process ended there, or the file was cut");
        break;
      }
      const uint64_t nbytes = nbytes_at(at);
      if (Status status = read_record(at, file_.subspan(at + kHeadNbytes, nbytes)); !status)
        return tl::make_unexpected(
            with_context(std::move(status).error(), "record at byte " + std::to_string(at)));
      at += kHeadNbytes + nbytes;
      at += std::min<uint64_t>((16 - nbytes % 16) % 16, file_.size() - at);
    }
    if (skipped_ != 0)
      trace_.notes.push_back(std::to_string(skipped_) +
                             " records of kinds that this version does not read were skipped");
    ETB_TRY(check_calls());
    return std::move(trace_);
  }

 private:
  uint64_t nbytes_at(size_t at) const { return load<uint64_t>(file_, at + 8); }

  Status read_head() const {
    if (file_.size() < kHeadNbytes || std::memcmp(file_.data(), kCallTraceMagic, 8) != 0)
      return make_error(Code::INVALID_DATA, "no call trace: expected ETBCALLS at byte 0 of " +
                                                std::to_string(file_.size()) + " bytes");
    const auto version = load<uint32_t>(file_, 8);
    if (version == __builtin_bswap32(kCallTraceVersion))
      return make_error(Code::INCOMPATIBLE,
                        "call trace of a machine with the other byte order: bytes 8 to 11 are a big-endian " +
                            std::to_string(kCallTraceVersion) + ", expected a little-endian one");
    if (version != kCallTraceVersion)
      return make_error(Code::INCOMPATIBLE, "call trace of version " + std::to_string(version) +
                                                ", expected " + std::to_string(kCallTraceVersion));
    if (const auto flags = load<uint32_t>(file_, 12); flags != 0)
      return make_error(Code::INCOMPATIBLE,
                        "call trace: flags " + std::to_string(flags) + " at byte 12, expected 0");
    return {};
  }

  Status read_record(size_t at, std::span<const std::byte> body) {
    const Sha256 digest = sha256({reinterpret_cast<const uint8_t*>(body.data()), body.size()});
    if (std::memcmp(digest.data(), file_.data() + at + 4, sizeof(uint32_t)) != 0)
      return make_error(Code::INVALID_DATA,
                        "the digest of its " + std::to_string(body.size()) +
                            " bytes is another than the record states: the file is damaged");
    const auto kind = static_cast<TraceRecordKind>(load<uint32_t>(file_, at));
    if (kind == TraceRecordKind::BLOB) {
      trace_.blobs.push_back(body);
      return {};
    }
    if (body.size() > kMaxRecordNbytes)
      return make_error(Code::INVALID_DATA, std::to_string(body.size()) +
                                                " bytes of fields, expected at most " +
                                                std::to_string(kMaxRecordNbytes));
    switch (kind) {
      case TraceRecordKind::SOURCE:
        return parse(body, trace_.source);
      case TraceRecordKind::BEGIN:
        return read_begin(body);
      case TraceRecordKind::END:
        return read_end(body);
      case TraceRecordKind::READ: {
        TraceRead record;
        ETB_TRY(parse(body, record));
        ETB_TRY(check_blob(record.data));
        ETB_ASSIGN(TracedCallRecord* const call, find(record.number, "read"));
        call->reads.push_back(std::move(record));
        return {};
      }
      case TraceRecordKind::SIGNAL: {
        TraceSignal record;
        ETB_TRY(parse(body, record));
        ETB_TRY(check_tensors(record.outputs));
        ETB_TRY(check_tensors(record.inputs));
        ETB_ASSIGN(TracedCallRecord* const call, find(record.number, "signal"));
        if (call->signals.empty()) call->signals.push_back(std::move(record));
        return {};
      }
      case TraceRecordKind::STOP: {
        TraceStop record;
        ETB_TRY(parse(body, record));
        trace_.stop_cause = record.cause;
        return {};
      }
      default:
        ++skipped_;
        return {};
    }
  }

  Status read_begin(std::span<const std::byte> body) {
    TracedCallRecord call;
    ETB_TRY(parse(body, call.begin));
    ETB_TRY(check_blob(call.begin.payload));
    for (const BlobNumber number : call.begin.graphs) ETB_TRY(check_blob(number));
    ETB_TRY(check_tensors(call.begin.inputs));
    ETB_TRY(check_tensors(call.begin.outputs));
    const uint64_t number = call.begin.number;
    if (!index_.emplace(number, trace_.calls.size()).second)
      return make_error(Code::INVALID_DATA, "call " + std::to_string(number) + " begins twice");
    trace_.calls.push_back(std::move(call));
    return {};
  }

  Status read_end(std::span<const std::byte> body) {
    TraceEnd end;
    ETB_TRY(parse(body, end));
    ETB_ASSIGN(TracedCallRecord* const call, find(end.number, "end"));
    if (call->has_end)
      return make_error(Code::INVALID_DATA, "call " + std::to_string(end.number) + " ends twice");
    ETB_TRY(check_tensors(end.outputs));
    for (const TraceArtifact& artifact : end.artifacts) ETB_TRY(check_blob(artifact.payload));
    for (const TraceNamedBlob& named : end.named_blobs) ETB_TRY(check_blob(named.value));
    call->end = std::move(end);
    call->has_end = true;
    return {};
  }

  template <class Record>
  static Status parse(std::span<const std::byte> body, Record& out) {
    FieldReader reader(body);
    reader.read(out);
    if (reader.message().empty()) return {};
    return make_error(Code::INVALID_DATA, reader.message());
  }

  Result<TracedCallRecord*> find(uint64_t number, const char* what) {
    const auto found = index_.find(number);
    if (found == index_.end())
      return make_error(Code::INVALID_DATA, std::string(what) + " of call " + std::to_string(number) +
                                                ", which did not begin before");
    return &trace_.calls[found->second];
  }

  Status check_blob(BlobNumber number) const {
    if (number <= trace_.blobs.size()) return {};
    return make_error(Code::INVALID_DATA, "blob " + std::to_string(number) + ", the file has " +
                                              std::to_string(trace_.blobs.size()) + " up to here");
  }

  Status check_tensors(const std::vector<TraceTensor>& tensors) const {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TraceTensor& tensor = tensors[i];
      ETB_TRY(check_blob(tensor.data));
      const std::string where = "tensor " + std::to_string(i);
      if (tensor.rank > 16)
        return make_error(Code::INVALID_DATA,
                          where + ": rank " + std::to_string(tensor.rank) + ", expected at most 16");
      const auto fits = [&](size_t count) { return count == 0 || count == tensor.rank; };
      if (tensor.sizes.size() != tensor.rank || !fits(tensor.strides.size()) ||
          !fits(tensor.dim_order.size()) || !fits(tensor.upper_sizes.size()))
        return make_error(Code::INVALID_DATA, where + ": " + std::to_string(tensor.sizes.size()) +
                                                  " sizes, " + std::to_string(tensor.strides.size()) +
                                                  " strides, " + std::to_string(tensor.dim_order.size()) +
                                                  " dims in order, expected " + std::to_string(tensor.rank));
    }
    return {};
  }

  Status check_calls() {
    for (const TracedCallRecord& call : trace_.calls)
      if (!call.has_end)
        trace_.notes.push_back("call " + std::to_string(call.begin.number) + ", " + call.begin.function +
                               ", has no end: the process ended in it, or the recording stopped");
    return {};
  }

  std::span<const std::byte> file_;
  CallTrace trace_;
  std::map<uint64_t, size_t> index_;
  uint64_t skipped_ = 0;
};

}  // namespace

Result<CallTrace> read_call_trace(std::span<const std::byte> file) { return TraceReader(file).read(); }

Result<CallTraceFile> CallTraceFile::open(const std::string& path) {
  ETB_ASSIGN(const InputFile file, InputFile::open(path));
  if (file.nbytes() > kMaxFileNbytes)
    return make_error(Code::INVALID_DATA, "'" + path + "': " + std::to_string(file.nbytes()) +
                                              " bytes, expected at most " + std::to_string(kMaxFileNbytes));
  CallTraceFile out;
  out.words_.resize((file.nbytes() + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  const std::span<std::byte> bytes =
      std::as_writable_bytes(std::span(out.words_)).first(static_cast<size_t>(file.nbytes()));
  ETB_TRY(file.read(0, bytes));
  Result<CallTrace> trace = read_call_trace(bytes);
  if (!trace) return tl::make_unexpected(with_context(std::move(trace).error(), "'" + path + "'"));
  out.trace_ = *std::move(trace);
  return out;
}

}  // namespace etb::format
