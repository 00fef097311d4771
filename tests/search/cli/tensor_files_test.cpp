#include "search/cli/tensor_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zip.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "tests/core/base/scratch_folder.h"

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

class TensorFiles : public ::testing::Test {
 protected:
  ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
};

std::vector<Tensor> samples() {
  std::vector<Tensor> tensors;
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kI8, DType::kI16, DType::kI32, DType::kI64,
        DType::kU8, DType::kU16, DType::kU32, DType::kU64, DType::kBool}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{0, 4}, Shape{2, 3, 4, 5}}) {
      Tensor tensor = Tensor::zeros({dtype, shape});
      for (std::size_t i = 0; i < tensor.size_bytes(); ++i)
        tensor.mutable_bytes()[i] = static_cast<std::byte>(i % 2);
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

TEST_F(TensorFiles, NpyRoundTripKeepsTypeShapeAndBytes) {
  for (const Tensor& tensor : samples()) {
    write_npy(folder_ / "t.npy", tensor);
    EXPECT_EQ(read_npy(folder_ / "t.npy"), tensor) << to_string(tensor.type());
  }
}

TEST_F(TensorFiles, NpzRoundTripKeepsNames) {
  std::map<std::string, Tensor> tensors;
  for (const Tensor& tensor : samples()) tensors["t/" + std::to_string(tensors.size())] = tensor;
  write_npz(folder_ / "t.npz", tensors);
  EXPECT_EQ(read_tensors(folder_ / "t.npz"), tensors);
}

TEST_F(TensorFiles, ArrayWithoutANameHasAnEmptyOne) {
  write_npy(folder_ / "x.npy", Tensor::from<float>({1}, {3}));
  const std::map<std::string, Tensor> tensors = read_tensors(folder_ / "x.npy");
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors.begin()->first, "");
}

TEST_F(TensorFiles, NpyOfNumpyItselfIsRead) {
  // np.save of np.arange(3, dtype='>i4') is big-endian: refused; '<i4' as NumPy 1.26 writes it,
  // version 1.
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  header.append(128 - 10 - header.size() - 1, ' ');
  header += '\n';
  const std::string preamble("\x93NUMPY\x01\x00\x76\x00", 10);
  const std::string data("\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00", 12);
  write_file(folder_ / "a.npy", preamble + header + data);
  EXPECT_EQ(read_npy(folder_ / "a.npy"), Tensor::from<std::int32_t>({3}, {0, 1, 2}));

  std::string big = preamble + header + data;
  big.replace(big.find("<i4"), 3, ">i4");
  write_file(folder_ / "b.npy", big);
  EXPECT_THROW(read_npy(folder_ / "b.npy"), Error);
}

// np.asfortranarray(np.arange(6, dtype='<i4').reshape(2, 3)): the first index runs fastest.
TEST_F(TensorFiles, FortranOrderIsReadIntoC) {
  std::string header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }";
  header.append(128 - 10 - header.size() - 1, ' ');
  std::string data(24, '\0');
  const int order[] = {0, 3, 1, 4, 2, 5};
  for (std::size_t i = 0; i < 6; ++i) data[4 * i] = static_cast<char>(order[i]);
  write_file(folder_ / "f.npy",
             std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + data);
  EXPECT_EQ(read_npy(folder_ / "f.npy"), Tensor::from<std::int32_t>({2, 3}, {0, 1, 2, 3, 4, 5}));
}

// Not write_file, which waits for the disk each time.
void overwrite(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST_F(TensorFiles, DamagedFilesAreErrorsAtEveryLengthAndByte) {
  write_npy(folder_ / "t.npy", Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  write_npz(folder_ / "t.npz",
            {{"x", Tensor::from<float>({2}, {1, 2})}, {"y", Tensor::from<float>({1}, {3})}});
  Rng rng(11);
  for (const char* name : {"t.npy", "t.npz"}) {
    const std::string bytes = read_text(folder_ / name);
    const fs::path damaged =
        folder_ / (std::string("damaged") + fs::path(name).extension().string());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      overwrite(damaged, bytes.substr(0, size));
      EXPECT_THROW(read_tensors(damaged), Error) << name << " cut to " << size;
    }
    for (int i = 0; i < 500; ++i) {  // either an error or a tensor, never a crash
      std::string flipped = bytes;
      flipped[rng.below(flipped.size())] ^= static_cast<char>(1u << rng.below(8));
      overwrite(damaged, flipped);
      try {
        for (const auto& [key, tensor] : read_tensors(damaged))
          EXPECT_EQ(tensor.size_bytes(), dense_bytes(tensor.type()));
      } catch (const Error&) {
      }
    }
  }
}

// An archive of these members, deflated.
void write_zip(const fs::path& path,
               const std::vector<std::pair<std::string, std::string>>& members) {
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, bytes] : members) {
    zip_file_add(archive, name.c_str(), zip_source_buffer(archive, bytes.data(), bytes.size(), 0),
                 ZIP_FL_ENC_UTF_8);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_F(TensorFiles, ArchivesWithoutArraysOrWithTwoOfANameAreErrors) {
  const auto error = [&] { return error_of([&] { read_npz(folder_ / "t.npz"); }); };
  write_file(folder_ / "t.npz", std::string("PK\x05\x06", 4) + std::string(18, '\0'));
  EXPECT_NE(error().find("found an empty archive"), std::string::npos) << error();
  write_npy(folder_ / "x.npy", Tensor::from<float>({1}, {3}));
  const std::string array = read_text(folder_ / "x.npy");
  write_zip(folder_ / "t.npz", {{"x", array}, {"x.npy", array}});
  EXPECT_NE(error().find("a second array 'x'"), std::string::npos) << error();
  write_zip(folder_ / "t.npz", {{"x.npy", array}, {"x.npy.npy", array}});
  EXPECT_EQ(error(), "no error");
  EXPECT_EQ(read_npz(folder_ / "t.npz").count("x.npy"), 1u);
}

TEST_F(TensorFiles, NamesThatAnArchiveCannotHoldAreErrors) {
  const Tensor tensor = Tensor::from<float>({1}, {3});
  const fs::path path = folder_ / "t.npz";
  const std::string longest(65531, 'n');
  write_npz(path, {{longest, tensor}});
  EXPECT_EQ(read_npz(path).count(longest), 1u);
  fs::remove(path);
  for (const std::string& name :
       {longest + "n", std::string(1 << 20, 'n'), std::string("a\0b", 3), std::string("\xff")}) {
    const std::string error = error_of([&] { write_npz(path, {{name, tensor}}); });
    EXPECT_NE(error.find("cannot write"), std::string::npos) << error;
    EXPECT_LT(error.size(), 500u);
    EXPECT_FALSE(fs::exists(path));
  }
}

// What the directory or the header claims is not asked of the system before it is plausible.
TEST_F(TensorFiles, ClaimsOfMoreThanThereIsAreErrors) {
  write_npy(folder_ / "x.npy", Tensor::zeros({DType::kU8, {100000}}));
  const std::string array = read_text(folder_ / "x.npy");
  const auto error_with = [&](const std::string& bytes) {
    overwrite(folder_ / "t.npz", bytes);
    return error_of([&] { read_npz(folder_ / "t.npz"); });
  };
  std::string claims = array;
  claims.replace(claims.find("(100000,"), 8, "(900000000000000000,");
  claims.erase(claims.find("          "), 12);
  write_zip(folder_ / "t.npz", {{"x.npy", claims}});
  EXPECT_NE(error_with(read_text(folder_ / "t.npz")).find("needs 900000000000000000 bytes"),
            std::string::npos);

  write_zip(folder_ / "t.npz", {{"x.npy", array}});
  std::string lies = read_text(folder_ / "t.npz");
  const auto size = static_cast<std::uint32_t>(array.size());
  const std::string told(reinterpret_cast<const char*>(&size), 4);
  for (std::size_t at = lies.find(told); at != std::string::npos; at = lies.find(told)) {
    lies.replace(at, 4, "\xf0\xff\xff\xff");
  }
  EXPECT_NE(error_with(lies).find("claims 4294967280 bytes"), std::string::npos)
      << error_with(lies);
}

TEST_F(TensorFiles, OtherEndingsAreRefusedByName) {
  write_file(folder_ / "t.txt", "1 2 3");
  EXPECT_THROW(read_tensors(folder_ / "t.txt"), Error);
}

TEST_F(TensorFiles, LongAndOddHeadersAreErrors) {
  const auto with_header = [&](std::string header) {
    header.resize((header.size() + 64) / 64 * 64, ' ');
    std::string bytes("\x93NUMPY\x02\x00", 8);
    const auto size = static_cast<std::uint32_t>(header.size());
    bytes.append(reinterpret_cast<const char*>(&size), 4);
    write_file(folder_ / "h.npy", bytes + header);
  };
  std::string ones;
  for (int i = 0; i < 100000; ++i) ones += "1,";
  for (const std::string& shape :
       {ones, std::string("-1,"), std::string("2 3"), std::string("x")}) {
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }");
    EXPECT_THROW(read_npy(folder_ / "h.npy"), Error) << shape.substr(0, 20);
  }
  with_header("{'descr': '<f4', 'fortran_order': Perhaps, 'shape': (1,), }");
  EXPECT_THROW(read_npy(folder_ / "h.npy"), Error);
  with_header("{'descr': '" + std::string(200000, 'f') +
              "', 'fortran_order': False, 'shape': (1,), }");
  EXPECT_THROW(read_npy(folder_ / "h.npy"), Error);
}

}  // namespace
}  // namespace inlay::cli
