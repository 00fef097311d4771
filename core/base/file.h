// Files as values: whole-file reads, read-only mappings, and writes that either finish or leave no
// trace.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inlay {

// A read-only mapping of a whole file, alive as long as any copy of it.
struct MappedFile {
  std::shared_ptr<const std::byte> data;  // null for an empty file
  std::size_t size_bytes = 0;
  std::span<const std::byte> bytes() const { return {data.get(), size_bytes}; }
};

// Gives back the memory of whole pages in `part` of a mapping; reading them again reads the file.
void forget(const MappedFile& file, std::span<const std::byte> part);

// throws  Error{kNotFound} if there is no such file, Error{kIo} if it cannot be read or is not a
//         regular file
MappedFile map_file(const std::filesystem::path& path);
std::string read_text(const std::filesystem::path& path);

// Writes the parts one after the other to a temporary file beside `path`, flushes it, and renames
// it over `path`: whoever reads, and whatever is killed, there is the old file or the new one. The
// temporary's name is `path`.partial; what a killed writer left of it is overwritten by the next,
// and writers of one path, of other processes too, take turns.
// throws  Error{kIo} with the system's reason (no space, no permission); then `path` is as it was
//         before
void write_file(const std::filesystem::path& path,
                const std::vector<std::span<const std::byte>>& parts);
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace inlay
