# Makes one ctest test, LABEL.SUBJECT.BEHAVIOUR, of every method test_BEHAVIOUR in the files SUBJECT_test.py of the
# current directory. They run alone: what they measure would be disturbed by others.
function(add_python_tests label seconds)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  foreach(file ${files})
    get_filename_component(stem ${file} NAME_WE)
    string(REGEX REPLACE "_test$" "" subject ${stem})
    file(STRINGS ${file} lines REGEX "^    def test_[a-z0-9_]+")
    foreach(line ${lines})
      string(REGEX REPLACE "^    def test_([a-z0-9_]+).*" "\\1" behaviour "${line}")
      set(name ${label}.${subject}.${behaviour})
      add_test(NAME ${name} COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/live/run.py ${file} test_${behaviour})
      set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${seconds} RUN_SERIAL TRUE SKIP_RETURN_CODE 77
        ENVIRONMENT "RTNLPROF=$<TARGET_FILE:rtnlprof>;RTNLPROF_TOOLS=${CMAKE_BINARY_DIR}/tools")
    endforeach()
  endforeach()
endfunction()
