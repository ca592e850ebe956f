// SPDX-License-Identifier: Apache-2.0
// The launches of a moment by how they are to be served: at once, side by side, or when there is room.
#pragma once

#include <vector>

#include "core/mixing/attendance.hpp"
#include "core/mixing/catalogue.hpp"
#include "core/mixing/division.hpp"

namespace gpushare {

/// A place side by side with others; `running` is nullptr while it is kept for somebody who is expected.
struct Seat {
  ApplicationId application{};
  const RunningLaunch* running = nullptr;
  CataloguedKernel* kernel = nullptr;
  double alone = 0;  ///< nanoseconds that the launch takes alone; 0: not known
  Contender contender;
};

struct Seating {
  std::vector<const RunningLaunch*> first;    ///< the urgent, and those that are done before anybody could move
  std::vector<Seat> seats;                    ///< by application
  std::vector<const RunningLaunch*> waiting;  ///< in order of arrival
};

/// More are not mixed: every one of them would have too little.
constexpr std::size_t most_seats = 8;

/// `small`: a launch that would take so long alone, at most, is not worth dividing the GPU for. Of whose kernel nothing
/// is known counts as small if one block on every fourth SM is all it has.
Seating seated(const State& state, const Attendance& attendance, Catalogue& catalogue, Duration small);

/// Does everybody's launch end so soon, as far as is known?
bool are_short(const Seating& seating, double longest_alone);

}  // namespace gpushare
