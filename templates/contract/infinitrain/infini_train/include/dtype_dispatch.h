#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "glog/logging.h"

#include "infini_train/include/common/common.h"
#include "infini_train/include/datatype.h"

#define LOG_UNSUPPORTED_DTYPE(DTYPE, CONTEXT_IDENTIFIER)                                                               \
    LOG_LOC(FATAL, std::string(CONTEXT_IDENTIFIER) + ": Unsupported data type: "                                       \
                       + infini_train::kDataTypeToDesc.at(static_cast<infini_train::DataType>(DTYPE)))

// A switch over dtypes: DISPATCH(dtype, WRAP(body), DataType::kFLOAT32, ...) runs the body for the listed dtypes.
#define INFINI_PARENTHESES_ ()
#define INFINI_REPEAT_(...) INFINI_REPEAT_4_(INFINI_REPEAT_4_(INFINI_REPEAT_4_(__VA_ARGS__)))
#define INFINI_REPEAT_4_(...) INFINI_REPEAT_1_(INFINI_REPEAT_1_(INFINI_REPEAT_1_(__VA_ARGS__)))
#define INFINI_REPEAT_1_(...) __VA_ARGS__
#define INFINI_CASES_(...) __VA_OPT__(INFINI_REPEAT_(INFINI_CASES_STEP_(__VA_ARGS__)))
#define INFINI_CASES_STEP_(DTYPE, ...)                                                                                 \
    case DTYPE:                                                                                                        \
        __VA_OPT__(INFINI_CASES_AGAIN_ INFINI_PARENTHESES_(__VA_ARGS__))
#define INFINI_CASES_AGAIN_() INFINI_CASES_STEP_

#define DISPATCH_CASE(BODY, ...)                                                                                       \
    INFINI_CASES_(__VA_ARGS__) { BODY break; }

#define DISPATCH_WITH_DEFAULT(DTYPE_EXPR, BODY, DEFAULT_BODY, ...)                                                     \
    switch (DTYPE_EXPR) {                                                                                              \
        DISPATCH_CASE(WRAP(BODY), __VA_ARGS__)                                                                         \
    default: {                                                                                                         \
        DEFAULT_BODY;                                                                                                  \
    }                                                                                                                  \
    }

#define DISPATCH(DTYPE_EXPR, BODY, ...)                                                                                \
    DISPATCH_WITH_DEFAULT(                                                                                             \
        DTYPE_EXPR, WRAP(BODY),                                                                                        \
        WRAP(LOG(FATAL) << "Unsupported data type at " << __FILE__ << ":" << __LINE__; return nullptr;), __VA_ARGS__)

// Lists of dtypes for the dispatch templates below.
#define INFINI_FLOATING_TYPES DataType::kFLOAT32, DataType::kFLOAT64
#define INFINI_REDUCED_FLOATING_TYPES DataType::kFLOAT16, DataType::kBFLOAT16
#define INFINI_ALL_FLOATING_TYPES INFINI_FLOATING_TYPES, INFINI_REDUCED_FLOATING_TYPES
#define INFINI_LOGICAL_TYPES DataType::kBOOL
#define INFINI_SIGNED_INTEGRAL_TYPES DataType::kINT8, DataType::kINT16, DataType::kINT32, DataType::kINT64
#define INFINI_UNSIGNED_INTEGRAL_TYPES DataType::kUINT8, DataType::kUINT16, DataType::kUINT32, DataType::kUINT64
#define INFINI_ALL_INTEGRAL_TYPES INFINI_SIGNED_INTEGRAL_TYPES, INFINI_UNSIGNED_INTEGRAL_TYPES
#define INFINI_ALL_NUMERIC_TYPES INFINI_ALL_FLOATING_TYPES, INFINI_ALL_INTEGRAL_TYPES
#define INFINI_8_BIT_TYPES DataType::kINT8, DataType::kUINT8
#define INFINI_16_BIT_TYPES DataType::kINT16, DataType::kUINT16, DataType::kFLOAT16, DataType::kBFLOAT16
#define INFINI_32_BIT_TYPES DataType::kINT32, DataType::kUINT32, DataType::kFLOAT32
#define INFINI_64_BIT_TYPES DataType::kINT64, DataType::kUINT64, DataType::kFLOAT64

namespace infini_train {

template <DataType... DTypes> struct DataTypeList {};

template <DataType Dtype, typename List> inline constexpr bool IsDataTypeInList_v = false;
template <DataType Dtype, DataType... DTypes>
inline constexpr bool IsDataTypeInList_v<Dtype, DataTypeList<DTypes...>> = ((Dtype == DTypes) || ...);

template <typename T, typename... Ts> inline constexpr bool IsTypeInList = (std::is_same_v<T, Ts> || ...);

// The C++ type a type map gives to a dtype.
template <template <DataType> class TypeMap, DataType DType> using MappedType_t = typename TypeMap<DType>::type;

// Whether a type map has an entry for a dtype.
template <template <DataType> class TypeMap, DataType DType>
inline constexpr bool HasMappedType_v = requires { typename TypeMap<DType>::type; };

namespace detail {

// Walks the lists: one level per dtype, the types found so far as the pack.
template <template <DataType> class TypeMap, typename... Found> struct DtypeResolver {
    template <typename Functor, typename... Args>
    static decltype(auto) Resolve(const DataType *, std::string_view, std::tuple<>, Functor &&func, Args &&...args) {
        return std::forward<Functor>(func).template operator()<Found...>(std::forward<Args>(args)...);
    }

    template <DataType First, DataType... Others, typename... Lists, typename Functor, typename... Args>
    static auto Resolve(const DataType *dtype, std::string_view context,
                        std::tuple<DataTypeList<First, Others...>, Lists...>, Functor &&func, Args &&...args) {
        if (*dtype == First) {
            static_assert(HasMappedType_v<TypeMap, First>, "TypeMap does not provide explicit mapping for this dtype");
            return DtypeResolver<TypeMap, Found..., MappedType_t<TypeMap, First>>::Resolve(
                dtype + 1, context, std::tuple<Lists...>(), std::forward<Functor>(func), std::forward<Args>(args)...);
        }
        if constexpr (sizeof...(Others) > 0) {
            return Resolve(dtype, context, std::tuple<DataTypeList<Others...>, Lists...>(), std::forward<Functor>(func),
                           std::forward<Args>(args)...);
        } else {
            LOG_UNSUPPORTED_DTYPE(*dtype, context);
            std::abort();
        }
    }
};

} // namespace detail

// Calls func.operator()<T>(args...) with the type that TypeMap gives to dtype. FATAL if dtype is not among
// AllowedDTypes; an allowed dtype that TypeMap does not know is a compile error.
template <template <DataType> class TypeMap, DataType... AllowedDTypes, typename Functor, typename... Args>
auto DispatchByTypeMap(DataType dtype, Functor &&func, std::string_view context_identifier = "", Args &&...args) {
    return detail::DtypeResolver<TypeMap>::Resolve(&dtype, context_identifier,
                                                   std::tuple<DataTypeList<AllowedDTypes...>>(),
                                                   std::forward<Functor>(func), std::forward<Args>(args)...);
}

// The same for several dtypes at once: one DataTypeList per dtype, func.operator()<T0, T1, ...>(args...).
template <template <DataType> class TypeMap, typename... AllowedTypeLists, typename Functor, typename... Args>
auto DispatchByTypeMap(const std::vector<DataType> &dtypes, Functor &&func, std::string_view context_identifier = "",
                       Args &&...args) {
    CHECK_EQ(dtypes.size(), sizeof...(AllowedTypeLists))
        << "DispatchByTypeMap needs one dtype per list in " << context_identifier;
    return detail::DtypeResolver<TypeMap>::Resolve(dtypes.data(), context_identifier, std::tuple<AllowedTypeLists...>(),
                                                   std::forward<Functor>(func), std::forward<Args>(args)...);
}

} // namespace infini_train
