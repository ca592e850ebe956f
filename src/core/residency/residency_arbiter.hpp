// SPDX-License-Identifier: Apache-2.0
// Shares out residency among the launches of a real GPU, after every plan and every poll: which of them take part,
// which get SMs of their own, and what each of them may have.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/residency/arbitrate.hpp"
#include "core/residency/contenders.hpp"

namespace gpushare {

/// The request of an admitted launch, which runs in its original form on reserved SMs. The places of its blocks are
/// unknown; they are assumed to fill the last SMs, where policies reserve SMs. It requests no more than that.
ResidencyRequest on_reserved_sms(ResidencyRequest request);

class ResidencyArbiter {
 public:
  /// A GPU runs 128 grids at a time, and streams share 32 queues. A launch behind so many others would get nothing
  /// anyway.
  static constexpr std::size_t most_on_hardware = 20;

  explicit ResidencyArbiter(const Device& device) : device_(device) {}

  /// The launches that take part (contenders.hpp), by their places in rank order.
  static std::vector<std::size_t> participants(std::span<const RankedLaunch> ranked);

  /// The grants of the participants, in rank order; valid until the next call. `poll`: the needs of the block that
  /// reads the tables, where that has to have a place (poll_place.hpp).
  std::span<const ResidencyGrant> share_out(std::vector<ResidencyRequest> ranked,
                                            const std::optional<BlockNeeds>& poll);
  /// Has the block that reads the tables a place?
  bool reserves_place_for_poll() const { return reserves_place_for_poll_; }

 private:
  const Device& device_;
  bool reserves_place_for_poll_ = false;
  // Most plans and polls change nothing that matters: the same requests, with the same workers in the same places.
  std::vector<ResidencyRequest> requests_;
  std::vector<ResidencyGrant> grants_;
};

}  // namespace gpushare
