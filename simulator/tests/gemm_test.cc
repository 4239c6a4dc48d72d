// GEMM against the definition, in double.
#include <cmath>
#include <random>

#include "test_util.h"

namespace fl::sim {
namespace {

class GemmTest : public EngineTest {};

// Device copy of doubles as `dtype`, converted by the host through Cast (tested on its own).
class Typed {
public:
    Typed(const std::vector<double> &values, DType dtype)
        : dtype_(dtype), n_(values.size()), memory_(n_ * DTypeSize(dtype)) {
        const Buffer<double> wide(values);
        EXPECT_OK(Cast(nullptr, memory_.get(), dtype, wide.get(), DType::kFloat64, static_cast<std::int64_t>(n_)));
        EXPECT_OK(StreamSynchronize(nullptr));
    }
    char *get() const { return memory_.get(); }
    std::vector<double> Read() const {
        const Buffer<double> wide(n_);
        EXPECT_OK(Cast(nullptr, wide.get(), DType::kFloat64, memory_.get(), dtype_, static_cast<std::int64_t>(n_)));
        EXPECT_OK(StreamSynchronize(nullptr));
        return wide.Read();
    }

private:
    DType dtype_;
    std::size_t n_;
    Buffer<char> memory_;
};

std::vector<double> Numbers(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<double> values(n);
    for (double &value : values) {
        value = static_cast<int>(random() % 9) - 4; // exact in every type
    }
    return values;
}

TEST_F(GemmTest, AllTransposesTypesAndBatches) {
    struct Types {
        DType in;
        DType out;
    };
    const std::vector<Types> types = {{DType::kFloat32, DType::kFloat32},   {DType::kFloat64, DType::kFloat64},
                                      {DType::kFloat16, DType::kFloat16},   {DType::kFloat16, DType::kFloat32},
                                      {DType::kBFloat16, DType::kBFloat16}, {DType::kBFloat16, DType::kFloat32},
                                      {DType::kInt8, DType::kInt32},        {DType::kInt8, DType::kFloat32}};
    const int m = 3, n = 4, k = 5, batch = 2;
    for (const Types &type : types) {
        for (int mode = 0; mode < 9; ++mode) {
            GemmArgs args;
            args.trans_a = static_cast<Trans>(mode / 3);
            args.trans_b = static_cast<Trans>(mode % 3);
            const bool ta = args.trans_a != Trans::kN;
            const bool tb = args.trans_b != Trans::kN;
            args.m = m;
            args.n = n;
            args.k = k;
            args.lda = (ta ? k : m) + 1;
            args.ldb = (tb ? n : k) + 2;
            args.ldc = m + 3;
            args.stride_a = args.lda * (ta ? m : k) + 1;
            args.stride_b = args.ldb * (tb ? k : n);
            args.stride_c = args.ldc * n + 2;
            args.batch = batch;
            args.alpha = 2;
            args.beta = mode % 2 == 0 ? -1 : 0;
            args.a_type = args.b_type = type.in;
            args.c_type = type.out;
            const auto a = Numbers(static_cast<std::size_t>(args.stride_a * batch), 1);
            const auto b = Numbers(static_cast<std::size_t>(args.stride_b * batch), 2);
            const auto c = Numbers(static_cast<std::size_t>(args.stride_c * batch), 3);
            const Typed da(a, type.in);
            const Typed db(b, type.in);
            const Typed dc(c, type.out);
            args.a = da.get();
            args.b = db.get();
            args.c = dc.get();
            ASSERT_OK(Gemm(nullptr, args));
            auto expected = c;
            for (int p = 0; p < batch; ++p) {
                for (int i = 0; i < m; ++i) {
                    for (int j = 0; j < n; ++j) {
                        double sum = 0;
                        for (int l = 0; l < k; ++l) {
                            const auto x = a[static_cast<std::size_t>(p * args.stride_a
                                                                      + (ta ? l + i * args.lda : i + l * args.lda))];
                            const auto y = b[static_cast<std::size_t>(p * args.stride_b
                                                                      + (tb ? j + l * args.ldb : l + j * args.ldb))];
                            sum += x * y;
                        }
                        double &out = expected[static_cast<std::size_t>(p * args.stride_c + i + j * args.ldc)];
                        out = args.alpha * sum + args.beta * out;
                    }
                }
            }
            const auto seen = dc.Read();
            for (std::size_t i = 0; i < seen.size(); ++i) {
                // Results above 256 do not fit the 8 bits of bf16 exactly.
                const double slack = type.out == DType::kBFloat16 ? std::abs(expected[i]) / 256 : 0;
                ASSERT_NEAR(seen[i], expected[i], slack)
                    << DTypeName(type.in) << "->" << DTypeName(type.out) << " mode " << mode;
            }
        }
    }
}

TEST_F(GemmTest, BetaZeroDoesNotReadNan) {
    const Buffer<float> a(std::vector<float>{1, 2});
    const Buffer<float> c(4); // NaN
    GemmArgs args;
    args.m = 2;
    args.n = 2;
    args.k = 1;
    args.lda = args.ldc = 2;
    args.ldb = 1;
    args.a = a.get();
    args.b = a.get();
    args.c = c.get();
    ASSERT_OK(Gemm(nullptr, args));
    ASSERT_OK(StreamSynchronize(nullptr));
    EXPECT_EQ(c.Read(), (std::vector<float>{1, 2, 2, 4}));
    args.k = 0; // C = beta * C
    args.a = args.b = nullptr;
    args.beta = 3;
    ASSERT_OK(Gemm(nullptr, args));
    ASSERT_OK(StreamSynchronize(nullptr));
    EXPECT_EQ(c.Read(), (std::vector<float>{3, 6, 6, 12}));
}

TEST_F(GemmTest, Arguments) {
    const Buffer<float> buffer(16);
    GemmArgs args;
    args.m = args.n = args.k = 4;
    args.lda = args.ldb = args.ldc = 4;
    args.a = args.b = args.c = buffer.get();
    args.lda = 3;
    EXPECT_EQ(Gemm(nullptr, args), Result::kInvalidValue);
    args.lda = 5;
    EXPECT_EQ(Gemm(nullptr, args), Result::kInvalidAddress) << "the last column would lie outside";
    args.lda = 4;
    args.m = -1;
    EXPECT_EQ(Gemm(nullptr, args), Result::kInvalidValue);
    args.m = 4;
    args.a_type = DType::kInt64;
    EXPECT_EQ(Gemm(nullptr, args), Result::kNotSupported);
    args.a_type = DType::kFloat32;
    args.m = 0;
    args.c = nullptr;
    EXPECT_OK(Gemm(nullptr, args)) << "nothing to do";
    EXPECT_OK(StreamSynchronize(nullptr));
}

} // namespace
} // namespace fl::sim
