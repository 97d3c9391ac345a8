$(T)/torture/static_shorten: TEST_LIBS += -static
