#include "search/cli/numpy_files.h"

#include <fmt/format.h>
#include <zip.h>

#include <cstring>
#include <memory>

#include "core/base/file.h"
#include "core/run/available_memory.h"

namespace inlay::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPreamble = 10;  // magic, version, header length of version 1
constexpr std::size_t kLargestHeader = std::size_t{1} << 20;  // NumPy itself writes a hundred bytes
constexpr std::string_view kEnding = ".npy";                  // of an array in an archive

struct NumpyName {
  DType dtype;
  const char* descr;
};

constexpr NumpyName kNumpyNames[] = {
    {DType::kF32, "<f4"}, {DType::kF64, "<f8"}, {DType::kF16, "<f2"}, {DType::kI8, "|i1"},
    {DType::kI16, "<i2"}, {DType::kI32, "<i4"}, {DType::kI64, "<i8"}, {DType::kU8, "|u1"},
    {DType::kU16, "<u2"}, {DType::kU32, "<u4"}, {DType::kU64, "<u8"}, {DType::kBool, "|b1"}};

[[noreturn]] void corrupt(const std::string& source, const std::string& what) {
  throw Error(Code::kCorrupt, fmt::format("{}: {}", source, what));
}

// What stands behind a key of the header, from `open` to `close`, these left out; for '\0' from the
// first character to the next comma or brace.
std::string value_of_key(std::string_view header, std::string_view key, char open, char close,
                         const std::string& source) {
  const auto fail = [&]() {
    corrupt(source,
            fmt::format("expected a NumPy header with descr, fortran_order and shape, found '{}'",
                        header.substr(0, 120)));
  };
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) fail();
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (open != '\0') {
    if (rest.empty() || rest.front() != open) fail();
    rest.remove_prefix(1);
  }
  const std::size_t end = open == '\0' ? rest.find_first_of(",}") : rest.find(close);
  if (end == std::string_view::npos) fail();
  return std::string(rest.substr(0, end));
}

DType parse_descr(const std::string& descr, const std::string& source) {
  for (const NumpyName& row : kNumpyNames) {
    if (descr == row.descr ||
        (descr.size() == 3 && descr.substr(1) == std::string(row.descr).substr(1) &&
         size_of(row.dtype) == 1)) {
      return row.dtype;
    }
  }
  throw Error(Code::kUnsupported, fmt::format("{}: element type '{}'", source, descr));
}

// "2, 3" or "2," or "".
Shape parse_extents(std::string_view text, const std::string& source) {
  constexpr std::size_t kMaxRank = 64;  // NumPy's own
  constexpr std::size_t kMaxDigits = 18;
  Shape shape;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    word = word.substr(0, word.find_last_not_of(' ') + 1);
    if (word.empty() && text.empty()) break;
    const bool is_number = !word.empty() && word.size() <= kMaxDigits &&
                           word.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number) corrupt(source, fmt::format("an extent of '{}'", word.substr(0, 40)));
    shape.push_back(std::stoll(std::string(word)));
    if (shape.size() > kMaxRank) corrupt(source, fmt::format("more than {} dimensions", kMaxRank));
  }
  return shape;
}

// From elements whose first index runs fastest to those whose last one does.
void copy_from_fortran(std::span<const std::byte> data, Tensor& tensor) {
  const Shape& shape = tensor.type().shape;
  const std::size_t size = size_of(tensor.type().dtype);
  std::vector<std::int64_t> index(shape.size());
  std::byte* target = tensor.mutable_bytes().data();
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    std::int64_t from = 0;
    for (std::size_t d = shape.size(); d-- > 0;) from = from * shape[d] + index[d];
    std::memcpy(target, data.data() + static_cast<std::size_t>(from) * size, size);
    target += size;
    for (std::size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
}

// What stands before the elements.
struct NpyHeader {
  TensorType type;
  bool is_fortran = false;
  std::size_t size_bytes = 0;
};

//   bytes  the file, or its beginning: kLargestHeader bytes of it
NpyHeader parse_header(std::span<const std::byte> bytes, const std::string& source) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  if (bytes.size() < kPreamble + 2 || std::string_view(text, kMagic.size()) != kMagic) {
    corrupt(source, "expected a NumPy .npy file");
  }
  const bool is_version_1 = text[6] == 1;
  std::uint32_t header_size = 0;
  std::memcpy(&header_size, text + 8, is_version_1 ? 2 : 4);
  const std::size_t header_at = is_version_1 ? kPreamble : kPreamble + 2;
  if (header_size > kLargestHeader - kPreamble - 2)
    corrupt(source, fmt::format("a header of {} bytes", header_size));
  if (header_size > bytes.size() - header_at)
    corrupt(source, "the header runs past the end of the file");
  const std::string header(text + header_at, header_size);
  const std::string order = value_of_key(header, "fortran_order", '\0', '\0', source);
  if (order != "True" && order != "False") {
    corrupt(source, fmt::format("fortran_order: expected True or False, found '{}'", order));
  }
  NpyHeader parsed{
      .type = {}, .is_fortran = order == "True", .size_bytes = header_at + header_size};
  parsed.type.dtype = parse_descr(value_of_key(header, "descr", '\'', '\'', source), source);
  parsed.type.shape = parse_extents(value_of_key(header, "shape", '(', ')', source), source);
  return parsed;
}

void check_size(const NpyHeader& header, std::uint64_t file_size, const std::string& source) {
  const std::uint64_t data = file_size - header.size_bytes;
  std::size_t needed = 0;
  try {
    needed = dense_bytes(header.type);
  } catch (const Error& error) {  // more than can be counted
    corrupt(source, error.what());
  }
  if (data != needed) {
    corrupt(source, fmt::format("{} needs {} bytes, the file holds {}", to_string(header.type),
                                needed, data));
  }
}

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& source) {
  const NpyHeader header = parse_header(bytes, source);
  check_size(header, bytes.size(), source);
  const std::span<const std::byte> data = bytes.subspan(header.size_bytes);
  Tensor tensor = Tensor::zeros(header.type);
  if (data.empty()) return tensor;
  if (header.is_fortran) {
    copy_from_fortran(data, tensor);
  } else {
    std::memcpy(tensor.mutable_bytes().data(), data.data(), data.size());
  }
  return tensor;
}

std::string npy_header(const TensorType& type) {
  std::string descr = type.dtype == DType::kBF16 ? "<u2" : "";
  for (const NumpyName& row : kNumpyNames) {
    if (row.dtype == type.dtype) descr = row.descr;
  }
  std::string shape;
  for (const std::int64_t extent : type.shape) shape += fmt::format("{},", extent);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr std::size_t kAlignment = 64;
  const std::size_t unpadded = kPreamble + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  const auto size = static_cast<std::uint16_t>(header.size());
  std::string preamble(kMagic);
  preamble += {'\x01', '\x00', static_cast<char>(size & 0xff), static_cast<char>(size >> 8)};
  return preamble + header;
}

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;

std::string zip_reason(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

// A member's bytes, as many as its directory entry says. Memory is taken for them only if they can
// be there and its header says so too: an entry may claim anything.
std::vector<std::byte> read_member(zip_t* archive, const zip_stat_t& info,
                                   const std::string& source) {
  const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> member(
      zip_fopen_index(archive, info.index, 0), &zip_fclose);
  if (member == nullptr) corrupt(source, zip_strerror(archive));
  constexpr zip_uint64_t kMaxExpansion = 1100;  // what deflate can do, a little over 1000
  if (info.size / kMaxExpansion > info.comp_size) {
    corrupt(source, fmt::format("claims {} bytes, made of {}", info.size, info.comp_size));
  }
  std::vector<std::byte> bytes(std::min<zip_uint64_t>(info.size, kLargestHeader));
  const auto read_on = [&](std::size_t from) {
    const auto wanted = static_cast<zip_int64_t>(bytes.size() - from);
    if (zip_fread(member.get(), bytes.data() + from, bytes.size() - from) != wanted) {
      corrupt(source, "shorter than its directory entry says, or damaged");
    }
  };
  read_on(0);
  const NpyHeader header = parse_header(bytes, source);
  check_size(header, info.size, source);
  if (info.size > available_memory_bytes()) {
    throw Error(Code::kNoMemory,
                fmt::format("{}: {} needs {} bytes, {} are free", source, to_string(header.type),
                            info.size, available_memory_bytes()));
  }
  const std::size_t read = bytes.size();
  bytes.resize(info.size);
  read_on(read);
  return bytes;
}

// Before libzip cuts it short.
void check_member_name(const std::filesystem::path& path, const std::string& name) {
  constexpr std::size_t kLongestName = 65535;  // its length stands in 16 bits
  const auto fail = [&](const std::string& what) {
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: cannot write array '{:.60}{}': {}; a .npy file holds one array "
                            "without a name",
                            path.string(), name, name.size() > 60 ? "…" : "", what));
  };
  if (name.size() + kEnding.size() > kLongestName) {
    fail(fmt::format("an archive's names have up to {} bytes, this one {}",
                     kLongestName - kEnding.size(), name.size()));
  }
  if (name.find('\0') != std::string::npos) fail("its name contains a NUL");
}

}  // namespace

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  map_file(path);  // names a missing file in our own words
  int code = 0;
  const Archive archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code), &zip_discard);
  if (archive == nullptr)
    corrupt(path.string(), fmt::format("expected a NumPy .npz archive: {}", zip_reason(code)));
  std::map<std::string, Tensor> tensors;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t info;
    zip_stat_init(&info);
    const auto index = static_cast<zip_uint64_t>(i);
    if (zip_stat_index(archive.get(), index, 0, &info) != 0)
      corrupt(path.string(), zip_strerror(archive.get()));
    const std::string source = fmt::format("{}: member '{}'", path.string(), info.name);
    const std::vector<std::byte> bytes = read_member(archive.get(), info, source);
    std::string name = info.name;
    if (name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());
    if (!tensors.emplace(name, parse_npy(bytes, source)).second)
      corrupt(source, fmt::format("a second array '{0}': {0} and {0}.npy are one name", name));
  }
  if (tensors.empty()) corrupt(path.string(), "expected arrays, found an empty archive");
  return tensors;
}

Tensor read_npy(const std::filesystem::path& path) {
  return parse_npy(map_file(path).bytes(), path.string());
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const std::string header = npy_header(tensor.type());
  write_file(path, {std::as_bytes(std::span(header)), tensor.bytes()});
}

void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code), &zip_discard);
  if (archive == nullptr)
    throw Error(Code::kIo, fmt::format("{}: cannot write: {}", path.string(), zip_reason(code)));
  std::vector<std::string> members;  // alive until zip_close has read them
  members.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    check_member_name(path, name);
    members.push_back(npy_header(tensor.type()));
    members.back().append(reinterpret_cast<const char*>(tensor.data()), tensor.size_bytes());
    std::unique_ptr<zip_source_t, decltype(&zip_source_free)> source(
        zip_source_buffer(archive.get(), members.back().data(), members.back().size(), 0),
        &zip_source_free);
    const zip_int64_t index = zip_file_add(archive.get(), (name + std::string(kEnding)).c_str(),
                                           source.get(), ZIP_FL_ENC_UTF_8);
    if (index >= 0) source.release();  // the archive's now
    if (index < 0 || zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index),
                                              ZIP_CM_STORE, 0) != 0) {
      throw Error(Code::kIo, fmt::format("{}: cannot write '{}': {}", path.string(), name,
                                         zip_strerror(archive.get())));
    }
  }
  if (zip_close(archive.get()) != 0) {
    throw Error(Code::kIo,
                fmt::format("{}: cannot write: {}", path.string(), zip_strerror(archive.get())));
  }
  archive.release();  // zip_close freed it
}

}  // namespace inlay::cli
