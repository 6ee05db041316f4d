# The interpreter of the tests' scripts: the program itself, also where the `python3` of the PATH is a script that looks for it each time.
find_program(HEAPTAP_PYTHON python3 REQUIRED)
execute_process(COMMAND ${HEAPTAP_PYTHON} -c "import sys; print(sys.executable)" OUTPUT_VARIABLE Python3_EXECUTABLE
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
