// SPDX-License-Identifier: Apache-2.0
// The launches of a moment by how they are to be served: at once, side by side, or when there is room.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/tuning/attendance.hpp"
#include "core/tuning/catalogue.hpp"
#include "core/tuning/division.hpp"

namespace gpushare {

/// A place side by side with others; nothing is `running` while it is kept for somebody who is expected.
struct Seat {
  ApplicationId application{};
  std::optional<OperationId> running{};
  std::shared_ptr<CataloguedKernel> kernel{};
  double alone = 0;               ///< nanoseconds that the launch takes alone; 0: not known
  double as_written = 0;          ///< the same of the kernel as it was written, where that has been measured
  std::optional<double> floor{};  ///< that its application, or the policy for all, has asked for
  bool fills_gpu = false;         ///< has it blocks for all places?
  /// Nanoseconds in which the launch has to do its work: what its application's latency bound leaves of the way to the
  /// GPU and back, and of a last wave.
  double time_for_it = std::numeric_limits<double>::infinity();
  double time_in_all = std::numeric_limits<double>::infinity();  ///< the bound itself
  Contender contender;

  bool has_latency_bound() const { return time_for_it < std::numeric_limits<double>::infinity(); }
  /// The least speed at which it gets what has been asked for: its floor, and what ends the launch in time. nullopt:
  /// nothing has been.
  std::optional<double> least_speed() const;
};

/// Launches are named: it holds while others come and go, of whom nobody is told.
struct Seating {
  /// The urgent, and those that are done before anybody could move, unless they take much of the GPU again and again.
  std::vector<OperationId> first;
  std::vector<Seat> seats;           ///< by application
  std::vector<OperationId> waiting;  ///< in order of arrival
};

struct SeatingOptions {
  /// A launch that takes no longer alone is not worth dividing the GPU for. Of whose kernel nothing is known counts as
  /// small if one block on every fourth SM is all it has.
  Duration small{};
  std::optional<double> floor{};  ///< of whoever asks for none
};

/// More are not mixed: every one of them would have too little.
constexpr std::size_t most_seats = 8;

/// Of whose kernel nothing is known goes first if it has a latency bound, and so does who could not keep it alone.
Seating seated(const State& state, const std::set<OperationId>& left_out, const Attendance& attendance,
               Catalogue& catalogue, const SeatingOptions& options);

/// Does everybody's launch end so soon, as far as is known?
bool are_short(const Seating& seating, double longest_alone);

bool has_latency_bound(const Seating& seating);

/// Is it of use to let launches have the GPU in turn? Not where one leaves a part of it idle. And can everybody wait
/// until each of the others has run a launch? Who has a floor cannot.
bool can_take_turns(const Seating& seating);

}  // namespace gpushare
