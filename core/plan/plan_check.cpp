#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/plan/plan_words.h"

namespace inlay {
namespace {

constexpr std::uint64_t kAlignment = 64;  // what plugins are promised

class PlanCheck {
 public:
  PlanCheck(const Plan& plan, const std::string& source)
      : plan_(plan),
        source_(source),
        is_written_(plan.values.size(), false),
        is_part_(plan.values.size(), false),
        last_read_(plan.values.size(), -1) {}

  void run() {
    for (std::size_t c = 0; c < plan_.constants.size(); ++c) check_constant(c);
    for (std::size_t r = 0; r < plan_.regions.size(); ++r) {
      check_region(plan_.regions[r], source_, fmt::format("regions[{}]", r));
    }
    for (std::size_t v = 0; v < plan_.values.size(); ++v) check_value(v);
    check_ends("inputs", plan_.inputs, Storage::kInput);
    check_ends("outputs", plan_.outputs, Storage::kOutput);
    find_last_reads();
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) check_step(s);
    for (const int output : plan_.outputs) {
      if (!is_written_[static_cast<std::size_t>(output)]) {
        fail("outputs", "no step writes value {}", output);
      }
    }
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(const std::string& where, fmt::format_string<Args...> format,
                         Args&&... args) const {
    refuse(source_, where, fmt::format(format, std::forward<Args>(args)...));
  }

  const PlanValue& value(int index) const { return plan_.values[static_cast<std::size_t>(index)]; }
  int root_of(int index) const {
    return value(index).storage == Storage::kView ? value(index).view_of : index;
  }
  static std::uint64_t bytes_of(const PlanValue& value) {
    return value.layout.size_bytes(value.type);
  }

  void check_constant(std::size_t c) const {
    const PlanConstant& constant = plan_.constants[c];
    const std::string where = fmt::format("constants[{}]", c);
    const int rank = static_cast<int>(constant.type.shape.size());
    check_type(constant.type, Layout::dense(rank), source_, where);
    if (constant.size_bytes != dense_bytes(constant.type)) {
      fail(where, "expected {} bytes for {}, found {}", dense_bytes(constant.type),
           to_string(constant.type), constant.size_bytes);
    }
    if (constant.offset_bytes % kAlignment != 0) {
      fail(where, "expected an offset that is a multiple of {}, found {}", kAlignment,
           constant.offset_bytes);
    }
  }

  void check_value(std::size_t v) {
    const PlanValue& value = plan_.values[v];
    const std::string where = fmt::format("values[{}]", v);
    check_type(value.type, value.layout, source_, where);
    switch (value.storage) {
      case Storage::kInput:
        is_written_[v] = true;
        break;
      case Storage::kOutput:
        break;
      case Storage::kTemporary:
        if (value.offset_bytes % kAlignment != 0 || value.offset_bytes > plan_.arena_bytes ||
            bytes_of(value) > plan_.arena_bytes - value.offset_bytes) {
          fail(where, "{} bytes at {} do not lie in the arena of {}, aligned to {}",
               bytes_of(value), value.offset_bytes, plan_.arena_bytes, kAlignment);
        }
        if (!value.parts.empty()) check_parts(v, where);
        break;
      case Storage::kConstant: {
        is_written_[v] = true;
        const PlanConstant& constant = plan_.constants[static_cast<std::size_t>(value.constant)];
        if (!value.layout.is_dense() || value.type != constant.type) {
          fail(where, "expected {}, dense, as its constant is; found {} {}",
               to_string(constant.type), to_string(value.type), value.layout.text());
        }
        break;
      }
      case Storage::kView:
        check_view(v, where);
        break;
    }
  }

  void check_view(std::size_t v, const std::string& where) const {
    const PlanValue& view = plan_.values[v];
    if (view.view_of < 0 || static_cast<std::size_t>(view.view_of) >= v) {
      fail(where, "expected a view of an earlier value, found {}", view.view_of);
    }
    const PlanValue& root = value(view.view_of);
    if (root.storage == Storage::kView) fail(where, "a view of a view");
    if (!root.layout.is_dense() || !view.layout.is_dense() || root.type.dtype != view.type.dtype ||
        bytes_of(root) != bytes_of(view)) {
      fail(where, "{} {} is no view of {} {}", to_string(view.type), view.layout.text(),
           to_string(root.type), root.layout.text());
    }
    if (root.space != view.space) fail(where, "a view into another memory space");
  }

  void check_parts(std::size_t v, const std::string& where) {
    const PlanValue& whole = plan_.values[v];
    std::uint64_t end = whole.offset_bytes;
    for (const int index : whole.parts) {
      if (static_cast<std::size_t>(index) >= v) {
        fail(where, "expected parts that come earlier, found {}", index);
      }
      const PlanValue& part = value(index);
      if (part.storage != Storage::kTemporary || part.type.dtype != whole.type.dtype ||
          part.space != whole.space || part.offset_bytes != end) {
        fail(where, "value {} is no part of it at byte {} of the arena", index, end);
      }
      if (is_part_[static_cast<std::size_t>(index)]) fail(where, "value {} is a part twice", index);
      is_part_[static_cast<std::size_t>(index)] = true;
      end += bytes_of(part);
    }
    if (end != whole.offset_bytes + bytes_of(whole)) {
      fail(where, "expected parts of {} bytes together, found {}", bytes_of(whole),
           end - whole.offset_bytes);
    }
  }

  // Calls function(index) for each value whose memory a reader of `index` reads: the value that it
  // views, or the parts that it is made of.
  template <typename Function>
  void for_each_source(int index, const Function& function) const {
    const int root = root_of(index);
    if (value(root).parts.empty()) return function(root);
    for (const int part : value(root).parts) for_each_source(part, function);
  }

  // Plan::inputs and Plan::outputs hold each value of their storage once.
  void check_ends(const char* where, const std::vector<int>& list, Storage storage) const {
    std::vector<bool> seen(plan_.values.size(), false);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto index = static_cast<std::size_t>(list[i]);
      const std::string place = fmt::format("{}[{}]", where, i);
      if (plan_.values[index].storage != storage) {
        fail(place, "expected a value of storage {}, found {}", word_of(storage),
             word_of(plan_.values[index].storage));
      }
      if (seen[index]) fail(place, "value {} is there twice", index);
      seen[index] = true;
    }
    const auto of_storage =
        std::count_if(plan_.values.begin(), plan_.values.end(),
                      [storage](const PlanValue& v) { return v.storage == storage; });
    if (static_cast<std::size_t>(of_storage) != list.size()) {
      fail(where, "expected all {} values of storage {}, found {}", of_storage, word_of(storage),
           list.size());
    }
  }

  void find_last_reads() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const int input : plan_.steps[s].inputs) {
        for_each_source(input, [&](int source) {
          last_read_[static_cast<std::size_t>(source)] = static_cast<int>(s);
        });
      }
    }
  }

  void check_step(std::size_t s) {
    const PlanStep& step = plan_.steps[s];
    const std::string where = fmt::format("steps[{}]", s);
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      for_each_source(step.inputs[i], [&](int source) {
        if (is_written_[static_cast<std::size_t>(source)]) return;
        fail(fmt::format("{}.inputs[{}]", where, i), "value {} is read before it is written",
             source);
      });
    }
    if (step.kind == StepKind::kRun) {
      check_run(step, where);
    } else {
      check_move(step, where);
    }
    release_dead(static_cast<int>(s));
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      write(step, static_cast<int>(s), i, fmt::format("{}.outputs[{}]", where, i));
    }
  }

  void check_run(const PlanStep& step, const std::string& where) const {
    const Region& region = plan_.regions[static_cast<std::size_t>(step.region)];
    check_operands(step.inputs, region, region.inputs, where + ".inputs");
    check_operands(step.outputs, region, region.outputs, where + ".outputs");
    std::size_t next = 0;
    for (const RegionValue& constant : region.values) {
      if (!constant.is_constant || constant.constant) continue;
      if (next == step.constants.size()) {
        fail(where + ".constants", "expected one for each constant of the region without bytes");
      }
      const PlanConstant& given = plan_.constants[static_cast<std::size_t>(step.constants[next])];
      if (given.type != constant.type) {
        fail(fmt::format("{}.constants[{}]", where, next), "the region expects {}, found {}",
             to_string(constant.type), to_string(given.type));
      }
      ++next;
    }
    if (next != step.constants.size()) {
      fail(where + ".constants", "expected {}, found {}", next, step.constants.size());
    }
  }

  void check_operands(const std::vector<int>& given, const Region& region,
                      const std::vector<int>& expected, const std::string& where) const {
    if (given.size() != expected.size()) {
      fail(where, "the region has {}, found {}", expected.size(), given.size());
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      const PlanValue& found = value(given[i]);
      const RegionValue& wanted = region.values[static_cast<std::size_t>(expected[i])];
      if (found.type != wanted.type || found.layout != wanted.layout) {
        fail(fmt::format("{}[{}]", where, i), "the region expects {} {}, found {} {}",
             to_string(wanted.type), wanted.layout.text(), to_string(found.type),
             found.layout.text());
      }
    }
  }

  void check_move(const PlanStep& step, const std::string& where) const {
    if (step.inputs.size() != 1 || step.outputs.size() != 1) {
      fail(where, "expected one input and one output");
    }
    const PlanValue& from = value(step.inputs[0]);
    const PlanValue& to = value(step.outputs[0]);
    if (from.type != to.type) {
      fail(where, "expected one type, found {} and {}", to_string(from.type), to_string(to.type));
    }
    if (step.kind == StepKind::kCopy && from.layout != to.layout) {
      fail(where, "a copy from layout {} to {}", from.layout.text(), to.layout.text());
    }
  }

  // Forgets the temporaries whose last reader came before step s.
  void release_dead(int s) {
    if (s == 0) return;
    const PlanStep& before = plan_.steps[static_cast<std::size_t>(s) - 1];
    const auto release = [&](int root) {
      if (last_read_[static_cast<std::size_t>(root)] >= s) return;
      const auto entry = live_.find(value(root).offset_bytes);
      if (entry != live_.end() && entry->second == root) live_.erase(entry);
    };
    for (const int index : before.inputs) for_each_source(index, release);
    for (const int index : before.outputs) release(index);  // never read at all
  }

  void write(const PlanStep& step, int s, std::size_t position, const std::string& where) {
    const int index = step.outputs[position];
    const PlanValue& target = value(index);
    if (target.storage != Storage::kOutput && target.storage != Storage::kTemporary) {
      fail(where, "value {} of storage {} cannot be written", index, word_of(target.storage));
    }
    if (!target.parts.empty()) fail(where, "value {} is made of its parts", index);
    if (is_written_[static_cast<std::size_t>(index)]) {
      fail(where, "value {} is written twice", index);
    }
    is_written_[static_cast<std::size_t>(index)] = true;
    if (target.storage == Storage::kTemporary && bytes_of(target) > 0) {
      claim(step, s, index, where);
    }
  }

  // Memory of temporary `index`, written at step s: free, or in place of an input that dies there.
  void claim(const PlanStep& step, int s, int index, const std::string& where) {
    const std::uint64_t begin = value(index).offset_bytes;
    const std::uint64_t end = begin + bytes_of(value(index));
    const auto same = live_.find(begin);
    if (same != live_.end() && step.kind == StepKind::kRun &&
        last_read_[static_cast<std::size_t>(same->second)] == s &&
        bytes_of(value(same->second)) == end - begin) {
      live_.erase(same);  // in place, as far as the plan can tell
    }
    auto next = live_.lower_bound(begin);
    if (next != live_.end() && next->first < end) {
      fail(where, "value {} overlaps value {}, which is still needed", index, next->second);
    }
    if (next != live_.begin()) {
      const auto before = std::prev(next);
      if (before->first + bytes_of(value(before->second)) > begin) {
        fail(where, "value {} overlaps value {}, which is still needed", index, before->second);
      }
    }
    live_.emplace(begin, index);
  }

  const Plan& plan_;
  const std::string& source_;
  std::vector<bool> is_written_;       // by value; a view is written when what it views is
  std::vector<bool> is_part_;          // by value
  std::vector<int> last_read_;         // by value, views counted for what they view; step or -1
  std::map<std::uint64_t, int> live_;  // offset in the arena → temporary
};

}  // namespace

void check_plan(const Plan& plan, const std::string& source) { PlanCheck(plan, source).run(); }

}  // namespace inlay
