$(T)/shim/static_reader: TEST_LIBS += -static
# A program that depends on libctor.so; test_loading.sh has it found by LD_LIBRARY_PATH.
$(T)/shim/libctor.so: TEST_LIBS += -Wl,-soname,libctor.so
$(T)/shim/linked: TEST_LIBS += -Wl,--no-as-needed
$(T)/shim/linked: $(T)/shim/libctor.so
