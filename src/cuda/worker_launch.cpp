// SPDX-License-Identifier: Apache-2.0
#include "cuda/worker_launch.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/short_launches.hpp"
#include "cuda/whole_launch.hpp"

namespace gpushare::cuda {
namespace {

/// Where workers do not find their place, other launches have it or the hardware places them elsewhere: retrying at
/// once would keep the hardware busy for nothing.
constexpr Duration first_patience(10'000);
constexpr Duration longest_patience(1'000'000);

/// A full report is two events per SM, and tens of microseconds of work for the policy; while workers come and go,
/// polls are more frequent. The longer a launch has run, the less recent changes say about it.
Duration report_interval(Duration elapsed) { return std::clamp(elapsed / 2, Duration(100'000), Duration(500'000)); }

/// Workers obey an order when their chunk ends.
constexpr Duration short_block(50'000);

}  // namespace

WorkerLaunch::WorkerLaunch(LaunchResources& resources, const Submission& submission, const DeviceLaunch& code)
    : LaunchOnGpu(resources, submission, code), orders_(static_cast<std::size_t>(resources.device.sms)) {
  const Duration* known = resources.block_times.peek(code.kernel->id());
  if (known == nullptr) return;
  usual_block_time_ = *known;
  set_chunk(chunk_for(*known));
}

WorkerLaunch::~WorkerLaunch() {
  if (slot_) resources_.tables.give_back(*slot_);
}

std::unique_ptr<LaunchOnGpu> WorkerLaunch::in_other_way() const { return whole_instead_of(*this); }

RoomClaim WorkerLaunch::claim() const {
  const std::span<const int> present = progress_.workers_by_sm();
  return {.block = footprint_,
          .wanted = wanted_,
          .present = {present.begin(), present.end()},
          .unclaimed = progress_.unclaimed(),
          .split = split_,
          .leaves_soon = leaves_soon()};
}

bool WorkerLaunch::leaves_soon() const {
  const Duration* block_time = resources_.block_times.peek(code_.kernel->id());
  return block_time != nullptr && *block_time <= short_block;
}

// An order that no worker could violate need not reach the GPU before more of them come. Otherwise every launch of one
// block would reduce the orders of all launches that rank behind it, and restore them a moment later; and their ends
// would need a poll, as workers might have left.
void WorkerLaunch::allow(const Allowance& allowance, Time now) {
  open_sms_ = allowance.open_sms;
  if (std::ranges::equal(allowance.workers, orders_, {}, {}, &WorkerOrder::quota)) return;
  if (some_notice(allowance.workers) || (follower_ && follower_->some_notice(allowance.workers))) {
    stop_follower();
    take_orders(allowance.workers);
    asked_ = now;
  } else {
    set_quotas(allowance.workers);
    are_orders_late_ = slot_.has_value();
  }
  retry_ = now;
  patience_ = first_patience;
}

/// On an SM there are never more workers than have been launched and are not gone.
bool WorkerLaunch::some_notice(std::span<const int> workers) const {
  const std::int64_t there = std::min<std::int64_t>(max_residency_, launched_ - progress_.workers_gone());
  const auto most = static_cast<int>(there);
  for (std::size_t sm = 0; sm < orders_.size(); ++sm) {
    if (std::min(workers[sm], most) != std::min<int>(orders_[sm].quota, most)) return true;
  }
  return false;
}

void WorkerLaunch::set_quotas(std::span<const int> workers) {
  for (std::size_t sm = 0; sm < orders_.size(); ++sm) orders_[sm].quota = static_cast<std::uint16_t>(workers[sm]);
  has_quota_ = std::ranges::any_of(workers, [](int quota) { return quota > 0; });
}

void WorkerLaunch::take_orders(std::span<const int> workers) {
  is_disturbed_ |= launched_ > 0;
  for (std::size_t sm = 0; sm < orders_.size(); ++sm) {
    some_were_told_to_leave_ |= launched_ > 0 && workers[sm] < orders_[sm].quota;
  }
  set_quotas(workers);
  will_stay_ = false;
  if (slot_) write_orders();
}

void WorkerLaunch::write_orders() {
  resources_.tables.write_orders(*slot_, orders_);
  are_orders_late_ = false;
}

WorkerDemand WorkerLaunch::demand() const {
  WorkerDemand demand;
  for (std::size_t sm = 0; sm < orders_.size(); ++sm) {
    demand.add_sm(orders_[sm].quota, progress_.workers_by_sm()[sm]);
  }
  return demand;
}

bool WorkerLaunch::wants_hardware(Time now) const {
  if (!has_quota_ || progress_.unclaimed() == 0) return false;
  if (launched_ == 0) return true;
  return seen_ > changed_ && now >= retry_ && !some_wait() && lacks_workers();
}

int WorkerLaunch::take_next_try() {
  WorkerDemand missing = demand();
  const int sms = resources_.device.sms;
  missing.missing = static_cast<int>(std::min<std::int64_t>(missing.missing, progress_.unclaimed()));
  return tries_.next(workers_to_launch(missing, open_sms_, sms, max_residency_), sms * max_residency_);
}

WorkerParameters WorkerLaunch::parameters(int workers) const {
  return {.control = resources_.tables.control_address(*slot_),
          .sm_table = resources_.tables.table_address(*slot_),
          .tasks = static_cast<std::uint32_t>(count(code_.grid)),
          .guide = guide_for(workers),
          .grid_x = FastDivisor::of(code_.grid[0]),
          .grid_y = FastDivisor::of(code_.grid[1]),
          .grid_z = code_.grid[2],
          .orders = resources_.tables.orders_address(*slot_)};
}

void WorkerLaunch::place(Time now) {
  slot_ = resources_.tables.take();
  if (!slot_) return;
  if (launched_ == 0) {
    resources_.tables.reset(*slot_, orders_);
  } else {
    resources_.tables.restore(*slot_, {control_, orders_, progress_.tables()});
  }
  are_orders_late_ = false;
  placed_ = now;
}

// No worker writes to the tables any more, and the host has read the last values.
bool WorkerLaunch::may_give_up_slot() const {
  return slot_ && hardware_.empty() && !progress_.finished() && seen_ > changed_;
}

void WorkerLaunch::give_up_slot() {
  resources_.tables.give_back(*slot_);
  slot_.reset();
  are_orders_late_ = false;
}

void WorkerLaunch::hand_to_hardware(int level, Time now) {
  if (!slot_) place(now);
  if (!slot_) return;  // wait until another launch ends or leaves the GPU
  if (are_orders_late_) write_orders();
  std::vector<CUevent> behind{resources_.tables.written(*slot_)};
  if (follower_) {
    stop_follower();
    behind.push_back(resources_.tables.written(*follower_->slot_));
  }
  const std::int64_t launched_before = launched_;
  if (launched_before == 0) since_ = now;
  launch_workers(level, behind);
  will_stay_ = false;
  progress_.launched(launched_ - launched_before, now);
  changed_ = now;
  retry_ = now + patience_;
  patience_ = std::min(2 * patience_, longest_patience);
}

void WorkerLaunch::launch_workers(int level, std::span<const CUevent> behind) {
  const int workers = take_next_try();
  const WorkerParameters last = parameters(std::min(workers, demand().wanted));
  hardware_.launch(code_.kernel->worker(), {static_cast<unsigned>(workers), 1, 1}, code_,
                   std::as_bytes(std::span(&last, 1)), level, behind);
  launched_ += workers;
}

// Workers without a reason to leave stayed until no task was left: a poll, 10 us, would add nothing.
bool WorkerLaunch::collect(Time now, std::vector<gpushare::Event>& events) {
  if (!hardware_.collect()) return false;
  changed_ = now;
  if (!hardware_.empty()) return true;
  end_ = now;
  some_were_told_to_leave_ = false;  // workers that start from now on have not seen it
  end_doubt();
  if (will_stay_ && progress_.done() > count(code_.grid) / 4) progress_.finish(now, events);
  return true;
}

void WorkerLaunch::look(Time seen, Time now, std::vector<gpushare::Event>& events) {
  if (!slot_ || seen <= placed_) return;
  seen_ = seen;
  const Time happened = hardware_.empty() ? end_ : now;
  const bool all = hardware_.empty() || now - reported_ >= report_interval(now - since_);
  if (all) reported_ = now;
  const WorkerLook tables = resources_.tables.look(*slot_);
  control_ = tables.control;
  progress_.observe(tables, happened, events,
                    all ? WorkerProgress::Report::Everything : WorkerProgress::Report::Changes);
  will_stay_ = !some_were_told_to_leave_ && seen_ > changed_ && !some_wait() && !some_are_to_leave();
  // A present quota of zero means nothing: where quotas come and go, it would begin with few workers each time.
  if (has_quota_ && !lacks_workers()) tries_.have_found_places();
  adapt_chunk();
  if (hardware_.empty()) end_doubt();
}

/// The launch has left the GPU: was its time about as usual for its kernel, perhaps since the last poll?
void WorkerLaunch::end_doubt() {
  const std::optional<Duration> expected = expected_time(resources_, code_, max_residency_, orders_.size());
  const bool as_expected = expected && end_ - since_ <= 2 * *expected + resources_.fleeting_at_most();
  if (as_expected) resources_.doubtful.remove(code_.kernel->id());
}

// The first blocks of a grid may be much shorter than the others, and unobserved ones are assumed to take as long as
// usual: else workers would claim many long ones at a time.
void WorkerLaunch::learn_block_time() {
  const Duration mean = progress_.block_time();
  const double unseen = 1 - static_cast<double>(progress_.done()) / static_cast<double>(count(code_.grid));
  const auto missing = Duration(std::llround(unseen * nanoseconds(usual_block_time_ - mean)));
  resources_.block_times[code_.kernel->id()] = mean + std::max(missing, Duration{});
}

void WorkerLaunch::adapt_chunk() {
  if (progress_.block_time() <= Duration{}) return;
  learn_block_time();
  const std::uint16_t chunk = chunk_for(*resources_.block_times.peek(code_.kernel->id()));
  if (chunk == orders_.front().chunk || progress_.unclaimed() == 0) return;
  set_chunk(chunk);
  write_orders();
}

void WorkerLaunch::set_chunk(std::uint16_t chunk) {
  for (WorkerOrder& order : orders_) order.chunk = chunk;
}

bool WorkerLaunch::some_are_to_leave() const {
  for (std::size_t sm = 0; sm < orders_.size(); ++sm) {
    if (progress_.workers_by_sm()[sm] > orders_[sm].quota) return true;
  }
  return false;
}

// A successor was made when its predecessor had hardly begun.
void WorkerLaunch::submitted(Time now) {
  const Duration* known = resources_.block_times.peek(code_.kernel->id());
  if (known != nullptr) usual_block_time_ = *known;
  if (!slot_) return;
  progress_.launched(launched_, now);
  changed_ = asked_ = now;
  patience_ = first_patience;
  retry_ = now + patience_;
}

bool WorkerLaunch::is_settling() const {
  if (!slot_) return false;
  return seen_ <= std::max(changed_, asked_) || some_are_to_leave() || (!some_wait() && lacks_workers());
}

}  // namespace gpushare::cuda
