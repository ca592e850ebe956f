// SPDX-License-Identifier: Apache-2.0
#include "core/session/session.hpp"

#include "core/session/reachable_terms.hpp"
#include "core/session/session_service.hpp"

namespace gpushare {
namespace {

/// The most reasons of cancelled jobs that a session without an end remembers.
constexpr std::size_t most_reasons = 65'536;

}  // namespace

Session::Session(LiveDevice device, MakePolicy make_policy, SessionOptions options)
    : device_(std::move(device)),
      make_policy_(std::move(make_policy)),
      options_(options),
      jobs_(mutex_, changed_, options.keeps_record ? JobBoard::all_reasons : most_reasons),
      history_(options.most_history),
      thread_([this] { Service::serve(*this); }) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return requests_.has_gpu() || lifecycle_.failure(); });
  if (!lifecycle_.failure()) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(lifecycle_.failure().cause());
}

void Session::fail(SessionFailure failure) {
  {
    const std::scoped_lock lock(mutex_);
    if (!lifecycle_.fail(std::move(failure))) return;
    changed_.notify_all();
  }
  if (options_.listener != nullptr) options_.listener->session_failed(lifecycle_.failure());
}

void Session::set_gpu(LiveGpu* gpu) {
  const std::scoped_lock lock(mutex_);
  requests_.set_gpu(gpu);
  changed_.notify_all();
}

void Session::end_thread() {
  std::vector<Request> left;  // destroyed without the lock
  const std::scoped_lock lock(mutex_);
  requests_.take(left);
  lifecycle_.end();
  jobs_.board().give_up_watched();
  changed_.notify_all();
}

void Session::require_other_thread() const {
  require(!thread_.is_current(),
          "a policy cannot call the session that it decides for, which waits for it: do that from another thread");
}

void Session::require_known(JobId job) {
  require_lazily(job < jobs_.board().opened(), [&] { return "this session has no job " + std::to_string(job); });
}

ApplicationId Session::add(Application application) {
  const std::scoped_lock lock(mutex_);
  lifecycle_.require_accepts_work();
  const ApplicationId id = applications_.add(application.name);
  requests_.push(std::move(application));
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
  lifecycle_.require_accepts_work();
  applications_.require_accepts(application);
  requests_.push(SubmittedJob{application, std::move(operation), std::move(code), is_held});
  return jobs_.board().open();
}

void Session::submit(ApplicationId application, std::vector<SubmittedOperation> operations) {
  for (const SubmittedOperation& each : operations) require_runnable(each.operation, *device_.description);
  const std::scoped_lock lock(mutex_);
  lifecycle_.require_accepts_work();
  applications_.require_accepts(application);
  for (SubmittedOperation& each : operations) {
    requests_.push(SubmittedJob{application, std::move(each.operation), std::move(each.code)});
    jobs_.board().open();
  }
}

void Session::release(JobId job, std::string failure) {
  const std::scoped_lock lock(mutex_);
  if (lifecycle_.is_open()) requests_.push(Release{job, std::move(failure)});
}

void Session::withdraw(ApplicationId application) {
  const std::scoped_lock lock(mutex_);
  if (applications_.is_present(application) && lifecycle_.is_open() && applications_.withdraw(application)) {
    requests_.push(Withdrawal{application});
  }
}

void Session::fail_for(ApplicationId application, std::string why) {
  const std::scoped_lock lock(mutex_);
  if (applications_.is_present(application) && lifecycle_.is_open()) {
    requests_.push(EndlessBlock{application, std::move(why)});
  }
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
  lifecycle_.require_open();
  requests_.push(&call);
  changed_.wait(lock, [&] { return call.is_done || lifecycle_.is_over(); });
  if (call.failure) std::rethrow_exception(call.failure);
  if (!call.is_done) lifecycle_.require_open();
}

bool Session::wait(JobId job, Duration timeout) {
  std::unique_lock lock(mutex_);
  require_known(job);
  const auto has_failed = [&] { return static_cast<bool>(lifecycle_.failure()); };
  if (timeout > Duration{} && !jobs_.board().is_over(job) && !has_failed()) {
    require_other_thread();
    jobs_.await(job, timeout, lock, has_failed);
  }
  if (jobs_.board().is_over(job)) {
    jobs_.board().require_not_cancelled(job);
    return true;
  }
  if (has_failed()) std::rethrow_exception(lifecycle_.failure().error_of(job));
  return false;
}

void Session::watch(JobId job) {
  const std::scoped_lock lock(mutex_);
  require_known(job);
  JobBoard& board = jobs_.board();
  board.watch(job);
  if (lifecycle_.is_over()) board.give_up_watched();
  if (board.has_ends_of_watched()) changed_.notify_all();
}

std::vector<JobId> Session::await_watched() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.board().has_ends_of_watched() || lifecycle_.is_over(); });
  return jobs_.board().take_ends_of_watched();
}

std::exception_ptr Session::failure() const {
  const std::scoped_lock lock(mutex_);
  return lifecycle_.failure().cause();
}

bool Session::await_all(Duration timeout, std::unique_lock<std::mutex>& lock) {
  lifecycle_.require_open();
  return changed_.wait_for(lock, timeout, [&] { return jobs_.board().unfinished() == 0 || lifecycle_.failure(); });
}

bool Session::is_idle() const {
  const std::lock_guard lock(mutex_);
  return jobs_.board().is_idle();
}

void Session::expect_end(JobId job) {
  const std::lock_guard lock(mutex_);
  jobs_.board().expect_end(job);
}

bool Session::wait_for_all(Duration timeout) {
  require_other_thread();
  std::unique_lock lock(mutex_);
  return await_all(timeout, lock);
}

SessionRecord Session::finish(Duration timeout) {
  require_other_thread();
  {
    std::unique_lock lock(mutex_);
    end(await_all(timeout, lock) ? "" : "jobs did not end in time");
  }
  thread_.join();
  if (lifecycle_.failure()) std::rethrow_exception(lifecycle_.failure().cause());
  return std::move(record_);
}

void Session::close() {
  require_other_thread();
  {
    const std::scoped_lock lock(mutex_);
    end("the session has been closed");
  }
  thread_.join();
}

/// With a reason, what has not ended is given up. Requires the lock, so that nothing comes in between the last check
/// and this.
void Session::end(std::string reason) {
  if (lifecycle_.close(std::move(reason))) requests_.wake();
}

}  // namespace gpushare
