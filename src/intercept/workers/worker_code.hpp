// SPDX-License-Identifier: Apache-2.0
// Images of code that were loaded with workers, and the worker of a kernel by the handle that a program launches.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "intercept/driver.hpp"
#include "intercept/images/worker_image.hpp"
#include "intercept/membership.hpp"

namespace gpushare::intercept {

/// Does the program ask for workers?
inline bool makes_workers(const Membership* member) { return member != nullptr && member->makes_workers; }

/// The image with workers; nullptr where the image has to be loaded as it is, for a reason that is counted.
const images::WorkerImage* image_with_workers(const Membership& member, const void* image);
void drop_image(const images::WorkerImage* made);

/// Are all workers there, in code that has been loaded? The driver may have deferred work that can fail. Without a
/// current context it defers the work on a library further, and only the names can be asked for.
bool has_all_workers(CUmodule module, const images::WorkerImage& made);
bool has_all_workers(CUlibrary library, const images::WorkerImage& made);

/// One of both is nullptr. False where there are too many.
bool remember_image(CUmodule module, CUlibrary library, const images::WorkerImage* made);
/// Before it is unloaded, as its handle may then be other code's at once; to be dropped after that. nullptr where the
/// code was loaded as it was.
const images::WorkerImage* take_image(CUmodule module, CUlibrary library);
/// nullptr where the code was loaded as it was.
const images::WorkerImage* image_of(CUlibrary library);
const images::WorkerImage* image_of(CUmodule module);
bool is_name_of_worker(const char* name);

/// Changes whenever a handle may have become another kernel's.
std::uint32_t code_generation();
void change_code_generation();

struct WorkerCode {
  CUfunction original = nullptr;
  CUfunction worker = nullptr;
  const images::WorkerKernel* kernel = nullptr;
};

/// The worker of what a launch gets, in the current context.
std::optional<WorkerCode> worker_of(const void* handle);

/// Why something runs whole.
void count_whole(const Membership& member, const char* reason);

}  // namespace gpushare::intercept
