/* Written for these tests: a small part of the SDK, with the vendor's names, types and prototypes. */
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
