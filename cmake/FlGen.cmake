# Generates backends while a project builds, and only when something that they are made from has changed.
#
#   list(APPEND CMAKE_MODULE_PATH "<what `fl-gen --cmake-dir` prints>")
#   include(FlGen)
#   fl_gen_backend(VENDOR mlu SDK sim)
#   add_library(my_backend ${fl_gen_mlu_SOURCES})
#   add_dependencies(my_backend fl_gen_mlu)
#
# fl_gen_backend(VENDOR <name>
#   [SDK sim|sim:<version>|<folder>...]  default: the vendor's environment variable, as `fl-gen backend` does
#   [FRAMEWORK <name>]                   default: infinitrain
#   [OUTPUT <folder>]                    holds generated/ and backends/; default: fl-gen/ in the current build folder
#   [SCHEMAS <folder>...]                laid over the shipped schemas, first wins
#   [TEMPLATES <folder>...]              laid over the shipped templates, first wins
#   [REQUIRE <group>...]                 parts of the SDK that must be there
#   [CONFIG <fl-gen.yaml>]               take all of the above from a project file instead (`fl-gen regen`)
#   [TARGET <name>])                     default: fl_gen_<vendor>
#
# Relative folders are those of the current source folder, OUTPUT is one of the current build folder. It makes the target
# and sets in the calling scope:
#
#   <target>_SOURCES     the C++ sources of the backend, those below src/ (csrc/ in a package for PyTorch)
#   <target>_OUTPUTS     every generated file; a file below backends/ is a person's and no output
#   <target>_DIR         generated/<vendor>, or generated/torch_<vendor>
#
# Whatever compiles or includes generated files needs add_dependencies(... <target>). CMake runs again by itself when the
# list of files changes. When fl-gen stops, so does the build, with its message. With Ninja, `clean` removes the generated
# files as it removes every output. fl-gen is the one beside this file or on the PATH; FL_GEN_COMMAND names another one,
# as a list with arguments. Environment variables are not watched: configure again after changing the vendor's. Paths may
# hold blanks and UTF-8; with `#`, `$` or a backslash in one CMake runs fl-gen in each build, a `:` stops Make, and with a
# `%` Make stops after an input was removed, until the build folder is made anew.

# What the build runs behind fl-gen where the generator of build files cannot start CMake by itself in the middle.
if(CMAKE_SCRIPT_MODE_FILE)
  # CMake adds what a depfile says to what it said before. An input that is gone would start fl-gen for ever.
  file(REMOVE "${FL_GEN_KNOWN_INPUTS}")
  file(LOCK "${FL_GEN_BINARY_DIR}/CMakeFiles/fl-gen.lock")
  file(READ "${FL_GEN_LIST}" _now)
  file(READ "${FL_GEN_LIST}.configured" _configured)
  if(NOT _now STREQUAL _configured)
    execute_process(COMMAND "${CMAKE_COMMAND}" -S "${FL_GEN_SOURCE_DIR}" -B "${FL_GEN_BINARY_DIR}" RESULT_VARIABLE _result)
    if(NOT _result EQUAL 0)
      message(FATAL_ERROR "fl-gen: the list of generated files has changed, and CMake could not run again")
    endif()
  endif()
  return()
endif()

if(CMAKE_VERSION VERSION_LESS 3.28)
  message(FATAL_ERROR "FlGen.cmake needs CMake 3.28 or newer, and this is ${CMAKE_VERSION}")
endif()
cmake_policy(PUSH)
cmake_policy(VERSION 3.28)

set(_FL_GEN_MODULE "${CMAKE_CURRENT_LIST_FILE}")

function(fl_gen_backend)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "VENDOR;FRAMEWORK;OUTPUT;CONFIG;TARGET" "SDK;SCHEMAS;TEMPLATES;REQUIRE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fl_gen_backend: what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "fl_gen_backend: ${arg_KEYWORDS_MISSING_VALUES} needs a value")
  endif()
  if(NOT arg_VENDOR AND arg_CONFIG)
    message(FATAL_ERROR "fl_gen_backend: VENDOR is missing: which one of ${arg_CONFIG}?")
  elseif(NOT arg_VENDOR)
    message(FATAL_ERROR "fl_gen_backend: VENDOR is missing")
  endif()
  set(target "fl_gen_${arg_VENDOR}")
  if(arg_TARGET)
    set(target "${arg_TARGET}")
  endif()

  if(arg_CONFIG)
    foreach(name IN ITEMS SDK FRAMEWORK OUTPUT SCHEMAS TEMPLATES REQUIRE)
      if(arg_${name})
        message(FATAL_ERROR "fl_gen_backend: ${name} is what ${arg_CONFIG} says: leave it out, or leave out CONFIG")
      endif()
    endforeach()
    _fl_gen_absolute(config "${CMAKE_CURRENT_SOURCE_DIR}" "${arg_CONFIG}")
    set(arguments regen "${arg_VENDOR}" --config "${config}")
  else()
    set(output fl-gen)
    if(arg_OUTPUT)
      set(output "${arg_OUTPUT}")
    endif()
    _fl_gen_absolute(output "${CMAKE_CURRENT_BINARY_DIR}" "${output}")
    set(arguments backend "${arg_VENDOR}" --no-config --output "${output}")
    if(arg_FRAMEWORK)
      list(APPEND arguments --framework "${arg_FRAMEWORK}")
    endif()
    foreach(sdk IN LISTS arg_SDK)
      if(NOT sdk MATCHES "^sim(:|$)")
        _fl_gen_absolute(sdk "${CMAKE_CURRENT_SOURCE_DIR}" "${sdk}")
      endif()
      list(APPEND arguments --sdk "${sdk}")
    endforeach()
    foreach(kind IN ITEMS SCHEMAS TEMPLATES)
      string(TOLOWER "--${kind}" option)
      foreach(folder IN LISTS arg_${kind})
        _fl_gen_absolute(folder "${CMAKE_CURRENT_SOURCE_DIR}" "${folder}")
        list(APPEND arguments "${option}" "${folder}")
      endforeach()
    endforeach()
    foreach(group IN LISTS arg_REQUIRE)
      list(APPEND arguments --require "${group}")
    endforeach()
  endif()

  _fl_gen_command(command)
  execute_process(
    COMMAND ${command} ${arguments} --list-outputs --list-format cmake
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    OUTPUT_VARIABLE text RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "fl_gen_backend(VENDOR ${arg_VENDOR}): fl-gen stopped, see its message above (${result})")
  endif()

  # The build writes the list as well, and only when it changes; a change starts CMake.
  set(state "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.fl-gen")
  _fl_gen_write("${state}.outputs" "${text}")
  _fl_gen_write("${state}.outputs.configured" "${text}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${state}.outputs")

  # Relative names: the target of a depfile cannot hold every character that a build folder's name can.
  set(relative "CMakeFiles/${target}.fl-gen")
  set(byproducts)
  set(behind)
  if(CMAKE_GENERATOR MATCHES "Ninja")
    # Ninja keeps the time stamps of what did not change. Make would touch every one of them.
    set(byproducts BYPRODUCTS "${state}.outputs" ${text})
  else()
    set(behind COMMAND "${CMAKE_COMMAND}" "-DFL_GEN_LIST=${state}.outputs"
      "-DFL_GEN_KNOWN_INPUTS=${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/compiler_depend.internal"
      "-DFL_GEN_SOURCE_DIR=${CMAKE_SOURCE_DIR}"
      "-DFL_GEN_BINARY_DIR=${CMAKE_BINARY_DIR}" -P "${_FL_GEN_MODULE}")
  endif()
  add_custom_command(
    OUTPUT "${state}.stamp"
    ${byproducts}
    COMMAND ${command} ${arguments} --depfile "${relative}.d" --stamp "${relative}.stamp" --outputs "${relative}.outputs"
      --list-format cmake
    ${behind}
    DEPFILE "${state}.d"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    COMMENT "fl-gen: ${arg_VENDOR}"
    VERBATIM)
  add_custom_target("${target}" ALL DEPENDS "${state}.stamp")

  set(sources "${text}")
  set(tree "generated/([a-z]+_)?${arg_VENDOR}")
  list(FILTER sources INCLUDE REGEX "/${tree}/c?src/.*\\.(c|cc|cpp|cxx)$")
  set_source_files_properties(${text} PROPERTIES GENERATED TRUE)
  list(GET text 0 first)
  string(REGEX REPLACE "(.*/${tree})/.*" "\\1" folder "${first}")
  set("${target}_SOURCES" "${sources}" PARENT_SCOPE)
  set("${target}_OUTPUTS" "${text}" PARENT_SCOPE)
  set("${target}_DIR" "${folder}" PARENT_SCOPE)
endfunction()

# The command as a list: FL_GEN_COMMAND, else the fl-gen that this file came with, else the one on the PATH.
function(_fl_gen_command result)
  if(NOT FL_GEN_COMMAND)
    cmake_path(GET _FL_GEN_MODULE PARENT_PATH here)
    # <prefix>/lib/python3.x/site-packages/fl_gen/_data/cmake
    find_program(FL_GEN_EXECUTABLE fl-gen HINTS "${here}/../../../../../../bin" DOC "The fl-gen that generates backends")
    if(NOT FL_GEN_EXECUTABLE)
      message(FATAL_ERROR "fl-gen is neither beside ${here} nor on the PATH: set FL_GEN_EXECUTABLE, or FL_GEN_COMMAND")
    endif()
    set(FL_GEN_COMMAND "${FL_GEN_EXECUTABLE}")
  endif()
  set("${result}" "${FL_GEN_COMMAND}" PARENT_SCOPE)
endfunction()

function(_fl_gen_absolute result base path)
  cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY "${base}" NORMALIZE)
  set("${result}" "${path}" PARENT_SCOPE)
endfunction()

# Write a file unless it holds this text: its time stamp says when the text changed.
function(_fl_gen_write path text)
  if(EXISTS "${path}")
    file(READ "${path}" before)
    if(before STREQUAL text)
      return()
    endif()
  endif()
  file(WRITE "${path}" "${text}")
endfunction()

cmake_policy(POP)
