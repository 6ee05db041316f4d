# What find_package(heaptap) reads: the libraries of programs that use the API, and tests that run under heaptap.
include("${CMAKE_CURRENT_LIST_DIR}/heaptapTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/heaptapLeakTest.cmake")
