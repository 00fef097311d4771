#include "core/run/message.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "core/base/error.h"

namespace inlay {
namespace {

constexpr std::size_t kAlignment = 64;  // what plugins are promised

struct Header {
  std::uint32_t text_bytes;
  std::uint32_t files;
};

[[noreturn]] void fail(const char* what) {
  throw Error(Code::kIo, fmt::format("worker: {}: {}", what, std::strerror(errno)));
}

// Waits until the socket is ready; false if the deadline passes first.
bool wait_for(int socket, short events, std::optional<Deadline> deadline) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          *deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      timeout_ms = static_cast<int>(std::min<std::int64_t>(left.count(), INT_MAX));
    }
    pollfd poll_fd{socket, events, 0};
    const int ready = ::poll(&poll_fd, 1, timeout_ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) fail("poll");
  }
}

bool is_gone(int error) { return error == EPIPE || error == ECONNRESET; }

// Sends or receives `size` bytes by repeating `transfer(done)`, which returns what sendmsg and
// recvmsg return.
template <typename Transfer>
Received repeat(int socket, short events, std::size_t size, std::optional<Deadline> deadline,
                const Transfer& transfer) {
  for (std::size_t done = 0; done < size;) {
    if (!wait_for(socket, events, deadline)) return Received::kTimeout;
    const ssize_t moved = transfer(done);
    if (moved == 0) return Received::kClosed;
    if (moved < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      if (is_gone(errno)) return Received::kClosed;
      fail("socket");
    }
    done += static_cast<std::size_t>(moved);
  }
  return Received::kMessage;
}

struct FileControl {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFiles * sizeof(int))> bytes{};
};

// The header's bytes from `done` on, its files with the first of them.
ssize_t send_header(int socket, Header* header, std::size_t done,
                    const std::vector<Descriptor>& files) {
  iovec part{reinterpret_cast<char*>(header) + done, sizeof(Header) - done};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  FileControl control;
  if (done == 0 && !files.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* entry = CMSG_FIRSTHDR(&message);
    entry->cmsg_level = SOL_SOCKET;
    entry->cmsg_type = SCM_RIGHTS;
    entry->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    for (std::size_t i = 0; i < files.size(); ++i) {
      const int fd = files[i].get();
      std::memcpy(CMSG_DATA(entry) + i * sizeof(int), &fd, sizeof fd);
    }
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t receive_header(int socket, Header* header, std::size_t done,
                       std::vector<Descriptor>* files) {
  iovec part{reinterpret_cast<char*>(header) + done, sizeof(Header) - done};
  FileControl control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t received = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received <= 0) return received;
  for (cmsghdr* entry = CMSG_FIRSTHDR(&message); entry != nullptr;
       entry = CMSG_NXTHDR(&message, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(entry) + i * sizeof(int), sizeof fd);
      files->emplace_back(fd);
    }
  }
  return received;
}

std::size_t padded(std::size_t size_bytes) {
  return (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Received send_message(int socket, const Message& message, std::optional<Deadline> deadline) {
  if (message.text.size() > kMaxTextBytes || message.files.size() > kMaxFiles) {
    throw Error(Code::kInvalidArgument,
                fmt::format("worker: a message of {} bytes is too large", message.text.size()));
  }
  Header header{static_cast<std::uint32_t>(message.text.size()),
                static_cast<std::uint32_t>(message.files.size())};
  const Received sent = repeat(socket, POLLOUT, sizeof header, deadline, [&](std::size_t done) {
    return send_header(socket, &header, done, message.files);
  });
  if (sent != Received::kMessage) return sent;
  return repeat(socket, POLLOUT, message.text.size(), deadline, [&](std::size_t done) {
    return ::send(socket, message.text.data() + done, message.text.size() - done,
                  MSG_NOSIGNAL | MSG_DONTWAIT);
  });
}

Received receive_message(int socket, Message* message, std::optional<Deadline> deadline) {
  Header header{};
  message->files.clear();
  const Received received = repeat(socket, POLLIN, sizeof header, deadline, [&](std::size_t done) {
    return receive_header(socket, &header, done, &message->files);
  });
  if (received != Received::kMessage) return received;
  if (header.text_bytes > kMaxTextBytes || header.files != message->files.size()) {
    throw Error(Code::kCorrupt,
                fmt::format("worker: expected {} files with a message of {} bytes, found {}",
                            header.files, header.text_bytes, message->files.size()));
  }
  message->text.resize(header.text_bytes);
  return repeat(socket, POLLIN, message->text.size(), deadline, [&](std::size_t done) {
    return ::recv(socket, message->text.data() + done, message->text.size() - done, MSG_DONTWAIT);
  });
}

Descriptor copy_of(const Descriptor& file) {
  Descriptor copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) fail("dup");
  return copy;
}

Descriptor to_memory_file(std::span<const Tensor> tensors) {
  Descriptor file(::memfd_create("inlay-tensors", MFD_CLOEXEC));
  if (!file.is_open()) fail("memfd_create");
  std::size_t size = 0;
  for (const Tensor& tensor : tensors) size += padded(tensor.size_bytes());
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) fail("ftruncate");
  std::size_t offset = 0;
  for (const Tensor& tensor : tensors) {
    for (std::size_t done = 0; done < tensor.size_bytes();) {
      const ssize_t written = ::pwrite(file.get(), tensor.data() + done, tensor.size_bytes() - done,
                                       static_cast<off_t>(offset + done));
      if (written < 0 && errno != EINTR) fail("write");
      if (written > 0) done += static_cast<std::size_t>(written);
    }
    offset += padded(tensor.size_bytes());
  }
  return file;
}

std::vector<Tensor> from_memory_file(const Descriptor& file, const std::vector<TensorType>& types) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail("fstat");
  const auto size = static_cast<std::size_t>(status.st_size);
  std::size_t needed = 0;
  for (const TensorType& type : types) needed += padded(dense_bytes(type));
  if (needed > size) {
    throw Error(Code::kCorrupt,
                fmt::format("worker: expected {} bytes of tensors, found {}", needed, size));
  }
  std::shared_ptr<const std::byte> data;
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED) fail("mmap");
    data = std::shared_ptr<const std::byte>(
        static_cast<const std::byte*>(address),
        [size](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), size); });
  }
  std::vector<Tensor> tensors;
  std::size_t offset = 0;
  for (const TensorType& type : types) {
    if (dense_bytes(type) == 0) {
      tensors.push_back(Tensor::zeros(type));
      continue;
    }
    tensors.emplace_back(type, std::shared_ptr<const std::byte>(data, data.get() + offset));
    offset += padded(dense_bytes(type));
  }
  return tensors;
}

}  // namespace inlay
