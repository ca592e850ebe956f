// SPDX-License-Identifier: Apache-2.0
#include "programs/gang.hpp"

#include <unistd.h>

#include <limits>
#include <string>
#include <utility>

#include "core/model/errors.hpp"
#include "programs/futex.hpp"
#include "programs/process_state.hpp"

namespace gpushare::programs {
namespace {

constexpr std::uint64_t no_others = 1;

/// The greatest leads.
std::uint64_t word_of(OtherPrograms others) {
  if (others.count == 0) return no_others;
  const std::int64_t rank = std::int64_t{others.priority} - std::numeric_limits<int>::min();
  return (static_cast<std::uint64_t>(rank) << 32) | (no_others + static_cast<std::uint32_t>(others.count));
}

std::int64_t nanoseconds_of(GangMember::Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

GangMember::GangMember(daemon::SharedMemory board, std::size_t gpu, std::size_t gpus)
    : memory_(std::move(board)), gpu_(gpu), gpus_(gpus) {
  require(memory_->bytes().size() == sizeof(GangBoard), "this is no memory for the schedulers of a program");
  require(gpus <= most_gpus && gpu < gpus, "expected one of at most " + std::to_string(most_gpus) +
                                               " GPUs of a program, got number " + std::to_string(gpu) + " of " +
                                               std::to_string(gpus));
  this->board().gpus[gpu_].scheduler = ::getpid();
  publish(gpu_, no_others);
}

void GangMember::publish(std::size_t gpu, std::uint64_t demand) {
  if (board().gpus[gpu].demand.exchange(demand) == demand) return;
  board().news.fetch_add(1);
  wake_all(board().news);
}

bool GangMember::leads() const {
  if (!memory_) return true;
  const std::uint64_t own = board().gpus[gpu_].demand.load();
  for (std::size_t other = 0; other < gpus_; ++other) {
    const std::uint64_t demand = board().gpus[other].demand.load();
    if (demand > own || (demand == own && demand != 0 && other < gpu_)) return false;
  }
  return true;
}

void GangMember::leave() {
  if (!memory_) return;
  if (leads()) show({});
  publish(gpu_, 0);
}

void GangMember::note(OtherPrograms others) {
  if (memory_) publish(gpu_, word_of(others));
}

void GangMember::drop_ended() {
  for (std::size_t other = 0; memory_ && other < gpus_; ++other) {
    GangBoard::Gpu& gpu = board().gpus[other];
    if (other == gpu_ || gpu.demand.load() == 0 || !is_dead(gpu.scheduler.load())) continue;
    publish(other, 0);
    board().running = 0;
  }
}

void GangMember::show(RunningPart running) {
  if (memory_)
    board().running = (static_cast<std::uint32_t>(running.sms) << 16) | static_cast<std::uint16_t>(running.threads);
}

RunningPart GangMember::led_elsewhere() const {
  if (leads()) return {};
  const std::uint32_t running = board().running.load();
  return {.sms = static_cast<int>(running >> 16), .threads = static_cast<int>(running & 0xffff)};
}

void GangMember::limit_until(Clock::time_point time) {
  if (memory_) board().limited_until_ns = nanoseconds_of(time);
}

bool GangMember::is_limited(Clock::time_point now) const {
  return memory_ && nanoseconds_of(now) < board().limited_until_ns.load();
}

std::uint32_t GangMember::news() const { return memory_ ? board().news.load() : 0; }

void GangMember::await_news(std::uint32_t seen, std::uint64_t at_most_ns) const {
  if (memory_) wait_while(board().news, seen, at_most_ns);
}

}  // namespace gpushare::programs
