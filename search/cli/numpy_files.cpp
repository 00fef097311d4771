#include "search/cli/numpy_files.h"

#include <fmt/format.h>
#include <zip.h>

#include <cstring>
#include <memory>

#include "core/base/file.h"

namespace inlay::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPreamble = 10;  // magic, version, header length of version 1

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

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& source) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  if (bytes.size() < kPreamble + 2 || std::string_view(text, kMagic.size()) != kMagic) {
    corrupt(source, "expected a NumPy .npy file");
  }
  const bool is_version_1 = text[6] == 1;
  std::uint32_t header_size = 0;
  std::memcpy(&header_size, text + 8, is_version_1 ? 2 : 4);
  const std::size_t header_at = is_version_1 ? kPreamble : kPreamble + 2;
  if (header_size > bytes.size() - header_at)
    corrupt(source, "the header runs past the end of the file");
  const std::string header(text + header_at, header_size);
  const std::string order = value_of_key(header, "fortran_order", '\0', '\0', source);
  if (order != "True" && order != "False") {
    corrupt(source, fmt::format("fortran_order: expected True or False, found '{}'", order));
  }
  if (order == "True") {
    throw Error(Code::kUnsupported,
                fmt::format("{}: Fortran order; save a C-ordered array", source));
  }
  TensorType type;
  type.dtype = parse_descr(value_of_key(header, "descr", '\'', '\'', source), source);
  type.shape = parse_extents(value_of_key(header, "shape", '(', ')', source), source);
  const std::span<const std::byte> data = bytes.subspan(header_at + header_size);
  if (data.size() != dense_bytes(type)) {
    corrupt(source, fmt::format("{} needs {} bytes, the file holds {}", to_string(type),
                                dense_bytes(type), data.size()));
  }
  Tensor tensor = Tensor::zeros(type);
  if (!data.empty()) std::memcpy(tensor.mutable_bytes().data(), data.data(), data.size());
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

}  // namespace

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);  // names a missing file in our own words
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
    const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> member(
        zip_fopen_index(archive.get(), index, 0), &zip_fclose);
    if (member == nullptr) corrupt(source, zip_strerror(archive.get()));
    // Deflate expands at most about a thousandfold; more is a lie in the directory.
    constexpr zip_uint64_t kMaxExpansion = 1100;
    if (info.size / kMaxExpansion > file.size_bytes)
      corrupt(source, fmt::format("claims {} bytes", info.size));
    std::vector<std::byte> bytes(info.size);
    if (zip_fread(member.get(), bytes.data(), bytes.size()) !=
        static_cast<zip_int64_t>(bytes.size())) {
      corrupt(source, "shorter than its directory entry says, or damaged");
    }
    std::string name = info.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    tensors.emplace(name, parse_npy(bytes, source));
  }
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
    members.push_back(npy_header(tensor.type()));
    members.back().append(reinterpret_cast<const char*>(tensor.data()), tensor.size_bytes());
    zip_source_t* source =
        zip_source_buffer(archive.get(), members.back().data(), members.back().size(), 0);
    const zip_int64_t index =
        zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
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
