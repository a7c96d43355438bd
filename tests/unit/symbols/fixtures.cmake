# A small shared object that the tests map into themselves, and variants of it as distributions ship them.
add_library(symbol_sample MODULE symbols/sample_library.cpp)
target_compile_options(symbol_sample PRIVATE -O1 -fno-omit-frame-pointer)
target_link_options(symbol_sample PRIVATE -Wl,--build-id=sha1)
set_target_properties(symbol_sample PROPERTIES PREFIX "" OUTPUT_NAME sample SUFFIX .so)

# The same source with another build-id: what a package upgrade puts in the place of the first.
add_library(symbol_sample_upgrade MODULE symbols/sample_library.cpp)
target_compile_options(symbol_sample_upgrade PRIVATE -O1 -fno-omit-frame-pointer)
target_compile_definitions(symbol_sample_upgrade PRIVATE SAMPLE_UPGRADE)
target_link_options(symbol_sample_upgrade PRIVATE -Wl,--build-id=sha1)
set_target_properties(symbol_sample_upgrade PROPERTIES PREFIX "" OUTPUT_NAME sample_upgrade SUFFIX .so)

# Without a build-id.
add_library(symbol_sample_plain MODULE symbols/sample_library.cpp)
target_compile_options(symbol_sample_plain PRIVATE -O1 -fno-omit-frame-pointer)
target_link_options(symbol_sample_plain PRIVATE -Wl,--build-id=none)
set_target_properties(symbol_sample_plain PROPERTIES PREFIX "" OUTPUT_NAME sample_plain SUFFIX .so)

find_program(XZ_PROGRAM xz REQUIRED)
set(symbol_fixtures ${CMAKE_CURRENT_BINARY_DIR}/symbol_fixtures)
add_custom_command(
  OUTPUT ${symbol_fixtures}/stripped.so ${symbol_fixtures}/sample.debug ${symbol_fixtures}/minidebug.so
  COMMAND ${CMAKE_COMMAND} -E make_directory ${symbol_fixtures}
  COMMAND ${CMAKE_OBJCOPY} --strip-all $<TARGET_FILE:symbol_sample> ${symbol_fixtures}/stripped.so
  COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:symbol_sample> ${symbol_fixtures}/sample.debug
  COMMAND ${CMAKE_OBJCOPY} --only-keep-debug --remove-section .debug_* $<TARGET_FILE:symbol_sample>
          ${symbol_fixtures}/mini
  COMMAND ${XZ_PROGRAM} --force ${symbol_fixtures}/mini
  COMMAND ${CMAKE_OBJCOPY} --strip-all --add-section .gnu_debugdata=${symbol_fixtures}/mini.xz
          $<TARGET_FILE:symbol_sample> ${symbol_fixtures}/minidebug.so
  DEPENDS symbol_sample VERBATIM)
add_custom_target(symbol_fixture_files
  DEPENDS ${symbol_fixtures}/stripped.so ${symbol_fixtures}/sample.debug ${symbol_fixtures}/minidebug.so)
add_dependencies(unit_tests symbol_fixture_files symbol_sample symbol_sample_upgrade symbol_sample_plain)
target_include_directories(unit_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(unit_tests PRIVATE
  SYMBOL_SAMPLE="$<TARGET_FILE:symbol_sample>"
  SYMBOL_SAMPLE_UPGRADE="$<TARGET_FILE:symbol_sample_upgrade>"
  SYMBOL_SAMPLE_PLAIN="$<TARGET_FILE:symbol_sample_plain>"
  SYMBOL_FIXTURES="${symbol_fixtures}")
