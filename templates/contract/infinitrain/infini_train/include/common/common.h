#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "glog/logging.h"

#include "infini_train/include/datatype.h"

// Small helpers that framework and backend code share. The macro names are part of the contract.

// Passes its argument through one more expansion.
#define EXPAND(X) X
// Keeps a list with commas together as one macro argument.
#define WRAP(...) __VA_ARGS__
// Joins two tokens after both are expanded.
#define CAT(a, b) CAT_(a, b)
#define CAT_(a, b) a##b

// Integer quotient, rounded up.
#define CEIL_DIV(x, y) (((x) + (y)-1) / (y))
// A log line that names its place in the text as well.
#define LOG_LOC(LEVEL, MSG) LOG(LEVEL) << MSG << " at " << __FILE__ << ":" << __LINE__

// Strides, in elements, of a contiguous row-major tensor. Global, as in the framework.
inline std::vector<int64_t> ComputeStrides(const std::vector<int64_t> &dims) {
    std::vector<int64_t> strides(dims.size());
    int64_t step = 1;
    for (size_t axis = dims.size(); axis-- > 0;) {
        strides[axis] = step;
        step *= dims[axis];
    }
    return strides;
}
