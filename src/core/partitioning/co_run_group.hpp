// SPDX-License-Identifier: Apache-2.0
// The applications that share the GPU at present: those with a running launch, and those that have just ended one.
// Where the next launch follows at once, as in a loop, the group stays the same, and with it what was learnt of it.
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

class CoRunGroup {
 public:
  /// Feed every event, after the state includes it. Has an application come, gone or changed its kernel?
  bool observe(const Event& event, const State& state);

  /// In order of their ids.
  const std::vector<Member>& members() const { return members_; }

  /// When the first of the applications between two launches leaves the group.
  std::optional<Time> next_departure() const;

 private:
  bool join(Member member);
  bool drop_departed(Time now);

  std::vector<Member> members_;
  std::vector<std::optional<Time>> departures_;  // of the members without a running launch
};

}  // namespace gpushare
