// SPDX-License-Identifier: Apache-2.0
// Remembers how the GPU is best divided among every company of kernels it has met, and makes plans of that. What `mix`
// and `auto` have in common.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "core/model/recent_map.hpp"
#include "core/tuning/arrears.hpp"
#include "core/tuning/attendance.hpp"
#include "core/tuning/cautious_search.hpp"
#include "core/tuning/mix_options.hpp"
#include "core/tuning/search.hpp"

namespace gpushare {

class Mixer {
 public:
  explicit Mixer(const MixOptions& options) : options_(options), attendance_(options.patience, options.reserve) {}

  /// A launch that has just arrived and runs beside whatever is planned.
  void leave_out(OperationId launch) { left_out_.insert(launch); }

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Has the event that was observed last to do with anybody who is not left out?
  bool is_concerned() const { return concerns_it_; }

  /// Is there a reason for another plan? To be asked about the event that was observed last.
  bool wants(const Event& event) const { return concerns_it_ && (is_occasion(event) || changed_); }

  const Seating& seating() const { return seating_; }
  /// Of those who have a seat, as measured or else as predicted. No speeds are known of a company with an unprofiled
  /// kernel before it has been measured.
  const Outlook& outlook() const;

  /// Is what outlook() says what launches really took, with all that lay between them?
  bool has_measured() const { return known_one_->refinement.measured().has_value(); }

  /// Turns are one more way to be measured for those who have seats, and that to begin with if they are expected to do
  /// more and nothing has been measured.
  void consider_turns(const Device& device, bool is_expected_to_be_better, Time now);
  bool takes_turns() const;

  /// Does anybody run by plan()? What is done otherwise says nothing about it.
  void heed(bool is_in_force, Time now);

  /// Are the model's promises to be doubted here?
  bool is_cautious(const Device& device) const {
    return options_.is_cautious && device.per_sm.issue_order == IssueOrder::OldestFirst;
  }

  /// Who is to be first, then the seats by the division, then whoever waits.
  Plan plan(const State& state) const;

 private:
  /// Number of the kernel, weight, floor; and whether they may take turns.
  using Company = std::pair<std::vector<std::tuple<int, double, double>>, bool>;
  struct Known {
    Choice predicted;
    Refinement refinement;
    std::unique_ptr<CautiousSearch> search{};  // until it has come to a choice
    bool considers_turns = false;
  };

  static bool is_occasion(const Event& event);
  bool concerns(const Event& event);
  const Division& division() const { return known_one_->refinement.current(); }
  void forget(ApplicationId application);
  void choose(const State& state);
  bool give_up_a_seat(const State& state);
  void set_floors(const Device& device);
  void settle(const Event& ended);
  void give_more_to_who_lacks(Time now, const Device& device);
  void think(Time now, const Device& device);
  void follow(const Event& event);
  bool can_measure() const;
  void refine(Time now, const Device& device);
  std::optional<Time> next_look() const;
  bool is_time_to_look(const Event& event) const;
  Known& known_for(const Device& device);
  Known meet(const Device& device) const;
  Known begin_equal(const Device& device, const std::vector<Contender>& all) const;
  Choice search(const Device& device, std::span<const Contender> contenders) const;
  bool may_experiment() const;
  Refinement refinement_from(const Device& device, const Division& start) const;
  std::vector<Contender> contenders() const;
  Bounds bounds() const { return {.antt = options_.antt}; }

  MixOptions options_;
  Attendance attendance_;
  Arrears arrears_;
  Catalogue catalogue_;
  Seating seating_;
  std::vector<ApplicationId> seated_;
  std::map<ApplicationId, BlockProgress> progress_;  // of those that have not ended
  std::vector<BlockProgress> at_seats_;
  RecentMap<Company, Known> known_{1024};
  Known* known_one_ = nullptr;      // which was asked for last
  std::set<OperationId> left_out_;  // that have not ended
  std::set<ApplicationId> apart_;   // whose latest launch was left out
  bool concerns_it_ = false;        // the last event
  bool changed_ = false;
  bool is_in_force_ = true;
  Time next_thought_{};
};

}  // namespace gpushare
