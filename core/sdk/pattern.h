// What a plugin declares, as compile-time data. Grammar of the strings: graphs/pattern/pattern.h
// and docs/plugin_guide.md.
#pragma once

namespace inlay::sdk {

// What an engine takes: any convex region of these operators, as an ONNX model.
struct AnyRegion {
  unsigned opset = 0;       // of the model, 16 to 20; 0: not an engine's pattern
  const char* allow = "";   // blank-separated operators; empty: all that `deny` does not name
  const char* deny = "";    // blank-separated operators
  const char* dtypes = "";  // blank-separated, of all that a node reads and writes; empty: any
  unsigned max_nodes = 0;   // of one region; 0: no limit
  // Different regions that the host may propose, each of which is compiled, checked and timed; 0:
  // the host's own limit.
  unsigned max_regions = 0;
};

struct Pattern {
  const char* id;

  // Operator DAG, root last applied: "Relu(Add(MatMul(A,B),C))". "Relu?(…)": the node may be
  // absent. "[Relu|Clip](…)": any of these. "B?": an optional operand. "name=Conv(…)": a name for
  // constraints. Empty if `ops` is given.
  const char* match = "";

  // What may follow the match, link after link: "4: [Relu|Clip](.); Add(.,R)" is up to four of
  // these; '.' is the value so far. Each length of the chain is a region of its own.
  const char* fuse = "";

  // Instead of `match`: blank-separated operators, each a region of one node with any operands.
  const char* ops = "";

  // Instead of both, an engine: whole regions. compile gets them as an ONNX model as well
  // (core/sdk/onnx_model.h).
  AnyRegion any = {};

  // Constraints, all of which must hold: "X: f32[n,c,h,w]; W: f32[o,c/g,3,3] const; c%8==0;
  // Conv.group==1".
  const char* where = "";

  // Layout variants, separated by '|': each lists ports and layouts ("X:aBcd16b out:aBcd16b"); a
  // port not listed is dense; "@avx512f" and "@!avx512f" add a CPU need. Outputs are out, out1, …
  // Empty: everything dense.
  const char* layouts = "";

  // exact | elementwise | transcendental | accum | reduced:<relative bound> | region (engines)
  const char* tolerance = "accum";

  // "out=X": output `out` may share X's memory (in place) when X is not needed afterwards.
  const char* alias = "";

  // Blank-separated CPU features that the kernels need: "avx2 fma".
  const char* cpu = "";
};

struct PluginInfo {
  const char* name;
  const char* version;
  const char* library = "";           // what it drives, with version: "OpenBLAS 0.3.21"
  const char* threads = "host-pool";  // host-pool | capped | fixed
  // Blank-separated CPU features without which the library must not even be loaded.
  const char* cpu = "";
  // Blank-separated file names of libraries that this one, or one that it is linked with, opens
  // while it runs: what a bundle must carry as well.
  const char* opens = "";
  // Checks of `inlay check` that the plugin is known to fail, each with a reason: "23: the library
  // does not check malloc; 32: its Clip loses NaN". One that passes all the same is a failure.
  const char* xfail = "";
};

}  // namespace inlay::sdk
