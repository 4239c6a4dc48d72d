// Elementwise library work: Cast and Fill.
#include <array>
#include <cstring>

#include "dtype.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

// Byte count of n elements; false when n is negative or the product overflows.
bool ByteCount(DType dtype, std::int64_t n, std::size_t *bytes) {
    return n >= 0 && !__builtin_mul_overflow(static_cast<std::size_t>(n), DTypeSize(dtype), bytes);
}

template <typename D, typename S> void CastAll(std::byte *dst, const std::byte *src, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        Store(dst + i * static_cast<std::int64_t>(sizeof(D)),
              Convert<D>(Load<S>(src + i * static_cast<std::int64_t>(sizeof(S)))));
    }
}

bool KnownDType(DType dtype) { return DTypeSize(dtype) != 0; }

} // namespace

std::size_t DTypeSize(DType dtype) {
    std::size_t size = 0;
    VisitDType(dtype, [&](auto tag) { size = sizeof(typename decltype(tag)::Type); });
    return size;
}

const char *DTypeName(DType dtype) {
    switch (dtype) {
    case DType::kBool:
        return "bool";
    case DType::kInt8:
        return "int8";
    case DType::kUInt8:
        return "uint8";
    case DType::kInt16:
        return "int16";
    case DType::kUInt16:
        return "uint16";
    case DType::kInt32:
        return "int32";
    case DType::kUInt32:
        return "uint32";
    case DType::kInt64:
        return "int64";
    case DType::kUInt64:
        return "uint64";
    case DType::kFloat16:
        return "float16";
    case DType::kBFloat16:
        return "bfloat16";
    case DType::kFloat32:
        return "float32";
    case DType::kFloat64:
        return "float64";
    }
    return "unknown dtype";
}

Result Cast(Handle stream, void *dst, DType dst_type, const void *src, DType src_type, std::int64_t n) {
    std::size_t dst_bytes = 0;
    std::size_t src_bytes = 0;
    if (!KnownDType(dst_type) || !KnownDType(src_type)) {
        return Fault(Result::kInvalidValue, Text("cast from ", DTypeName(src_type), " to ", DTypeName(dst_type)));
    }
    if (!ByteCount(dst_type, n, &dst_bytes) || !ByteCount(src_type, n, &src_bytes)) {
        return Fault(Result::kInvalidValue, Text("cast of ", n, " elements"));
    }
    const auto dst_begin = reinterpret_cast<std::uintptr_t>(dst);
    const auto src_begin = reinterpret_cast<std::uintptr_t>(src);
    const bool overlap = n > 0 && dst_begin < src_begin + src_bytes && src_begin < dst_begin + dst_bytes;
    if (overlap && (dst_begin != src_begin || dst_bytes != src_bytes)) {
        return Fault(Result::kInvalidValue, "the source and the destination of the cast overlap");
    }
    std::vector<Range> ranges = {{src, src_bytes, Access::kRead}, {dst, dst_bytes, Access::kWrite}};
    return LaunchOnStream(stream, "cast", std::move(ranges), [=](std::span<std::byte *const> views) {
        VisitDType(dst_type, [&](auto dst_tag) {
            VisitDType(src_type, [&](auto src_tag) {
                CastAll<typename decltype(dst_tag)::Type, typename decltype(src_tag)::Type>(views[1], views[0], n);
            });
        });
        return Result::kSuccess;
    });
}

Result FillElement(Handle stream, void *dst, DType dtype, std::int64_t n, const void *host_element) {
    std::size_t bytes = 0;
    if (!KnownDType(dtype) || !ByteCount(dtype, n, &bytes) || host_element == nullptr) {
        return Fault(Result::kInvalidValue, Text("fill of ", n, " elements of ", DTypeName(dtype)));
    }
    const std::size_t size = DTypeSize(dtype);
    std::array<std::byte, 8> element{};
    std::memcpy(element.data(), host_element, size);
    return LaunchOnStream(stream, "fill", {{dst, bytes, Access::kWrite}}, [=](std::span<std::byte *const> views) {
        for (std::size_t offset = 0; offset < bytes; offset += size) {
            std::memcpy(views[0] + offset, element.data(), size);
        }
        return Result::kSuccess;
    });
}

Result Fill(Handle stream, void *dst, DType dtype, std::int64_t n, double value) {
    std::array<std::byte, 8> element{};
    VisitDType(dtype, [&](auto tag) { Store(element.data(), Convert<typename decltype(tag)::Type>(value)); });
    return FillElement(stream, dst, dtype, n, element.data());
}

} // namespace fl::sim
