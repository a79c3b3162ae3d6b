#include "partitioner_sdk/emit/whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace etb::emit {

Status write_whole_file(const std::string& path,
                        const std::function<Status(const format::ByteSink&)>& write) {
  const std::string temporary = path + ".part";
  const auto fail = [&](const char* what) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    return make_error(Code::ACCESS_FAILED, std::string(what) + " '" + path + "': " + why);
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file(std::fopen(temporary.c_str(), "wb"));
  if (!file) return fail("cannot create");
  const Status written = write([&](std::span<const std::byte> bytes) -> Status {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size()) return {};
    return make_error(Code::ACCESS_FAILED, "short write");
  });
  if (!written) return fail("cannot write");
  if (std::fclose(file.release()) != 0) return fail("cannot write");
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return fail("cannot rename to");
  return {};
}

}  // namespace etb::emit
