# Fatbins: ELF sections, LZ4 blocks, zstd frames.
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
target_link_libraries(allot_runtime PUBLIC PkgConfig::ELF PkgConfig::LZ4 PkgConfig::ZSTD)
