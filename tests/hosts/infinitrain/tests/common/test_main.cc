#include "gtest/gtest.h"

#include "infini_train/include/nn/parallel/global.h"

#ifdef INFINI_TRAIN_TEST_BACKEND_HEADER
#include INFINI_TRAIN_TEST_BACKEND_HEADER
#endif

int main(int argc, char **argv) {
    ::testing::InitGoogleTest(&argc, argv);
#ifdef INFINI_TRAIN_TEST_BACKEND_REGISTRAR
    // Before a device name is parsed and before the process layout is known.
    INFINI_TRAIN_TEST_BACKEND_REGISTRAR();
#endif
    infini_train::nn::parallel::global::GlobalEnv::Instance().Init(1, 1, false, 1, 1);
    return RUN_ALL_TESTS();
}
