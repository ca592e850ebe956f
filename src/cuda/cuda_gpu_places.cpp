// SPDX-License-Identifier: Apache-2.0
// The part of CudaGpu that grants residency and hands launches to the hardware in order.
#include <algorithm>
#include <span>

#include "core/model/errors.hpp"
#include "core/workers/contenders.hpp"
#include "core/workers/kept_room.hpp"
#include "core/workers/look_room.hpp"
#include "core/workers/own_sms.hpp"
#include "core/workers/stream_level.hpp"
#include "cuda/cuda_gpu.hpp"
#include "cuda/whole_launch.hpp"

namespace gpushare::cuda {
namespace {

/// A GPU runs 128 grids at a time, and streams share 32 queues. A launch behind so many others would get nothing
/// anyway.
constexpr std::size_t most_launches_on_hardware = 20;
/// The least number of waiting launches that are considered, however many have begun.
constexpr std::size_t least_waiting = 4;
constexpr Duration longest_passing(200'000);

/// Launches that were evicted give up their slots, if the tables are full: the last in rank first.
void find_slot_for(const LaunchOnGpu& launch, std::span<const std::unique_ptr<LaunchOnGpu>> launches, Time time) {
  LaunchOnGpu* last = nullptr;
  for (const auto& other : launches) {
    const bool has_use_for_it = other->wants_hardware(time) && other->rank() < launch.rank();
    if (!other->may_give_up_slot() || has_use_for_it) continue;
    if (last == nullptr || other->rank() >= last->rank()) last = other.get();
  }
  if (last != nullptr) last->give_up_slot();
}

}  // namespace

int CudaGpu::level_for(const LaunchOnGpu& launch) const {
  std::vector<LevelInUse> in_use;
  for (const auto& other : launches_) {
    if (!other->hardware().empty()) in_use.push_back({other->rank(), other->hardware().level()});
  }
  return gpushare::level_for(launch.rank(), in_use, resources_.streams.levels());
}

/// The launches among which residency is shared out, in rank order. The others get none for now; but non-preemptible
/// ones ignore the grant, and are handed to the hardware in order.
std::vector<LaunchOnGpu*> CudaGpu::take_contenders(Time time) {
  std::vector<LaunchOnGpu*> ranked;
  for (const auto& launch : launches_) {
    if (is_passing(*launch, time)) continue;
    const bool may_matter = launch->has_begun() || !launch->is_stopped() || launch->wants_hardware(time);
    if (may_matter) ranked.push_back(launch.get());
  }
  std::ranges::stable_sort(ranked, {}, &LaunchOnGpu::rank);
  std::vector<RoomSeeker> seekers;
  for (const LaunchOnGpu* launch : ranked) seekers.push_back({launch->has_begun(), launch->wanted()});
  const std::vector<std::size_t> places = contenders(seekers, most_launches_on_hardware, least_waiting);
  std::vector<LaunchOnGpu*> found;
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
    if (found.size() < places.size() && places[found.size()] == rank) {
      found.push_back(ranked[rank]);
    } else if (ranked[rank]->wants_hardware(time)) {
      ranked[rank]->evict(time);
    }
  }
  return found;
}

bool CudaGpu::is_admitted(const LaunchOnGpu& launch) const { return admitted_.contains(launch.submission().id); }

// The launch runs in its original form: SMs are reserved for it, so the places of its blocks need not be polled. One
// that was queued behind another has begun, perhaps as workers, and continues.
void CudaGpu::admit(OperationId operation) {
  constexpr int before_all = -1;
  const auto is_it = [operation](const auto& each) { return each->submission().id == operation; };
  const auto launch = std::find_if(launches_.rbegin(), launches_.rend(), is_it);
  GPUSHARE_EXPECT(launch != launches_.rend(), "what is admitted has been submitted");
  const Time time = elapsed();
  const bool runs_whole = !(*launch)->has_begun();
  if (runs_whole) {
    const DeviceLaunch& code = (*launch)->code();
    *launch = std::make_unique<WholeLaunch>(resources_, (*launch)->submission(), code,
                                            way_on_kept_room(resources_, code, (*launch)->max_residency()));
    (*launch)->submitted(time);
  }
  (*launch)->set_share({.quota = Quota::everywhere((*launch)->max_residency())}, before_all);
  admitted_[operation] = {.runs_whole = runs_whole, .since = time};
  if (!runs_whole) {
    plan_is_due_ = true;
    return;
  }
  (*launch)->allow({}, time);
  outside_.push_back(std::move(*launch));
  launches_.erase(std::next(launch).base());
  hand_to_hardware(time);
}

void CudaGpu::let_in(Time time) {
  if (outside_.empty()) return;
  auto inside = std::ranges::count_if(launches_, [this](const auto& launch) { return is_admitted(*launch); });
  for (; !outside_.empty() && inside < admitted_at_once; ++inside) {
    admitted_[outside_.front()->submission().id].since = time;
    launches_.push_back(std::move(outside_.front()));
    outside_.pop_front();
  }
}

/// The launch is needed for more than to begin in order.
void CudaGpu::let_in(OperationId operation) {
  if (outside_.empty() || !admitted_.contains(operation)) return;
  const auto found = std::ranges::find(outside_, operation, [](const auto& launch) { return launch->submission().id; });
  if (found == outside_.end()) return;
  launches_.push_back(std::move(*found));
  outside_.erase(found);
}

/// Was it admitted so recently that it may end before the places of its blocks would matter?
bool CudaGpu::is_passing(const LaunchOnGpu& launch, Time time) const {
  const auto found = admitted_.find(launch.submission().id);
  if (found == admitted_.end() || !found->second.runs_whole) return false;
  return !launch.has_begun() || time - found->second.since < longest_passing;
}

RoomClaim CudaGpu::claim_of(const LaunchOnGpu& launch) const {
  const auto found = admitted_.find(launch.submission().id);
  const bool has_kept_room = found != admitted_.end() && found->second.runs_whole;
  return has_kept_room ? on_kept_room(launch.claim()) : launch.claim();
}

/// Another launch may use the free SMs, even if the plan stays as it is.
void CudaGpu::leaves_room(OperationId ended) {
  const auto found = admitted_.extract(ended);
  plan_is_due_ |= !found || !found.mapped().runs_whole;
}

/// Launches give way to launches of better rank that lack places, as long as those do.
void CudaGpu::make_room(Time time) {
  if (is_paused_) return stop_all(time);
  const std::vector<LaunchOnGpu*> ranked = take_contenders(time);
  std::vector<RoomClaim> claims;
  for (const LaunchOnGpu* launch : ranked) claims.push_back(claim_of(*launch));
  claim_own_sms(claims);
  const std::optional<BlockNeeds> needs = resources_.tables.room_for_look();
  const std::optional<RoomClaim> look = needs ? claim_of_look(device(), *needs, claims) : std::nullopt;
  room_is_kept_ = look.has_value();
  if (room_is_kept_) claims.insert(claims.begin(), *look);
  const std::vector<Allowance>& allowed = room_.share_out(device(), std::move(claims));
  const std::size_t first = room_is_kept_ ? 1 : 0;
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) ranked[rank]->allow(allowed[first + rank], time);
}

/// In rank order: among equals, the hardware serves the first one first. An admitted launch without a place waits in
/// the bypass queue: in a stream behind another one it could not be withdrawn, and one that does not end would block
/// all behind it.
void CudaGpu::hand_to_hardware(Time time) {
  let_in(time);
  std::vector<LaunchOnGpu*> wanting;
  std::size_t under_way = 0;
  for (const auto& launch : launches_) {
    if (launch->wants_hardware(time)) wanting.push_back(launch.get());
    if (!launch->hardware().empty() && !is_admitted(*launch)) ++under_way;
  }
  if (wanting.empty() || !may_use_gpu(time)) return;
  std::ranges::stable_sort(wanting, {}, &LaunchOnGpu::rank);
  for (LaunchOnGpu* launch : wanting) {
    const bool is_new = launch->hardware().empty() && !is_admitted(*launch);
    if (is_new && ++under_way > most_launches_on_hardware) return;
    if (launch->lacks_slot() && resources_.tables.is_full()) find_slot_for(*launch, launches_, time);
    launch->hand_to_hardware(level_for(*launch), time);
    if (launch->is_in_tables()) look_soon();
  }
}

/// Only where every launch has a share: otherwise a waiting launch may have to come next.
void CudaGpu::line_up_followers(Time time) {
  if (is_paused_ || std::ranges::any_of(launches_, [](const auto& launch) { return launch->is_stopped(); })) return;
  for (const auto& launch : launches_) {
    if (!launch->may_be_followed()) continue;
    const std::optional<Submission> next = followers_.take_announced(launch->submission().application);
    if (!next) continue;
    const auto* code = std::get_if<DeviceLaunch>(&operation_of(*next));
    if (code != nullptr) launch->put_behind(*next, *code, time);
  }
}

/// Until a launch has begun, its execution mode can change.
void CudaGpu::choose_ways() {
  for (auto& launch : launches_) {
    if (is_admitted(*launch)) continue;
    if (std::unique_ptr<LaunchOnGpu> other = launch->in_other_way()) launch = std::move(other);
  }
}

}  // namespace gpushare::cuda
