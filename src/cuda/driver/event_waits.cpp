// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver/event_waits.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {
namespace {

/// A query takes about a microsecond. The pause follows the age of the youngest wait, up to the longest pause.
constexpr std::chrono::nanoseconds shortest_pause(20'000);
constexpr std::chrono::nanoseconds longest_pause(500'000);
constexpr int age_per_pause = 10;

std::string failure_of(CUresult result) {
  if (result == CUDA_SUCCESS) return "";
  try {
    check(result, "cuEventQuery");
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

EventWaits::~EventWaits() {
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void EventWaits::after_stream(CUstream stream, Ended ended) {
  const CurrentContext current(*context_);
  Event event = make_event(context_);
  GPUSHARE_CU(cuEventRecord(event.get(), stream));
  const CUevent handle = event.get();
  add({.event = handle, .ended = std::move(ended), .own = std::move(event)});
}

void EventWaits::after_event(CUevent event, Ended ended) {
  add({.event = event, .ended = std::move(ended), .own = {}});
}

void EventWaits::add(Wait wait) {
  const std::scoped_lock lock(mutex_);
  added_.push_back(std::move(wait));
  if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  changed_.notify_one();
}

void EventWaits::serve() {
  std::optional<CurrentContext> current;
  try {
    current.emplace(*context_);
  } catch (const std::exception&) {  // the GPU has failed, which each query says again
  }
  auto youngest = std::chrono::steady_clock::now();
  while (true) {
    const auto age = std::chrono::steady_clock::now() - youngest;
    const auto pause = std::clamp<std::chrono::nanoseconds>(age / age_per_pause, shortest_pause, longest_pause);
    {
      std::unique_lock lock(mutex_);
      const auto is_wanted = [this] { return is_closing_ || !added_.empty(); };
      waits_.empty() ? changed_.wait(lock, is_wanted) : static_cast<void>(changed_.wait_for(lock, pause, is_wanted));
      if (is_closing_) return;
      if (!added_.empty()) youngest = std::chrono::steady_clock::now();
      std::move(added_.begin(), added_.end(), std::back_inserter(waits_));
      added_.clear();
    }
    tell_ended();
  }
}

void EventWaits::tell_ended() {
  std::erase_if(waits_, [](const Wait& wait) {
    const CUresult result = driver().cuEventQuery(wait.event);
    if (result == CUDA_ERROR_NOT_READY) return false;
    wait.ended(failure_of(result));
    return true;
  });
}

}  // namespace gpushare::cuda
