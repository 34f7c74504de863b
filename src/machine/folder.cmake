find_package(Threads REQUIRED)
target_link_libraries(allot_machine PUBLIC Threads::Threads)
