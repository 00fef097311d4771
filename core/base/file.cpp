#include "core/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace inlay {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
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

bool is_same_file(const Descriptor& file, const std::string& name) {
  struct stat open {};
  struct stat named {};
  return ::fstat(file.get(), &open) == 0 && ::lstat(name.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

// Opens the file that a write to `path` fills before it takes that name. One name for all writers,
// so that what a killed one left is filled again by the next, and locked, so that they take turns.
// A writer that waited finds the name gone to another file, or to none, and tries again.
Descriptor open_partial(const std::filesystem::path& path, const std::string& partial) {
  for (;;) {
    Descriptor file(
        ::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
    if (file.get() < 0) fail(path, "cannot write", errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) fail(path, "cannot stat", errno);
    if (!S_ISREG(status.st_mode)) {
      throw Error(Code::kIo, fmt::format("{}: expected a regular file or none", partial));
    }
    while (::flock(file.get(), LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS) return file;
      fail(partial, "cannot lock", errno);
    }
    if (is_same_file(file, partial)) return file;
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

void forget(const MappedFile& file, std::span<const std::byte> part) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t begin =
      (static_cast<std::size_t>(part.data() - file.data.get()) + page - 1) / page * page;
  const std::size_t end =
      static_cast<std::size_t>(part.data() + part.size() - file.data.get()) / page * page;
  if (begin >= end) return;
  // The pages are clean, so nothing is lost; if the system refuses, they merely stay.
  ::madvise(const_cast<std::byte*>(file.data.get()) + begin, end - begin, MADV_DONTNEED);
}

std::string read_text(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);
  return {reinterpret_cast<const char*>(file.data.get()), file.size_bytes};
}

void write_file(const std::filesystem::path& path,
                const std::vector<std::span<const std::byte>>& parts) {
  const std::string partial = path.string() + ".partial";
  const Descriptor file = open_partial(path, partial);
  try {
    if (::ftruncate(file.get(), 0) != 0) fail(path, "cannot write", errno);
    for (const std::span<const std::byte> part : parts) write_all(file, part, path);
    constexpr mode_t kMode = 0644;
    if (::fchmod(file.get(), kMode) != 0 || ::fsync(file.get()) != 0) {
      fail(path, "cannot write", errno);
    }
    if (::rename(partial.c_str(), path.c_str()) != 0) fail(path, "cannot write", errno);
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  write_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace inlay
