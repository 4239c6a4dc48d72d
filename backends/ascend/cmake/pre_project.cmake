# Included before project(). This file is yours; fl-gen made it once. Compilers go here if the SDK demands its own.
include("${CMAKE_CURRENT_LIST_DIR}/../../../generated/ascend/cmake/pre_project.cmake")
