#include "search/session/open_model.h"

namespace inlay {

Session open_model(const Runtime& runtime, const std::filesystem::path& model,
                   const ModelOptions& options, SessionOptions session_options) {
  PlacedModel placed =
      place_model(model, options, runtime.plugin_host(), runtime.host_options(), runtime.log());
  Lowered& lowered = placed.placed.lowered;
  return Session(runtime, lowered.plan, std::move(lowered.weights), session_options);
}

}  // namespace inlay
