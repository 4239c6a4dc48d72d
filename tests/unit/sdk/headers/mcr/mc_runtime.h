/* Written for these tests: a small part of the SDK, with the vendor's names, types and prototypes. */
#pragma once
#include <stddef.h>
#include <stdint.h>
typedef enum mcError { mcSuccess = 0, mcErrorMemoryAllocation = 2, mcErrorNotReady = 600 } mcError_t;
enum mcMemcpyKind { mcMemcpyHostToHost = 0, mcMemcpyHostToDevice = 1, mcMemcpyDeviceToHost = 2, mcMemcpyDefault = 4 };
typedef struct MCstream_st *mcStream_t;
typedef struct MCevent_st *mcEvent_t;
#define mcMallocHostDefault 0x0
#ifdef __cplusplus
#define MC_DEFAULT(value) = value
extern "C" {
#else
#define MC_DEFAULT(value)
#endif
mcError_t mcInit(unsigned int flags);
mcError_t mcGetDeviceCount(int *count);
mcError_t mcMalloc(void **ptr, size_t size);
mcError_t mcMallocAsync(void **ptr, size_t size, mcStream_t stream);
mcError_t mcMallocHost(void **ptr, size_t size, unsigned int flags MC_DEFAULT(mcMallocHostDefault));
mcError_t mcMemcpyAsync(void *dst, const void *src, size_t size, enum mcMemcpyKind kind, mcStream_t stream);
mcError_t mcStreamWaitEvent(mcStream_t stream, mcEvent_t event, unsigned int flags MC_DEFAULT(0));
mcError_t mcEventElapsedTime(float *milliseconds, mcEvent_t start, mcEvent_t stop);
#ifdef __cplusplus
}
template <typename T>
inline mcError_t mcMalloc(T **ptr, size_t size) {
  return mcMalloc(reinterpret_cast<void **>(ptr), size);
}
#endif
