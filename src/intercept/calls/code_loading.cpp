// SPDX-License-Identifier: Apache-2.0
// Code that a program loads. Where it asks for workers, what the driver is given is the PTX in it with workers beside
// the kernels, so that both have the same variables; on any failure, the image as it is.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "intercept/workers/worker_code.hpp"

namespace gpushare::intercept {
namespace {

using images::WorkerImage;

/// The values of the options of a load, which the driver may overwrite: each try needs the values of before.
class OptionValues {
 public:
  OptionValues(void** values, unsigned count) : values_(values), count_(values != nullptr ? count : 0) {
    if (can_try_twice()) std::memcpy(before_, values_, count_ * sizeof *before_);
  }
  bool can_try_twice() const { return count_ <= most; }
  void restore() const {
    if (count_ > 0) std::memcpy(values_, before_, count_ * sizeof *before_);
  }

 private:
  static constexpr unsigned most = 64;

  void** values_;
  unsigned count_;
  void* before_[most];
};

/// `load(image)` calls the driver, `keep(made)` looks at what it has loaded and takes it, and `unload()` takes it back.
template <class Load, class Keep, class Unload>
CUresult loaded(const void* image, const OptionValues& values, const Load& load, const Keep& keep,
                const Unload& unload) {
  const Membership* member = this_member();
  if (!makes_workers(member) || !values.can_try_twice()) return load(image);
  const WorkerImage* const made = image_with_workers(*member, image);
  if (made == nullptr) return load(image);
  const CUresult result = load(made->text);
  if (result == CUDA_SUCCESS) {
    if (keep(made)) return result;
    unload();
  }
  drop_image(made);
  count_whole(*member, "an image: the driver refuses its kernels with workers");
  values.restore();
  return load(image);
}

template <class Load>
CUresult loaded_module(CUmodule* module, const void* image, const OptionValues& values, const Load& load) {
  const auto keep = [module](const WorkerImage* made) {
    return has_all_workers(*module, *made) && remember_image(*module, nullptr, made);
  };
  return loaded(image, values, load, keep, [module] { call(real.cuModuleUnload, *module); });
}

template <class Load>
CUresult loaded_library(CUlibrary* library, const void* image, const OptionValues& values, const Load& load) {
  const auto keep = [library](const WorkerImage* made) {
    return has_all_workers(*library, *made) && remember_image(nullptr, *library, made);
  };
  return loaded(image, values, load, keep, [library] { call(real.cuLibraryUnload, *library); });
}

/// One of both is nullptr; `unload` calls the driver.
template <class Unload>
CUresult unloaded(CUmodule module, CUlibrary library, const Unload& unload) {
  if (!makes_workers(this_member())) return unload();
  const WorkerImage* const made = take_image(module, library);
  change_code_generation();
  const CUresult result = unload();
  const bool stays = result != CUDA_SUCCESS && made != nullptr && remember_image(module, library, made);
  if (made != nullptr && !stays) drop_image(made);
  return result;
}

/// A fat binary's header says how long it is; a wrapper refers to memory, which no file can.
bool is_fat_binary_cut_off(const char* bytes, std::size_t size) {
  constexpr std::uint32_t wrapper = 0x466243b1;
  constexpr std::uint32_t binary = 0xBA55ED50;
  std::uint32_t magic = 0;
  std::uint16_t header_bytes = 0;
  std::uint64_t behind_header = 0;
  std::memcpy(&magic, bytes, sizeof magic);
  std::memcpy(&header_bytes, bytes + 6, sizeof header_bytes);
  std::memcpy(&behind_header, bytes + 8, sizeof behind_header);
  return magic == wrapper || (magic == binary && (header_bytes > size || behind_header > size - header_bytes));
}

/// A file's bytes and a zero, unless it is not what it says it is: that the driver then has to find.
class FileContent {
 public:
  explicit FileContent(const char* path) {
    const int file = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    const off_t size = lseek(file, 0, SEEK_END);
    if (size > 0 && size <= most_bytes) {
      bytes_ = static_cast<char*>(std::calloc(static_cast<std::size_t>(size) + padding, 1));
    }
    const bool is_read = bytes_ != nullptr && pread(file, bytes_, static_cast<std::size_t>(size), 0) == size;
    if (!is_read || is_fat_binary_cut_off(bytes_, static_cast<std::size_t>(size))) drop();
    close(file);
  }
  ~FileContent() { drop(); }
  FileContent(const FileContent&) = delete;
  FileContent& operator=(const FileContent&) = delete;

  const void* bytes() const { return bytes_; }

 private:
  static constexpr off_t most_bytes = off_t{1} << 28;
  static constexpr std::size_t padding = 64;  ///< the headers of an image have room

  void drop() {
    std::free(bytes_);
    bytes_ = nullptr;
  }

  char* bytes_ = nullptr;
};

}  // namespace
}  // namespace gpushare::intercept

using namespace gpushare::intercept;

extern "C" {

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  if (!makes_workers(this_member())) return call(real.cuModuleLoad, module, path);
  const FileContent file(path);
  return loaded_module(module, file.bytes(), {nullptr, 0}, [&](const void* what) {
    return what == file.bytes() ? call(real.cuModuleLoad, module, path) : call(real.cuModuleLoadData, module, what);
  });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return loaded_module(module, image, {nullptr, 0},
                       [&](const void* what) { return call(real.cuModuleLoadData, module, what); });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  return loaded_module(module, image, {values, count}, [&](const void* what) {
    return call(real.cuModuleLoadDataEx, module, what, count, options, values);
  });
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return loaded_module(module, image, {nullptr, 0}, [&](const void* what) {
    // It takes fat binaries alone; the other function takes both.
    return call(what == image ? real.cuModuleLoadFatBinary : real.cuModuleLoadData, module, what);
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return unloaded(module, nullptr, [module] { return call(real.cuModuleUnload, module); });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* jit_options, void** jit_values,
                           unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  return loaded_library(library, image, {jit_values, jit_count}, [&](const void* what) {
    return call(real.cuLibraryLoadData, library, what, jit_options, jit_values, jit_count, options, values, count);
  });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit_options, void** jit_values,
                               unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  const auto from_file = [&] {
    return call(real.cuLibraryLoadFromFile, library, path, jit_options, jit_values, jit_count, options, values, count);
  };
  if (!makes_workers(this_member())) return from_file();
  const FileContent file(path);
  return loaded_library(library, file.bytes(), {jit_values, jit_count}, [&](const void* what) {
    if (what == file.bytes()) return from_file();
    return call(real.cuLibraryLoadData, library, what, jit_options, jit_values, jit_count, options, values, count);
  });
}

CUresult cuLibraryUnload(CUlibrary library) {
  return unloaded(nullptr, library, [library] { return call(real.cuLibraryUnload, library); });
}

}  // extern "C"
