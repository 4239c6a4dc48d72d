# Included by the project() call of the InfiniTrain-Backends checkout: adds the program that the tests train with, and makes every
# warning in generated code an error, but not those in the framework.
function(_fl_real_tree_programs)
  string(TOUPPER "${INFINITRAIN_BACKEND}" _upper)
  target_compile_options("infini_train_backend_${INFINITRAIN_BACKEND}" PRIVATE -Werror)
  add_executable(train "${FL_REAL_TREE_DIR}/train.cc")
  target_compile_definitions(train PRIVATE
    "TRAIN_BACKEND_HEADER=\"infini_train_${INFINITRAIN_BACKEND}/backend.h\""
    "TRAIN_BACKEND_REGISTRAR=infini_train::${INFINITRAIN_BACKEND}::RegisterBackend")
  target_link_libraries(train PRIVATE InfiniTrain::Backend::${_upper}Executable)
endfunction()
set(FL_REAL_TREE_DIR "${CMAKE_CURRENT_LIST_DIR}")
cmake_language(DEFER CALL _fl_real_tree_programs)
