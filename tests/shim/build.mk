$(T)/shim/static_reader: TEST_LIBS += -static
