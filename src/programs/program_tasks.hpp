// SPDX-License-Identifier: Apache-2.0
// The scheduler's side of a program's phases (phases.hpp): takes those of complete tasks, opens their gates, and knows
// when they have ended. A process that is at a call which waits in the driver for earlier work cannot say that its task
// is complete: it is, once nothing has been added for a while.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "core/model/workload.hpp"
#include "programs/program_page.hpp"

namespace gpushare::programs {

/// Opens all gates of the program, whose work is not ordered from now on.
void stop_ordering(ProgramPage& page);

/// How the tasks of programs are ordered.
struct TaskOrder {
  Bytes piece_to_device{};  ///< larger copies go in pieces; 0: whole
  Bytes piece_to_host{};
};

/// Phases that one operation of the session stands for: copies in one direction, or kernels in one stream.
struct PhaseRun {
  std::size_t process = 0;
  std::int32_t pid = 0;
  std::uint64_t first = 0;
  PhaseKind kind{};
  std::vector<std::int64_t> bytes;  ///< by phase
  Duration predicted{};             ///< of kernels
  bool is_known = true;             ///< are the times of all kernels known?

  std::uint64_t last() const { return first + bytes.size() - 1; }
  Bytes size() const;
};

class ProgramTasks {
 public:
  explicit ProgramTasks(ProgramPage& page) : page_(page), seen_(most_processes) {}

  /// Whether others are there: a program that is alone needs no gates.
  void order(const TaskOrder& order, bool are_others_there);
  /// All gates open, for good.
  void end();
  /// Does the program put its work behind gates?
  bool are_ordered() const { return page_.ordering.load() == Ordered::Yes; }

  /// For one thread. Waits for phases of complete tasks, in the order in which they were issued. Nothing where no
  /// ordering is set, the program has no gates, or this has ended.
  std::optional<std::vector<PhaseRun>> await_complete();
  /// An operation for a session. Copies take what those of this program have taken so far.
  Operation operation_of(const PhaseRun& run, const std::string& name) const;

  // For the scheduler's thread.

  /// Phases of the run up to this number may go.
  void open(const PhaseRun& run, std::uint64_t up_to);
  /// Have they ended, which were opened so long ago? What has no mark behind it has ended when it should have.
  bool have_ended(const PhaseRun& run, std::uint64_t up_to, Duration opened_for) const;
  /// All of the run has ended, and the process may use its places again. `took`: a copy, as a whole.
  void notice(const PhaseRun& run, std::optional<Duration> took);

 private:
  struct SeenProcess {
    std::int32_t pid = 0;
    std::uint64_t taken = 0;  ///< phases
  };

  void shut_gates();
  std::vector<PhaseRun> take_complete(std::uint64_t now_ns);
  void take_complete(std::size_t process, std::uint64_t now_ns, std::vector<PhaseRun>& runs);
  bool has_incomplete() const;
  Duration time_of(const PhaseRun& run) const;
  const std::atomic<double>& pace_of(PhaseKind kind) const;

  ProgramPage& page_;
  std::mutex mutex_;
  std::vector<SeenProcess> seen_;
  std::atomic<bool> is_set_ = false;
  std::atomic<bool> has_ended_ = false;
  std::atomic<double> to_device_ns_per_byte_ = 0.05;  ///< of its own copies; at first that of a usual GPU
  std::atomic<double> to_host_ns_per_byte_ = 0.05;
};

}  // namespace gpushare::programs
