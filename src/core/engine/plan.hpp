// SPDX-License-Identifier: Apache-2.0
// A policy's answer: how many blocks each launch may have on which SM, and in which order. The device enforces it.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/errors.hpp"
#include "core/model/units.hpp"

namespace gpushare {

/// So many admitted launches (Policy::admits) begin at a time: the hardware has few queues for streams, and others need
/// some.
constexpr int admitted_at_once = 8;

/// How many blocks of one launch may be resident on each SM. One number where all SMs are alike.
class Quota {
 public:
  Quota() = default;
  static Quota everywhere(int blocks) { return Quota(blocks); }
  static Quota nowhere() { return Quota(0); }
  /// One number for every SM of the device, in their order.
  static Quota per_sm(std::vector<int> blocks) {
    if (blocks.empty()) throw PolicyError("a quota per SM needs a number for every SM, and this one has none");
    return Quota(std::move(blocks));
  }

  int at(SmId sm) const { return per_sm_.empty() ? everywhere_ : per_sm_[index(sm)]; }
  bool is_uniform() const { return per_sm_.empty(); }
  /// Number of entries: 0 for a uniform quota.
  std::size_t size() const { return per_sm_.size(); }
  int smallest() const { return per_sm_.empty() ? everywhere_ : *std::ranges::min_element(per_sm_); }
  int largest() const { return per_sm_.empty() ? everywhere_ : *std::ranges::max_element(per_sm_); }

  friend bool operator==(const Quota&, const Quota&) = default;

 private:
  explicit Quota(int blocks) : everywhere_(blocks) {}
  explicit Quota(std::vector<int> blocks) : per_sm_(std::move(blocks)) {}

  int everywhere_ = 0;
  std::vector<int> per_sm_;
};

/// One launch's part of the GPU.
struct Share {
  OperationId launch{};
  Quota quota{};
  /// A launch that the device expects to end within this time need not be preemptible, once it has begun.
  Duration whole_up_to{};
  /// Where the launch has its quota of an SM, lower ranks may use the rest, even if it is all that the launch can have.
  bool leaves_rest = false;
  friend bool operator==(const Share&, const Share&) = default;
};

/// The running launches in rank order, first served first. A launch that is left out gets nothing.
///
/// On every SM a launch that still has blocks to start and may start them (quota not reached, or no quota below
/// its maximum residency) reserves the room: lower ranks get what is left once its last block has started. A quota at
/// the maximum residency that is meant as a limit has Share::leaves_rest.
struct Plan {
  std::vector<Share> shares{};
  std::optional<Time> wake_at{};  ///< ask again at this time even if nothing happens
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace gpushare
