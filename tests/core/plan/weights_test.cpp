#include "core/plan/weights.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/file.h"

namespace inlay {
namespace {

class WeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    builder_.add("a", Tensor::from<float>({3}, {1, 2, 3}));
    builder_.add("b", Tensor::from<std::int64_t>({2, 1}, {4, 5}));
    builder_.add("empty", Tensor::from<float>({0}, {}));
    builder_.add("c", Tensor::from<float>({}, {6}));
    write_weights(path_, builder_.constants(), builder_.weights());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void expect_corrupt(const std::string& part) const {
    try {
      open_weights(path_, builder_.constants());
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  const std::filesystem::path path_ = "weights_test.weights";
  WeightsBuilder builder_;
};

TEST_F(WeightsTest, ComeBackAsWritten) {
  const Weights weights = open_weights(path_, builder_.constants());
  EXPECT_EQ(weights.tensors, builder_.weights().tensors);
  for (const Tensor& tensor : weights.tensors) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  }
}

// Memory that the process holds of the file, in bytes.
std::size_t resident_bytes(const std::string& file_name) {
  std::ifstream maps("/proc/self/smaps");
  std::size_t total = 0;
  bool is_of_file = false;
  for (std::string line; std::getline(maps, line);) {
    const bool is_header = line.find('-') < line.find(' ');
    if (is_header) is_of_file = line.ends_with(file_name);
    if (is_of_file && line.starts_with("Rss:")) total += std::stoul(line.substr(4)) * 1024;
  }
  return total;
}

// The hash of each was read; a device may have packed a copy since.
TEST_F(WeightsTest, HoldNoMemoryOfConstantsAtRestAndReadThemAgain) {
  const Tensor large = Tensor::from<std::uint8_t>({4 << 20}, std::vector<std::uint8_t>(4 << 20, 7));
  const int index = builder_.add("large", large);
  write_weights(path_, builder_.constants(), builder_.weights());
  const Weights weights = open_weights(path_, builder_.constants());
  EXPECT_LT(resident_bytes(path_), 1u << 20);
  const Tensor& read = weights.tensors[static_cast<std::size_t>(index)];
  EXPECT_EQ(read, large);
  EXPECT_GE(resident_bytes(path_), 3u << 20);
  weights.rest(index);
  EXPECT_LT(resident_bytes(path_), 1u << 20);
  EXPECT_EQ(read, large);
}

TEST_F(WeightsTest, StoreEqualBytesOnce) {
  EXPECT_EQ(builder_.add("again", Tensor::from<float>({3}, {1, 2, 3})), 0);
  EXPECT_EQ(builder_.add("reshaped", Tensor::from<float>({3, 1}, {1, 2, 3})), 4);
}

TEST_F(WeightsTest, NameTheConstantWhoseBytesChanged) {
  std::string bytes = read_text(path_);
  bytes[builder_.constants()[1].offset_bytes] ^= 1;
  write_file(path_, bytes);
  expect_corrupt("constant 'b'");
}

TEST_F(WeightsTest, NameTheConstantThatIsCutOff) {
  const std::string bytes = read_text(path_);
  write_file(path_, std::string_view(bytes).substr(0, bytes.size() - 1));
  expect_corrupt("constant 'c'");
  write_file(path_, "");
  expect_corrupt("constant 'a'");
}

TEST_F(WeightsTest, RefuseAFileThatIsTooLong) {
  write_file(path_, read_text(path_) + "x");
  expect_corrupt("the file has");
}

TEST_F(WeightsTest, SayThatTheFileIsMissing) {
  try {
    open_weights("no_such.weights", builder_.constants());
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
  }
}

}  // namespace
}  // namespace inlay
