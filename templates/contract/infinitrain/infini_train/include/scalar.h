#pragma once

#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "glog/logging.h"

#include "infini_train/include/common/cpu/common_cpu.h"

namespace infini_train {

// A number together with the kind of C++ value it came from. Trivially copyable and passed to kernels by value.
struct Scalar {
    enum class Kind : uint8_t { kBool, kDouble, kInt64, kUInt64 };

    Scalar() : kind(Kind::kInt64), i(0) {}
    Scalar(bool v) : kind(Kind::kBool), u(v) {}
    Scalar(FP16 v) : kind(Kind::kDouble), d(static_cast<float>(v)) {}
    Scalar(BF16 v) : kind(Kind::kDouble), d(static_cast<float>(v)) {}

    template <typename T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, int> = 0>
    Scalar(T v) : kind(KindOf<T>()), i(0) {
        if constexpr (std::is_floating_point_v<T>) {
            d = v;
        } else if constexpr (std::is_signed_v<T>) {
            i = v;
        } else {
            u = v;
        }
    }

    // The value as T, by the rules of common::cpu::Cast.
    template <typename T> T to() const {
        switch (kind) {
        case Kind::kBool:
            return common::cpu::Cast<T>(u != 0);
        case Kind::kDouble:
            return common::cpu::Cast<T>(d);
        case Kind::kInt64:
            return common::cpu::Cast<T>(i);
        case Kind::kUInt64:
            return common::cpu::Cast<T>(u);
        }
        LOG(FATAL) << "Unknown scalar kind";
        std::abort();
    }

    Kind kind;
    union {
        double d;
        int64_t i;
        uint64_t u;
    };

private:
    template <typename T> static constexpr Kind KindOf() {
        if constexpr (std::is_floating_point_v<T>) {
            return Kind::kDouble;
        } else {
            return std::is_signed_v<T> ? Kind::kInt64 : Kind::kUInt64;
        }
    }
};

} // namespace infini_train
