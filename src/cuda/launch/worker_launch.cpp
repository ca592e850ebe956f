// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/worker_launch.hpp"

#include <algorithm>
#include <cmath>

namespace gpushare::cuda {
namespace {

/// A full report is two events per SM, and tens of microseconds of work for the policy; while workers come and go,
/// polls are more frequent. The longer a launch has run, the less recent changes say about it.
Duration report_interval(Duration elapsed) { return std::clamp(elapsed / 2, Duration(100'000), Duration(500'000)); }

}  // namespace

WorkerLaunch::WorkerLaunch(LaunchFactory& factory, const Submission& submission, const LaunchTraits& traits,
                           const DeviceLaunch& code)
    : GpuLaunch(factory.device(), submission, traits, ExecutionMode::Worker, grids_),
      factory_(factory),
      code_(code),
      grids_(factory.resources().streams, factory.resources().completions),
      orders_(static_cast<std::size_t>(factory.device().sms)),
      top_up_(factory.device().runtime) {
  const std::optional<Duration> known = factory.history().block_time(traits.kernel);
  if (!known) return;
  usual_block_time_ = *known;
  set_chunk(chunk_for(*known, factory.device().runtime));
}

WorkerLaunch::~WorkerLaunch() {
  if (part() != nullptr) part()->drop();
  if (slot_) tables().give_back(*slot_);
}

ResidencyRequest WorkerLaunch::request() const {
  const std::span<const int> present = progress_.workers_by_sm();
  return {.block = traits().block,
          .wanted = share_.wanted(),
          .present = {present.begin(), present.end()},
          .unclaimed = unclaimed(),
          .split = traits().split,
          .leaves_soon = leaves_soon()};
}

bool WorkerLaunch::leaves_soon() const {
  const std::optional<Duration> block_time = factory_.history().block_time(traits().kernel);
  return block_time && *block_time <= factory_.device().runtime.short_block;
}

// An order that no worker could violate need not reach the GPU before more of them come. Otherwise every launch of one
// block would reduce the orders of all launches that rank behind it, and restore them a moment later; and their ends
// would need a poll, as workers might have left.
void WorkerLaunch::grant(const ResidencyGrant& grant, Time now) {
  top_up_.granted(grant.open_sms);
  if (is_withdrawn_) end_if_over();
  if (std::ranges::equal(grant.workers, orders_, {}, {}, &WorkerOrder::quota)) return;
  if (some_notice(grant.workers) || (successor_ && worker_successor()->some_notice(grant.workers))) {
    stop_successor();
    give_orders(grant.workers);
    ordered_ = now;
  } else {
    set_quotas(grant.workers);
    are_orders_late_ = slot_.has_value();
  }
  top_up_.restart(now);
}

/// On an SM there are never more workers than have been launched and are not gone.
bool WorkerLaunch::some_notice(std::span<const int> workers) const {
  const std::int64_t there = std::min<std::int64_t>(traits().max_residency, launched_ - progress_.workers_gone());
  const auto most = static_cast<int>(there);
  for (std::size_t sm = 0; sm < orders_.size(); ++sm) {
    if (std::min(workers[sm], most) != std::min<int>(orders_[sm].quota, most)) return true;
  }
  return false;
}

void WorkerLaunch::set_quotas(std::span<const int> workers) {
  for (std::size_t sm = 0; sm < orders_.size(); ++sm) orders_[sm].quota = static_cast<std::uint16_t>(workers[sm]);
  has_quota_ = std::ranges::any_of(workers, [](int quota) { return quota > 0; });
  take(has_quota_ ? LaunchStep::Granted : LaunchStep::ToldToLeave);
}

void WorkerLaunch::give_orders(std::span<const int> workers) {
  is_disturbed_ |= launched_ > 0;
  if (stay_ == Stay::UntilNoTaskIsLeft) stay_ = Stay::Unknown;
  for (std::size_t sm = 0; sm < orders_.size(); ++sm) {
    if (launched_ > 0 && workers[sm] < orders_[sm].quota) stay_ = Stay::SomeWereToldToLeave;
  }
  set_quotas(workers);
  if (slot_) write_orders();
}

void WorkerLaunch::write_orders() {
  tables().write_orders(*slot_, orders_);
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
  if (!has_quota_ || unclaimed() == 0) return false;
  if (launched_ == 0) return true;
  return poll_.seen > changed_ && top_up_.may_ask(now) && !some_wait() && lacks_workers();
}

int WorkerLaunch::next_try() {
  WorkerDemand missing = demand();
  missing.missing = static_cast<int>(std::min<std::int64_t>(missing.missing, unclaimed()));
  return top_up_.next(missing, factory_.device().sms, traits().max_residency);
}

WorkerParameters WorkerLaunch::parameters(int workers) const {
  return {.control = tables().control_address(*slot_),
          .sm_table = tables().table_address(*slot_),
          .tasks = static_cast<std::uint32_t>(traits().blocks),
          .guide = guide_for(workers * (part() != nullptr ? std::max(part()->parts_at_work(), 1) : 1)),
          .grid_x = FastDivisor::of(code_.grid[0]),
          .grid_y = FastDivisor::of(code_.grid[1]),
          .grid_z = code_.grid[2],
          .orders = tables().orders_address(*slot_),
          .claims = part() != nullptr ? part()->claims() : 0};
}

void WorkerLaunch::place(Time now) {
  slot_ = tables().take(*this, now);
  if (!slot_) return;
  if (launched_ == 0) {
    tables().reset(*slot_, orders_);
  } else {
    tables().restore(*slot_, {poll_.control, orders_, progress_.tables()});
  }
  are_orders_late_ = false;
  poll_.placed = now;
}

// No worker writes to the tables any more, and the host has read the last values.
bool WorkerLaunch::may_give_up_slot() const { return grids_.empty() && !progress_.finished() && poll_.seen > changed_; }

void WorkerLaunch::give_up_slot() {
  tables().give_back(*slot_);
  slot_.reset();
  are_orders_late_ = false;
}

void WorkerLaunch::hand_to_hardware(int level, Time now) {
  if (!slot_) place(now);
  if (!slot_) return;  // wait until another launch ends or leaves the GPU
  if (are_orders_late_) write_orders();
  std::vector<CUevent> behind{tables().written(*slot_)};
  if (successor_) {
    stop_successor();
    behind.push_back(tables().written(*worker_successor()->slot_));
  }
  const std::int64_t launched_before = launched_;
  if (launched_before == 0) since_ = now;
  launch_workers(level, behind);
  if (stay_ == Stay::UntilNoTaskIsLeft) stay_ = Stay::Unknown;
  progress_.launched(launched_ - launched_before, now);
  changed_ = now;
  top_up_.asked(now);
}

void WorkerLaunch::launch_workers(int level, std::span<const CUevent> behind) {
  const int workers = std::max(next_try(), 1);  // another device may have claimed the last blocks meanwhile
  const WorkerParameters last = parameters(std::min(workers, demand().wanted));
  grids_.launch(code_.kernel->worker(), {static_cast<unsigned>(workers), 1, 1}, code_,
                std::as_bytes(std::span(&last, 1)), level, behind);
  launched_ += workers;
  take(LaunchStep::Started);
}

// Workers without a reason to leave stayed until no task was left: a poll, 10 us, would add nothing.
bool WorkerLaunch::collect(Time now, std::vector<gpushare::Event>& events) {
  if (!grids_.collect()) return end_part(now);
  changed_ = now;
  if (!grids_.empty()) return true;
  end_ = now;
  take(LaunchStep::GridsEnded);
  if (stay_ == Stay::SomeWereToldToLeave) stay_ = Stay::Unknown;  // workers that start from now on have not seen it
  if (part() == nullptr) {
    check_prediction();
    if (stay_ == Stay::UntilNoTaskIsLeft && progress_.done() > traits().blocks / 4) progress_.finish(now, events);
  }
  end_if_over();
  return true;
}

void WorkerLaunch::observe(Time seen, Time now, std::vector<gpushare::Event>& events) {
  if (!slot_ || seen <= poll_.placed) return;
  poll_.seen = seen;
  const Time happened = grids_.empty() ? end_ : now;
  const bool all = grids_.empty() || now - poll_.reported >= report_interval(now - since_);
  if (all) poll_.reported = now;
  PolledTables polled = tables().polled(*slot_);
  poll_.control = polled.control;
  if (part() != nullptr && (polled.control.next_task & none_left) != 0) part()->found_none_left();
  if (part() != nullptr) polled.control.next_task &= ~none_left;
  progress_.observe(polled, happened, events,
                    all ? WorkerProgress::Report::Everything : WorkerProgress::Report::Changes);
  if (stay_ != Stay::SomeWereToldToLeave) {
    const bool all_have_come = poll_.seen > changed_ && !some_wait() && !some_are_to_leave();
    stay_ = all_have_come ? Stay::UntilNoTaskIsLeft : Stay::Unknown;
  }
  // A present quota of zero means nothing: where quotas come and go, it would begin with few workers each time.
  if (has_quota_ && !lacks_workers()) top_up_.none_is_missing();
  adapt_chunk();
  if (grids_.empty() && part() == nullptr) check_prediction();
  if (part() != nullptr && has_rested()) part()->returned(progress_.done());
  end_if_over();
}

/// The launch has left the GPU: was its time about as usual for its kernel, perhaps since the last poll?
void WorkerLaunch::check_prediction() {
  KernelHistory& history = factory_.history();
  const std::int64_t places = traits().max_residency * static_cast<std::int64_t>(orders_.size());
  const std::optional<Duration> expected = history.expected_time(traits().kernel, traits().blocks, places);
  const Duration tolerance = factory_.resources().mode_limits.brief_at_most();
  if (expected && end_ - since_ <= 2 * *expected + tolerance) history.as_predicted(traits().kernel);
}

// The first blocks of a grid may be much shorter than the others, and unobserved ones are assumed to take as long as
// usual: else workers would claim many long ones at a time.
void WorkerLaunch::learn_block_time() {
  const Duration mean = progress_.block_time();
  const double unseen = 1 - static_cast<double>(progress_.done()) / static_cast<double>(traits().blocks);
  const auto missing = Duration(std::llround(unseen * nanoseconds(usual_block_time_ - mean)));
  factory_.history().set_block_time(traits().kernel, mean + std::max(missing, Duration{}));
}

void WorkerLaunch::adapt_chunk() {
  if (progress_.block_time() <= Duration{}) return;
  learn_block_time();
  const std::uint16_t chunk = chunk_for(*factory_.history().block_time(traits().kernel), factory_.device().runtime);
  if (chunk == orders_.front().chunk || unclaimed() == 0) return;
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
  if (part() != nullptr) part()->begin(factory_.wake());
  if (const std::optional<Duration> known = factory_.history().block_time(traits().kernel)) usual_block_time_ = *known;
  if (!slot_) return;
  progress_.launched(launched_, now);
  changed_ = ordered_ = now;
  top_up_.asked_first(now);
}

bool WorkerLaunch::needs_poll() const {
  if (!slot_) return false;
  return poll_.seen <= std::max(changed_, ordered_) || some_are_to_leave() || (!some_wait() && lacks_workers());
}

/// Every block that will ever start has ended: all, or, of a launch that was withdrawn, those that a poll has shown
/// since the last worker left.
void WorkerLaunch::end_if_over() {
  if (has_ended() || !grids_.empty()) return;
  const bool is_for_good = is_withdrawn_ || (part() != nullptr && part()->is_exhausted());
  const bool has_done_all = progress_.finished() && part() == nullptr;  // a part tells its grid first
  if (!has_done_all && !(is_for_good && has_rested())) return;
  was_steady_ = !is_disturbed_;
  take(LaunchStep::Ended);
  // One that was withdrawn for another reason is lost to its grid.
  if (part() != nullptr && (!is_withdrawn_ || part()->must_leave())) part()->end();
}

/// None of its workers is on the GPU, and a poll has shown all that they did.
bool WorkerLaunch::has_rested() const { return grids_.empty() && (launched_ == 0 || poll_.seen > changed_); }

/// Blocks that nothing has claimed may be claimed by workers of this launch.
std::int64_t WorkerLaunch::unclaimed() const {
  return part() != nullptr && (part()->is_exhausted() || part()->must_leave()) ? 0 : progress_.unclaimed();
}

/// Another device has claimed the last block while this one had no workers.
bool WorkerLaunch::end_part(Time now) {
  if (part() == nullptr || has_ended() || !part()->is_exhausted() || !has_rested()) return false;
  end_ = now;
  end_if_over();
  return true;
}

bool WorkerLaunch::accepts_successor() const {
  return part() == nullptr && stay_ == Stay::UntilNoTaskIsLeft && !successor_ && !grids_.empty() &&
         progress_.done() > 0 && !progress_.finished();
}

// One in its original form is handed to the hardware when this one has ended: only then are its SMs free.
void WorkerLaunch::queue_successor(const Submission& next, Time now) {
  const auto* code = std::get_if<DeviceLaunch>(&factory_.operation_of(next));
  if (code == nullptr || code->part != nullptr) return;
  const LaunchTraits next_traits = factory_.traits_of(next, *code);
  if (!next_traits.has_worker) return;
  const auto sms = fully_shared_sms(share_.wanted(), traits().max_residency);
  if (factory_.setup_for(next_traits, *code, sms, share_.original_up_to(), true)) return;
  auto launch = std::make_unique<WorkerLaunch>(factory_, next, next_traits, *code);
  launch->start_behind(*this, now);
  if (launch->slot_) successor_ = std::move(launch);
}

void WorkerLaunch::start_behind(WorkerLaunch& leader, Time now) {
  share_.set({.quota = Quota::nowhere()}, leader.rank());
  top_up_.granted(leader.top_up_.open_sms());
  std::vector<int> workers;
  for (const WorkerOrder& order : leader.orders_) workers.push_back(std::min<int>(order.quota, traits().max_residency));
  give_orders(workers);
  place(now);
  if (!slot_) return;
  std::vector<CUevent> behind = leader.grids_.mark_ends();
  behind.push_back(tables().written(*slot_));
  launch_workers(leader.grids_.level(), behind);
}

// Before any order that lets workers of this launch leave, and before more of them are launched: the writes are in one
// stream, so a successor that could start too early finds the zeros.
void WorkerLaunch::stop_successor() {
  if (successor_) worker_successor()->give_orders(std::vector<int>(orders_.size(), 0));
}

}  // namespace gpushare::cuda
