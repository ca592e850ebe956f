// SPDX-License-Identifier: Apache-2.0
// Copies in one direction, between host and device or to other devices: one at a time, in the order they come, from
// whatever streams. So a short one waits behind a long one of another stream, as on real hardware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

namespace gpushare::stand_in {

struct CopyJob {
  std::size_t bytes = 0;
  std::function<void()> move;
  bool has_ended = false;
};

class CopyEngine {
 public:
  void add(std::shared_ptr<CopyJob> job) { waiting_.push_back(std::move(job)); }

  /// Ends the first copy if its time has come; true if it did.
  bool advance(std::uint64_t now_ns) {
    if (waiting_.empty()) return false;
    if (!end_ns_) end_ns_ = now_ns + latency_ns + waiting_.front()->bytes / bytes_per_ns;
    if (now_ns < *end_ns_) return false;
    waiting_.front()->move();
    waiting_.front()->has_ended = true;
    waiting_.pop_front();
    end_ns_.reset();
    return true;
  }
  bool empty() const { return waiting_.empty(); }

 private:
  static constexpr std::uint64_t latency_ns = 2000;
  static constexpr std::uint64_t bytes_per_ns = 4;

  std::deque<std::shared_ptr<CopyJob>> waiting_;
  std::optional<std::uint64_t> end_ns_;  // of the first
};

}  // namespace gpushare::stand_in
