// SPDX-License-Identifier: Apache-2.0
// Who shares the GPU at present: the applications with a launch running, and those that have just ended one. Where
// another follows at once, as in a loop of launches, the company stays the same, and with it what was learnt of it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/state.hpp"

namespace gpushare {

/// An application with the kernel that it runs.
struct Member {
  ApplicationId application{};
  std::string kernel;
  int residency = 0;        ///< blocks per SM
  std::int64_t blocks = 0;  ///< of its grid

  /// Blocks that run at a time on so many SMs.
  std::int64_t places(int sms) const { return std::min<std::int64_t>(blocks, std::int64_t{sms} * residency); }
};

class Company {
 public:
  /// Feed every event, after the state includes it. Has anybody come, gone or changed its kernel?
  bool observe(const Event& event, const State& state);

  /// In order of their ids.
  const std::vector<Member>& members() const { return members_; }

  /// When the first of those between two launches will be gone.
  std::optional<Time> next_departure() const;

 private:
  bool join(Member member);
  bool drop_departed(Time now);

  std::vector<Member> members_;
  std::vector<std::optional<Time>> departures_;  // of each member that runs nothing
};

}  // namespace gpushare
