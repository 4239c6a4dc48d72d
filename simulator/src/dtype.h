// Element types: sizes, the 16-bit floats in software, and conversions between all of them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "fl_sim/engine.h"

namespace fl::sim {

// Encodes a double as a float with E exponent and M mantissa bits, rounding to nearest even once.
template <int E, int M> std::uint16_t EncodeSmall(double value) {
    constexpr std::uint64_t kExponentMask = (std::uint64_t{1} << E) - 1;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t sign = (bits >> 63) << 15;
    const std::uint64_t exponent = (bits >> 52) & 0x7FF;
    const std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
    if (exponent == 0x7FF) {
        const std::uint64_t quiet = mantissa != 0 ? std::uint64_t{1} << (M - 1) : 0;
        return static_cast<std::uint16_t>(sign | (kExponentMask << M) | quiet);
    }
    if (exponent == 0) {
        return static_cast<std::uint16_t>(sign); // far below the smallest value of the target
    }
    const int target = static_cast<int>(exponent) - 1023 + ((1 << (E - 1)) - 1);
    const int shift = 52 - M + (target <= 0 ? 1 - target : 0);
    if (shift > 54) {
        return static_cast<std::uint16_t>(sign);
    }
    const std::uint64_t full = mantissa | (std::uint64_t{1} << 52);
    const std::uint64_t rest = full & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    std::uint64_t rounded = full >> shift;
    rounded += rest > half || (rest == half && (rounded & 1) != 0) ? 1 : 0;
    // The implicit bit, and a carry out of the rounding, go into the exponent by themselves.
    const std::uint64_t result = target <= 0 ? rounded : (static_cast<std::uint64_t>(target - 1) << M) + rounded;
    return static_cast<std::uint16_t>(sign | (result >= (kExponentMask << M) ? kExponentMask << M : result));
}

struct Half {
    std::uint16_t bits = 0;
    Half() = default;
    explicit Half(double value) : bits(EncodeSmall<5, 10>(value)) {}
    explicit operator float() const {
        const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
        const std::uint32_t exponent = (bits >> 10) & 0x1F;
        const std::uint32_t mantissa = bits & 0x3FF;
        if (exponent == 0x1F) {
            return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
        }
        if (exponent == 0) {
            const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
            return sign != 0 ? -magnitude : magnitude;
        }
        return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    }
};

struct BFloat16 {
    std::uint16_t bits = 0;
    BFloat16() = default;
    explicit BFloat16(double value) : bits(EncodeSmall<8, 7>(value)) {}
    explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

// A bool as one byte: reading a byte that is neither 0 nor 1 as C++ bool is undefined.
struct Bool8 {
    std::uint8_t bits = 0;
};

template <typename T> inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Converts a double that keeps the sign, and is odd where the integer had more bits than fit: so that a second rounding
// gives what one rounding would.
template <typename I> double IntegerToDouble(I value) {
    const bool negative = std::is_signed_v<I> && value < 0;
    auto magnitude = static_cast<std::uint64_t>(value);
    magnitude = negative ? 0 - magnitude : magnitude;
    if ((magnitude >> 53) != 0) {
        magnitude = ((magnitude >> 11) | ((magnitude & 0x7FF) != 0 ? 1u : 0u)) << 11;
    }
    const auto result = static_cast<double>(magnitude);
    return negative ? -result : result;
}

// Towards zero, saturating, NaN gives 0.
template <typename I, typename F> I FloatToInteger(F value) {
    if (std::isnan(value)) {
        return 0;
    }
    // The limits as powers of two are exact in every float type.
    const F above = std::ldexp(F{1}, std::numeric_limits<I>::digits);
    if (value >= above) {
        return std::numeric_limits<I>::max();
    }
    const F below = std::is_signed_v<I> ? -above : F{0};
    if (value <= below) {
        return std::numeric_limits<I>::min();
    }
    return static_cast<I>(value);
}

// One element from S to D, as the header says for Cast.
template <typename D, typename S> D Convert(S value) {
    if constexpr (std::is_same_v<D, S>) {
        return value;
    } else if constexpr (std::is_same_v<S, Bool8>) {
        return Convert<D>(static_cast<std::uint8_t>(value.bits != 0 ? 1 : 0));
    } else if constexpr (kIsSmallFloat<S>) {
        return Convert<D>(static_cast<float>(value));
    } else if constexpr (std::is_same_v<D, Bool8>) {
        return Bool8{static_cast<std::uint8_t>(value != S{0} ? 1 : 0)};
    } else if constexpr (kIsSmallFloat<D>) {
        if constexpr (std::is_integral_v<S>) {
            return D(IntegerToDouble(value));
        } else {
            return D(static_cast<double>(value));
        }
    } else if constexpr (std::is_integral_v<D> && std::is_floating_point_v<S>) {
        return FloatToInteger<D>(value);
    } else {
        return static_cast<D>(value);
    }
}

template <typename T> struct TypeTag {
    using Type = T;
};

// Calls `body` with the TypeTag of a dtype; false when the number is no dtype.
template <typename Body> bool VisitDType(DType dtype, Body &&body) {
    switch (dtype) {
    case DType::kBool:
        body(TypeTag<Bool8>());
        return true;
    case DType::kInt8:
        body(TypeTag<std::int8_t>());
        return true;
    case DType::kUInt8:
        body(TypeTag<std::uint8_t>());
        return true;
    case DType::kInt16:
        body(TypeTag<std::int16_t>());
        return true;
    case DType::kUInt16:
        body(TypeTag<std::uint16_t>());
        return true;
    case DType::kInt32:
        body(TypeTag<std::int32_t>());
        return true;
    case DType::kUInt32:
        body(TypeTag<std::uint32_t>());
        return true;
    case DType::kInt64:
        body(TypeTag<std::int64_t>());
        return true;
    case DType::kUInt64:
        body(TypeTag<std::uint64_t>());
        return true;
    case DType::kFloat16:
        body(TypeTag<Half>());
        return true;
    case DType::kBFloat16:
        body(TypeTag<BFloat16>());
        return true;
    case DType::kFloat32:
        body(TypeTag<float>());
        return true;
    case DType::kFloat64:
        body(TypeTag<double>());
        return true;
    }
    return false;
}

// Unaligned access: views may begin at any byte.
template <typename T> T Load(const std::byte *address) {
    T value;
    __builtin_memcpy(&value, address, sizeof(T));
    return value;
}
template <typename T> void Store(std::byte *address, T value) { __builtin_memcpy(address, &value, sizeof(T)); }

} // namespace fl::sim
