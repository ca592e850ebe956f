// SPDX-License-Identifier: Apache-2.0
#include "programs/gang.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/model/errors.hpp"
#include "programs/futex.hpp"

namespace gpushare::programs {
namespace {

constexpr std::uint64_t no_others = 1;

/// The greatest leads.
std::uint64_t word_of(OtherPrograms others) {
  if (others.count == 0) return no_others;
  const std::int64_t rank = std::int64_t{others.priority} - std::numeric_limits<int>::min();
  return (static_cast<std::uint64_t>(rank) << 32) | (no_others + static_cast<std::uint32_t>(others.count));
}

void publish(ProgramPage& page, std::size_t gpu, std::uint64_t word) {
  if (page.demands[gpu].exchange(word) == word) return;
  page.demand_news.fetch_add(1);
  wake_all(page.demand_news);
}

}  // namespace

GangMember::GangMember(ProgramPage& page, std::size_t gpu) : page_(page), gpu_(gpu) {
  require(gpu < most_gpus, "a program is scheduled on " + std::to_string(most_gpus) + " GPUs at most");
  publish(page_, gpu_, no_others);
}

bool GangMember::leads() const {
  const std::uint64_t own = page_.demands[gpu_].load();
  for (std::size_t other = 0; other < most_gpus; ++other) {
    const std::uint64_t demand = page_.demands[other].load();
    if (demand > own || (demand == own && demand != 0 && other < gpu_)) return false;
  }
  return true;
}

int GangMember::gpus() const {
  const auto scheduled = std::ranges::count_if(page_.demands, [](const auto& demand) { return demand.load() != 0; });
  return std::max(static_cast<int>(scheduled), 1);
}

void GangMember::note(OtherPrograms others) {
  if (gpus() > 1) publish(page_, gpu_, word_of(others));
}

void GangMember::leave(ProgramPage& page, std::size_t gpu) { publish(page, gpu, 0); }

void GangMember::await_news(std::uint32_t seen, std::uint64_t at_most_ns) const {
  wait_while(page_.demand_news, seen, at_most_ns);
}

}  // namespace gpushare::programs
