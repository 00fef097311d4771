// Messages between this process and a worker over a Unix socket: a text and open files. Private to
// core/run.
//
//   send_message(socket, {"{\"do\":\"measure\"}", std::move(files)}, deadline);
//   Message reply;
//   if (receive_message(socket, &reply, deadline) == Received::kMessage) ...
//
// On the wire: bytes of the text and number of files, both u32, with the files attached to the
// first byte; then the text.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/tensor.h"

namespace inlay {

using Deadline = std::chrono::steady_clock::time_point;

// An open file or socket, closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Another number for the same open file.
// throws  Error{kIo}
Descriptor copy_of(const Descriptor& file);

struct Message {
  std::string text;
  std::vector<Descriptor> files;
};

enum class Received { kMessage, kClosed, kTimeout };

// kClosed if the other side is gone. `deadline` absent: waits for ever.
// throws  Error{kIo} for any other failure; Error{kInvalidArgument} for a message above the limits
// below
Received send_message(int socket, const Message& message, std::optional<Deadline> deadline);

// throws  Error{kCorrupt} if the other side does not keep to the form
Received receive_message(int socket, Message* message, std::optional<Deadline> deadline);

inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMaxFiles = 8;

// Tensors in anonymous memory, one after the other, each at a multiple of 64 bytes; and back,
// sharing the mapping. throws  Error{kIo}; Error{kCorrupt} if the file is too short for the types
Descriptor to_memory_file(std::span<const Tensor> tensors);
std::vector<Tensor> from_memory_file(const Descriptor& file, const std::vector<TensorType>& types);

}  // namespace inlay
