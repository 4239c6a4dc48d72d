# Tests of the framework. A suite is written once for any device; one binary per device type is made from it.
include_guard(GLOBAL)

find_package(GTest REQUIRED GLOBAL)
include(GoogleTest)

# The folder of test_utils.h and test_main.cc, and the folder that "tests/common/test_utils.h" is relative to.
set_property(GLOBAL PROPERTY INFINI_TRAIN_TEST_ROOT ${CMAKE_CURRENT_LIST_DIR}/..)

# infini_train_add_test(<name> SOURCES <file>... [options])
#   LABELS <label>...              CTest labels, default cpu
#   TEST_FILTER <pattern>          gtest filter
#   TEST_TIMEOUT <seconds>         default 10
#   TEST_MAIN_TARGET <target>      OBJECT library with main(), default test_main
#   TEST_MAIN_SOURCE <file>        a source with main() instead
#   RUNTIME_OUTPUT_DIRECTORY <dir> where the binary goes
#   LINK_LIBRARIES <lib>...        linked besides the framework
#   COMPILE_DEFINITIONS <def>...
#   BINARY_REGISTRATION            one CTest entry for the binary; else one per case, discovered by running it at build time
#   SKIP_DEFAULT_FRAMEWORK_LINK    LINK_LIBRARIES brings the framework
#   RUN_SERIAL                     not beside other tests
function(infini_train_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG
    "BINARY_REGISTRATION;SKIP_DEFAULT_FRAMEWORK_LINK;RUN_SERIAL"
    "TEST_FILTER;TEST_TIMEOUT;TEST_MAIN_SOURCE;TEST_MAIN_TARGET;RUNTIME_OUTPUT_DIRECTORY"
    "SOURCES;LABELS;LINK_LIBRARIES;COMPILE_DEFINITIONS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "infini_train_add_test(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "infini_train_add_test(${name}): SOURCES is required")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS cpu)
  endif()
  if(NOT ARG_TEST_TIMEOUT)
    set(ARG_TEST_TIMEOUT 10)
  endif()

  add_executable(${name} ${ARG_SOURCES})
  if(ARG_TEST_MAIN_SOURCE)
    target_sources(${name} PRIVATE ${ARG_TEST_MAIN_SOURCE})
  elseif(ARG_TEST_MAIN_TARGET)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${ARG_TEST_MAIN_TARGET}>)
  else()
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:test_main>)
  endif()

  get_property(_root GLOBAL PROPERTY INFINI_TRAIN_TEST_ROOT)
  target_include_directories(${name} PRIVATE ${_root})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_definitions(${name} PRIVATE ${ARG_COMPILE_DEFINITIONS})
  if(NOT ARG_SKIP_DEFAULT_FRAMEWORK_LINK)
    link_infini_train_exe(${name})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBRARIES} GTest::gtest)
  if(ARG_RUNTIME_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ARG_RUNTIME_OUTPUT_DIRECTORY})
  endif()

  if(ARG_BINARY_REGISTRATION)
    set(_filter)
    if(ARG_TEST_FILTER)
      set(_filter "--gtest_filter=${ARG_TEST_FILTER}")
    endif()
    add_test(NAME ${name} COMMAND ${name} ${_filter})
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TEST_TIMEOUT} RUN_SERIAL ${ARG_RUN_SERIAL})
  else()
    set(_filter)
    if(ARG_TEST_FILTER)
      set(_filter TEST_FILTER "${ARG_TEST_FILTER}")
    endif()
    gtest_discover_tests(${name} ${_filter} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 30
      PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TEST_TIMEOUT} RUN_SERIAL ${ARG_RUN_SERIAL})
  endif()
endfunction()

# infini_train_add_test_suite(<name> SOURCES <file>... [LABELS cpu cuda] [TEST_TIMEOUT <seconds>] [EXCLUDE_PRIVATEUSE1])
# Declares a suite. The binaries are made later: <name>_cpu by _infini_train_instantiate_test_suites, <name>_<backend> by
# infini_train_add_privateuse1_test_suites.
function(infini_train_add_test_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "EXCLUDE_PRIVATEUSE1" "TEST_TIMEOUT" "SOURCES;LABELS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "infini_train_add_test_suite(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "infini_train_add_test_suite(${name}): SOURCES is required")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS cpu cuda)
  endif()
  if(NOT ARG_TEST_TIMEOUT)
    set(ARG_TEST_TIMEOUT 10)
  endif()
  get_property(_suites GLOBAL PROPERTY INFINI_TRAIN_TEST_SUITES)
  if(name IN_LIST _suites)
    message(FATAL_ERROR "infini_train_add_test_suite(${name}): declared twice")
  endif()

  # The binaries are made in other folders.
  set(_sources)
  foreach(_source IN LISTS ARG_SOURCES)
    get_filename_component(_source ${_source} ABSOLUTE)
    list(APPEND _sources ${_source})
  endforeach()

  set_property(GLOBAL APPEND PROPERTY INFINI_TRAIN_TEST_SUITES ${name})
  set_property(GLOBAL PROPERTY INFINI_TRAIN_TEST_SUITE_${name}_SOURCES ${_sources})
  set_property(GLOBAL PROPERTY INFINI_TRAIN_TEST_SUITE_${name}_TIMEOUT ${ARG_TEST_TIMEOUT})
  set_property(GLOBAL PROPERTY INFINI_TRAIN_TEST_SUITE_${name}_BINARY_DIR ${CMAKE_CURRENT_BINARY_DIR})
  foreach(_label IN LISTS ARG_LABELS)
    if(_label STREQUAL "cpu")
      set_property(GLOBAL APPEND PROPERTY INFINI_TRAIN_CPU_TEST_SUITES ${name})
    elseif(_label STREQUAL "cuda")
      set_property(GLOBAL APPEND PROPERTY INFINI_TRAIN_CUDA_TEST_SUITES ${name})
    else()
      message(FATAL_ERROR "infini_train_add_test_suite(${name}): label ${_label} is neither cpu nor cuda")
    endif()
  endforeach()
  # A suite that runs on an accelerator also runs on an external one.
  if("cuda" IN_LIST ARG_LABELS AND NOT ARG_EXCLUDE_PRIVATEUSE1)
    set_property(GLOBAL APPEND PROPERTY INFINI_TRAIN_PRIVATEUSE1_TEST_SUITES ${name})
  endif()
endfunction()

# The properties of a suite into <prefix>_SOURCES, _TIMEOUT, _BINARY_DIR of the caller.
macro(_infini_train_get_test_suite suite prefix)
  foreach(_field SOURCES TIMEOUT BINARY_DIR)
    get_property(${prefix}_${_field} GLOBAL PROPERTY INFINI_TRAIN_TEST_SUITE_${suite}_${_field})
  endforeach()
endmacro()

# One CPU binary per declared suite; called at the end of tests/CMakeLists.txt. There is no CUDA here.
function(_infini_train_instantiate_test_suites)
  get_property(_suites GLOBAL PROPERTY INFINI_TRAIN_CPU_TEST_SUITES)
  foreach(_suite IN LISTS _suites)
    _infini_train_get_test_suite(${_suite} SUITE)
    infini_train_add_test(${_suite}_cpu
      SOURCES ${SUITE_SOURCES}
      LABELS cpu
      TEST_TIMEOUT ${SUITE_TIMEOUT}
      RUNTIME_OUTPUT_DIRECTORY ${SUITE_BINARY_DIR}
      COMPILE_DEFINITIONS
        INFINI_TRAIN_TEST_DEVICE_TYPE=infini_train::Device::DeviceType::kCPU
        INFINI_TRAIN_TEST_DEVICE_INDEX=0
        INFINI_TRAIN_TEST_PREFIX=CPU
    )
  endforeach()
endfunction()

# infini_train_add_privateuse1_test_suites(BACKEND_NAME <name> LINK_LIBRARIES <lib>... BACKEND_HEADER <path>
#   BACKEND_REGISTRAR <function> [DEVICE_INDEX 0] [TEST_TIMEOUT <seconds>] [RUN_SERIAL])
# Every suite that accelerators run, for an external backend: targets <suite>_<name>, one CTest entry per binary (nothing runs
# at build time), labels <name>, accelerator, hardware. Once per build tree, after this project was added with BUILD_TEST=ON.
function(infini_train_add_privateuse1_test_suites)
  cmake_parse_arguments(PARSE_ARGV 0 ARG
    "RUN_SERIAL" "BACKEND_NAME;DEVICE_INDEX;TEST_TIMEOUT;BACKEND_HEADER;BACKEND_REGISTRAR" "LINK_LIBRARIES")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "infini_train_add_privateuse1_test_suites: unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  foreach(_required BACKEND_NAME LINK_LIBRARIES BACKEND_HEADER BACKEND_REGISTRAR)
    if(NOT ARG_${_required})
      message(FATAL_ERROR "infini_train_add_privateuse1_test_suites: ${_required} is required")
    endif()
  endforeach()
  if(USE_CUDA)
    message(FATAL_ERROR "infini_train_add_privateuse1_test_suites: needs USE_CUDA=OFF")
  endif()
  if(NOT ARG_BACKEND_NAME MATCHES "^[a-z0-9_]+$" OR ARG_BACKEND_NAME MATCHES "^(cpu|cuda)$")
    message(FATAL_ERROR "infini_train_add_privateuse1_test_suites: BACKEND_NAME '${ARG_BACKEND_NAME}' must be a "
                        "non-reserved name of lowercase ASCII letters, digits and underscores")
  endif()
  get_property(_provider GLOBAL PROPERTY INFINI_TRAIN_PRIVATEUSE1_TEST_PROVIDER_REGISTERED)
  if(_provider)
    message(FATAL_ERROR "infini_train_add_privateuse1_test_suites: ${_provider} has its suites already; one backend per "
                        "build tree")
  endif()
  set_property(GLOBAL PROPERTY INFINI_TRAIN_PRIVATEUSE1_TEST_PROVIDER_REGISTERED ${ARG_BACKEND_NAME})
  if(NOT DEFINED ARG_DEVICE_INDEX)
    set(ARG_DEVICE_INDEX 0)
  endif()
  set(_run_serial)
  if(ARG_RUN_SERIAL)
    set(_run_serial RUN_SERIAL)
  endif()

  get_property(_root GLOBAL PROPERTY INFINI_TRAIN_TEST_ROOT)
  set(_main infini_train_test_main_${ARG_BACKEND_NAME})
  add_library(${_main} OBJECT ${_root}/tests/common/test_main.cc)
  target_compile_features(${_main} PRIVATE cxx_std_20)
  target_compile_definitions(${_main} PRIVATE
    "INFINI_TRAIN_TEST_BACKEND_HEADER=\"${ARG_BACKEND_HEADER}\""
    INFINI_TRAIN_TEST_BACKEND_REGISTRAR=${ARG_BACKEND_REGISTRAR}
  )
  target_link_libraries(${_main} PRIVATE ${ARG_LINK_LIBRARIES} GTest::gtest)

  get_property(_suites GLOBAL PROPERTY INFINI_TRAIN_PRIVATEUSE1_TEST_SUITES)
  foreach(_suite IN LISTS _suites)
    _infini_train_get_test_suite(${_suite} SUITE)
    if(ARG_TEST_TIMEOUT)
      set(SUITE_TIMEOUT ${ARG_TEST_TIMEOUT})
    endif()
    infini_train_add_test(${_suite}_${ARG_BACKEND_NAME}
      SOURCES ${SUITE_SOURCES}
      LABELS ${ARG_BACKEND_NAME} accelerator hardware
      TEST_TIMEOUT ${SUITE_TIMEOUT}
      TEST_MAIN_TARGET ${_main}
      RUNTIME_OUTPUT_DIRECTORY ${SUITE_BINARY_DIR}
      LINK_LIBRARIES ${ARG_LINK_LIBRARIES}
      COMPILE_DEFINITIONS
        INFINI_TRAIN_TEST_DEVICE_TYPE=infini_train::Device::DeviceType::kPrivateUse1
        INFINI_TRAIN_TEST_DEVICE_INDEX=${ARG_DEVICE_INDEX}
        INFINI_TRAIN_TEST_PREFIX=PRIVATEUSE1
      BINARY_REGISTRATION
      SKIP_DEFAULT_FRAMEWORK_LINK
      ${_run_serial}
    )
  endforeach()
endfunction()
