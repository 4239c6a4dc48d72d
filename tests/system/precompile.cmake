# Included by the project() call of the InfiniTrain-Backends checkout that the system tests build. When all targets are there it
# adds two: fl_test_programs, every program of the backend's folder, and fl_generated_programs, those without InfiniTrain's own
# suites. With FL_TEST_PRECOMPILE the headers that most sources
# include are precompiled, since a build without optimisation spends its time in headers. That each source includes what it uses
# is shown by --verify, which parses it alone (tests/unit/test_verify.py).
set(FL_TEST_PRECOMPILE ON CACHE BOOL "Precompile the headers that most sources include")

function(_fl_test_executables folder result)
  get_property(_targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(_folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  set(_found)
  foreach(_target IN LISTS _targets)
    get_target_property(_type ${_target} TYPE)
    if(_type STREQUAL "EXECUTABLE")
      list(APPEND _found ${_target})
    endif()
  endforeach()
  foreach(_folder IN LISTS _folders)
    _fl_test_executables("${_folder}" _inside)
    list(APPEND _found ${_inside})
  endforeach()
  set(${result} ${_found} PARENT_SCOPE)
endfunction()

function(_fl_test_finish)
  _fl_test_executables("${INFINITRAIN_BACKEND_DIR}" _programs)
  add_custom_target(fl_test_programs)
  add_dependencies(fl_test_programs ${_programs})
  add_custom_target(fl_generated_programs)
  get_filename_component(_framework "${INFINITRAIN_SOURCE_DIR}" ABSOLUTE)
  foreach(_program IN LISTS _programs)
    get_target_property(_sources ${_program} SOURCES)
    if(NOT _sources MATCHES "${_framework}/")
      add_dependencies(fl_generated_programs ${_program})
    endif()
  endforeach()
  if(NOT FL_TEST_PRECOMPILE)
    return()
  endif()
  set(_headers <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <mutex>
      <numeric> <optional> <sstream> <string> <thread> <tuple> <unordered_map> <utility> <vector>
      [["glog/logging.h"]]
      [["infini_train/include/core/runtime/device_guard.h"]]
      [["infini_train/include/dispatcher.h"]]
      [["infini_train/include/tensor.h"]])
  target_precompile_headers(infini_train_cpu_kernels PRIVATE ${_headers})
  target_precompile_headers("infini_train_backend_${INFINITRAIN_BACKEND}" PRIVATE ${_headers})
  # Programs of one folder are compiled alike and share theirs.
  foreach(_program IN LISTS _programs)
    get_target_property(_libraries ${_program} LINK_LIBRARIES)
    if("GTest::gtest" IN_LIST _libraries)
      get_target_property(_folder ${_program} SOURCE_DIR)
      if(DEFINED "_owner_${_folder}")
        target_precompile_headers(${_program} REUSE_FROM "${_owner_${_folder}}")
      else()
        set("_owner_${_folder}" ${_program})
        target_precompile_headers(${_program} PRIVATE ${_headers} [["gtest/gtest.h"]])
      endif()
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL _fl_test_finish)
