// SPDX-License-Identifier: Apache-2.0
#include "intercept/images/decompression.hpp"

#include <dlfcn.h>

#include "core/model/errors.hpp"

namespace gpushare::images {
namespace {

using Zstd = std::size_t (*)(void* to, std::size_t capacity, const void* from, std::size_t bytes);
using Lz4 = int (*)(const char* from, char* to, int bytes, int capacity);

/// It stays open. nullptr where the library or the function is missing.
template <class Function>
Function found_in(const char* library, const char* function) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return opened != nullptr ? reinterpret_cast<Function>(dlsym(opened, function)) : nullptr;
}

}  // namespace

std::string decompressed(Compression how, std::span<const std::byte> bytes, std::size_t size) {
  std::string text(size, '\0');
  bool is_whole = false;
  if (how == Compression::Zstd) {
    static const auto decompress = found_in<Zstd>("libzstd.so.1", "ZSTD_decompress");
    require(decompress != nullptr, "its code is compressed by zstd, and there is no libzstd.so.1");
    // An error is a number that is larger than any size.
    is_whole = decompress(text.data(), size, bytes.data(), bytes.size()) == size;
  } else {
    static const auto decompress = found_in<Lz4>("liblz4.so.1", "LZ4_decompress_safe");
    require(decompress != nullptr, "its code is compressed by LZ4, and there is no liblz4.so.1");
    const int got = decompress(reinterpret_cast<const char*>(bytes.data()), text.data(), static_cast<int>(bytes.size()),
                               static_cast<int>(size));
    is_whole = got >= 0 && static_cast<std::size_t>(got) == size;
  }
  require(is_whole, "its compressed code is damaged");
  return text;
}

}  // namespace gpushare::images
