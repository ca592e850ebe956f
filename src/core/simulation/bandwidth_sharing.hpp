// SPDX-License-Identifier: Apache-2.0
// Brings the speeds of all resident blocks in line with the bandwidth beyond the SMs. When it is full, one block more
// or less changes the share of every other, so this is the one step of the simulator that looks at every SM.
#pragma once

#include <span>
#include <vector>

#include "core/simulation/contention.hpp"
#include "core/simulation/streaming_multiprocessor.hpp"

namespace gpushare {

class BandwidthSharing {
 public:
  explicit BandwidthSharing(const OffSmBandwidth& off_sm) : off_sm_(off_sm) {}

  /// Gives every group its fair share from now on. Returns the SMs whose rates have changed by that, valid until the
  /// next call.
  std::span<const std::size_t> share(std::span<StreamingMultiprocessor> sms, double now);

 private:
  /// A group that uses the bandwidth, and its kind of traffic as an index into traffics_.
  struct User {
    std::size_t sm;
    ResidentGroup* group;
    std::size_t traffic;
  };

  void collect(std::span<StreamingMultiprocessor> sms);
  void add_by_kind(std::size_t sm);
  void add_by_sm(std::size_t sm);
  std::size_t kind_of(const Traffic& traffic);
  std::size_t first_of_alike();
  bool is_alike(std::size_t first) const;

  OffSmBandwidth off_sm_;
  std::vector<Traffic> traffics_;
  std::vector<User> users_;
  std::vector<ResidentGroup*> here_;  // on the SM that is looked at
  std::vector<std::size_t> alike_;    // the first traffic of every group of SMs
  std::vector<std::size_t> changed_;
};

}  // namespace gpushare
