"""Small SDK headers with the real names, types and prototypes of the vendors, written for these tests."""

CNRT = """\
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
"""

CNNL = """\
#ifndef CNNL_H_
#define CNNL_H_
#include <stdint.h>
#include "cnrt.h"
#define CNNL_MAJOR 1
#define CNNL_MINOR 26
#define CNNL_PATCHLEVEL 6
#if defined(__cplusplus)
extern "C" {
#endif
typedef enum {
  CNNL_STATUS_SUCCESS = 0,
  CNNL_STATUS_NOT_INITIALIZED = 1,
  CNNL_STATUS_ALLOC_FAILED = 2,
} cnnlStatus_t;
struct cnnlContext;
typedef struct cnnlContext *cnnlHandle_t;
cnnlStatus_t cnnlCreate(cnnlHandle_t *handle);
cnnlStatus_t cnnlDestroy(cnnlHandle_t handle);
cnnlStatus_t cnnlSetQueue(cnnlHandle_t handle, cnrtQueue_t queue);
cnnlStatus_t cnnlGetQueue(cnnlHandle_t handle, cnrtQueue_t *queue);
const char *cnnlGetErrorString(cnnlStatus_t status);
void cnnlGetLibVersion(int *major, int *minor, int *patch);
#if defined(__cplusplus)
}
#endif
#endif
"""

CNCL = """\
#ifndef CNCL_H_
#define CNCL_H_
#include "cnrt.h"
#define CNCL_MAJOR_VERSION 1
#if defined(__cplusplus)
extern "C" {
#endif
typedef enum { CNCL_RET_SUCCESS = 0 } cnclResult_t;
typedef enum { cnclFloat16 = 16, cnclBfloat16 = 17, cnclFloat = 18, cnclFloat32 = 18, cnclInt8 = 32 } cnclDataType_t;
typedef enum { cnclSum = 0, cnclProd = 1, cnclMax = 2, cnclMin = 3 } cnclReduceOp_t;
typedef struct cnclComm *cnclComm_t;
struct cnclCliqueId { char data[128]; uint64_t hash; };
typedef struct cnclCliqueId *cnclCliqueId_t;
cnclResult_t cnclGetCliqueId(cnclCliqueId_t clique_id);
cnclResult_t cnclInitComms(cnclComm_t *comms, int num_comm, const int *dev_list, const int *rank_list, int nrank,
                           const cnclCliqueId_t clique_id);
cnclResult_t cnclAllReduce(const void *send_buffer, void *recv_buffer, size_t count, cnclDataType_t data_type,
                           cnclReduceOp_t reduce_op, cnclComm_t comm, cnrtQueue_t queue);
const char *cnclGetErrorStr(cnclResult_t ret);
#if defined(__cplusplus)
}
#endif
#endif
"""

MACA = """\
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
"""

# Handles and statuses of ACL are void * and int: only the typedef's name tells them apart.
ACL = """\
#pragma once
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef int aclError;
typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef enum { ACL_MEMCPY_HOST_TO_HOST = 0, ACL_MEMCPY_HOST_TO_DEVICE = 1 } aclrtMemcpyKind;
typedef enum { ACL_MEM_MALLOC_HUGE_FIRST = 0 } aclrtMemMallocPolicy;
#define ACL_SUCCESS 0
#define ACL_EVENT_SYNC 0x1u
aclError aclrtGetDeviceCount(uint32_t *count);
aclError aclrtSetDevice(int32_t device);
aclError aclrtMalloc(void **ptr, size_t size, aclrtMemMallocPolicy policy);
aclError aclrtFree(void *ptr);
aclError aclrtMemcpyAsync(void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream);
aclError aclrtCreateStream(aclrtStream *stream);
aclError aclrtSynchronizeStream(aclrtStream stream);
aclError aclrtCreateEvent(aclrtEvent *event);
aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
const char *aclGetRecentErrMsg(void);
#ifdef __cplusplus
}
#endif
"""
