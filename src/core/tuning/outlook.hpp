// SPDX-License-Identifier: Apache-2.0
// What a division promises: every kernel's speed, as a share of its speed alone, by the contention model.
#pragma once

#include <limits>
#include <map>
#include <vector>

#include "core/tuning/division.hpp"

namespace gpushare {

/// What all of them together may not be made to bear; each has a floor besides.
struct Bounds {
  double antt = std::numeric_limits<double>::infinity();  ///< the largest mean slowdown
};

struct Outlook {
  std::vector<double> speeds{};  ///< rate / rate alone, by contender
  double throughput = 0;         ///< sum of weight * speed, weights being 1 in the mean: STP where all are equal
  double slowest = 0;            ///< the least speed
  double kept = 0;               ///< the least speed relative to its floor: from 1 on all floors are kept
  double antt = 0;               ///< mean of 1 / speed

  bool keeps(const Bounds& bounds) const;

  /// Compares divisions. What keeps floors and bounds is better than what does not; among the former the throughput
  /// counts. Floors that cannot all be kept are missed by the same share, so that nobody's is kept at the cost of
  /// another's; after them comes the mean slowdown.
  double value(const Bounds& bounds) const;
};

/// A speed relative to the contender's floor; whoever has none is not to stand still.
double kept_of_floor(double speed, const Contender& contender);

/// Whoever has least of his floor; where nobody has any, of his speed alone.
std::size_t neediest(const Outlook& outlook, std::span<const Contender> contenders);

/// Of these speeds; weights count relative to their mean.
Outlook outlook_of(std::vector<double> speeds, std::span<const Contender> contenders);

/// Asks the model about divisions of one device among the same contenders, all of them profiled.
class Forecast {
 public:
  Forecast(const Device& device, std::span<const Contender> contenders);

  Outlook of(const Division& division) const;

  /// The same, remembered; nullptr where it has not been asked before and no more questions are allowed.
  const Outlook* ask(const Division& division) const;
  /// From now on ask() takes so many new questions; without a call, any number.
  void allow(int questions);
  /// Has ask() refused a question since allow()?
  bool has_refused() const { return has_refused_; }

  const Device& device() const { return device_; }
  std::span<const Contender> contenders() const { return contenders_; }

 private:
  const Device& device_;
  std::span<const Contender> contenders_;
  std::vector<const Kernel*> kernels_;
  std::vector<double> alone_;                            // blocks per nanosecond
  mutable std::map<std::vector<int>, Outlook> answers_;  // by groups: SMs and blocks
  mutable int allowed_ = std::numeric_limits<int>::max();
  mutable bool has_refused_ = false;
};

}  // namespace gpushare
