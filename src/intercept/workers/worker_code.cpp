// SPDX-License-Identifier: Apache-2.0
#include "intercept/workers/worker_code.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "intercept/calls/library_kernels.hpp"
#include "intercept/forks.hpp"
#include "intercept/waiting.hpp"
#include "programs/kernel_records.hpp"

namespace gpushare::intercept {
namespace {

using images::WorkerImage;
using images::WorkerKernel;

constexpr const char* worker_suffix = "$worker";
constexpr std::size_t longest_name = 4096;
constexpr std::size_t most_images = 8192;

struct LoadedImage {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  const WorkerImage* made = nullptr;
};

std::array<LoadedImage, most_images> loaded_images;
std::size_t loaded_count = 0;
Lock loaded_lock;
std::atomic<std::uint32_t> generation = 1;

struct Transformation {
  images::MakeWorkers make = nullptr;
  images::DropWorkers drop = nullptr;
};

Transformation found_transformation;
bool is_opened = false;
Lock opening_lock;

/// In the folder of this library, which is where its RUNPATH leads.
Transformation opened() {
  Transformation found;
  void* const library = dlopen("libgpushare_images.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    say("%s: no kernel becomes a worker", dlerror());
    return found;
  }
  found.make = reinterpret_cast<images::MakeWorkers>(dlsym(library, "gpushare_make_workers"));
  found.drop = reinterpret_cast<images::DropWorkers>(dlsym(library, "gpushare_drop_workers"));
  return found;
}

Transformation transformation() {
  const std::lock_guard lock(opening_lock);
  if (!is_opened) found_transformation = opened();
  is_opened = true;
  return found_transformation;
}

/// 90 for 9.0.
int capability_of(CUdevice device) {
  int major = 0;
  int minor = 0;
  call(real.cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  call(real.cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return 10 * major + minor;
}

bool has_current_context() {
  CUcontext current = nullptr;
  return call(real.cuCtxGetCurrent, &current) == CUDA_SUCCESS && current != nullptr;
}

/// That of the current context's device; without one, of all devices, where they are equal. Else 0.
int capability_of_loads() {
  CUdevice device = 0;
  if (has_current_context() && call(real.cuCtxGetDevice, &device) == CUDA_SUCCESS) return capability_of(device);
  int count = 0;
  if (call(real.cuDeviceGetCount, &count) != CUDA_SUCCESS || count == 0) return 0;
  const int first = capability_of(0);
  for (device = 1; device < count; ++device) {
    if (capability_of(device) != first) return 0;
  }
  return first;
}

/// The name of a kernel's worker, where it is not too long.
class WorkerName {
 public:
  explicit WorkerName(const char* kernel) {
    const int length = std::snprintf(text_, sizeof text_, "%s%s", kernel, worker_suffix);
    fits_ = length >= 0 && static_cast<std::size_t>(length) < sizeof text_;
  }
  const char* text() const { return fits_ ? text_ : ""; }

 private:
  char text_[longest_name];
  bool fits_;
};

bool get_worker(CUfunction& worker, CUmodule module, const char* kernel) {
  const WorkerName name(kernel);
  return call(real.cuModuleGetFunction, &worker, module, name.text()) == CUDA_SUCCESS;
}

bool get_worker(CUkernel& worker, CUlibrary library, const char* kernel) {
  const WorkerName name(kernel);
  return call(real.cuLibraryGetKernel, &worker, library, name.text()) == CUDA_SUCCESS;
}

const WorkerKernel* kernel_named(const WorkerImage& image, const char* name) {
  for (std::size_t index = 0; index < image.kernel_count; ++index) {
    if (std::strcmp(image.kernels[index].name, name) == 0) return &image.kernels[index];
  }
  return nullptr;
}

/// A library has another module in each context.
const WorkerImage* image_of_module(CUmodule module) {
  const std::lock_guard lock(loaded_lock);
  for (std::size_t index = 0; index < loaded_count; ++index) {
    if (loaded_images[index].module == module) return loaded_images[index].made;
  }
  for (std::size_t index = 0; index < loaded_count; ++index) {
    CUmodule of_library = nullptr;
    CUlibrary library = loaded_images[index].library;
    if (library == nullptr || call(real.cuLibraryGetModule, &of_library, library) != CUDA_SUCCESS) continue;
    if (of_library == module) return loaded_images[index].made;
  }
  return nullptr;
}

std::optional<WorkerCode> worker_of_function(CUfunction function) {
  CUmodule module = nullptr;
  const char* name = nullptr;
  if (call(real.cuFuncGetModule, &module, function) != CUDA_SUCCESS) return std::nullopt;
  const WorkerImage* const image = image_of_module(module);
  if (image == nullptr || call(real.cuFuncGetName, &name, function) != CUDA_SUCCESS) return std::nullopt;
  WorkerCode found{.original = function, .kernel = kernel_named(*image, name)};
  if (found.kernel == nullptr || !get_worker(found.worker, module, name)) return std::nullopt;
  return found;
}

std::optional<WorkerCode> worker_of_kernel(CUkernel kernel) {
  CUlibrary library = nullptr;
  const char* name = nullptr;
  if (call(real.cuKernelGetLibrary, &library, kernel) != CUDA_SUCCESS) return std::nullopt;
  const WorkerImage* const image = image_of(library);
  if (image == nullptr || call(real.cuKernelGetName, &name, kernel) != CUDA_SUCCESS) return std::nullopt;
  WorkerCode found{.kernel = kernel_named(*image, name)};
  CUkernel worker = nullptr;
  if (found.kernel == nullptr || !get_worker(worker, library, name)) return std::nullopt;
  const bool are_loaded = call(real.cuKernelGetFunction, &found.original, kernel) == CUDA_SUCCESS &&
                          call(real.cuKernelGetFunction, &found.worker, worker) == CUDA_SUCCESS;
  return are_loaded ? std::optional(found) : std::nullopt;
}

}  // namespace

void count_whole(const Membership& member, const char* reason) {
  programs::count_remark(*member.page, reason);
  if (is_verbose()) say("process %d runs whole %s", static_cast<int>(getpid()), reason);
}

const WorkerImage* image_with_workers(const Membership& member, const void* image) {
  if (image == nullptr || transformation().make == nullptr) return nullptr;
  const int capability = capability_of_loads();
  if (capability == 0) {
    count_whole(member, "an image: it is loaded for GPUs of several kinds");
    return nullptr;
  }
  const WorkerImage* const made = transformation().make(image, capability);
  if (made == nullptr) return nullptr;
  for (std::size_t index = 0; index < made->reason_count; ++index) count_whole(member, made->reasons[index]);
  if (made->text != nullptr) return made;
  drop_image(made);
  return nullptr;
}

void drop_image(const WorkerImage* made) { transformation().drop(made); }

bool has_all_workers(CUmodule module, const WorkerImage& made) {
  CUfunction worker = nullptr;
  for (std::size_t index = 0; index < made.kernel_count; ++index) {
    if (!get_worker(worker, module, made.kernels[index].name)) return false;
  }
  return true;
}

bool has_all_workers(CUlibrary library, const WorkerImage& made) {
  CUmodule module = nullptr;
  if (has_current_context()) {
    return call(real.cuLibraryGetModule, &module, library) == CUDA_SUCCESS && has_all_workers(module, made);
  }
  CUkernel worker = nullptr;
  for (std::size_t index = 0; index < made.kernel_count; ++index) {
    if (!get_worker(worker, library, made.kernels[index].name)) return false;
  }
  return true;
}

bool remember_image(CUmodule module, CUlibrary library, const WorkerImage* made) {
  const std::lock_guard lock(loaded_lock);
  for (std::size_t index = 0; index < loaded_count; ++index) {
    if (module == nullptr || loaded_images[index].module != module) continue;
    // It was of a context that has gone with its code.
    drop_image(loaded_images[index].made);
    loaded_images[index] = {module, library, made};
    return true;
  }
  if (loaded_count == most_images) return false;
  loaded_images[loaded_count++] = {module, library, made};
  return true;
}

const WorkerImage* take_image(CUmodule module, CUlibrary library) {
  const std::lock_guard lock(loaded_lock);
  for (std::size_t index = 0; index < loaded_count; ++index) {
    LoadedImage& each = loaded_images[index];
    const bool is_meant = library != nullptr ? each.library == library : module != nullptr && each.module == module;
    if (!is_meant) continue;
    const WorkerImage* const made = each.made;
    each = loaded_images[--loaded_count];
    return made;
  }
  return nullptr;
}

const WorkerImage* image_of(CUmodule module) { return image_of_module(module); }

const WorkerImage* image_of(CUlibrary library) {
  const std::lock_guard lock(loaded_lock);
  for (std::size_t index = 0; index < loaded_count; ++index) {
    if (loaded_images[index].library == library) return loaded_images[index].made;
  }
  return nullptr;
}

bool is_name_of_worker(const char* name) {
  const std::size_t length = std::strlen(name);
  const std::size_t suffix = std::strlen(worker_suffix);
  return length > suffix && std::strcmp(name + length - suffix, worker_suffix) == 0;
}

std::uint32_t code_generation() { return generation.load(std::memory_order_acquire); }
void change_code_generation() { ++generation; }

/// The images stay: a thread of the parent may have been changing them.
void forget_code() {
  loaded_lock.unlock();
  opening_lock.unlock();
  loaded_count = 0;
}

std::optional<WorkerCode> worker_of(const void* handle) {
  auto* function = static_cast<CUfunction>(const_cast<void*>(handle));
  if (!is_kernel_of_library(handle)) return worker_of_function(function);
  auto* kernel = static_cast<CUkernel>(const_cast<void*>(handle));
  if (auto found = worker_of_kernel(kernel)) return found;
  return call(real.cuKernelGetFunction, &function, kernel) == CUDA_SUCCESS ? worker_of_function(function)
                                                                           : std::nullopt;
}

}  // namespace gpushare::intercept
