#include "infini_train_maca/backend.h"

#include "runtime/guard.h"

namespace infini_train::maca {
void RegisterBackend() { core::maca::KeepGuard(); }
} // namespace infini_train::maca
