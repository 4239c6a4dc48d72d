/* Written for these tests. Handles and statuses of ACL are void * and int: only the typedef's name tells them apart. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef int aclError;
typedef int HcclCode;
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
aclError aclGetText(aclError code);
#ifdef __cplusplus
}
#endif
