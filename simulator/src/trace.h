// Faults and the API trace, as the rest of the engine uses them.
#pragma once

#include <string>

#include "fl_sim/engine.h"

namespace fl::sim {

// Name of the API call that the calling thread is in; in a stream's worker, of the call that queued the operation.
const char *CurrentApi();

// Sets the name for operations that run on a worker thread.
void SetCurrentApi(const char *api);

// Records a detected misuse (counter, last fault, trace, stderr) and returns `result`.
Result Fault(Result result, const std::string &explanation);

} // namespace fl::sim
