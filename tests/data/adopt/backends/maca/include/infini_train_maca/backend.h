#pragma once

namespace infini_train::maca {
void RegisterBackend();
} // namespace infini_train::maca
