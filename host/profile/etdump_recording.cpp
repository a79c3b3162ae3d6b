// SPDX-License-Identifier: Apache-2.0
#include "host/profile/etdump_recording.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <optional>
#include <regex>

#include "host/profile/etdump_stream.hpp"

namespace etb::host {
namespace {

// Memory of a log: pieces of doubling size.
class GrowingMemory final : public LogMemory {
 public:
  explicit GrowingMemory(uint64_t max_bytes) : left_(max_bytes) {}

  std::span<std::byte> more(uint64_t least_nbytes) noexcept override {
    constexpr uint64_t kMostNbytes = uint64_t{8} << 20;
    const uint64_t nbytes = std::min(std::max(next_nbytes_, least_nbytes), left_);
    if (nbytes < least_nbytes) return {};
    try {
      pieces_.emplace_back(new (std::nothrow) std::byte[nbytes]);
    } catch (const std::exception&) {
      return {};
    }
    if (pieces_.back() == nullptr) return pieces_.pop_back(), std::span<std::byte>();
    left_ -= nbytes;
    next_nbytes_ = std::min(2 * next_nbytes_, kMostNbytes);
    return {pieces_.back().get(), static_cast<size_t>(nbytes)};
  }

 private:
  uint64_t left_;
  uint64_t next_nbytes_ = uint64_t{64} << 10;
  std::vector<std::unique_ptr<std::byte[]>> pieces_;
};

constexpr std::array<std::byte, format::kDebugAlignment> kZeros{};

// Bytes that pad a debug buffer of `nbytes` to the next tensor.
uint64_t padding_of(uint64_t nbytes) noexcept { return -nbytes & (format::kDebugAlignment - 1); }

class MemoryDebugSink final : public DebugSink {
 public:
  explicit MemoryDebugSink(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  int64_t write(std::span<const std::byte> bytes) noexcept override {
    const uint64_t begin = bytes_.size() + padding_of(bytes_.size());
    if (begin > max_bytes_ || bytes.size() > max_bytes_ - begin) return -1;
    try {
      bytes_.reserve(begin + bytes.size() > bytes_.capacity() ? 2 * (begin + bytes.size()) : 0);
      bytes_.resize(begin);
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    } catch (const std::exception&) {
      return -1;
    }
    return static_cast<int64_t>(begin);
  }

  std::vector<std::byte>& bytes() noexcept { return bytes_; }

 private:
  uint64_t max_bytes_;
  std::vector<std::byte> bytes_;
};

// Writes while the program runs. The first error ends the writing.
class FileDebugSink final : public DebugSink {
 public:
  FileDebugSink(format::OutputFile file, uint64_t max_bytes)
      : file_(std::move(file)), max_bytes_(max_bytes) {}

  int64_t write(std::span<const std::byte> bytes) noexcept override {
    const uint64_t padding = padding_of(nbytes_), begin = nbytes_ + padding;
    if (is_committed_ || !status_ || begin > max_bytes_ || bytes.size() > max_bytes_ - begin) return -1;
    try {
      status_ = append(padding, bytes);
    } catch (const std::exception& error) {
      status_ = make_error(Code::INTERNAL, error.what());
    }
    if (!status_) return -1;
    nbytes_ = begin + bytes.size();
    return static_cast<int64_t>(begin);
  }

  Status commit() {
    if (is_committed_ || !status_) return status_;
    is_committed_ = true;
    return status_ = file_.commit();
  }

 private:
  Status append(uint64_t padding, std::span<const std::byte> bytes) {
    ETB_TRY(file_.append(std::span(kZeros).first(padding)));
    return file_.append(bytes);
  }

  format::OutputFile file_;
  uint64_t max_bytes_;
  uint64_t nbytes_ = 0;
  bool is_committed_ = false;
  Status status_;
};

// Writes a log into a file, and keeps the error that a sink cannot return.
class FileByteSink final : public ByteSink {
 public:
  explicit FileByteSink(format::OutputFile& file) : file_(file) { pending_.reserve(2 * kPiece); }
  bool write(std::span<const std::byte> bytes) noexcept override {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());  // pieces of a stream are small
    return pending_.size() < kPiece || flush();
  }
  bool flush() noexcept {
    status_ = file_.append(pending_);
    pending_.clear();
    return status_.has_value();
  }
  const Status& status() const noexcept { return status_; }

 private:
  static constexpr size_t kPiece = size_t{1} << 16;
  format::OutputFile& file_;
  std::vector<std::byte> pending_;
  Status status_;
};

Result<std::optional<std::regex>> make_regex(const FilterText& filter) {
  if (filter.pattern.empty()) return std::optional<std::regex>();
  try {
    return std::optional<std::regex>(std::regex(filter.pattern));
  } catch (const std::regex_error& error) {
    return make_error(Code::INVALID_ARGUMENT,
                      "filter '" + filter.pattern + "' is no regular expression: " + error.what());
  }
}

EtdumpFilter to_filter(const FilterText& text, const std::optional<std::regex>& regex) {
  EtdumpFilter filter{text.first_id, text.last_id, nullptr, nullptr};
  if (!regex) return filter;
  filter.self = &*regex;
  filter.matches = [](const void* self, const char* name) noexcept {
    try {
      return std::regex_search(name, *static_cast<const std::regex*>(self));
    } catch (const std::exception&) {
      return false;  // a name that is too long for the library's recursion
    }
  };
  return filter;
}

}  // namespace

// Members are in order of life.
struct EtdumpRecording::State {
  explicit State(const RecordingOptions& options)
      : memory(options.max_log_bytes), in_memory(options.max_debug_bytes), log({}, &memory) {}

  GrowingMemory memory;
  MemoryDebugSink in_memory;
  std::optional<FileDebugSink> in_file;
  std::optional<std::regex> event_regex, value_regex;
  ProfileLog log;
  std::optional<EtdumpTracer> tracer;
};

EtdumpRecording::EtdumpRecording(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
EtdumpRecording::~EtdumpRecording() = default;

Result<std::unique_ptr<EtdumpRecording>> EtdumpRecording::make(const RecordingOptions& options) {
  auto state = std::make_unique<State>(options);
  ETB_ASSIGN(state->event_regex, make_regex(options.event_filter));
  ETB_ASSIGN(state->value_regex, make_regex(options.value_filter));
  if (!options.debug_path.empty()) {
    ETB_ASSIGN(format::OutputFile file, format::OutputFile::open(options.debug_path));
    state->in_file.emplace(std::move(file), options.max_debug_bytes);
  }
  EtdumpOptions tracer;
  tracer.profile_level = options.profile_level;
  tracer.debug_level = options.debug_level;
  tracer.allocations = options.allocations;
  tracer.widens_bfloat16 = options.widens_bfloat16;
  tracer.debug_sink = state->in_file ? static_cast<DebugSink*>(&*state->in_file) : &state->in_memory;
  tracer.event_filter = to_filter(options.event_filter, state->event_regex);
  tracer.value_filter = to_filter(options.value_filter, state->value_regex);
  state->tracer.emplace(state->log, tracer);
  return std::unique_ptr<EtdumpRecording>(new EtdumpRecording(std::move(state)));
}

EtdumpTracer& EtdumpRecording::tracer() noexcept { return *state_->tracer; }

void EtdumpRecording::clear() noexcept {
  state_->tracer->clear();
  state_->in_memory.bytes().clear();
}

void EtdumpRecording::show_program(const std::string& name) noexcept {
  state_->log.show_program(name.c_str());
}

Result<std::vector<std::byte>> EtdumpRecording::to_bytes() const {
  std::vector<std::byte> bytes(etdump_nbytes(state_->log));
  BufferByteSink sink(bytes);
  if (!write_etdump(state_->log, sink) || sink.written().size() != bytes.size())
    return make_error(Code::INTERNAL, "an ETDump of " + std::to_string(bytes.size()) +
                                          " bytes was expected, " + std::to_string(sink.written().size()) +
                                          " were written");
  return bytes;
}

Result<std::vector<format::EtdumpBlock>> EtdumpRecording::to_blocks() const {
  ETB_ASSIGN(const std::vector<std::byte> bytes, to_bytes());
  return format::read_etdump(bytes);
}

Status EtdumpRecording::write(const std::string& path) const {
  ETB_ASSIGN(format::OutputFile file, format::OutputFile::open(path));
  FileByteSink sink(file);
  if (!write_etdump(state_->log, sink) || !sink.flush()) return sink.status();
  return file.commit();
}

Status EtdumpRecording::commit_debug_file() { return state_->in_file ? state_->in_file->commit() : Status(); }

std::span<const std::byte> EtdumpRecording::debug_bytes() const noexcept { return state_->in_memory.bytes(); }

uint64_t EtdumpRecording::dropped_event_count() const noexcept { return state_->log.dropped_count(); }
uint64_t EtdumpRecording::dropped_value_count() const noexcept {
  return state_->tracer->dropped_value_count();
}

}  // namespace etb::host
