/* Written for these tests: a small part of the SDK, with the vendor's names, types and prototypes. */
#ifndef CNRT_H_
#define CNRT_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CNRT_MAJOR_VERSION 6
#define CNRT_MINOR_VERSION 14
#define CNRT_PATCH_VERSION 1
#define CNRT_VERSION (CNRT_MAJOR_VERSION * 10000 + CNRT_MINOR_VERSION * 100 + CNRT_PATCH_VERSION)
#define CNRT_NOTIFIER_DEFAULT 0x0
#define CNRT_NOTIFIER_DISABLE_TIMING_SW 0x2
#define cnrtQueue CNqueue_st

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
  cnrtSuccess = 0,
  cnrtErrorNotReady = 1,
  cnrtErrorArgsInvalid = 100006,
  cnrtErrorNoMem = 100100,
  cnrtErrorBusy = 632014,
} cnrtRet_t;

typedef enum {
  cnrtMemcpyHostToDev = 0,
  cnrtMemcpyDevToDev = 1,
  cnrtMemcpyDevToHost = 2,
  cnrtMemcpyHostToHost = 3,
  cnrtMemcpyPeerToPeer = 4,
  cnrtMemcpyNoDirection = 5,
} cnrtMemTransDir_t;

typedef enum {
  cnrtMemTypeUnregistered = 0,
  cnrtMemTypeHost = 1,
  cnrtMemTypeDevice = 2,
} cnrtMemType_t;

typedef enum {
  cnrtMemPoolAttrReleaseThreshold = 4,
  cnrtMemPoolAttrReservedMemCurrent = 5,
} cnrtMemPoolAttr_t;

typedef struct CNqueue_st *cnrtQueue_t;
typedef struct CNnotifier_st *cnrtNotifier_t;
typedef struct cnrtMemPool *cnrtMemPool_t;

typedef struct {
  char name[256];
  int totalMem;
  uint64_t totalGlobalMemSize;
} cnrtDeviceProp_t;

extern cnrtRet_t cnrtGetDeviceCount(unsigned int *pCount);
extern cnrtRet_t cnrtGetDevice(int *pOrdinal);
extern cnrtRet_t cnrtSetDevice(int ordinal);
extern cnrtRet_t cnrtSyncDevice(void);
extern cnrtRet_t cnrtGetDeviceProperties_V3(cnrtDeviceProp_t *prop, int device);
#define cnrtGetDeviceProperties cnrtGetDeviceProperties_V3
extern cnrtRet_t cnrtMemGetInfo(size_t *free, size_t *total);
extern cnrtRet_t cnrtMalloc(void **pPtr, size_t bytes);
extern cnrtRet_t cnrtMallocConstant(void **pPtr, size_t bytes);
extern cnrtRet_t cnrtFree(void *ptr);
extern cnrtRet_t cnrtHostMalloc(void **pPtr, size_t bytes);
extern cnrtRet_t cnrtFreeHost(void *ptr);
extern cnrtRet_t cnrtMemAllocAsync(void **pPtr, size_t byteSize, cnrtQueue_t queue);
extern cnrtRet_t cnrtMemAllocFromPoolAsync(void **pPtr, size_t byteSize, cnrtMemPool_t pool, cnrtQueue_t hqueue);
extern cnrtRet_t cnrtMemFreeAsync(void *mluAddr, cnrtQueue_t hqueue);
extern cnrtRet_t cnrtMemPoolGetAttribute(cnrtMemPool_t pool, cnrtMemPoolAttr_t attr, void *value);
extern cnrtRet_t cnrtMemcpy(void *dst, void *src, size_t bytes, cnrtMemTransDir_t dir);
extern cnrtRet_t cnrtMemcpyAsync(void *dst, void *src, size_t bytes, cnrtQueue_t queue, cnrtMemTransDir_t dir);
extern cnrtRet_t cnrtMemcpyPeerAsync(void *dst, int dstDev, void *src, int srcDev, size_t bytes, cnrtQueue_t queue);
extern cnrtRet_t cnrtMemsetAsync(void *ptr, int value, size_t bytes, cnrtQueue_t queue);
extern cnrtRet_t cnrtQueueCreate(cnrtQueue_t *pQueue);
extern cnrtRet_t cnrtQueueCreateWithPriority(cnrtQueue_t *pQueue, unsigned int flags, int priority);
extern cnrtRet_t cnrtQueueDestroy(cnrtQueue_t queue);
extern cnrtRet_t cnrtQueueSync(cnrtQueue_t queue);
extern cnrtRet_t cnrtQueueQuery(cnrtQueue_t queue);
extern cnrtRet_t cnrtQueueWaitNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue, unsigned int flag);
extern cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t *pNotifier);
extern cnrtRet_t cnrtNotifierCreateWithFlags(cnrtNotifier_t *pNotifier, unsigned int flags);
extern cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t notifier);
extern cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue);
extern cnrtRet_t cnrtQueryNotifier(cnrtNotifier_t notifier);
extern cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t notifier);
extern cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end, float *us);
extern const char *cnrtGetErrorStr(cnrtRet_t error);

#if defined(__cplusplus)
}
#endif
#endif
