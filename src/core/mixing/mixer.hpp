// SPDX-License-Identifier: Apache-2.0
// Remembers how the GPU is best divided among every company of kernels it has met, and makes plans of that. What `mix`
// and `auto` have in common.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/mixing/attendance.hpp"
#include "core/mixing/search.hpp"
#include "core/mixing/seating.hpp"
#include "core/policies/options.hpp"

namespace gpushare {

struct MixOptions {
  double floor = 0;     ///< -1: half of an equal part
  double antt = 0;      ///< bound of the mean slowdown
  Duration patience{};  ///< how long a place is kept for somebody who has ended a launch
  Duration small{};     ///< launches that take no longer alone are served first

  /// floor, antt, patience_us, small_us.
  static MixOptions from(const PolicyOptions& options);
};

class Mixer {
 public:
  explicit Mixer(const MixOptions& options) : options_(options), attendance_(options.patience) {}

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Is there a reason for another plan?
  static bool wants(const Event& event);

  const Seating& seating() const { return seating_; }
  /// Of those who have a seat; nothing is known of companies with an unprofiled kernel.
  const Choice& choice() const { return *choice_; }

  /// Who is to be first, then the seats by the division, then whoever waits.
  Plan plan(const State& state) const;

 private:
  using Company = std::vector<std::pair<int, double>>;  // number of the kernel, weight

  void choose(const State& state);
  const Choice& choice_for(const Device& device);
  Choice search(const Device& device) const;

  MixOptions options_;
  Attendance attendance_;
  Catalogue catalogue_;
  Seating seating_;
  std::map<Company, Choice> known_;
  const Choice* choice_ = nullptr;
};

}  // namespace gpushare
