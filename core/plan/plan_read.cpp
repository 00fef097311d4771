#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/plan/plan_text.h"
#include "core/plan/plan_words.h"

namespace inlay {
namespace {

constexpr int kMaxThreads = 4096;

using Json = nlohmann::json;

// A place in the document, for messages: "steps[3].inputs[0]". Reads what is there or refuses it.
class Place {
 public:
  Place(const Json& json, const std::string& source, std::string path)
      : json_(json), source_(source), path_(std::move(path)) {}

  [[noreturn]] void refuse_as(const std::string& expected) const {
    constexpr std::size_t kMaxShown = 40;
    std::string found = json_.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (found.size() > kMaxShown) found = json_.type_name();
    refuse(source_, path_, fmt::format("expected {}, found {}", expected, found));
  }

  // Refuses an object that lacks one of `keys` or has one outside `keys` and `optional_keys`.
  void expect_keys(std::initializer_list<const char*> keys,
                   std::initializer_list<const char*> optional_keys = {}) const {
    if (!json_.is_object()) refuse_as("an object");
    std::size_t known = keys.size();
    for (const char* key : keys) {
      if (!json_.contains(key)) refuse(source_, path_, fmt::format("expected the key '{}'", key));
    }
    for (const char* key : optional_keys) known += json_.contains(key) ? 1 : 0;
    if (known == json_.size()) return;
    for (const auto& item : json_.items()) {
      const auto is_key = [&](const char* key) { return item.key() == key; };
      if (std::none_of(keys.begin(), keys.end(), is_key) &&
          std::none_of(optional_keys.begin(), optional_keys.end(), is_key)) {
        refuse(source_, path_, fmt::format("unexpected key '{}'", item.key()));
      }
    }
  }

  bool has(const char* key) const { return json_.contains(key); }
  Place at(const char* key) const {
    return {json_[key], source_, path_.empty() ? key : fmt::format("{}.{}", path_, key)};
  }
  Place at(std::size_t index) const {
    return {json_[index], source_, fmt::format("{}[{}]", path_, index)};
  }
  std::size_t size() const {
    if (!json_.is_array()) refuse_as("a list");
    return json_.size();
  }

  std::string text() const {
    if (json_.is_string()) return json_.get<std::string>();
    if (json_.is_object() && json_.size() == 1 && json_.contains("hex")) {
      const std::vector<std::byte> bytes = at("hex").bytes();
      return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    refuse_as("a text");
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) const {
    const bool fits = json_.is_number_integer() &&
                      !(json_.is_number_unsigned() &&
                        json_.get<std::uint64_t>() >
                            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits || json_.get<std::int64_t>() < low || json_.get<std::int64_t>() > high) {
      refuse_as(fmt::format("an integer from {} to {}", low, high));
    }
    return json_.get<std::int64_t>();
  }
  std::uint64_t bytes_count() const {
    return static_cast<std::uint64_t>(integer(0, std::numeric_limits<std::int64_t>::max()));
  }
  // An index into a list of `size` entries.
  int index(std::size_t size) const {
    if (!json_.is_number_integer() || json_.get<std::int64_t>() < 0 ||
        json_.get<std::uint64_t>() >= size) {
      refuse_as(fmt::format("an index below {}", size));
    }
    return json_.get<int>();
  }
  float real() const {
    if (json_.is_number() && std::abs(json_.get<double>()) <= std::numeric_limits<float>::max()) {
      return static_cast<float>(json_.get<double>());
    }
    if (json_ == "inf") return std::numeric_limits<float>::infinity();
    if (json_ == "-inf") return -std::numeric_limits<float>::infinity();
    if (json_ == "nan") return std::numeric_limits<float>::quiet_NaN();
    if (json_ == "-nan") return -std::numeric_limits<float>::quiet_NaN();
    refuse_as("a number");
  }
  bool boolean() const {
    if (!json_.is_boolean()) refuse_as("true or false");
    return json_.get<bool>();
  }
  std::vector<std::byte> bytes() const {
    if (json_.is_string()) {
      if (auto bytes = from_hex(json_.get_ref<const std::string&>())) return *std::move(bytes);
    }
    refuse_as("hexadecimal digits");
  }
  Hash hash() const {
    const std::vector<std::byte> raw = bytes();
    if (raw.size() != 16) refuse_as("32 hexadecimal digits");
    Hash hash;
    for (std::size_t i = 0; i < 8; ++i) {
      hash.high = hash.high << 8 | std::to_integer<std::uint64_t>(raw[i]);
      hash.low = hash.low << 8 | std::to_integer<std::uint64_t>(raw[i + 8]);
    }
    return hash;
  }
  TensorType type() const {
    if (json_.is_string()) {
      if (auto type = parse_type(json_.get_ref<const std::string&>())) return *std::move(type);
    }
    refuse_as("a type such as f32[1x3]");
  }
  Layout layout() const {
    if (json_.is_string()) {
      if (auto layout = parse_layout(json_.get_ref<const std::string&>())) {
        return *std::move(layout);
      }
    }
    refuse_as("a layout such as abcd");
  }
  // The bytes here as a tensor of `type`, whose size must be theirs.
  Tensor tensor(const TensorType& type) const {
    check_type(type, Layout::dense(static_cast<int>(type.shape.size())), source_, path_);
    const std::vector<std::byte> raw = bytes();
    if (raw.size() != dense_bytes(type)) {
      refuse_as(fmt::format("the {} bytes of {}", dense_bytes(type), to_string(type)));
    }
    Tensor tensor = Tensor::zeros(type);
    if (!raw.empty()) std::memcpy(tensor.mutable_bytes().data(), raw.data(), raw.size());
    return tensor;
  }

  // Reads each entry of a list.
  template <typename Reader>
  auto list(const Reader& reader) const {
    std::vector<decltype(reader(*this))> items;
    const std::size_t count = size();
    items.reserve(count);
    for (std::size_t i = 0; i < count; ++i) items.push_back(reader(at(i)));
    return items;
  }
  std::vector<int> indices(std::size_t size) const {
    return list([size](const Place& p) { return p.index(size); });
  }
  std::vector<std::string> texts() const {
    return list([](const Place& p) { return p.text(); });
  }

 private:
  const Json& json_;
  const std::string& source_;
  std::string path_;
};

Attribute read_attribute(const Place& place) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  const auto integer = [](const Place& p) { return p.integer(kLow, kHigh); };
  const auto real = [](const Place& p) { return p.real(); };
  place.expect_keys({}, {"int", "float", "string", "ints", "floats", "strings", "tensor"});
  if (place.has("int")) return integer(place.at("int"));
  if (place.has("float")) return real(place.at("float"));
  if (place.has("string")) return place.at("string").text();
  if (place.has("ints")) return place.at("ints").list(integer);
  if (place.has("floats")) return place.at("floats").list(real);
  if (place.has("strings")) return place.at("strings").texts();
  if (!place.has("tensor")) place.refuse_as("an attribute");
  const Place tensor = place.at("tensor");
  tensor.expect_keys({"type", "bytes"});
  return tensor.at("bytes").tensor(tensor.at("type").type());
}

PlanPlugin read_plugin(const Place& place) {
  place.expect_keys({"name", "version", "build_id", "device", "fingerprint"});
  return {place.at("name").text(), place.at("version").text(), place.at("build_id").text(),
          place.at("device").text(), place.at("fingerprint").text()};
}

PlanConstant read_constant(const Place& place) {
  place.expect_keys({"name", "type", "hash", "offset_bytes", "size_bytes"});
  return {place.at("name").text(), place.at("type").type(), place.at("hash").hash(),
          place.at("offset_bytes").bytes_count(), place.at("size_bytes").bytes_count()};
}

RegionValue read_region_value(const Place& place) {
  place.expect_keys({"name", "type", "layout"}, {"port", "constant", "bytes"});
  RegionValue value;
  value.name = place.at("name").text();
  if (place.has("port")) value.port = place.at("port").text();
  value.type = place.at("type").type();
  value.layout = place.at("layout").layout();
  value.is_constant = place.has("constant") && place.at("constant").boolean();
  if (place.has("bytes")) value.constant = place.at("bytes").tensor(value.type);
  return value;
}

RegionNode read_node(const Place& place, std::size_t value_count) {
  place.expect_keys({"name", "op", "inputs", "outputs"}, {"domain", "attributes"});
  const auto operand = [&](const Place& p) {
    return static_cast<int>(p.integer(-1, static_cast<std::int64_t>(value_count) - 1));
  };
  RegionNode node;
  node.name = place.at("name").text();
  if (place.has("domain")) node.domain = place.at("domain").text();
  node.op = place.at("op").text();
  node.inputs = place.at("inputs").list(operand);
  node.outputs = place.at("outputs").list(operand);
  if (!place.has("attributes")) return node;
  const Place attributes = place.at("attributes");
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const Place pair = attributes.at(i);
    if (pair.size() != 2) pair.refuse_as("a name and a value");
    if (!node.attributes
             .emplace(pair.at(std::size_t{0}).text(), read_attribute(pair.at(std::size_t{1})))
             .second) {
      pair.refuse_as("each attribute once");
    }
  }
  return node;
}

Region read_region(const Place& place) {
  place.expect_keys({"pattern", "values", "nodes", "inputs", "outputs"}, {"most_threads"});
  Region region;
  region.pattern = place.at("pattern").text();
  region.values = place.at("values").list(read_region_value);
  const std::size_t count = region.values.size();
  region.nodes = place.at("nodes").list([count](const Place& p) { return read_node(p, count); });
  region.inputs = place.at("inputs").indices(count);
  region.outputs = place.at("outputs").indices(count);
  if (place.has("most_threads")) {
    region.most_threads = static_cast<int>(place.at("most_threads").integer(1, kMaxThreads));
  }
  return region;
}

PlanValue read_value(const Place& place, const Plan& plan, std::size_t value_count) {
  place.expect_keys({"name", "type", "layout", "space", "storage"},
                    {"offset_bytes", "parts", "view_of", "constant"});
  PlanValue value;
  value.name = place.at("name").text();
  value.type = place.at("type").type();
  value.layout = place.at("layout").layout();
  value.space = place.at("space").text();
  const std::optional<Storage> storage = storage_of(place.at("storage").text());
  if (!storage) place.at("storage").refuse_as("input, output, temporary, constant or view");
  value.storage = *storage;
  const auto wants = [&](const char* key, Storage only) {
    if (place.has(key) == (*storage == only)) return place.has(key);
    place.refuse_as(fmt::format("'{}' for storage {} and no other", key, word_of(only)));
  };
  if (wants("offset_bytes", Storage::kTemporary)) {
    value.offset_bytes = place.at("offset_bytes").bytes_count();
  }
  if (place.has("parts")) {
    if (*storage != Storage::kTemporary) place.refuse_as("'parts' for storage temporary only");
    value.parts = place.at("parts").indices(value_count);
    if (value.parts.empty()) place.at("parts").refuse_as("at least one part");
  }
  if (wants("view_of", Storage::kView)) value.view_of = place.at("view_of").index(value_count);
  if (wants("constant", Storage::kConstant)) {
    value.constant = place.at("constant").index(plan.constants.size());
  }
  return value;
}

PlanStep read_step(const Place& place, const Plan& plan) {
  place.expect_keys({"kind", "inputs", "outputs", "nodes"}, {"plugin", "region", "constants"});
  PlanStep step;
  const std::optional<StepKind> kind = step_kind_of(place.at("kind").text());
  if (!kind) place.at("kind").refuse_as("run, convert or copy");
  step.kind = *kind;
  const bool is_run = step.kind == StepKind::kRun;
  for (const char* key : {"plugin", "region", "constants"}) {
    if (place.has(key) != is_run) {
      place.refuse_as(fmt::format("'{}' for kind run and no other", key));
    }
  }
  if (is_run) {
    step.plugin = place.at("plugin").index(plan.plugins.size());
    step.region = place.at("region").index(plan.regions.size());
    step.constants = place.at("constants").indices(plan.constants.size());
  }
  step.inputs = place.at("inputs").indices(plan.values.size());
  step.outputs = place.at("outputs").indices(plan.values.size());
  step.nodes = place.at("nodes").texts();
  return step;
}

// A plan's own nesting is about ten deep; the limit keeps a hostile one from growing a parser's
// stack. A key that is there twice is refused, since readers differ in which one they believe.
Json parse_json(std::string_view text, const std::string& source) {
  constexpr int kMaxDepth = 16;
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth)
      refuse(source, "document", fmt::format("nested deeper than {}", kMaxDepth));
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get_ref<const std::string&>()).second) {
      refuse(source, "document",
             fmt::format("the key '{}' is there twice", parsed.get_ref<const std::string&>()));
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& e) {  // its own text quotes the input, at any length
    throw Error(
        Code::kCorrupt,
        fmt::format("{}: expected a plan, found what is not JSON at byte {}", source, e.byte));
  } catch (const Json::exception& e) {
    throw Error(Code::kCorrupt, fmt::format("{}: not JSON: {}", source, e.what()));
  }
}

void check_content(const Plan& plan, const Place& root, const std::string& source) {
  if (!root.has("content_hash")) return;
  const std::string found = content_hash(plan).hex();
  if (const std::string expected = root.at("content_hash").text(); found != expected) {
    refuse(source, "content_hash",
           fmt::format("the plan was changed after it was written: expected {}, found {}; place "
                       "again, or drop this key to vouch for the change",
                       expected, found));
  }
}

}  // namespace

Plan parse_plan(std::string_view text, const std::string& source) {
  const Json json = parse_json(text, source);
  const Place root(json, source, "");
  if (!json.is_object() || !json.contains("format") || json["format"] != kPlanFormat) {
    refuse(source, "format", fmt::format("expected \"{}\"", kPlanFormat));
  }
  root.expect_keys(
      {"format", "model", "model_hash", "threads", "arena_bytes", "arena_lower_bound_bytes",
       "inputs", "outputs", "plugins", "constants", "values", "steps", "regions"},
      {"content_hash"});
  Plan plan;
  plan.model = root.at("model").text();
  plan.model_hash = root.at("model_hash").text();
  plan.threads = static_cast<int>(root.at("threads").integer(1, kMaxThreads));
  plan.arena_bytes = root.at("arena_bytes").bytes_count();
  plan.arena_lower_bound_bytes = root.at("arena_lower_bound_bytes").bytes_count();
  plan.plugins = root.at("plugins").list(read_plugin);
  plan.constants = root.at("constants").list(read_constant);
  const Place values = root.at("values");
  const std::size_t value_count = values.size();
  plan.values = values.list([&](const Place& p) { return read_value(p, plan, value_count); });
  plan.regions = root.at("regions").list(read_region);
  plan.steps = root.at("steps").list([&](const Place& p) { return read_step(p, plan); });
  plan.inputs = root.at("inputs").indices(value_count);
  plan.outputs = root.at("outputs").indices(value_count);
  check_plan(plan, source);
  check_content(plan, root, source);
  return plan;
}

}  // namespace inlay
