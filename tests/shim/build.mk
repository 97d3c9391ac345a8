$(T)/shim/static_reader: TEST_LIBS += -static
# A program that depends on libctor.so; test_loading.sh has it found by LD_LIBRARY_PATH.
$(T)/shim/libctor.so: TEST_LIBS += -Wl,-soname,libctor.so
$(T)/shim/linked: TEST_LIBS += -Wl,--no-as-needed
$(T)/shim/linked: $(T)/shim/libctor.so
# Linked with libbelow.so, which so comes after the library and before libc.
$(T)/shim/libbelow.so: TEST_LIBS += -Wl,-soname,libbelow.so
$(T)/shim/test_bare: TEST_LIBS += -Wl,--no-as-needed -Wl,-rpath,'$$ORIGIN'
$(T)/shim/test_bare: $(T)/shim/libbelow.so
