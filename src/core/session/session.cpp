// SPDX-License-Identifier: Apache-2.0
#include "core/session/session.hpp"

#include "core/session/reachable_terms.hpp"
#include "core/session/session_service.hpp"

namespace gpushare {
namespace {

/// The most reasons of cancelled jobs that a session without an end remembers.
constexpr std::size_t most_reasons = 65'536;

/// A thread that sleeps answers tens of microseconds late. Small launches take about as long from submission to end.
constexpr Duration longest_look_for_requests(50'000);
constexpr Duration longest_look_for_end(150'000);

/// A thread that spins occupies a processor, and the session's thread needs one, too.
int most_looking() {
  static const int quarter = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / 4);
  return quarter;
}

/// One for each thread: one may wait for launches of milliseconds all the time, another for small ones.
SpinBudget& spin_of_waiting() {
  thread_local SpinBudget budget(most_spin(longest_look_for_end));
  return budget;
}

}  // namespace

Session::Session(LiveDevice device, MakePolicy make_policy, SessionOptions options)
    : device_(std::move(device)),
      make_policy_(std::move(make_policy)),
      options_(options),
      jobs_(options.keeps_record ? JobBoard::all_reasons : most_reasons),
      spin_of_thread_(most_spin(longest_look_for_requests)),
      history_(options.most_history),
      thread_([this] { Service::serve(*this); }) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return gpu_ != nullptr || failure_; });
  if (!failure_) return;
  lock.unlock();
  join();
  std::rethrow_exception(failure_.cause());
}

void Session::fail(SessionFailure failure) {
  {
    const std::scoped_lock lock(mutex_);
    if (failure_) return;
    failure_ = std::move(failure);
    changed_.notify_all();
  }
  if (options_.listener != nullptr) options_.listener->session_failed(failure_);
}

void Session::set_gpu(LiveGpu* gpu) {
  const std::scoped_lock lock(mutex_);
  gpu_ = gpu;
  changed_.notify_all();
}

void Session::end_thread() {
  std::vector<Request> left;  // destroyed without the lock
  const std::scoped_lock lock(mutex_);
  left.swap(requests_);
  is_over_ = true;
  jobs_.give_up_watched();
  own_thread_ = std::thread::id();
  changed_.notify_all();
}

void Session::require_alive() const {
  if (failure_) std::rethrow_exception(failure_.cause());
  require(!closing_, "the session has been finished: open another one");
}

void Session::require_other_thread() const {
  require(std::this_thread::get_id() != own_thread_,
          "a policy cannot call the session that it decides for, which waits for it: do that from another thread");
}

/// For new work.
void Session::require_open() const {
  if (failure_) std::rethrow_exception(failure_.of_not_run());
  require_alive();
}

/// nullptr: it has ended.
Session::PresentApplication* Session::find(ApplicationId application) {
  const auto number = static_cast<std::int32_t>(application);
  require_lazily(number >= 0 && number < next_application_,
                 [&] { return "this session has no application " + std::to_string(number); });
  const auto found = applications_.find(application);
  return found != applications_.end() ? &found->second : nullptr;
}

void Session::require_present(ApplicationId application) {
  const PresentApplication* known = find(application);
  if (known == nullptr) throw Cancelled("this application has been cancelled");
  if (known->is_withdrawn) throw Cancelled("application '" + known->name + "' has been cancelled");
}

void Session::push(Request request) {
  const bool is_first = requests_.empty();  // the thread has been woken for those before, and has not seen to them yet
  requests_.push_back(std::move(request));
  if (is_first) wake_thread();
}

void Session::wake_thread() {
  is_thread_wanted_.store(true, std::memory_order_release);
  if (gpu_ != nullptr) gpu_->wake();
  requested_.notify_one();
}

ApplicationId Session::add(Application application) {
  const std::scoped_lock lock(mutex_);
  require_open();
  const auto id = static_cast<ApplicationId>(next_application_++);
  applications_.emplace(id, PresentApplication{application.name});
  push(std::move(application));
  return id;
}

ApplicationId Session::add(Application application, const Operation& first) {
  require_runnable(first, *device_.description);
  require_reachable_terms(application, first, *device_.description);
  return add(std::move(application));
}

JobId Session::submit(ApplicationId application, Operation operation, std::shared_ptr<const DeviceCode> code,
                      bool is_held) {
  require_runnable(operation, *device_.description);
  const std::scoped_lock lock(mutex_);
  require_open();
  require_present(application);
  push(SubmittedJob{application, std::move(operation), std::move(code), is_held});
  return jobs_.open();
}

void Session::submit(ApplicationId application, std::vector<SubmittedOperation> operations) {
  for (const SubmittedOperation& each : operations) require_runnable(each.operation, *device_.description);
  const std::scoped_lock lock(mutex_);
  require_open();
  require_present(application);
  for (SubmittedOperation& each : operations) {
    push(SubmittedJob{application, std::move(each.operation), std::move(each.code)});
    jobs_.open();
  }
}

void Session::release(JobId job, std::string failure) {
  const std::scoped_lock lock(mutex_);
  if (!failure_ && !closing_) push(Release{job, std::move(failure)});
}

void Session::withdraw(ApplicationId application) {
  const std::scoped_lock lock(mutex_);
  PresentApplication* known = find(application);
  if (failure_ || closing_ || known == nullptr || known->is_withdrawn) return;
  known->is_withdrawn = true;
  push(Withdrawal{application});
}

void Session::fail_for(ApplicationId application, std::string why) {
  const std::scoped_lock lock(mutex_);
  if (!failure_ && !closing_ && find(application) != nullptr) push(EndlessBlock{application, std::move(why)});
}

void Session::set_priority(ApplicationId application, int priority) {
  call([=](Service& service) { service.change_priority(application, priority); });
}

void Session::set_policy(MakePolicy make_policy, std::string name) {
  call([&make_policy, &name](Service& service) { service.replace_policy(make_policy, name); });
}

SessionStatus Session::status() {
  SessionStatus status;
  call([&status](Service& service) { status = service.status(); });
  return status;
}

SessionPast Session::history(Duration last) {
  require(!options_.keeps_record, "this session keeps a record of everything: finish it to have that");
  Time now{};
  call([&now](Service& service) { now = service.now(); });
  return history_.since(now - last, now);
}

void Session::call(Task task) {
  require_other_thread();
  Call call{std::move(task)};
  std::unique_lock lock(mutex_);
  require_alive();
  push(&call);
  changed_.wait(lock, [&] { return call.is_done || is_over_; });
  if (call.failure) std::rethrow_exception(call.failure);
  if (!call.is_done) require_alive();
}

bool Session::wait(JobId job, Duration timeout) {
  std::unique_lock lock(mutex_);
  require_lazily(job < jobs_.opened(), [&] { return "this session has no job " + std::to_string(job); });
  if (timeout > Duration{}) await(job, timeout, lock);
  if (jobs_.is_over(job)) {
    jobs_.require_not_cancelled(job);
    return true;
  }
  if (failure_) std::rethrow_exception(failure_.error_of(job));
  return false;
}

void Session::await(JobId job, Duration timeout, std::unique_lock<std::mutex>& lock) {
  const auto is_told = [&] { return jobs_.is_over(job) || failure_; };
  if (is_told()) return;
  require_other_thread();
  const auto start = std::chrono::steady_clock::now();
  const Duration longest = std::min(spin_of_waiting().begin_wait(), timeout);
  const bool had_its_way = longest <= Duration{} || look_for_end(job, longest, lock);
  jobs_.await(job);
  changed_.wait_until(lock, start + timeout, is_told);
  jobs_.await_no_more(job);
  if (had_its_way) spin_of_waiting().end_wait(std::chrono::steady_clock::now() - start);
}

bool Session::look_for_end(JobId job, Duration longest, std::unique_lock<std::mutex>& lock) {
  if (threads_looking_ == most_looking()) return false;
  ++threads_looking_;
  const auto until = std::chrono::steady_clock::now() + longest;
  bool is_late = false;
  while (!jobs_.is_over(job) && !failure_ && !is_late) {
    const std::uint64_t seen = ends_.load(std::memory_order_acquire);
    lock.unlock();
    while (ends_.load(std::memory_order_acquire) == seen && !is_late) {
      relax();
      is_late = std::chrono::steady_clock::now() >= until;
    }
    lock.lock();
  }
  --threads_looking_;
  return true;
}

void Session::watch(JobId job) {
  const std::scoped_lock lock(mutex_);
  require_lazily(job < jobs_.opened(), [&] { return "this session has no job " + std::to_string(job); });
  jobs_.watch(job);
  if (is_over_) jobs_.give_up_watched();
  if (jobs_.has_ends_of_watched()) changed_.notify_all();
}

std::vector<JobId> Session::await_watched() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.has_ends_of_watched() || is_over_; });
  return jobs_.take_ends_of_watched();
}

std::exception_ptr Session::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_.cause();
}

bool Session::wait_for_all(Duration timeout) {
  require_other_thread();
  std::unique_lock lock(mutex_);
  require_alive();
  return changed_.wait_for(lock, timeout, [&] { return jobs_.unfinished() == 0 || failure_; });
}

SessionRecord Session::finish(Duration timeout) {
  require_other_thread();
  {
    std::unique_lock lock(mutex_);
    require_alive();
    const bool done = changed_.wait_for(lock, timeout, [&] { return jobs_.unfinished() == 0 || failure_; });
    end(done ? "" : "jobs did not end in time");
  }
  join();
  if (failure_) std::rethrow_exception(failure_.cause());
  return std::move(record_);
}

void Session::close() {
  require_other_thread();
  {
    const std::scoped_lock lock(mutex_);
    end("the session has been closed");
  }
  join();
}

/// With a reason, what has not ended is given up. Requires the lock, so that nothing comes in between the last check
/// and this.
void Session::end(std::string reason) {
  if (closing_) return;
  closing_ = true;
  given_up_ = std::move(reason);
  wake_thread();
}

/// One thread may close what another one finishes.
void Session::join() {
  const std::scoped_lock lock(joining_);
  if (thread_.joinable()) thread_.join();
}

}  // namespace gpushare
