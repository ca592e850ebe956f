// SPDX-License-Identifier: Apache-2.0
// Code that a program loads. Where it asks for workers, what the driver is given is the PTX in it with workers beside
// the kernels, so that both have the same variables; on any failure, the image as it is.
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

}  // namespace
}  // namespace gpushare::intercept

using namespace gpushare::intercept;

extern "C" {

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
  if (makes_workers(this_member())) change_code_generation();
  const CUresult result = call(real.cuModuleUnload, module);
  if (result == CUDA_SUCCESS) forget_image(module, nullptr);
  return result;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* jit_options, void** jit_values,
                           unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  const auto load = [&](const void* what) {
    return call(real.cuLibraryLoadData, library, what, jit_options, jit_values, jit_count, options, values, count);
  };
  const auto keep = [library](const WorkerImage* made) {
    return has_all_workers(*library, *made) && remember_image(nullptr, *library, made);
  };
  return loaded(image, {jit_values, jit_count}, load, keep, [library] { call(real.cuLibraryUnload, *library); });
}

CUresult cuLibraryUnload(CUlibrary library) {
  if (makes_workers(this_member())) change_code_generation();
  const CUresult result = call(real.cuLibraryUnload, library);
  if (result == CUDA_SUCCESS) forget_image(nullptr, library);
  return result;
}

}  // extern "C"
