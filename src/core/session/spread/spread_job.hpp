// SPDX-License-Identifier: Apache-2.0
// A launch whose blocks run on several devices of a session, each of which has a session of the core and a part of the
// grid (core/runtime/launch/shared_grid.hpp). The first part is a launch of the application itself, so that it comes
// after the launches before it; with its turn the others are submitted, for applications that stand for it on the other
// devices. Moving is a part that leaves, and another that comes.
#pragma once

#include "core/runtime/launch/shared_grid.hpp"
#include "core/session/session.hpp"

namespace gpushare {

/// What a job is on one of the devices.
struct SpreadPlace {
  std::weak_ptr<Session> session;
  ApplicationId application{};  ///< whose launches are parts
  Operation launch;
  std::function<std::shared_ptr<const DeviceCode>(std::shared_ptr<GridPart>)> code;
};

/// For any thread.
class SpreadJob : public std::enable_shared_from_this<SpreadJob> {
 public:
  /// `claims`, `memory`: as for SharedGrid.
  SpreadJob(std::int64_t blocks, std::uint64_t claims, std::shared_ptr<const void> memory)
      : blocks_(blocks), claims_(claims), memory_(std::move(memory)) {}

  /// What it is on a device, before it is to go there.
  void add_place(std::size_t device, SpreadPlace place);
  bool has_place(std::size_t device) const;
  /// Submits the first part to its application on `home`. With its turn there the blocks run on these devices, which
  /// have places; with `only_idle` on `home`, which is one of them, and those that have nothing else to do then, unless
  /// it is moved before. Throws as Session::submit() does.
  JobId submit(std::size_t home, const SpreadPlace& first, std::vector<std::size_t> devices, bool is_held,
               bool only_idle = false);
  /// The blocks run on these devices from now on, which have places. False: it has ended. Throws what the session of
  /// one of them has failed with; then it goes on where it is.
  bool move(std::vector<std::size_t> devices);

  /// The devices on which its blocks run, or will with its turn.
  std::vector<std::size_t> devices() const;
  /// Successfully or not.
  bool has_ended() const { return grid_->wait({}); }
  /// From its turn to its end; nullopt: it has not ended, or has failed.
  std::optional<Duration> took() const { return grid_->took(); }
  /// Has what was submitted of it to this device ended within this time?
  bool wait_for_leave(std::size_t device, Duration timeout) const;
  /// Has it ended within this time? Throws what a part has failed with.
  bool wait(Duration timeout) const;
  /// Called when it has ended, with a reason where it failed.
  void when_ended(SharedGrid::Ended ended);

 private:
  struct SubmittedPart {
    std::size_t device = 0;
    std::weak_ptr<Session> session;
    JobId job = 0;
    bool is_leaving = false;
  };

  void expect_ends() const;
  // With the lock.
  JobId submit_part(std::size_t device, const SpreadPlace& place, bool is_held);
  void go_where_wanted();
  void leave_out_busy_devices(std::size_t home);

  [[noreturn]] void fail() const;

  const std::int64_t blocks_;
  const std::uint64_t claims_;
  const std::shared_ptr<const void> memory_;
  std::shared_ptr<SharedGrid> grid_;
  mutable std::mutex mutex_;
  std::map<std::size_t, SpreadPlace> places_;  // by device
  std::vector<std::size_t> wanted_;            // devices
  bool only_idle_ = false;                     // which of them it takes with its turn
  std::vector<SubmittedPart> parts_;           // by their numbers
  std::exception_ptr refusal_;                 // of a session that did not take a part
};

}  // namespace gpushare
