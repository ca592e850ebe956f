// SPDX-License-Identifier: Apache-2.0
// The divisions that have been tried, and what they were worth each time they were measured. The last three times
// count, and of these the median, for a host that pauses spoils one of them; or the last one, if it is higher: parts of
// the GPU on which launches run as they were written are there only some time after they were wanted first.
#pragma once

#include <functional>
#include <vector>

#include "core/tuning/outlook.hpp"

namespace gpushare {

struct Measurement {
  Outlook seen;
  double value;
};

struct Trial {
  Division division;
  std::vector<Measurement> measured{};  ///< the last three times; empty where it was given up

  /// The median, of two the lower one; or the last one, if it is higher. nullptr where there is none.
  const Measurement* typical() const;
  double value() const;
};

class Trials {
 public:
  void add(const Division& division, const Outlook& seen, double value);
  void give_up(const Division& division);
  void clear() { trials_.clear(); }

  bool knows(const Division& division) const { return find(division) != nullptr; }
  double value_of(const Division& division) const;
  /// As typical of a division that has been measured.
  const Outlook& seen_of(const Division& division) const { return find(division)->typical()->seen; }
  /// Has it been measured twice only, with values that differ by more than that?
  bool needs_a_third(const Division& division, double difference) const;
  const Trial& best() const;
  /// The best one of those that have been measured; nullptr where there is none.
  const Trial* best_of(const std::function<bool(const Division&)>& kind) const;

 private:
  const Trial* find(const Division& division) const;

  std::vector<Trial> trials_;
};

}  // namespace gpushare
