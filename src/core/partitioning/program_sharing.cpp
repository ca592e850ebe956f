// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/program_sharing.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/partitioning/sm_partition.hpp"

namespace gpushare {
namespace {

/// Programs that get less than this done together, in times of what they do alone, take turns instead. A change of
/// turns costs some milliseconds: what is under way, and what the program had prepared.
constexpr double least_worth_together = 0.85;
/// What is measured at a time: tens of blocks, and several steps of a training,
constexpr Duration window_length(100'000'000);
/// and how often, before it counts.
constexpr std::size_t windows_that_count = 5;
constexpr Duration turn_length(20'000'000);
/// For how long they take turns before they are measured together again: at first, and at most.
constexpr Duration shortest_turns(10'000'000'000);
constexpr Duration longest_turns(160'000'000'000);

bool is_urgent(const RunningLaunch& launch) { return launch.priority > 0; }

/// Those that are not urgent, by application, so that a program's next launch has the place of its last one.
std::vector<const RunningLaunch*> ordinary(const State& state) {
  std::vector<const RunningLaunch*> found;
  for (const RunningLaunch& launch : state.running()) {
    if (!is_urgent(launch)) found.push_back(&launch);
  }
  std::ranges::stable_sort(found, {}, &RunningLaunch::application);
  return found;
}

int least_residency(const std::vector<const RunningLaunch*>& launches) {
  int least = std::numeric_limits<int>::max();
  for (const RunningLaunch* launch : launches) least = std::min(least, launch->max_residency);
  return least;
}

std::size_t most_at_once(const std::vector<const RunningLaunch*>& launches, const State& state) {
  return launches.empty() ? 0
                          : static_cast<std::size_t>(least_residency(launches)) * static_cast<std::size_t>(state.sms());
}

/// An equal part of the SMs; more programs than SMs have one each, together with others.
Quota quota_at(std::size_t place, std::size_t places, int residency, int sms) {
  std::vector<int> quota(static_cast<std::size_t>(sms), 0);
  if (place >= quota.size()) {
    quota[place % quota.size()] = residency;
    return Quota::per_sm(std::move(quota));
  }
  const std::vector<int> parts = even_parts(places, sms);
  const auto here = parts.begin() + static_cast<std::ptrdiff_t>(place);
  std::fill_n(quota.begin() + std::reduce(parts.begin(), here), *here, residency);
  return Quota::per_sm(std::move(quota));
}

void note(double& alone, double rate) { alone = alone > 0 ? std::midpoint(alone, rate) : rate; }

}  // namespace

void ProgramSharing::observe(const Event& event, const State& state) {
  is_changed_ = event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded ||
                event.kind == EventKind::DeadlineReached || event.kind == EventKind::PriorityChanged;
  if (event.kind == EventKind::LaunchArrived) {
    block_ns_ = nanoseconds(state.find(event.operation)->launch->kernel.program_block);
  }
  count(event);
  if (!turns_until_) watch_together(state);
  if (turns_until_) watch_turns(state);
  if (event.kind == EventKind::ApplicationEnded) {
    progress_.erase(event.application);
    members_.erase(event.application);
  }
}

void ProgramSharing::count(const Event& event) {
  const bool is_end = event.kind == EventKind::BlockEnded || event.kind == EventKind::LaunchEnded;
  if (!is_end || (turns_until_ && event.application != owner_)) return;
  Progress& progress = progress_[event.application];
  progress.done = all_done(progress, event.time);
  if (event.kind == EventKind::BlockEnded) {
    progress.latest += event.blocks;
  } else {
    progress.latest = 0;
    progress.done += 1;  // what was left of its work
  }
}

/// Without the blocks that have ended at this time.
double ProgramSharing::all_done(Progress& progress, Time now) {
  if (progress.ended == now) return progress.done;
  progress.ended = now;
  return progress.done + static_cast<double>(std::exchange(progress.latest, 0));
}

void ProgramSharing::watch_together(const State& state) {
  const Time now = state.now();
  const std::vector<const RunningLaunch*> launches = ordinary(state);
  for (const RunningLaunch* launch : launches) members_.insert(launch->application);
  if (const std::size_t most = most_at_once(launches, state); launches.size() > most && now >= turn_ends_) {
    first_ += most;
    turn_ends_ = now + turn_length;
    is_changed_ = true;
  }
  if (now - began_ < window_length) return;
  if (now - began_ < 2 * window_length) close_window(now);  // else nothing has happened for long
  open_window(now);
}

void ProgramSharing::open_window(Time now) {
  began_ = now;
  members_.clear();
  for (auto& [application, progress] : progress_) {
    all_done(progress, now);
    progress.done = 0;
  }
}

void ProgramSharing::close_window(Time now) {
  const double window_ns = nanoseconds(now - began_);
  const bool are_others = std::exchange(measured_, members_) != members_;
  if (are_others) {
    worths_.clear();
    patience_ = shortest_turns;
  }
  for (const ApplicationId member : members_) {
    Progress& progress = progress_[member];
    const double rate = all_done(progress, now) / window_ns;
    if (members_.size() > 1) {
      progress.together = are_others ? rate : std::midpoint(progress.together, rate);
    } else if (rate > 0) {
      note(progress.alone, rate);
    }
  }
  const auto is_known = [this](ApplicationId member) { return progress_[member].alone > 0; };
  if (members_.size() < 2 || std::ranges::none_of(members_, is_known)) return;
  worths_.push_back(worth_together());
  if (worths_.size() < windows_that_count) return;
  const double mean = std::reduce(worths_.begin(), worths_.end()) / static_cast<double>(worths_.size());
  worths_.clear();
  if (mean >= least_worth_together) return;
  turns_until_ = now + patience_;
  owner_.reset();
}

/// What is done together, in times of what each one does alone; at most that where it is not known. Turns are worth 1,
/// but for their costs.
double ProgramSharing::worth_together() const {
  double sum = 0;
  for (const ApplicationId member : measured_) {
    const auto found = progress_.find(member);
    if (found == progress_.end()) continue;
    const double alone = found->second.alone > 0 ? found->second.alone : 1 / block_ns_;
    sum += std::min(found->second.together / alone, 1.0);
  }
  return sum;
}

void ProgramSharing::watch_turns(const State& state) {
  const Time now = state.now();
  const std::vector<const RunningLaunch*> launches = ordinary(state);
  const bool has_work = owner_ && std::ranges::find(launches, *owner_, &RunningLaunch::application) != launches.end();
  if (has_work && now < std::min(turn_ends_, *turns_until_)) return;
  end_turn(now);
  is_changed_ = true;
  const bool is_over = now >= *turns_until_;
  if (is_over || worth_together() >= least_worth_together) {  // alone they do less than had been thought
    if (is_over) patience_ = std::min(2 * patience_, longest_turns);
    turns_until_.reset();
    return open_window(now);
  }
  if (launches.empty()) return owner_.reset();
  const auto next = std::ranges::find_if(
      launches, [this](const RunningLaunch* launch) { return owner_ && launch->application > *owner_; });
  owner_ = (next == launches.end() ? launches.front() : *next)->application;
  began_ = now;
  turn_ends_ = now + turn_length;
  Progress& progress = progress_[*owner_];
  all_done(progress, now);
  progress.done = 0;
}

void ProgramSharing::end_turn(Time now) {
  const auto found = owner_ ? progress_.find(*owner_) : progress_.end();
  if (found == progress_.end() || now - began_ < turn_length / 2) return;
  Progress& progress = found->second;
  progress.done = all_done(progress, now);
  if (progress.done > 0) note(progress.alone, progress.done / nanoseconds(now - began_));
}

Plan ProgramSharing::plan(const State& state) const {
  Plan plan;
  for (const RunningLaunch& launch : state.running()) {
    if (is_urgent(launch)) plan.shares.push_back(full_share(launch));
  }
  std::ranges::stable_sort(plan.shares, std::ranges::greater{},
                           [&](const Share& share) { return state.find(share.launch)->priority; });
  std::vector<const RunningLaunch*> launches = ordinary(state);
  if (turns_until_) {
    for (const RunningLaunch* launch : launches) {
      if (launch->application == owner_) plan.shares.push_back(full_share(*launch));
    }
    if (owner_) plan.wake_at = std::min(turn_ends_, *turns_until_);
    return plan;
  }
  // A program keeps its place between two launches: where one changes, blocks end that have not been done.
  std::vector<ApplicationId> places;
  std::ranges::set_union(members_, measured_, std::back_inserter(places));
  if (launches.size() > most_at_once(launches, state)) {
    std::ranges::rotate(launches, launches.begin() + static_cast<std::ptrdiff_t>(first_ % launches.size()));
    places.clear();
    for (const RunningLaunch* launch : launches) places.push_back(launch->application);
    plan.wake_at = turn_ends_;
  }
  for (const RunningLaunch* launch : launches) {
    const auto place = std::ranges::find(places, launch->application) - places.begin();
    const bool do_all_fit = places.size() <= static_cast<std::size_t>(least_residency(launches));
    plan.shares.push_back({.launch = launch->id,
                           .quota = do_all_fit ? full_quota(*launch)
                                               : quota_at(static_cast<std::size_t>(place), places.size(),
                                                          launch->max_residency, state.sms())});
  }
  return plan;
}

bool UnlessOfPrograms::admits(const RunningLaunch& launch, const State& state) {
  are_programs_ = are_programs_ || launch.launch->kernel.program_block > Duration{};
  return !are_programs_ && policy_->admits(launch, state);
}

void UnlessOfPrograms::observe(const Event& event, const State& state) {
  if (event.kind == EventKind::LaunchArrived) {  // admits() is not asked for launches of the time before this policy
    are_programs_ = are_programs_ || state.find(event.operation)->launch->kernel.program_block > Duration{};
  }
  are_programs_ ? programs_.observe(event, state) : policy_->observe(event, state);
}

}  // namespace gpushare
