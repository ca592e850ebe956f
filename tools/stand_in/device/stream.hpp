// SPDX-License-Identifier: Apache-2.0
// What a host has put into a GPU's queues, and the events that say how far the GPU is.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "device/context.hpp"
#include "device/cuda_header.hpp"

namespace gpushare::stand_in {

/// Called by the device while it is the first of its stream, again and again until it says true: then it is done.
using Command = std::function<bool()>;

struct Capture;

struct Stream {
  struct Numbered {
    std::uint64_t number = 0;  ///< of all commands of the device, in the order in which they came
    Command command;
  };

  std::shared_ptr<const Context> context;
  int priority = 0;
  int queue = 0;  ///< of the hardware's, for streams of its context
  std::deque<Numbered> commands{};
  std::shared_ptr<Capture> capture{};  ///< that it takes part in
  bool is_destroyed = false;           ///< what is in it is done before it goes

  Gpu& gpu() const { return context->gpu; }
  bool shares_queue_with(const Stream& other) const {
    return this != &other && queue == other.queue && context == other.context;
  }
  /// Does what can be done; true if that was something.
  bool advance() {
    bool any = false;
    while (!commands.empty() && commands.front().command()) {
      commands.pop_front();
      any = true;
    }
    return any;
  }
};

struct Event {
  Gpu& gpu;
  bool has_time = true;
  std::shared_ptr<Capture> capture{};  ///< in which it was recorded last
  std::uint64_t recorded = 0;          ///< how often a stream was told to
  std::uint64_t reached = 0;           ///< the latest of them that a stream has come to
  std::uint64_t time_ns = 0;
};

}  // namespace gpushare::stand_in
