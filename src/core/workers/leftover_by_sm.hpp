// SPDX-License-Identifier: Apache-2.0
// What is left of each SM beside all that anybody has there or wants. SMs on which everybody wants and has the same
// share an entry, until somebody takes room on some of them: to count the places of one takes tens of nanoseconds.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "core/workers/claims_by_sm.hpp"
#include "core/workers/room_need.hpp"

namespace gpushare {

class LeftoverBySm {
 public:
  /// Beside what is there, and what launches that are not small will have.
  LeftoverBySm(const ClaimsBySm& claims, std::span<const Need> needs);

  /// From now on places are those of this launch, and it is who takes them.
  void turn_to(const RoomClaim& launch);
  int places(std::size_t sm);
  void take(std::size_t sm, int blocks);

 private:
  struct Leftover {
    SmRoom room;
    Bytes narrowest{std::numeric_limits<std::int64_t>::max()};  // split of those who will be there

    void take(const RoomClaim& launch, int blocks);
    int places(const RoomClaim& launch, std::size_t sm) const;
  };
  static constexpr int not_counted = -1;
  struct LeftoverEntry {
    Leftover leftover;
    int turn = 0;  // of whom the following is
    int places = not_counted;
    int taken = 0;             // last
    std::size_t without_them;  // the entry without so many
  };

  std::size_t add(const Leftover& leftover);
  LeftoverEntry& in_turn(std::size_t entry);

  std::vector<LeftoverEntry> entries_;
  std::vector<std::size_t> entry_of_;  // by SM
  const RoomClaim* launch_ = nullptr;
  int turn_ = 0;
};

}  // namespace gpushare
