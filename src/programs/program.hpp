// SPDX-License-Identifier: Apache-2.0
// The scheduler's view of an unmodified program: the work that it has handed to the GPU, the part that has ended, and a
// lease that says whether it may launch.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/model/units.hpp"
#include "daemon/channel/shared_memory.hpp"
#include "daemon/session_application.hpp"
#include "programs/gang.hpp"
#include "programs/pauses.hpp"
#include "programs/program_page.hpp"
#include "programs/program_tasks.hpp"

namespace gpushare::programs {

/// Predicted GPU time, as counted by the program's processes. For a program on several GPUs it is that of the busiest
/// one, each of which is taken to be one process's.
struct Work {
  Duration launched{};      ///< since the program came
  Duration under_way{};     ///< the part of it that is not known to have ended
  Duration going{};         ///< the part of `under_way` that no stream of a held program has stopped in front of
  Duration beyond_marks{};  ///< the part beyond the mark interval: it has not ended before a mark shows it
  bool is_awaited = false;  ///< a thread of the program waits for it
};

class Program {
 public:
  /// The memory that `gpushare run` has made. Throws InvalidInput where it is none. `gang`: its schedule on this one of
  /// its GPUs. `application`: which it is in the session.
  explicit Program(daemon::SharedMemory memory, GangMember gang = {},
                   std::shared_ptr<const daemon::SessionApplication> application = nullptr);

  /// Its work as tasks, where an ordering is set.
  ProgramTasks& tasks() { return tasks_; }
  GangMember& gang() { return gang_; }
  int priority() const { return application_ == nullptr ? 0 : application_->priority(); }

  // For the scheduler's thread alone.
  /// The state of each process at the last poll is remembered.
  Work poll();
  Pauses& pauses() { return pauses_; }

  /// Wakes the threads that wait, unless nothing has changed.
  void set_lease(Lease lease);

  /// By the lease that was written last.
  bool is_held() const { return Lease::of(page().lease.load()).state == LeaseState::Held; }
  /// Has a process launched since the scheduler had marked the program as idle?
  bool is_busy() const { return page().is_known_busy.load() != 0; }
  /// From now on the next launch wakes wait_busy(). True where one has come meanwhile: then nothing has changed.
  bool is_busy_after_all();
  /// Has it been busy within the last moments? The pauses of a program that is busy now and then change no leader.
  bool asks(Time now);
  /// Waits until the program has work, this GPU's scheduler leads, and no piece of it is with the scheduler; or the
  /// port closes: then false.
  bool wait_for_piece();
  /// The piece of work that was handed to the scheduler has ended. From any thread.
  void piece_ended();
  /// Ends wait_for_piece(), for good; the program continues without a scheduler.
  void release();

  /// An estimate of the next piece of work, from earlier ones.
  Duration usual_piece() const { return Duration(usual_piece_ns_.load()); }
  void note_piece(Duration work);

  /// The predicted time of a block of the kernels that it has run lately, weighted by their times. 0: short, or in
  /// graphs, or not known yet.
  Duration usual_block() const { return Duration(usual_block_ns_.load()); }

  /// The share of the time for which it keeps the GPU busy when it may launch freely; 1 where that is not known.
  double busy_ratio() const { return busy_ratio_.load(); }
  /// Adds a measurement: so much GPU time in so much time. While others run, the value is less than it would be alone.
  void note_busy(Duration gpu, Duration time, bool was_alone);

 private:
  struct SeenStream {
    std::uint64_t launched = 0;
    std::uint64_t ended = 0;
  };
  struct SeenProcess {
    std::int32_t pid = 0;
    std::uint64_t block_times = 0;  ///< of all processes that had the slot
    std::array<SeenStream, most_streams> streams{};
  };

  void write_lease(Lease lease);
  static Work poll(ProcessSlot& slot, SeenProcess& seen);
  void note_blocks(Duration work, std::uint64_t block_times);
  ProgramPage& page() const { return *reinterpret_cast<ProgramPage*>(memory_.bytes().data()); }

  daemon::SharedMemory memory_;
  ProgramTasks tasks_;
  GangMember gang_;
  std::shared_ptr<const daemon::SessionApplication> application_;
  std::vector<SeenProcess> seen_;
  Duration launched_{};  // by processes that may have ended
  struct {
    double work_ns = 0;
    double block_times = 0;  ///< of that work, in ns x ns
  } recent_;
  Pauses pauses_;
  std::atomic<std::int64_t> usual_block_ns_ = 0;
  std::atomic<std::int64_t> usual_piece_ns_;
  std::atomic<double> busy_ratio_ = 1;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_piece_ = false;
  bool is_released_ = false;
};

/// All present programs, for the device that schedules them and for the ports that serve them.
class Programs {
 public:
  void add(const std::shared_ptr<Program>& program);
  void remove(const std::shared_ptr<Program>& program);
  std::vector<std::shared_ptr<Program>> all() const;
  /// The tasks of all programs that come from now on are ordered.
  void order_tasks(const TaskOrder& order);
  /// The function that any thread calls when a program has come or gone; empty: none from now on.
  void on_change(std::function<void()> call);

 private:
  void tell_of_others();

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Program>> programs_;
  std::optional<TaskOrder> task_order_;
  std::function<void()> changed_;
};

}  // namespace gpushare::programs
