// SPDX-License-Identifier: Apache-2.0
#include "api/format/call_trace_writer.hpp"

#include <cstring>

namespace etb::format {
namespace {

constexpr size_t kHeadNbytes = 16;      // of the file, and of each record
constexpr uint64_t kStopNbytes = 1024;  // reserved for the last record

template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(value));
}

// Writes fields: numbers as they are, arrays as a count and items, structs as a number of bytes and fields.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& out) : out_(out) {}

  template <class... T>
  void operator()(T&... fields) {
    (write(fields), ...);
  }

  template <class T>
  void write(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      put(out_, value);
    } else {
      const size_t at = out_.size();
      put(out_, uint32_t{0});
      value.fields(*this);
      const auto nbytes = static_cast<uint32_t>(out_.size() - at - sizeof(uint32_t));
      std::memcpy(out_.data() + at, &nbytes, sizeof(nbytes));
    }
  }
  void write(std::string& text) {
    put(out_, static_cast<uint32_t>(text.size()));
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    out_.insert(out_.end(), bytes, bytes + text.size());
  }
  template <class T>
  void write(std::vector<T>& items) {
    put(out_, static_cast<uint32_t>(items.size()));
    for (T& item : items) write(item);
  }
  template <size_t N>
  void write(std::array<uint8_t, N>& bytes) {
    put(out_, bytes);
  }

 private:
  std::vector<std::byte>& out_;
};

std::span<const uint8_t> as_u8(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace

template <class Record>
std::vector<std::byte> CallTraceWriter::to_body(Record& record) {
  std::vector<std::byte> body;
  FieldWriter(body).write(record);
  return body;
}
template std::vector<std::byte> CallTraceWriter::to_body(TraceSource&);
template std::vector<std::byte> CallTraceWriter::to_body(TraceBegin&);
template std::vector<std::byte> CallTraceWriter::to_body(TraceEnd&);
template std::vector<std::byte> CallTraceWriter::to_body(TraceRead&);
template std::vector<std::byte> CallTraceWriter::to_body(TraceSignal&);

Result<std::unique_ptr<CallTraceWriter>> CallTraceWriter::open(const std::string& path, uint64_t max_nbytes,
                                                               const TraceSource& source) {
  OutputOptions options;
  options.visibility = Visibility::kAtOnce;
  ETB_ASSIGN(OutputFile file, OutputFile::open(path, options));
  std::unique_ptr<CallTraceWriter> writer(new CallTraceWriter(std::move(file), max_nbytes));
  std::vector<std::byte> head;
  head.insert(head.end(), reinterpret_cast<const std::byte*>(kCallTraceMagic),
              reinterpret_cast<const std::byte*>(kCallTraceMagic) + 8);
  put(head, kCallTraceVersion);
  put(head, uint32_t{0});
  ETB_TRY(writer->file_.append(head));
  writer->nbytes_ = head.size();
  TraceSource copy = source;
  writer->add(TraceRecordKind::SOURCE, copy);
  ETB_TRY(writer->status());
  return writer;
}

BlobNumber CallTraceWriter::add_blob(std::span<const std::byte> bytes) {
  const Sha256 digest = sha256(as_u8(bytes));
  const std::lock_guard lock(mutex_);
  const auto found = blobs_.find(digest);
  if (found != blobs_.end()) return found->second;
  if (!write(TraceRecordKind::BLOB, bytes)) return 0;
  const auto number = static_cast<BlobNumber>(blobs_.size() + 1);
  blobs_.emplace(digest, number);
  return number;
}

Status CallTraceWriter::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

uint64_t CallTraceWriter::nbytes() const {
  const std::lock_guard lock(mutex_);
  return nbytes_;
}

// Writes nothing after the first error, so that the file has no gaps.
bool CallTraceWriter::write(TraceRecordKind kind, std::span<const std::byte> body) {
  if (!status_) return false;
  const uint64_t nbytes = kHeadNbytes + (body.size() + 15) / 16 * 16;
  if (nbytes + kStopNbytes <= max_nbytes_ && nbytes_ <= max_nbytes_ - nbytes - kStopNbytes)
    return append(kind, body);
  TraceStop stop{"the limit of " + std::to_string(max_nbytes_) + " bytes is reached"};
  std::vector<std::byte> last;
  FieldWriter(last).write(stop);
  append(TraceRecordKind::STOP, last);
  if (status_) status_ = make_error(Code::OUT_OF_RESOURCES, "call trace: " + stop.cause);
  return false;
}

// A record: kind, the first bytes of the body's digest, number of bytes, the body, zeros up to a multiple of 16.
bool CallTraceWriter::append(TraceRecordKind kind, std::span<const std::byte> body) {
  std::vector<std::byte> head;
  put(head, static_cast<uint32_t>(kind));
  const Sha256 digest = sha256(as_u8(body));
  head.insert(head.end(), reinterpret_cast<const std::byte*>(digest.data()),
              reinterpret_cast<const std::byte*>(digest.data()) + sizeof(uint32_t));
  put(head, uint64_t{body.size()});
  constexpr std::byte kZeros[16] = {};
  const size_t padding = (16 - body.size() % 16) % 16;
  status_ = file_.append(head);
  if (status_) status_ = file_.append(body);
  if (status_) status_ = file_.append(std::span(kZeros, padding));
  if (status_) nbytes_ += head.size() + body.size() + padding;
  return status_.has_value();
}

}  // namespace etb::format
