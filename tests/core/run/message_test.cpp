#include "core/run/message.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

namespace inlay {
namespace {

class MessageTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    left_ = Descriptor(ends[0]);
    right_ = Descriptor(ends[1]);
  }
  static Deadline soon() {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  }

  Descriptor left_;
  Descriptor right_;
};

TEST_F(MessageTest, ArrivesWithItsFiles) {
  const std::vector<Tensor> tensors = {Tensor::from<float>({3}, {1, 2, 3}),
                                       Tensor::from<float>({0}, {}),
                                       Tensor::from<std::int64_t>({}, {4})};
  Message sent{"hello", {}};
  sent.files.push_back(to_memory_file(tensors));
  ASSERT_EQ(send_message(left_.get(), sent, std::nullopt), Received::kMessage);
  ASSERT_EQ(send_message(left_.get(), {"", {}}, std::nullopt), Received::kMessage);
  Message got;
  ASSERT_EQ(receive_message(right_.get(), &got, std::nullopt), Received::kMessage);
  EXPECT_EQ(got.text, "hello");
  ASSERT_EQ(got.files.size(), 1u);
  EXPECT_EQ(
      from_memory_file(got.files[0], {tensors[0].type(), tensors[1].type(), tensors[2].type()}),
      tensors);
  ASSERT_EQ(receive_message(right_.get(), &got, std::nullopt), Received::kMessage);
  EXPECT_EQ(got.text, "");
  EXPECT_TRUE(got.files.empty());
}

TEST_F(MessageTest, MayBeLargerThanTheSocketsBuffer) {
  const std::string text(10'000'000, 'x');
  std::thread sender([&] {
    EXPECT_EQ(send_message(left_.get(), {text, {}}, std::nullopt), Received::kMessage);
  });
  Message got;
  EXPECT_EQ(receive_message(right_.get(), &got, std::nullopt), Received::kMessage);
  sender.join();
  EXPECT_EQ(got.text, text);
}

TEST_F(MessageTest, TimesOutBothWays) {
  Message got;
  EXPECT_EQ(receive_message(right_.get(), &got, soon()), Received::kTimeout);
  EXPECT_EQ(send_message(left_.get(), {std::string(10'000'000, 'x'), {}}, soon()),
            Received::kTimeout);
}

TEST_F(MessageTest, NoticesThatTheOtherSideIsGone) {
  right_ = Descriptor();
  Message got;
  EXPECT_EQ(receive_message(left_.get(), &got, std::nullopt), Received::kClosed);
  EXPECT_EQ(send_message(left_.get(), {std::string(10'000'000, 'x'), {}}, std::nullopt),
            Received::kClosed);
}

TEST_F(MessageTest, RefusesAnAbsurdLength) {
  const std::uint32_t header[2] = {0xffffffff, 0};
  ASSERT_EQ(::send(left_.get(), header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  Message got;
  EXPECT_THROW(receive_message(right_.get(), &got, std::nullopt), Error);
}

TEST(MemoryFile, RefusesTypesThatDoNotFit) {
  const std::vector<Tensor> tensors = {Tensor::from<float>({3}, {1, 2, 3})};
  EXPECT_THROW(from_memory_file(to_memory_file(tensors), {{DType::kF32, {100}}}), Error);
}

}  // namespace
}  // namespace inlay
