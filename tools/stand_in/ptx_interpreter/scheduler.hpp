// SPDX-License-Identifier: Apache-2.0
// Which thread runs next, and for how many instructions. Tests may derive from it to bring about a particular order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpushare::interpreter {

/// Fair with probability one: every thread that can run has a chance each time, so spinning threads do not keep out
/// the ones they wait for. The same seed gives the same run.
class Scheduler {
 public:
  explicit Scheduler(std::uint64_t seed = 1) : state_(mixed(seed)) {}
  virtual ~Scheduler() = default;

  /// Which of this many resident blocks.
  virtual std::size_t pick_block(std::size_t resident) { return random(resident); }
  /// Which of this many threads of the block that can run.
  virtual std::size_t pick_thread(std::size_t runnable) { return random(runnable); }
  /// For how many instructions, at least one. Mostly few, now and then many.
  virtual std::size_t pick_instructions() {
    const std::uint64_t dice = next();
    return 1 + (dice >> 32) % (dice % 8 == 0 ? 256 : 16);
  }
  /// The SM of a block that takes over from one on this SM.
  virtual std::uint32_t pick_sm(std::size_t /*block*/, std::uint32_t freed_sm) { return freed_sm; }
  /// What memory without a promised value holds: any number.
  virtual std::uint64_t poison() { return next(); }

 protected:
  /// From 0 to below the limit.
  std::size_t random(std::size_t limit) { return static_cast<std::size_t>((next() >> 32) * limit >> 32); }

  /// splitmix64
  std::uint64_t next() { return mixed(state_ += 0x9e37'79b9'7f4a'7c15); }

 private:
  static std::uint64_t mixed(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58'476d'1ce4'e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d0'49bb'1331'11eb;
    return bits ^ (bits >> 31);
  }

  std::uint64_t state_;
};

/// Some blocks or threads hardly run for long stretches: finds what only shows when one lags far behind.
class Unfair : public Scheduler {
 public:
  using Scheduler::Scheduler;
  std::size_t pick_block(std::size_t resident) override { return favourite(block_, resident); }
  std::size_t pick_thread(std::size_t runnable) override { return favourite(thread_, runnable); }

 private:
  /// Mostly the same place in the list; a new one, or any other, now and then.
  std::size_t favourite(std::size_t& place, std::size_t count) {
    const std::size_t dice = random(64);
    if (dice == 0) place = random(1u << 16);
    return dice < 4 ? random(count) : place % count;
  }

  std::size_t block_ = 0, thread_ = 0;
};

/// Threads run for as long as they can, the last started first: the coarsest interleaving.
class RunToTheEnd : public Scheduler {
 public:
  using Scheduler::Scheduler;
  std::size_t pick_thread(std::size_t runnable) override { return runnable - 1; }
  std::size_t pick_instructions() override { return 1000; }
};

}  // namespace gpushare::interpreter
