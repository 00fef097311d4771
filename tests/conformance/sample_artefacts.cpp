#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "tests/conformance/sample_plugin.h"

namespace sample {
namespace {

struct Header {
  char magic[8];
  std::uint64_t checksum;  // of what follows
  std::uint64_t identity_bytes;
  std::int32_t operation;
  float scale;
  std::int64_t count;
};
constexpr char kMagic[8] = {'S', 'A', 'M', 'P', 'L', 'E', '1', '\0'};

// FNV-1a of the header behind its checksum, and of the identity.
std::uint64_t checksum(const Header& header, const char* identity) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&hash](const void* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211u;
    }
  };
  const std::size_t covered = offsetof(Header, identity_bytes);
  add(reinterpret_cast<const char*>(&header) + covered, sizeof(Header) - covered);
  add(identity, header.identity_bytes);
  return hash;
}

}  // namespace

inlay_status save_program(inlay_program* program, const char* identity,
                          inlay_status (*write)(void*, const void*, std::uint64_t), void* argument,
                          inlay_error*) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.identity_bytes = std::strlen(identity);
  header.operation = static_cast<std::int32_t>(program->operation);
  header.scale = program->scale;
  header.count = program->count;
  header.checksum = checksum(header, identity);
  const inlay_status status = write(argument, &header, sizeof(header));
  return status == INLAY_OK ? write(argument, identity, header.identity_bytes) : status;
}

inlay_status load_program(inlay_device* device, const void* bytes, std::uint64_t size_bytes,
                          const char* identity, inlay_error* error, inlay_program** out) {
  Header header{};
  if (size_bytes < sizeof(header)) return fail(error, INLAY_STALE_ARTIFACT, "cut");
  std::memcpy(&header, bytes, sizeof(header));
  const char* saved_identity = static_cast<const char*>(bytes) + sizeof(header);
  if (!is_broken(41)) {
    if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 ||
        header.identity_bytes != size_bytes - sizeof(header) ||
        header.checksum != checksum(header, saved_identity)) {
      return fail(error, INLAY_STALE_ARTIFACT, "damaged");
    }
  } else {
    header.identity_bytes = size_bytes - sizeof(header);
  }
  if (std::string(identity) != std::string(saved_identity, header.identity_bytes) &&
      !is_broken(42)) {
    return fail(error, INLAY_STALE_ARTIFACT, "saved under another identity");
  }
  auto* program = new inlay_program;
  program->device = device;
  program->operation = static_cast<Operation>(header.operation);
  program->scale = is_broken(40) ? 1 : header.scale;
  program->borrowed_scale = nullptr;
  program->borrowed_request = nullptr;
  program->count = header.count;
  program->scratch.resize(static_cast<std::size_t>(header.count));
  *out = program;
  return INLAY_OK;
}

}  // namespace sample
