// The four kernels without which no backend registers.
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "tests/kernels/kernel_test.h"

namespace infini_train::test {
namespace {

class RequiredKernelTest : public KernelTest {};

TEST_P(RequiredKernelTest, NoOpIsAView) {
    const auto input = Make({1, 2, 3, 4, 5, 6}, {2, 3});
    const auto view = Call("NoOpForward", input, Dims{3, 2});
    EXPECT_EQ(view->DataPtr(), input->DataPtr());
    Expect(view, {3, 2}, {1, 2, 3, 4, 5, 6});
    const auto back = Call("NoOpBackward", Dims{6}, view);
    EXPECT_EQ(back->DataPtr(), input->DataPtr());
    Expect(back, {6}, {1, 2, 3, 4, 5, 6});
}

TEST_P(RequiredKernelTest, FillOfEveryNumericDtype) {
    const auto check = [&]<typename T>(DataType dtype, Scalar scalar, T expected) {
        auto tensor = std::make_shared<Tensor>(Dims{5}, dtype, GetDevice());
        Call<void>("Fill", tensor, scalar);
        EXPECT_EQ(ReadBack<T>(tensor), std::vector<T>(5, expected)) << kDataTypeToDesc.at(dtype);
    };
    check(DataType::kUINT8, Scalar(200), uint8_t{200});
    check(DataType::kINT8, Scalar(-3), int8_t{-3});
    check(DataType::kUINT16, Scalar(60000), uint16_t{60000});
    check(DataType::kINT16, Scalar(-300), int16_t{-300});
    check(DataType::kUINT32, Scalar(4000000000u), uint32_t{4000000000u});
    check(DataType::kINT32, Scalar(-70000), int32_t{-70000});
    check(DataType::kUINT64, Scalar(uint64_t{1} << 63), uint64_t{1} << 63);
    check(DataType::kINT64, Scalar(int64_t{-5000000000}), int64_t{-5000000000});
    check(DataType::kBFLOAT16, Scalar(-1.5), uint16_t{0xbfc0});
    check(DataType::kFLOAT16, Scalar(-1.5), uint16_t{0xbe00});
    check(DataType::kFLOAT32, Scalar(0.25), 0.25f);
    check(DataType::kFLOAT64, Scalar(1e300), 1e300);
}

// From and to every dtype; the values fit into all of them.
TEST_P(RequiredKernelTest, CastBetweenAllDtypes) {
    std::vector<DataType> dtypes;
    for (const auto &[dtype, unused] : kDataTypeToSize) { dtypes.push_back(dtype); }
    ASSERT_EQ(dtypes.size(), 13u);
    const auto source = Make({0, 1, 1, 0}, {2, 2});
    for (const auto from : dtypes) {
        const auto first = Call("Cast", source, from);
        EXPECT_EQ(first->Dtype(), from);
        EXPECT_EQ(first->GetDevice(), GetDevice());
        for (const auto to : dtypes) {
            const auto second = Call("Cast", first, to);
            EXPECT_EQ(second->Dtype(), to);
            SCOPED_TRACE(kDataTypeToDesc.at(from) + " to " + kDataTypeToDesc.at(to));
            Expect(Call("Cast", second, DataType::kFLOAT32), {2, 2}, {0, 1, 1, 0});
        }
    }
}

TEST_P(RequiredKernelTest, CastRoundsAndTruncates) {
    const auto input = Make({1.99f, -1.99f, 3.0f, 0.0f}, {4});
    EXPECT_EQ(ReadBack<int32_t>(Call("Cast", input, DataType::kINT32)), (std::vector<int32_t>{1, -1, 3, 0}));
    EXPECT_EQ(ReadBack<uint8_t>(Call("Cast", input, DataType::kBOOL)), (std::vector<uint8_t>{1, 1, 1, 0}));
    const auto large = MakeIndex({(int64_t{1} << 53) + 1, -(int64_t{1} << 40)}, {2});
    EXPECT_EQ(ReadBack<double>(Call("Cast", large, DataType::kFLOAT64)),
              (std::vector<double>{9007199254740992.0, -1099511627776.0}));
    EXPECT_EQ(ReadBack<uint64_t>(Call("Cast", large, DataType::kUINT64)),
              (std::vector<uint64_t>{9007199254740993u, 18446742974197923840u}));
}

// More elements than any block the implementation may work in.
TEST_P(RequiredKernelTest, CastOfALongTensor) {
    std::vector<float> values(1001);
    for (size_t i = 0; i < values.size(); ++i) { values[i] = static_cast<float>(i) - 500.0f; }
    const auto integers = ReadBack<int64_t>(Call("Cast", Make(values, {1001}), DataType::kINT64));
    for (size_t i = 0; i < values.size(); ++i) { ASSERT_EQ(integers[i], static_cast<int64_t>(i) - 500); }
}

INFINI_TRAIN_REGISTER_TEST(RequiredKernelTest);

} // namespace
} // namespace infini_train::test
