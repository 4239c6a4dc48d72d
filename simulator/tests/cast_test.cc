// Conversions, against values that are known from IEEE 754 and not from the code under test.
#include <cmath>
#include <limits>

#include "test_util.h"

namespace fl::sim {
namespace {

class CastTest : public EngineTest {
protected:
    template <typename D, typename S>
    static std::vector<D> Run(DType dst_type, DType src_type, const std::vector<S> &source) {
        const Buffer<S> src(source);
        const Buffer<D> dst(source.size());
        EXPECT_OK(Cast(nullptr, dst.get(), dst_type, src.get(), src_type, static_cast<std::int64_t>(source.size())));
        EXPECT_OK(StreamSynchronize(nullptr));
        return dst.Read();
    }
};

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_F(CastTest, FloatToHalf) {
    const std::vector<float> values = {0.0f,
                                       -0.0f,
                                       1.0f,
                                       -2.0f,
                                       65504.0f,
                                       65519.0f,
                                       65520.0f,
                                       kInf,
                                       -kInf,
                                       6.103515625e-5f /* 2^-14 */,
                                       5.9604644775390625e-8f /* 2^-24 */,
                                       2.98023223876953125e-8f /* 2^-25: tie to 0 */,
                                       4.4703483581542969e-8f /* 1.5 * 2^-25 */,
                                       1.00048828125f /* tie to even: 1 */,
                                       1.00146484375f /* tie to even: up */,
                                       1e-30f};
    const std::vector<std::uint16_t> expected = {0x0000, 0x8000, 0x3C00, 0xC000, 0x7BFF, 0x7BFF, 0x7C00, 0x7C00,
                                                 0xFC00, 0x0400, 0x0001, 0x0000, 0x0001, 0x3C00, 0x3C02, 0x0000};
    EXPECT_EQ((Run<std::uint16_t>(DType::kFloat16, DType::kFloat32, values)), expected);
}

TEST_F(CastTest, EveryHalfSurvivesTheWayToFloatAndBack) {
    std::vector<std::uint16_t> halves;
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        if ((bits & 0x7C00) != 0x7C00 || (bits & 0x03FF) == 0) { // not NaN
            halves.push_back(static_cast<std::uint16_t>(bits));
        }
    }
    const auto floats = Run<float>(DType::kFloat32, DType::kFloat16, halves);
    for (std::size_t i = 0; i < halves.size(); ++i) {
        const int exponent = (halves[i] >> 10) & 0x1F;
        const int mantissa = halves[i] & 0x3FF;
        double magnitude = exponent == 0x1F ? HUGE_VAL
                         : exponent == 0    ? std::ldexp(mantissa, -24)
                                            : std::ldexp(1024 + mantissa, exponent - 25);
        magnitude = (halves[i] & 0x8000) != 0 ? -magnitude : magnitude;
        ASSERT_EQ(static_cast<double>(floats[i]), magnitude) << i;
    }
    EXPECT_EQ((Run<std::uint16_t>(DType::kFloat16, DType::kFloat32, floats)), halves);
    EXPECT_EQ(
        (Run<std::uint16_t>(DType::kFloat16, DType::kFloat64, Run<double>(DType::kFloat64, DType::kFloat16, halves))),
        halves);
}

TEST_F(CastTest, FloatToBFloat16) {
    const std::vector<float> values
        = {1.0f, -1.0f,  3.0e38f, 3.4e38f, 1.00390625f /* tie to even: 1 */, 1.01171875f /* tie to even: up */,
           kInf, 1e-40f, 0.1f};
    const std::vector<std::uint16_t> expected
        = {0x3F80, 0xBF80, 0x7F62, 0x7F80, 0x3F80, 0x3F82, 0x7F80, 0x0001, 0x3DCD};
    EXPECT_EQ((Run<std::uint16_t>(DType::kBFloat16, DType::kFloat32, values)), expected);
    const auto back = Run<float>(DType::kFloat32, DType::kBFloat16, std::vector<std::uint16_t>{0x3F80, 0xC040, 0x7F80});
    EXPECT_EQ(back, (std::vector<float>{1.0f, -3.0f, kInf}));
}

TEST_F(CastTest, NanStaysNan) {
    const std::vector<float> nan = {std::nanf("")};
    EXPECT_EQ((Run<std::uint16_t>(DType::kFloat16, DType::kFloat32, nan)[0]) & 0x7FFF, 0x7E00);
    EXPECT_EQ((Run<std::uint16_t>(DType::kBFloat16, DType::kFloat32, nan)[0]) & 0x7FFF, 0x7FC0);
    EXPECT_EQ((Run<std::int32_t>(DType::kInt32, DType::kFloat32, nan)[0]), 0);
    EXPECT_EQ((Run<std::uint8_t>(DType::kBool, DType::kFloat32, nan)[0]), 1);
}

TEST_F(CastTest, DoubleIsRoundedOnce) {
    // 1 + 2^-11 + 2^-40: through fp32 it would become the tie 1 + 2^-11 and round to 1.
    const std::vector<double> values = {1.0 + std::ldexp(1, -11) + std::ldexp(1, -40)};
    EXPECT_EQ((Run<std::uint16_t>(DType::kFloat16, DType::kFloat64, values)[0]), 0x3C01);
    // 2^60 + 2^52 + 1 to bf16: the last bit breaks the tie, though double cannot hold it.
    const std::vector<std::int64_t> big = {(std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1};
    EXPECT_EQ((Run<std::uint16_t>(DType::kBFloat16, DType::kInt64, big)[0]), 0x5D81);
}

TEST_F(CastTest, FloatToIntegerSaturates) {
    const std::vector<float> values = {1.9f, -1.9f, 300.0f, -300.0f, kInf, -kInf, 3e9f};
    EXPECT_EQ((Run<std::int8_t>(DType::kInt8, DType::kFloat32, values)),
              (std::vector<std::int8_t>{1, -1, 127, -128, 127, -128, 127}));
    EXPECT_EQ((Run<std::uint8_t>(DType::kUInt8, DType::kFloat32, values)),
              (std::vector<std::uint8_t>{1, 0, 255, 0, 255, 0, 255}));
    EXPECT_EQ((Run<std::int32_t>(DType::kInt32, DType::kFloat32, values)),
              (std::vector<std::int32_t>{1, -1, 300, -300, INT32_MAX, INT32_MIN, INT32_MAX}));
    EXPECT_EQ((Run<std::uint32_t>(DType::kUInt32, DType::kFloat32, values)[6]), 3000000000u);
    const std::vector<double> doubles = {9.3e18, -9.3e18, 1.9e19};
    EXPECT_EQ((Run<std::int64_t>(DType::kInt64, DType::kFloat64, doubles)),
              (std::vector<std::int64_t>{INT64_MAX, INT64_MIN, INT64_MAX}));
    EXPECT_EQ((Run<std::uint64_t>(DType::kUInt64, DType::kFloat64, doubles)),
              (std::vector<std::uint64_t>{9300000000000000000u, 0, UINT64_MAX}));
}

TEST_F(CastTest, IntegersAndBool) {
    const std::vector<std::int64_t> values = {-1, 256, 70000, 0};
    EXPECT_EQ((Run<std::uint8_t>(DType::kUInt8, DType::kInt64, values)), (std::vector<std::uint8_t>{255, 0, 112, 0}));
    EXPECT_EQ((Run<std::int16_t>(DType::kInt16, DType::kInt64, values)), (std::vector<std::int16_t>{-1, 256, 4464, 0}));
    EXPECT_EQ((Run<std::uint8_t>(DType::kBool, DType::kInt64, values)), (std::vector<std::uint8_t>{1, 1, 1, 0}));
    EXPECT_EQ((Run<float>(DType::kFloat32, DType::kInt64, values)), (std::vector<float>{-1, 256, 70000, 0}));
    EXPECT_EQ((Run<double>(DType::kFloat64, DType::kBool, std::vector<std::uint8_t>{0, 1, 7})),
              (std::vector<double>{0, 1, 1}));
}

// Every pair of types: small whole numbers arrive unchanged.
TEST_F(CastTest, AllPairs) {
    const std::vector<float> numbers = {0, 1, 2, 5, 100};
    const std::vector<float> booleans = {0, 1, 1, 1, 1};
    for (int s = 0; s <= static_cast<int>(DType::kFloat64); ++s) {
        for (int d = 0; d <= static_cast<int>(DType::kFloat64); ++d) {
            const auto src_type = static_cast<DType>(s);
            const auto dst_type = static_cast<DType>(d);
            const Buffer<float> first(numbers);
            const Buffer<char> source(5 * DTypeSize(src_type));
            const Buffer<char> target(5 * DTypeSize(dst_type));
            const Buffer<float> last(5);
            ASSERT_OK(Cast(nullptr, source.get(), src_type, first.get(), DType::kFloat32, 5));
            ASSERT_OK(Cast(nullptr, target.get(), dst_type, source.get(), src_type, 5));
            ASSERT_OK(Cast(nullptr, last.get(), DType::kFloat32, target.get(), dst_type, 5));
            ASSERT_OK(StreamSynchronize(nullptr));
            const bool boolean = src_type == DType::kBool || dst_type == DType::kBool;
            EXPECT_EQ(last.Read(), boolean ? booleans : numbers)
                << DTypeName(src_type) << " to " << DTypeName(dst_type);
        }
    }
}

TEST_F(CastTest, Arguments) {
    const Buffer<float> buffer(8);
    EXPECT_OK(Cast(nullptr, nullptr, DType::kInt8, nullptr, DType::kFloat32, 0));
    EXPECT_EQ(Cast(nullptr, buffer.get(), DType::kInt8, buffer.get(), DType::kFloat32, -1), Result::kInvalidValue);
    EXPECT_EQ(Cast(nullptr, buffer.get(), DType::kFloat64, buffer.get(), DType::kFloat32, 4), Result::kInvalidValue);
    EXPECT_EQ(Cast(nullptr, buffer.get(), static_cast<DType>(99), buffer.get(), DType::kFloat32, 4),
              Result::kInvalidValue);
    EXPECT_EQ(Cast(nullptr, buffer.get(), DType::kInt32, buffer.get(), DType::kFloat32, 9), Result::kInvalidAddress);
    EXPECT_OK(Cast(nullptr, buffer.get(), DType::kInt32, buffer.get(), DType::kFloat32, 8)) << "in place";
    EXPECT_OK(StreamSynchronize(nullptr));
}

TEST_F(CastTest, FillAllTypes) {
    for (int d = 0; d <= static_cast<int>(DType::kFloat64); ++d) {
        const auto dtype = static_cast<DType>(d);
        const Buffer<char> buffer(100 * DTypeSize(dtype));
        const Buffer<float> floats(100);
        ASSERT_OK(Fill(nullptr, buffer.get(), dtype, 100, 3.0));
        ASSERT_OK(Cast(nullptr, floats.get(), DType::kFloat32, buffer.get(), dtype, 100));
        ASSERT_OK(StreamSynchronize(nullptr));
        EXPECT_EQ(floats.Read(), std::vector<float>(100, dtype == DType::kBool ? 1.0f : 3.0f)) << DTypeName(dtype);
    }
    const Buffer<std::int64_t> buffer(3);
    const std::int64_t element = INT64_MIN + 1;
    ASSERT_OK(FillElement(nullptr, buffer.get(), DType::kInt64, 3, &element));
    ASSERT_OK(StreamSynchronize(nullptr));
    EXPECT_EQ(buffer.Read(), std::vector<std::int64_t>(3, element));
}

} // namespace
} // namespace fl::sim
