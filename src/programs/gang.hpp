// SPDX-License-Identifier: Apache-2.0
// A program on several GPUs runs on all of them at the same moment, or on none: its processes wait for each other in
// collectives. One GPU's scheduler leads, and decides about the program as about any other; on the other GPUs the
// program goes first while it runs.
//
// The scheduler leads on whose GPU the other programs have the highest priority, and of these the one with most
// programs: so the program gives way to every program of a higher priority, and takes no more than its share where
// least is left. Each scheduler publishes what the other programs ask for on its GPU, and finds the leader by itself.
// Two such programs that meet on a GPU which leads neither run there at the same time.
#pragma once

#include <chrono>
#include <optional>

#include "core/model/units.hpp"
#include "daemon/channel/shared_memory.hpp"
#include "programs/gang_board.hpp"

namespace gpushare::programs {

/// The other programs on a GPU that have work.
struct OtherPrograms {
  int count = 0;
  int priority = 0;  ///< the highest of theirs
};

/// What a program takes of each of its GPUs.
struct RunningPart {
  int sms = 0;
  int threads = 0;  ///< of each of these
};

/// A program's schedule on one of its GPUs.
class GangMember {
 public:
  /// It has one.
  GangMember() = default;
  /// `gpu`: its number among the `gpus` of the program. Throws InvalidInput where that is none, or the memory is no
  /// board.
  GangMember(daemon::SharedMemory board, std::size_t gpu, std::size_t gpus);

  std::size_t gpus() const { return gpus_; }
  /// Does this GPU's scheduler decide when the program runs?
  bool leads() const;
  /// This GPU does not schedule the program any more.
  void leave();
  /// For the others, where the program has any.
  void note(OtherPrograms others);
  /// Schedulers whose processes have ended do not lead any more.
  void drop_ended();

  /// By the leader.
  void show(RunningPart running);
  /// What the program takes here by the decision of another GPU's scheduler.
  RunningPart led_elsewhere() const;

  using Clock = std::chrono::steady_clock;
  void limit_until(Clock::time_point time);
  bool is_limited(Clock::time_point now) const;

  /// Changes with any demand; for await_news().
  std::uint32_t news() const;
  /// Waits until there are others than these, or so long.
  void await_news(std::uint32_t seen, std::uint64_t at_most_ns) const;

 private:
  GangBoard& board() const { return *reinterpret_cast<GangBoard*>(memory_->bytes().data()); }
  void publish(std::size_t gpu, std::uint64_t demand);

  std::optional<daemon::SharedMemory> memory_;
  std::size_t gpu_ = 0;
  std::size_t gpus_ = 1;
};

}  // namespace gpushare::programs
