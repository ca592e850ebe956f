// SPDX-License-Identifier: Apache-2.0
// LZ4 and zstd as fat binaries use them, by libraries that are opened when they are first needed: neither building nor
// installing gpushare requires them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gpushare::images {

enum class Compression { Lz4, Zstd };

/// What `bytes` became of. Throws InvalidInput where the library is missing or the data is not of `size` bytes.
std::string decompressed(Compression how, std::span<const std::byte> bytes, std::size_t size);

}  // namespace gpushare::images
