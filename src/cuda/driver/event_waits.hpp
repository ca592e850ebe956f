// SPDX-License-Identifier: Apache-2.0
// Waits for work in streams of other libraries, and tells when it has ended. The host waits, and no stream of the GPU:
// one that waited could share a queue of the hardware with the launches that have to go on.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cuda/driver/handles.hpp"

namespace gpushare::cuda {

class EventWaits {
 public:
  /// Called in a thread of this object; with a reason where the work has failed.
  using Ended = std::function<void(const std::string& failure)>;

  explicit EventWaits(SharedContext context) : context_(std::move(context)) {}
  EventWaits(const EventWaits&) = delete;
  EventWaits& operator=(const EventWaits&) = delete;
  /// Nothing is told any more.
  ~EventWaits();

  /// The work that is in the stream now. Throws CudaError for a stream of another GPU.
  void after_stream(CUstream stream, Ended ended);
  /// What the event was recorded behind. It must not be destroyed before that has ended.
  void after_event(CUevent event, Ended ended);

 private:
  struct Wait {
    CUevent event = nullptr;
    Ended ended;
    Event own;  ///< the same event, if it is this object's
  };

  void add(Wait wait);
  void serve();
  void tell_ended();

  const SharedContext context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Wait> added_;
  bool is_closing_ = false;
  std::vector<Wait> waits_;  // the thread's own
  std::thread thread_;       // begins with the first wait
};

}  // namespace gpushare::cuda
