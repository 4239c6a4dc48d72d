/* Written for these tests: a small part of the SDK, with the vendor's names, types and prototypes. */
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
