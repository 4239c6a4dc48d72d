// The arithmetic of reductions.
#include <vector>

#include "ccl_comm.h"
#include "dtype.h"

namespace fl::sim {
namespace {

// The type in which values are combined: 16-bit floats in fp32, integers as unsigned (overflow wraps), bool as a byte.
template <typename T> struct Combine {
    using Type = T;
};
template <> struct Combine<Half> {
    using Type = float;
};
template <> struct Combine<BFloat16> {
    using Type = float;
};
template <> struct Combine<Bool8> {
    using Type = std::uint8_t;
};

// A NaN in any rank stays one: max and min must not hide it.
template <typename A> A Smaller(A a, A b) {
    if constexpr (std::is_floating_point_v<A>) {
        if (std::isnan(a) || std::isnan(b)) {
            return a + b;
        }
    }
    return b < a ? b : a;
}

template <typename A> A Larger(A a, A b) {
    if constexpr (std::is_floating_point_v<A>) {
        if (std::isnan(a) || std::isnan(b)) {
            return a + b;
        }
    }
    return a < b ? b : a;
}

template <typename A> A Add(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
        return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
        return a + b;
    }
}

template <typename A> A Multiply(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
        return static_cast<A>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
        return a * b;
    }
}

template <typename T>
void ReduceTyped(const Session &session, std::size_t offset, std::size_t count, ReduceOp op, std::byte *out) {
    using A = typename Combine<T>::Type;
    constexpr bool kBoolean = std::is_same_v<T, Bool8>;
    std::vector<A> sums(count);
    for (int rank = 0; rank < session.nranks(); ++rank) {
        const std::byte *const in = session.stage(rank) + offset;
        for (std::size_t i = 0; i < count; ++i) {
            const A value = Convert<A>(Load<T>(in + i * sizeof(T)));
            A &sum = sums[i];
            if (rank == 0) {
                sum = value;
            } else if (op == ReduceOp::kProd) {
                sum = Multiply(sum, value);
            } else if (op == ReduceOp::kMin) {
                sum = Smaller(sum, value);
            } else if (op == ReduceOp::kMax || kBoolean) {
                sum = Larger(sum, value); // also the "or" of booleans, which sum and avg mean
            } else {
                sum = Add(sum, value);
            }
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        A sum = sums[i];
        if (op == ReduceOp::kAvg && !kBoolean) {
            sum = static_cast<A>(sum / static_cast<A>(session.nranks()));
        }
        Store(out + i * sizeof(T), Convert<T>(sum));
    }
}

} // namespace

void ReduceStages(const Session &session, std::size_t offset, std::size_t count, DType dtype, ReduceOp op,
                  std::byte *out) {
    VisitDType(dtype, [&](auto tag) { ReduceTyped<typename decltype(tag)::Type>(session, offset, count, op, out); });
}

} // namespace fl::sim
