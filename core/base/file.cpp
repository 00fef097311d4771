#include "core/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace inlay {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int number) {
  const Code code = number == ENOENT ? Code::kNotFound : Code::kIo;
  throw Error(code, fmt::format("{}: {}: {}", path.string(), what, std::strerror(number)));
}

void write_all(const Descriptor& file, std::span<const std::byte> bytes,
               const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "cannot write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

MappedFile map_file(const std::filesystem::path& path) {
  // O_NONBLOCK: a pipe without a writer would hold the call until one comes.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail(path, "cannot open", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(path, "cannot stat", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(Code::kIo, fmt::format("{}: expected a regular file", path.string()));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) fail(path, "cannot map", errno);
  std::shared_ptr<const std::byte> data(
      static_cast<const std::byte*>(address),
      [size](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), size); });
  return {std::move(data), size};
}

std::string read_text(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);
  return {reinterpret_cast<const char*>(file.data.get()), file.size_bytes};
}

void write_file(const std::filesystem::path& path,
                const std::vector<std::span<const std::byte>>& parts) {
  std::string pattern = path.string() + ".XXXXXX";
  const Descriptor file(::mkostemp(pattern.data(), O_CLOEXEC));
  if (file.get() < 0) fail(path, "cannot write", errno);
  try {
    for (const std::span<const std::byte> part : parts) write_all(file, part, path);
    constexpr mode_t kMode = 0644;
    if (::fchmod(file.get(), kMode) != 0 || ::fsync(file.get()) != 0) {
      fail(path, "cannot write", errno);
    }
    if (::rename(pattern.c_str(), path.c_str()) != 0) fail(path, "cannot write", errno);
  } catch (...) {
    ::unlink(pattern.c_str());
    throw;
  }
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  write_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace inlay
