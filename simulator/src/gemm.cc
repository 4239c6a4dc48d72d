// Column-major GEMM with BLAS semantics.
#include <algorithm>

#include "dtype.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

bool InputType(DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64
        || dtype == DType::kInt8;
}

bool OutputType(DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64
        || dtype == DType::kInt32;
}

// Bytes from the first to the last element that a batch of column-major matrices touches; false on overflow or a
// negative stride, which no vendor library takes either.
bool Extent(std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t stride, std::int64_t batch,
            DType dtype, std::size_t *bytes) {
    if (rows == 0 || columns == 0 || batch == 0) {
        *bytes = 0;
        return true;
    }
    std::int64_t last = 0;
    std::int64_t batches = 0;
    std::int64_t total = 0;
    return stride >= 0 && !__builtin_mul_overflow(columns - 1, ld, &last) && !__builtin_add_overflow(last, rows, &last)
        && !__builtin_mul_overflow(batch - 1, stride, &batches) && !__builtin_add_overflow(last, batches, &total)
        && !__builtin_mul_overflow(static_cast<std::size_t>(total), DTypeSize(dtype), bytes);
}

// op(M) of a column-major matrix as rows x columns, row-major, in the type of the sums.
template <typename Acc>
void Unpack(const std::byte *data, DType dtype, bool transposed, std::int64_t ld, std::int64_t rows,
            std::int64_t columns, std::vector<Acc> *out) {
    out->resize(static_cast<std::size_t>(rows * columns));
    VisitDType(dtype, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
                const std::int64_t at = transposed ? j + i * ld : i + j * ld;
                (*out)[static_cast<std::size_t>(i * columns + j)]
                    = Convert<Acc>(Load<T>(data + at * static_cast<std::int64_t>(sizeof(T))));
            }
        }
    });
}

template <typename Acc, typename Scale>
void MultiplyOne(const GemmArgs &args, const std::byte *a, const std::byte *b, std::byte *c) {
    std::vector<Acc> left;
    std::vector<Acc> right;
    // A null A or B is possible when k == 0: nothing is read then.
    Unpack<Acc>(a, args.a_type, args.trans_a != Trans::kN, args.lda, args.m, args.k, &left);
    Unpack<Acc>(b, args.b_type, args.trans_b != Trans::kN, args.ldb, args.k, args.n, &right);
    std::vector<Acc> row(static_cast<std::size_t>(args.n));
    VisitDType(args.c_type, [&](auto tag) {
        using C = typename decltype(tag)::Type;
        for (std::int64_t i = 0; i < args.m; ++i) {
            std::fill(row.begin(), row.end(), Acc{0});
            for (std::int64_t l = 0; l < args.k; ++l) {
                const Acc factor = left[static_cast<std::size_t>(i * args.k + l)];
                const Acc *const line = right.data() + l * args.n;
                for (std::int64_t j = 0; j < args.n; ++j) { row[static_cast<std::size_t>(j)] += factor * line[j]; }
            }
            for (std::int64_t j = 0; j < args.n; ++j) {
                std::byte *const at = c + (i + j * args.ldc) * static_cast<std::int64_t>(sizeof(C));
                Scale value = static_cast<Scale>(args.alpha) * static_cast<Scale>(row[static_cast<std::size_t>(j)]);
                if (args.beta != 0) {
                    value += static_cast<Scale>(args.beta) * Convert<Scale>(Load<C>(at));
                }
                Store(at, Convert<C>(value));
            }
        }
    });
}

template <typename Acc, typename Scale>
void MultiplyAll(const GemmArgs &args, const std::byte *a, const std::byte *b, std::byte *c) {
    const auto a_step = args.stride_a * static_cast<std::int64_t>(DTypeSize(args.a_type));
    const auto b_step = args.stride_b * static_cast<std::int64_t>(DTypeSize(args.b_type));
    const auto c_step = args.stride_c * static_cast<std::int64_t>(DTypeSize(args.c_type));
    for (std::int64_t i = 0; i < args.batch; ++i) {
        MultiplyOne<Acc, Scale>(args, a == nullptr ? nullptr : a + i * a_step, b == nullptr ? nullptr : b + i * b_step,
                                c + i * c_step);
    }
}

} // namespace

Result Gemm(Handle stream, const GemmArgs &args) {
    if (args.m < 0 || args.n < 0 || args.k < 0 || args.batch < 0) {
        return Fault(Result::kInvalidValue, Text("gemm: a size is negative (m=", args.m, " n=", args.n, " k=", args.k,
                                                 " batch=", args.batch, ")"));
    }
    if (!InputType(args.a_type) || args.b_type != args.a_type || !OutputType(args.c_type)
        || (args.c_type == DType::kInt32) != (args.a_type == DType::kInt8 && args.c_type == DType::kInt32)) {
        return Fault(Result::kNotSupported, Text("gemm: no such combination of types: ", DTypeName(args.a_type), " * ",
                                                 DTypeName(args.b_type), " -> ", DTypeName(args.c_type)));
    }
    const std::int64_t a_rows = args.trans_a == Trans::kN ? args.m : args.k;
    const std::int64_t a_columns = args.trans_a == Trans::kN ? args.k : args.m;
    const std::int64_t b_rows = args.trans_b == Trans::kN ? args.k : args.n;
    const std::int64_t b_columns = args.trans_b == Trans::kN ? args.n : args.k;
    if (args.lda < std::max<std::int64_t>(1, a_rows) || args.ldb < std::max<std::int64_t>(1, b_rows)
        || args.ldc < std::max<std::int64_t>(1, args.m)) {
        return Fault(Result::kInvalidValue,
                     Text("gemm: a leading dimension is too small (lda=", args.lda, " for ", a_rows,
                          " rows, ldb=", args.ldb, " for ", b_rows, ", ldc=", args.ldc, " for ", args.m, ")"));
    }
    std::size_t a_bytes = 0;
    std::size_t b_bytes = 0;
    std::size_t c_bytes = 0;
    const std::int64_t batch = args.m == 0 || args.n == 0 ? 0 : args.batch;
    if (!Extent(a_rows, a_columns, args.lda, args.stride_a, batch, args.a_type, &a_bytes)
        || !Extent(b_rows, b_columns, args.ldb, args.stride_b, batch, args.b_type, &b_bytes)
        || !Extent(args.m, args.n, args.ldc, args.stride_c, batch, args.c_type, &c_bytes)) {
        return Fault(Result::kInvalidValue, "gemm: a stride is negative or a size overflows");
    }
    if (args.batch > 1 && batch > 0 && args.stride_c < args.m && args.stride_c < args.n) {
        return Fault(Result::kInvalidValue, Text("gemm: the batches of C overlap (stride ", args.stride_c, ")"));
    }
    std::vector<Range> ranges = {{args.a, a_bytes, Access::kRead},
                                 {args.b, b_bytes, Access::kRead},
                                 {args.c, c_bytes, args.beta != 0 ? Access::kReadWrite : Access::kWrite}};
    return LaunchOnStream(stream, "gemm", std::move(ranges), [args, batch](std::span<std::byte *const> views) {
        if (batch > 0) {
            if (args.c_type == DType::kInt32) {
                MultiplyAll<std::int64_t, double>(args, views[0], views[1], views[2]);
            } else if (args.compute == DType::kFloat64 || args.c_type == DType::kFloat64) {
                MultiplyAll<double, double>(args, views[0], views[1], views[2]);
            } else {
                MultiplyAll<float, float>(args, views[0], views[1], views[2]);
            }
        }
        return Result::kSuccess;
    });
}

} // namespace fl::sim
