#pragma once

#include <type_traits>

#include "infini_train/include/datatype.h"

namespace infini_train::common::cpu {
namespace detail {

template <typename T> inline constexpr bool kIsHalf = std::is_same_v<T, FP16> || std::is_same_v<T, BF16>;

} // namespace detail

// Converts between host types. The 16-bit floats go through float on both sides, everything else is a static_cast.
template <typename To, typename From> To Cast(const From &value) {
    static_assert(!std::is_reference_v<To>, "Cast makes a value");
    if constexpr (std::is_same_v<To, From>) {
        return value;
    } else if constexpr (detail::kIsHalf<From>) {
        return Cast<To>(static_cast<float>(value));
    } else if constexpr (detail::kIsHalf<To>) {
        return To(static_cast<float>(value));
    } else {
        return static_cast<To>(value);
    }
}

} // namespace infini_train::common::cpu
