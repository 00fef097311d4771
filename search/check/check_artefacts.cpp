#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "search/check/agreement.h"
#include "search/check/doing.h"
#include "search/check/families.h"
#include "search/check/program_run.h"
#include "search/check/verdict.h"

namespace inlay::check {
namespace {

constexpr const char* kIdentity = "conformance:1";

// The table's half without the other is a program that nobody can use.
void require_artefacts(const inlay_plugin& table) {
  if (table.save_program == nullptr && table.load_program == nullptr) {
    skip("the table has no save_program and no load_program");
  }
  require(table.save_program != nullptr, "the table has load_program, and save_program is null");
  require(table.load_program != nullptr, "the table has save_program, and load_program is null");
}

// nullopt if the plugin does not save this one.
std::optional<std::string> saved(const OpenDevice& device, const Compiled& compiled) {
  std::string bytes;
  const auto write = [](void* argument, const void* data, std::uint64_t size) -> inlay_status {
    static_cast<std::string*>(argument)->append(static_cast<const char*>(data), size);
    return INLAY_OK;
  };
  ErrorText error;
  const Answer answer = error.answer(
      device.table().save_program(compiled.program.get(), kIdentity, write, &bytes, error.get()));
  if (answer.status == INLAY_DECLINED) return std::nullopt;
  require(answer.is_ok(), "save_program: expected INLAY_OK, found {}", describe(answer));
  require(!bytes.empty(), "save_program: INLAY_OK, and nothing was written");
  return bytes;
}

// In a copy of its own that ends where memory ends.
Compiled loaded(const OpenDevice& device, const std::string& bytes, const char* identity) {
  const Pages copy(bytes.size(), /*at_end=*/true, 1);
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  Compiled made;
  ErrorText error;
  inlay_program* program = nullptr;
  made.answer = error.answer(device.table().load_program(device.get(), copy.data(), bytes.size(),
                                                         identity, error.get(), &program));
  require(made.answer.is_ok() == (program != nullptr), "load_program: found {} and {} program",
          describe(made.answer), program == nullptr ? "no" : "a");
  if (program == nullptr) return made;
  made.program = {program,
                  [destroy = device.table().destroy_program](inlay_program* p) { destroy(p); }};
  made.info.struct_size = sizeof(made.info);
  const inlay_status status = device.table().program_info(program, &made.info);
  require(status == INLAY_OK, "program_info of a loaded program: found {}", name_of_status(status));
  return made;
}

// A saved sample, or the reason why there is none.
struct Saved {
  const Sample* sample = nullptr;
  std::string bytes;
};

std::vector<Saved> saved_samples(Subject& subject) {
  const OpenDevice& device = subject.device();
  require_artefacts(device.table());
  std::vector<Saved> list;
  for (const Sample* sample : accepted(device, subject.samples())) {
    doing("save of {}", describe(*sample));
    const Compiled compiled = compile(device, sample->region);
    if (const auto bytes = saved(device, compiled)) list.push_back({sample, *bytes});
  }
  require(!list.empty(), "the table has save_program, which declines every sample");
  return list;
}

}  // namespace

void save_load_run(Subject& subject) {
  for (const Saved& saved : saved_samples(subject)) {
    const Sample& sample = *saved.sample;
    doing("load of {}", describe(sample));
    const Compiled program = loaded(subject.device(), saved.bytes, kIdentity);
    require(program.program != nullptr,
            "{}: load_program of what was saved: expected INLAY_OK, found {}", describe(sample),
            describe(program.answer));
    const std::vector<Tensor> inputs = inputs_for(sample.region, 1);
    Run run(subject.device(), program, sample.region);
    run.set_inputs(inputs);
    run.fill_outputs();
    const Answer answer = run.enqueue();
    require(answer.is_ok(), "{}: enqueue of a loaded program: expected INLAY_OK, found {}",
            describe(sample), describe(answer));
    require_equal(subject, sample, inputs, run.outputs(), "a loaded program");
  }
}

void truncated_artifact(Subject& subject) {
  const std::vector<Saved> list = saved_samples(subject);
  const Saved& saved = list.front();
  const auto require_refused = [&](const std::string& bytes, const std::string& what) {
    doing("load of an artefact {}", what);
    const Compiled program = loaded(subject.device(), bytes, kIdentity);
    require(program.program == nullptr,
            "load_program of an artefact {}: expected an error, found OK", what);
  };
  const std::size_t size = saved.bytes.size();
  const std::size_t step = std::max<std::size_t>(size / 64, 1);
  for (std::size_t left = 0; left < size; left += step) {
    require_refused(saved.bytes.substr(0, left), fmt::format("cut to {} of {} bytes", left, size));
  }
  require_refused(saved.bytes.substr(0, size - 1), "without its last byte");
  for (std::size_t at = 0; at < size; at += step) {
    std::string changed = saved.bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    require_refused(changed, fmt::format("with byte {} of {} changed", at, size));
  }
}

void stale_identity(Subject& subject) {
  const std::vector<Saved> list = saved_samples(subject);
  for (const char* identity : {"conformance:2", "", "conformance:11"}) {
    const Compiled program = loaded(subject.device(), list.front().bytes, identity);
    require(program.answer.status == INLAY_STALE_ARTIFACT,
            "load_program with the identity '{}' of what was saved as '{}': expected "
            "INLAY_STALE_ARTIFACT, found {}",
            identity, kIdentity, program.answer.is_ok() ? "INLAY_OK" : describe(program.answer));
  }
}

void constant_sharing(Subject& subject) {
  const OpenDevice& device = subject.device();
  bool has_constants = false;
  for (const Sample* sample : accepted(device, subject.samples())) {
    // Constants in pages of their own, which are forbidden once the program says that it does not
    // need them any more.
    Region region = sample->region;
    std::vector<std::shared_ptr<Pages>> pages;
    for (RegionValue& value : region.values) {
      if (!value.constant || value.constant->size_bytes() == 0) continue;
      has_constants = true;
      const auto memory = std::make_shared<Pages>(value.constant->size_bytes(), false, 64);
      std::memcpy(memory->data(), value.constant->data(), value.constant->size_bytes());
      pages.push_back(memory);
      value.constant = Tensor(value.type, std::shared_ptr<const std::byte>(memory, memory->data()));
    }
    if (pages.empty()) continue;
    doing("{} without its constants, which it says it does not retain", describe(*sample));
    Compiled first = compile(device, region);
    Compiled second = compile(device, region);  // both from the same bytes
    if (first.info.retains_constants == 0) {
      for (const auto& memory : pages) memory->forbid();
    }
    const std::vector<Tensor> inputs = inputs_for(sample->region, 1);
    first.program.reset();  // what two share outlives the first of them
    Run run(device, second, region);
    run.set_inputs(inputs);
    run.fill_outputs();
    const Answer answer = run.enqueue();
    require(answer.is_ok(), "{}: enqueue: expected INLAY_OK, found {}", describe(*sample),
            describe(answer));
    require_equal(subject, *sample, inputs, run.outputs(), "the second of two programs");
  }
  const inlay_plugin& table = device.table();
  if (table.pack == nullptr) {
    if (!has_constants) skip("no pattern takes constants, and the table has no pack");
    return;
  }
  require(table.release_packed != nullptr, "the table has pack, and release_packed is null");
  const Tensor tensor = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const TensorView view(tensor.type(), Layout::dense(2), const_cast<std::byte*>(tensor.data()));
  const std::uint64_t hash[2] = {1, 2};
  for (int i = 0; i < 2; ++i) {
    ErrorText error;
    inlay_packed* packed = nullptr;
    const Answer answer = error.answer(
        table.pack(device.get(), hash, view.get(), view.get()->layout, error.get(), &packed));
    require(answer.is_ok() && packed != nullptr, "pack: expected INLAY_OK, found {}",
            describe(answer));
    table.release_packed(device.get(), packed);
  }
}

}  // namespace inlay::check
