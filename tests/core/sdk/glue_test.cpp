// The C table as a host sees it, with calls that a careful host would not make.
#include "core/sdk/glue.h"

#include <gtest/gtest.h>

#include "core/sdk/plugin.h"

namespace inlay::sdk {
namespace {

int init_calls = 0;
int deinit_calls = 0;
bool is_init_to_fail = false;

struct Negate : Kernel {
  void run(std::span<const TensorView> in, std::span<const TensorView> out,
           const RunContext&) const override {
    out[0].as<float>()[0] = -in[0].as<float>()[0];
  }
  std::size_t workspace_bytes() const override { return 64; }
  bool retains_constants() const override { return false; }
};

std::unique_ptr<Kernel> compile(const RegionView& region, const CompileContext& context) {
  if (region.pattern() == "decline") throw Decline("cap " + std::to_string(context.thread_cap));
  return std::make_unique<Negate>();
}

constexpr PluginInfo kInfo{.name = "negate", .version = "2.1"};
constexpr Hooks kHooks{.init =
                           [](const Host&) {
                             ++init_calls;
                             if (is_init_to_fail) throw std::runtime_error("no licence");
                           },
                       .deinit = [] { ++deinit_calls; },
                       .get_extension = nullptr};
using Table = Glue<kInfo, compile, kHooks>;

template <typename T>
T* untouched() {
  return reinterpret_cast<T*>(std::uintptr_t{0xDEAD0});
}

class GlueTest : public testing::Test {
 protected:
  void SetUp() override {
    error_.struct_size = sizeof(error_);
    host_.struct_size = sizeof(host_);
    host_.abi_major = INLAY_ABI_MAJOR;
    region_.struct_size = sizeof(region_);
    region_.pattern_id = "negate";
    region_.input_count = region_.output_count = 1;
    region_.inputs = region_.outputs = &zero_;
    request_.struct_size = sizeof(request_);
    request_.region = &region_;
    request_.thread_cap = 2;
    tensor_.struct_size = sizeof(tensor_);
    tensor_.data = &number_;
  }

  inlay_program* compiled() {
    inlay_program* program = nullptr;
    EXPECT_EQ(table_->compile(nullptr, &request_, &error_, &program), INLAY_OK) << error_.text;
    return program;
  }
  inlay_status enqueue(inlay_instance* instance, int inputs, int outputs, std::uint32_t flags = 0,
                       inlay_stream* stream = nullptr) {
    const inlay_tensor* const tensors[] = {&tensor_, &tensor_};
    return table_->enqueue(instance, stream, inputs, tensors, outputs, tensors, 0, nullptr, flags,
                           nullptr, &error_);
  }

  const inlay_plugin* table_ = Table::query(INLAY_ABI_MAJOR);
  inlay_error error_{};
  inlay_host host_{};
  inlay_region region_{};
  inlay_compile_request request_{};
  inlay_tensor tensor_{};
  std::int32_t zero_ = 0;
  float number_ = 3.0f;
};

using GluedTable = GlueTest;

TEST_F(GluedTable, IsGivenToTheSameMajorOnlyAndHasAllRequiredEntries) {
  ASSERT_NE(table_, nullptr);
  EXPECT_EQ(Table::query(INLAY_ABI_MAJOR + 1), nullptr);
  EXPECT_EQ(Table::query(INLAY_ABI_MAJOR), table_);
  EXPECT_STREQ(table_->name, "negate");
  EXPECT_STREQ(table_->version, "2.1");
  EXPECT_TRUE(table_->init && table_->device_info && table_->create_device &&
              table_->destroy_device && table_->compile && table_->destroy_program &&
              table_->program_info && table_->create_instance && table_->destroy_instance &&
              table_->enqueue);
  EXPECT_EQ(table_->get_extension("inlay.profiler/1"), nullptr);
}

TEST_F(GluedTable, CallsTheHooksAtTheFirstInitAndTheLastDeinit) {
  init_calls = deinit_calls = 0;
  EXPECT_EQ(table_->init(&host_, &error_), INLAY_OK);
  EXPECT_EQ(table_->init(&host_, &error_), INLAY_OK);
  table_->deinit();
  EXPECT_EQ(deinit_calls, 0);
  table_->deinit();
  table_->deinit();  // one too many
  EXPECT_EQ(init_calls, 1);
  EXPECT_EQ(deinit_calls, 1);
}

TEST_F(GluedTable, InitThatFailedMayBeTriedAgain) {
  init_calls = deinit_calls = 0;
  is_init_to_fail = true;
  EXPECT_EQ(table_->init(&host_, &error_), INLAY_INTERNAL);
  EXPECT_STREQ(error_.text, "no licence");
  is_init_to_fail = false;
  EXPECT_EQ(table_->init(&host_, &error_), INLAY_OK);
  table_->deinit();
  EXPECT_EQ(init_calls, 2);
  EXPECT_EQ(deinit_calls, 1);
}

TEST_F(GluedTable, InitRefusesAnotherMajorAndNoHost) {
  host_.abi_major = INLAY_ABI_MAJOR + 1;
  EXPECT_EQ(table_->init(&host_, &error_), INLAY_INVALID);
  EXPECT_EQ(table_->init(nullptr, &error_), INLAY_INVALID);
}

TEST_F(GluedTable, HasOneDeviceWithoutOptions) {
  inlay_device* device = untouched<inlay_device>();
  EXPECT_EQ(table_->create_device(1, 0, nullptr, &error_, &device), INLAY_INVALID);
  const inlay_option option{sizeof(inlay_option), "colour", "red"};
  const inlay_option* const options[] = {&option};
  EXPECT_EQ(table_->create_device(0, 1, options, &error_, &device), INLAY_INVALID);
  EXPECT_STREQ(error_.text, "unknown option 'colour'");
  EXPECT_EQ(device, untouched<inlay_device>());
  EXPECT_EQ(table_->create_device(0, 0, nullptr, &error_, &device), INLAY_OK);
  table_->destroy_device(device);
  inlay_device_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(table_->device_info(0, &info, &error_), INLAY_OK);
  EXPECT_EQ(table_->device_info(1, &info, &error_), INLAY_DECLINED);
  EXPECT_EQ(table_->device_info(-1, &info, &error_), INLAY_INVALID);
}

TEST_F(GluedTable, CompileLeavesItsOutputAloneUnlessItSucceeds) {
  inlay_program* program = untouched<inlay_program>();
  region_.pattern_id = "decline";
  EXPECT_EQ(table_->compile(nullptr, &request_, &error_, &program), INLAY_DECLINED);
  EXPECT_STREQ(error_.text, "cap 2");
  request_.struct_size = offsetof(inlay_compile_request, thread_cap);  // an older host
  EXPECT_EQ(table_->compile(nullptr, &request_, &error_, &program), INLAY_DECLINED);
  EXPECT_STREQ(error_.text, "cap 1");
  request_.region = nullptr;
  EXPECT_EQ(table_->compile(nullptr, &request_, &error_, &program), INLAY_INVALID);
  EXPECT_EQ(table_->compile(nullptr, nullptr, &error_, &program), INLAY_INVALID);
  EXPECT_EQ(program, untouched<inlay_program>());
}

TEST_F(GluedTable, CompileRefusesKnobsItDoesNotKnow) {
  const inlay_option option{sizeof(inlay_option), "tile", "8"};
  const inlay_option* const options[] = {&option};
  request_.option_count = 1;
  request_.options = options;
  inlay_program* program = nullptr;
  EXPECT_EQ(table_->compile(nullptr, &request_, &error_, &program), INLAY_INVALID);
  EXPECT_STREQ(error_.text, "unknown option 'tile'");
}

TEST_F(GluedTable, InfoIsWrittenNoFurtherThanTheCallersStruct) {
  inlay_program* program = compiled();
  inlay_program_info info{};
  info.retains_constants = info.is_deterministic = 77;
  info.struct_size = offsetof(inlay_program_info, is_deterministic);
  EXPECT_EQ(table_->program_info(program, &info), INLAY_OK);
  EXPECT_EQ(info.workspace_bytes, 64u);
  EXPECT_EQ(info.retains_constants, 0);
  EXPECT_EQ(info.is_deterministic, 77);
  EXPECT_EQ(table_->program_info(nullptr, &info), INLAY_INVALID);
  table_->destroy_program(program);
}

TEST_F(GluedTable, RunsAndRefusesCallsThatDoNotFit) {
  inlay_program* program = compiled();
  inlay_instance* instance = untouched<inlay_instance>();
  EXPECT_EQ(table_->create_instance(program, nullptr, &error_, &instance), INLAY_INVALID);
  EXPECT_EQ(instance, untouched<inlay_instance>());
  alignas(64) char workspace[64];
  ASSERT_EQ(table_->create_instance(program, workspace, &error_, &instance), INLAY_OK);
  EXPECT_EQ(enqueue(instance, 1, 1), INLAY_OK);
  EXPECT_EQ(number_, -3.0f);
  EXPECT_EQ(enqueue(instance, 2, 1), INLAY_INVALID);
  EXPECT_STREQ(error_.text, "the program has 1 inputs and 1 outputs, got 2 and 1");
  EXPECT_EQ(enqueue(instance, -1, 1), INLAY_INVALID);
  EXPECT_EQ(enqueue(instance, 1, 0), INLAY_INVALID);
  EXPECT_EQ(enqueue(instance, 1, 1, INLAY_RUN_TIMING_ONLY), INLAY_INVALID);
  EXPECT_EQ(enqueue(instance, 1, 1, 0, untouched<inlay_stream>()), INLAY_INVALID);
  EXPECT_EQ(enqueue(nullptr, 1, 1), INLAY_INVALID);
  EXPECT_EQ(number_, -3.0f);
  table_->destroy_instance(instance);
  table_->destroy_program(program);
}

TEST_F(GluedTable, DestroysAcceptNull) {
  table_->destroy_instance(nullptr);
  table_->destroy_program(nullptr);
  table_->destroy_device(nullptr);
  EXPECT_EQ(table_->init(&host_, nullptr), INLAY_OK);  // and so does whoever wants no error text
  table_->deinit();
}

}  // namespace
}  // namespace inlay::sdk
