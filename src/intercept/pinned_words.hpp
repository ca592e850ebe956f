// SPDX-License-Identifier: Apache-2.0
// Words of the program's page that GPUs read or write where they are.
#pragma once

#include <atomic>
#include <cstddef>

#include "intercept/driver.hpp"
#include "intercept/waiting.hpp"

namespace gpushare::intercept {

class PinnedWords {
 public:
  /// Where GPUs see them: pinned at the first call in a context. 0 where that is impossible, or there is no context
  /// yet.
  CUdeviceptr on_device(void* first, std::size_t bytes);
  bool are_impossible() const { return state_ == State::Impossible; }
  /// The driver refuses to use them.
  void give_up(const char* function, CUresult result);
  /// A context is gone, and they may not be pinned any more.
  void pin_again();
  /// In a forked process.
  void forget();

 private:
  enum class State { NotTried, Done, Impossible };

  std::atomic<State> state_ = State::NotTried;
  std::atomic<CUdeviceptr> on_device_ = 0;
  Lock lock_;
};

}  // namespace gpushare::intercept
