#include "infini_train/include/datatype.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace infini_train {
namespace detail {
namespace {

// Drops the low `count` bits of `value` (1 to 31), rounding to nearest and ties to even.
uint32_t RoundOff(uint32_t value, int count) {
    const uint32_t half = 1u << (count - 1);
    const uint32_t odd = (value >> count) & 1u;
    return (value + half - 1u + odd) >> count;
}

} // namespace

// No special case for NaN, as in the framework: a NaN whose payload is all ones in the upper half rounds to infinity or
// wraps, every NaN that arithmetic makes stays a NaN.
uint16_t FloatToBf16Bits(float value) { return static_cast<uint16_t>(RoundOff(std::bit_cast<uint32_t>(value), 16)); }

float Bf16BitsToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t FloatToFp16Bits(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    constexpr uint32_t kFloatInfinity = 0x7f800000u;
    constexpr uint32_t kHalfInfinity = 0x7c00u;

    if (magnitude > kFloatInfinity) {
        return static_cast<uint16_t>(sign | 0x7e00u);
    }
    // 65520, halfway between the largest half and the next power of two, is the first value that rounds to infinity.
    if (magnitude >= std::bit_cast<uint32_t>(65520.0f)) {
        return static_cast<uint16_t>(sign | kHalfInfinity);
    }
    // From 2^-14 on the half is normal: rebias the exponent by 127 - 15 and drop 13 bits; a carry out of the mantissa
    // raises the exponent, which is right.
    if (magnitude >= std::bit_cast<uint32_t>(0x1p-14f)) {
        return static_cast<uint16_t>(sign | (RoundOff(magnitude, 13) - (112u << 10)));
    }
    // Below 2^-25 nothing is left; in between the half is subnormal, a multiple of 2^-24.
    const int exponent = static_cast<int>(magnitude >> 23);
    if (exponent < 127 - 25) {
        return static_cast<uint16_t>(sign);
    }
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    return static_cast<uint16_t>(sign | RoundOff(mantissa, 126 - exponent));
}

float Fp16BitsToFloat(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1fu;
    const uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0) {
        const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
        return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    const uint32_t wide = exponent == 0x1fu ? 0xffu : exponent + 112u;
    return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

} // namespace detail

FP16::FP16(float value) : x(detail::FloatToFp16Bits(value)) {}
FP16::FP16(double value) : FP16(static_cast<float>(value)) {}
FP16::FP16(int value) : FP16(static_cast<float>(value)) {}
FP16::FP16(int64_t value) : FP16(static_cast<float>(value)) {}

FP16::operator float() const { return detail::Fp16BitsToFloat(x); }
FP16::operator double() const { return detail::Fp16BitsToFloat(x); }

FP16 &FP16::operator++() { return *this = FP16(detail::Fp16BitsToFloat(x) + 1.0f); }

BF16::BF16(float value) : x(detail::FloatToBf16Bits(value)) {}
BF16::BF16(double value) : BF16(static_cast<float>(value)) {}
BF16::BF16(int value) : BF16(static_cast<float>(value)) {}
BF16::BF16(int64_t value) : BF16(static_cast<float>(value)) {}

BF16::operator float() const { return detail::Bf16BitsToFloat(x); }
BF16::operator double() const { return detail::Bf16BitsToFloat(x); }

BF16 &BF16::operator++() { return *this = BF16(detail::Bf16BitsToFloat(x) + 1.0f); }

bool IsFloatingPointDType(DataType dt) {
    return dt == DataType::kBFLOAT16 || dt == DataType::kFLOAT16 || dt == DataType::kFLOAT32
        || dt == DataType::kFLOAT64;
}

DataType PromoteDataTypes(DataType a, DataType b) {
    const bool a_floats = IsFloatingPointDType(a);
    const bool b_floats = IsFloatingPointDType(b);
    if (a_floats != b_floats) {
        return a_floats ? a : b;
    }
    const size_t a_bytes = kDataTypeToSize.at(a);
    const size_t b_bytes = kDataTypeToSize.at(b);
    // fp16 and bf16: neither holds the other.
    if (a_floats && a != b && a_bytes == 2 && b_bytes == 2) {
        return DataType::kFLOAT32;
    }
    return a_bytes >= b_bytes ? a : b;
}

} // namespace infini_train
