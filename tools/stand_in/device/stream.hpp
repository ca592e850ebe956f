// SPDX-License-Identifier: Apache-2.0
// What a host has put into the GPU's queues, and what it hears of them.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "device/cuda_header.hpp"
#include "device/limits.hpp"

namespace gpushare::stand_in {

/// Called by the device while it is the first of its stream, again and again until it has been done: then it says true.
using Command = std::function<bool()>;

/// One bit for each SM.
using SmMask = std::bitset<Limits::most_sms>;
inline const SmMask all_sms = ~SmMask() >> static_cast<std::size_t>(Limits::most_sms - Limits::sms);

struct Capture;

struct Stream {
  struct Numbered {
    std::uint64_t number = 0;  ///< of all commands, in the order in which they came
    Command command;
  };

  int priority = 0;
  int queue = 0;                 ///< of the hardware's, for streams of its context
  SmMask sms = all_sms;          ///< of its context
  CUgreenCtx context = nullptr;  ///< the primary one
  std::deque<Numbered> commands{};
  std::shared_ptr<Capture> capture{};  ///< that it takes part in
  bool is_destroyed = false;           ///< what is in it is done before it goes

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
  bool has_time = true;
  std::shared_ptr<Capture> capture{};  ///< in which it was recorded last
  std::uint64_t recorded = 0;          ///< how often a stream was told to
  std::uint64_t reached = 0;           ///< the latest of them that a stream has come to
  std::uint64_t time_ns = 0;
};

}  // namespace gpushare::stand_in
