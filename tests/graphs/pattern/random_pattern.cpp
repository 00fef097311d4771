#include "tests/graphs/pattern/random_pattern.h"

#include <set>

#include "graphs/pattern/pattern_data.h"

namespace inlay {
namespace {

class Generator {
 public:
  explicit Generator(Rng& rng) : rng_(rng) {}

  Pattern pattern() {
    Pattern p;
    p.id = "p";
    if (chance(8)) {
      p.ops = {"Relu", "com.acme.Fast"};
      ports_ = {"0", "1"};
      nodes_ = {"Relu", "Fast"};
    } else {
      p.root = node(0, true);
      if (chance(3)) add_links(p);
    }
    ports_.insert("out");
    const int clauses = number(4);
    for (int i = 0; i < clauses; ++i) {
      p.constraints.push_back(
          std::make_shared<const Constraint>(chance(2) ? port_clause() : comparison()));
    }
    const int variants = 1 + number(3);
    for (int i = 0; i < variants; ++i) p.variants.push_back(variant());
    if (chance(3)) p.aliases["out"] = *ports_.begin();
    return p;
  }

 private:
  bool chance(std::uint64_t one_in) { return rng_.below(one_in) == 0; }
  int number(std::uint64_t bound) { return static_cast<int>(rng_.below(bound)); }
  std::string port() {
    auto it = ports_.begin();
    std::advance(it, number(ports_.size()));
    return *it;
  }

  void add_links(Pattern& p) {
    p.most_links = 1 + number(16);
    for (int i = 0, count = 1 + number(3); i < count; ++i) {
      auto link = std::make_shared<PatternNode>();
      const std::string op = "Link" + std::to_string(i);
      link->ops.push_back({"", op});
      nodes_.insert(op);
      PatternOperand so_far;
      so_far.variable = std::string(kSoFar);
      link->operands.push_back(so_far);
      if (chance(2)) {
        PatternOperand side;
        side.variable = "S";
        ports_.insert("S");
        link->operands.push_back(side);
      }
      p.links.push_back(std::move(link));
    }
  }

  std::shared_ptr<const PatternNode> node(int depth, bool is_root) {
    auto made = std::make_shared<PatternNode>();
    // Operators are numbered so that each names one node, which makes Op.attribute unambiguous.
    const std::string op = "Op" + std::to_string(count_++);
    made->ops.push_back({chance(5) ? "com.acme" : "", op});
    if (chance(4)) made->ops.push_back({"", op + "b"});
    if (chance(4)) made->alias = "n" + std::to_string(count_);
    made->is_tap = !is_root && !made->alias.empty() && chance(3);
    if (made->is_tap) ports_.insert(made->alias);
    made->is_optional = !is_root && chance(5) && optional_++ < 5;
    nodes_.insert(made->alias.empty() ? op : made->alias);
    const int operands = 1 + number(3);
    for (int i = 0; i < operands; ++i) {
      PatternOperand operand;
      if (depth < 3 && count_ < 10 && chance(3)) {
        operand.node = node(depth + 1, false);
      } else {
        operand.variable = std::string(1, static_cast<char>('A' + number(6)));
        operand.is_optional = chance(5);
        ports_.insert(operand.variable);
      }
      made->operands.push_back(std::move(operand));
    }
    return made;
  }

  Constraint port_clause() {
    Constraint clause;
    clause.ports.push_back(port());
    if (chance(3)) clause.ports.push_back(port());
    const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kI8, DType::kBF16};
    const int dtypes = number(3);
    for (int i = 0; i < dtypes; ++i) clause.dtypes.push_back(types[rng_.below(types.size())]);
    clause.has_dims = !chance(3);
    bool has_rest = false;
    const int dims = clause.has_dims ? number(5) : 0;
    for (int i = 0; i < dims; ++i) {
      DimPattern dim;
      if (chance(5)) {
        dim.kind = has_rest ? DimPattern::Kind::kAny : DimPattern::Kind::kRest;
        has_rest = true;
      } else if (!chance(5)) {
        dim.kind = DimPattern::Kind::kExpr;
        dim.expr = chance(2) ? dim_name() : expr(2);
        note_dims(dim.expr);
      }
      clause.dims.push_back(std::move(dim));
    }
    clause.constness = static_cast<Constness>(number(3));
    return clause;
  }

  void note_dims(const Expr& e) {
    if (e.kind == Expr::Kind::kDim) dims_.insert(e.name);
    for (const Expr& arg : e.args) note_dims(arg);
  }

  Expr dim_name() {
    Expr e;
    e.kind = Expr::Kind::kDim;
    e.name = std::string(1, static_cast<char>('k' + number(5)));
    return e;
  }

  Constraint comparison() {
    Constraint clause;
    if (chance(5)) {
      clause.left.kind = chance(2) ? Expr::Kind::kHasPort : Expr::Kind::kHasAttribute;
      name_leaf(clause.left);
      return clause;
    }
    const std::vector<std::string> comparisons = {"==", "!=", "<", "<=", ">", ">="};
    in_comparison_ = true;
    clause.left = expr(3);
    clause.comparison = comparisons[rng_.below(comparisons.size())];
    clause.right = expr(3);
    in_comparison_ = false;
    return clause;
  }

  void name_leaf(Expr& e) {
    const bool is_attribute =
        e.kind == Expr::Kind::kAttribute || e.kind == Expr::Kind::kHasAttribute;
    if (!is_attribute) {
      e.name = port();
      return;
    }
    auto it = nodes_.begin();
    std::advance(it, number(nodes_.size()));
    e.name = *it;
    e.attribute = "alpha";
  }

  Expr expr(int depth) {
    Expr e;
    const int kind = number(depth > 0 ? 11 : 7);
    switch (kind) {
      case 0:
        e.kind = Expr::Kind::kFloat;
        e.real = static_cast<float>(rng_.uniform() * (chance(2) ? 1e-6 : 1e6));
        break;
      case 1:
        e.kind = Expr::Kind::kString;
        e.name = "max pool";
        break;
      case 2:
      case 3:
        // A comparison may only use dimensions that some port has; a shape brings its own.
        if (!in_comparison_) return dim_name();
        if (dims_.empty()) break;
        e.kind = Expr::Kind::kDim;
        e.name = *dims_.begin();
        break;
      case 4:
        e.kind = Expr::Kind::kAttribute;
        name_leaf(e);
        break;
      case 5:
        e.kind = chance(2) ? Expr::Kind::kRank : Expr::Kind::kValue;
        name_leaf(e);
        break;
      case 7:
        e.kind = Expr::Kind::kNegate;
        e.args.push_back(expr(depth - 1));
        break;
      case 8:
        e.kind = Expr::Kind::kList;
        for (int i = number(3); i > 0; --i) e.args.push_back(expr(depth - 1));
        break;
      case 9:
      case 10:
        e.kind = Expr::Kind::kBinary;
        e.op = "+-*/%"[number(5)];
        e.args = {expr(depth - 1), expr(depth - 1)};
        break;
      default:
        e.number = number(1000);
    }
    return e;
  }

  LayoutVariant variant() {
    LayoutVariant v;
    if (chance(2)) v.layouts[port()] = chance(2) ? "aBcd16b" : "acdb";
    if (chance(2)) v.layouts["out"] = "dense";
    if (chance(3)) v.cpu.push_back(chance(2) ? "avx2" : "!avx512f");
    return v;
  }

  Rng& rng_;
  std::set<std::string> ports_, nodes_, dims_;
  int count_ = 0;
  int optional_ = 0;
  bool in_comparison_ = false;
};

}  // namespace

Pattern random_pattern(Rng& rng) { return Generator(rng).pattern(); }

}  // namespace inlay
