#include "search/cli/tensor_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

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
  std::string fortran = preamble + header + data;
  fortran.replace(fortran.find("False"), 5, "True ");
  write_file(folder_ / "c.npy", fortran);
  EXPECT_THROW(read_npy(folder_ / "c.npy"), Error);
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
