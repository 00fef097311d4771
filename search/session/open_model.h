// A session on a model that has not been placed before: places it on this machine, then opens the
// plan.
//
//   const Runtime runtime;
//   const Session session = open_model(runtime, "m.onnx", {.shapes = {{"x", {1, 3, 48, 192}}}});
//   const auto outputs = session.run({{"x", tensor}});
//
// The first time takes as long as measuring does (ModelOptions::budget bounds it); then the
// database knows the model's regions, and opening it again takes seconds. To ship a model, place it
// once with `inlay place` and open the plan, which needs neither graphs nor search.
#pragma once

#include "core/session/session.h"
#include "search/session/place_model.h"

namespace inlay {

// throws  what place_model and Session do
Session open_model(const Runtime& runtime, const std::filesystem::path& model,
                   const ModelOptions& options = {}, SessionOptions session_options = {});

}  // namespace inlay
