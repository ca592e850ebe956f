// SPDX-License-Identifier: Apache-2.0
#include "intercept/pinned_words.hpp"

#include <mutex>

#include "intercept/membership.hpp"

namespace gpushare::intercept {
namespace {

/// Without a context it is tried again at the next call.
bool is_for_want_of_a_context(CUresult result) {
  return result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace

CUdeviceptr PinnedWords::on_device(void* first, std::size_t bytes) {
  if (state_ == State::Done) return on_device_;
  const std::lock_guard lock(lock_);
  if (state_ != State::NotTried) return state_ == State::Done ? on_device_.load() : 0;
  constexpr unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
  CUresult result = call(real.cuMemHostRegister_v2, first, bytes, flags);
  if (is_for_want_of_a_context(result)) return 0;
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
    give_up("cuMemHostRegister", result);
    return 0;
  }
  CUdeviceptr found = 0;
  result = call(real.cuMemHostGetDevicePointer_v2, &found, first, 0u);
  if (result != CUDA_SUCCESS) {
    give_up("cuMemHostGetDevicePointer", result);
    return 0;
  }
  on_device_ = found;
  state_ = State::Done;
  return found;
}

void PinnedWords::give_up(const char* function, CUresult result) {
  state_ = State::Impossible;
  if (is_verbose()) {
    say("%s says %d: the GPU cannot use the page of process %d, and nothing limits its work under way", function,
        static_cast<int>(result), static_cast<int>(getpid()));
  }
}

void PinnedWords::pin_again() {
  const std::lock_guard lock(lock_);
  if (state_ == State::Done) state_ = State::NotTried;
}

void PinnedWords::forget() {
  lock_.unlock();
  state_ = State::NotTried;
}

}  // namespace gpushare::intercept
