#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"

#include "infini_train/include/core/backend_type_map.h"
#include "infini_train/include/datatype.h"
#include "infini_train/include/dtype_dispatch.h"
#include "infini_train/include/scalar.h"

namespace infini_train {
namespace {

TEST(DataTypeTest, TablesCoverEveryDtype) {
    EXPECT_EQ(kDataTypeToSize.size(), 13u);
    EXPECT_EQ(kDataTypeToDesc.size(), 13u);
    EXPECT_EQ(kDataTypeToSize.at(DataType::kBFLOAT16), 2u);
    EXPECT_EQ(kDataTypeToSize.at(DataType::kBOOL), 1u);
    EXPECT_EQ(kDataTypeToDesc.at(DataType::kFLOAT64), "fp64");
    EXPECT_EQ(static_cast<int>(DataType::kFLOAT32), 11);
}

// Expected bit patterns are from IEEE 754 (binary16) and from the upper half of binary32 (bfloat16).
TEST(DataTypeTest, HalfRoundsToNearestEven) {
    EXPECT_EQ(FP16(1.0f).x, 0x3c00);
    EXPECT_EQ(FP16(-2.0f).x, 0xc000);
    EXPECT_EQ(FP16(65504.0f).x, 0x7bff);
    EXPECT_EQ(FP16(65519.0f).x, 0x7bff);
    EXPECT_EQ(FP16(65520.0f).x, 0x7c00);
    EXPECT_EQ(FP16(1.0f + 0x1p-11f).x, 0x3c00);
    EXPECT_EQ(FP16(1.0f + 3 * 0x1p-11f).x, 0x3c02);
    EXPECT_EQ(FP16(0x1p-14f).x, 0x0400);
    EXPECT_EQ(FP16(0x1p-24f).x, 0x0001);
    EXPECT_EQ(FP16(0x1p-25f).x, 0x0000);
    EXPECT_EQ(FP16(0x1.8p-25f).x, 0x0001);
    EXPECT_EQ(FP16(0x1.ffcp-15f).x, 0x0400);
    EXPECT_EQ(FP16(-0.0f).x, 0x8000);
    EXPECT_EQ(FP16(std::numeric_limits<float>::infinity()).x, 0x7c00);
    EXPECT_EQ(FP16(std::numeric_limits<float>::quiet_NaN()).x & 0x7e00, 0x7e00);
}

TEST(DataTypeTest, EveryHalfSurvivesFloat) {
    for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
        const FP16 half(static_cast<uint16_t>(bits), FP16::from_bits());
        const float value = static_cast<float>(half);
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(static_cast<float>(FP16(value))));
        } else {
            EXPECT_EQ(FP16(value).x, bits);
        }
    }
}

TEST(DataTypeTest, Bfloat16IsTheUpperHalfRounded) {
    EXPECT_EQ(BF16(1.0f).x, 0x3f80);
    EXPECT_EQ(BF16(1.00390625f).x, 0x3f80);
    EXPECT_EQ(BF16(1.01171875f).x, 0x3f82);
    EXPECT_EQ(static_cast<float>(BF16(0x4049, BF16::from_bits())), 3.140625f);
}

TEST(DataTypeTest, Promotion) {
    EXPECT_EQ(PromoteDataTypes(DataType::kFLOAT16, DataType::kBFLOAT16), DataType::kFLOAT32);
    EXPECT_EQ(PromoteDataTypes(DataType::kBFLOAT16, DataType::kBFLOAT16), DataType::kBFLOAT16);
    EXPECT_EQ(PromoteDataTypes(DataType::kINT64, DataType::kFLOAT16), DataType::kFLOAT16);
    EXPECT_EQ(PromoteDataTypes(DataType::kFLOAT32, DataType::kFLOAT64), DataType::kFLOAT64);
    EXPECT_EQ(PromoteDataTypes(DataType::kUINT8, DataType::kINT8), DataType::kUINT8);
    EXPECT_EQ(PromoteDataTypes(DataType::kINT8, DataType::kUINT32), DataType::kUINT32);
}

TEST(ScalarTest, RemembersItsKind) {
    static_assert(std::is_trivially_copyable_v<Scalar> && sizeof(Scalar) == 16);
    EXPECT_EQ(Scalar(true).kind, Scalar::Kind::kBool);
    EXPECT_EQ(Scalar(1).kind, Scalar::Kind::kInt64);
    EXPECT_EQ(Scalar(1u).kind, Scalar::Kind::kUInt64);
    EXPECT_EQ(Scalar(1.0f).kind, Scalar::Kind::kDouble);
    EXPECT_EQ(Scalar(-3).to<int8_t>(), -3);
    EXPECT_EQ(Scalar(2.5).to<BF16>().x, 0x4020);
    EXPECT_EQ(Scalar(std::numeric_limits<uint64_t>::max()).to<uint64_t>(), std::numeric_limits<uint64_t>::max());
}

// A type map of its own, as a backend has one.
template <DataType DType> struct TestTypeMap;
template <> struct TestTypeMap<DataType::kFLOAT32> {
    using type = float;
};
template <> struct TestTypeMap<DataType::kINT64> {
    using type = int64_t;
};

TEST(DispatchTest, FindsTheType) {
    const auto size = []<typename T>() { return sizeof(T); };
    EXPECT_EQ((DispatchByTypeMap<TestTypeMap, DataType::kFLOAT32, DataType::kINT64>(DataType::kINT64, size)), 8u);
    EXPECT_EQ((DispatchByTypeMap<TestTypeMap, DataType::kFLOAT32>(DataType::kFLOAT32, size)), 4u);
    static_assert(HasMappedType_v<TestTypeMap, DataType::kFLOAT32>);
    static_assert(!HasMappedType_v<TestTypeMap, DataType::kBOOL>);
}

TEST(DispatchTest, SeveralDtypesAtOnce) {
    const auto sizes = []<typename A, typename B>(size_t factor) { return factor * (10 * sizeof(A) + sizeof(B)); };
    using Both = DataTypeList<DataType::kFLOAT32, DataType::kINT64>;
    EXPECT_EQ(
        (DispatchByTypeMap<TestTypeMap, Both, Both>({DataType::kINT64, DataType::kFLOAT32}, sizes, "", size_t{1})),
        84u);
}

TEST(DispatchDeathTest, AnotherDtypeIsFatal) {
    const auto nothing = []<typename T>() {};
    EXPECT_DEATH((DispatchByTypeMap<TestTypeMap, DataType::kFLOAT32>(DataType::kINT64, nothing, "here")),
                 "here: Unsupported data type: int64");
}

std::shared_ptr<std::string> Name(DataType dtype) {
    DISPATCH(dtype, WRAP(return std::make_shared<std::string>("float");), INFINI_FLOATING_TYPES)
    return nullptr;
}

TEST(DispatchTest, SwitchMacro) {
    EXPECT_EQ(*Name(DataType::kFLOAT64), "float");
    EXPECT_DEATH(Name(DataType::kINT8), "Unsupported data type at");
}

} // namespace
} // namespace infini_train
