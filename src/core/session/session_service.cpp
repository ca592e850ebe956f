// SPDX-License-Identifier: Apache-2.0
// What a session's thread does: it carries out requests, passes on what the device tells, and says how it ended.
#include "core/session/session_service.hpp"

#include "core/model/job_names.hpp"
#include "core/session/begun_jobs.hpp"

namespace gpushare {
namespace {

/// How long a block may take to end when the session is given up.
constexpr Duration patience_at_the_end(1'000'000'000);

/// A policy of the user's may raise anything: that becomes a PolicyError. It names the policy, if that has a name then.
template <typename Act>
void blamed_on(const std::string& policy, Act act) {
  const auto blame = [&policy](const char* verb, const std::exception& error) {
    return PolicyError((policy.empty() ? "" : "policy '" + policy + "'" + verb) + error.what());
  };
  try {
    act();
  } catch (const InvalidInput&) {
    throw;
  } catch (const DeviceError&) {
    throw;
  } catch (const PolicyError& error) {
    throw blame(": ", error);
  } catch (const std::exception& error) {
    throw blame(" raised ", error);
  }
}

}  // namespace

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

void Session::serve() {
  own_thread_ = std::this_thread::get_id();
  try {
    blamed_on(options_.policy_name, [this] {
      const auto work = std::make_shared<OpenWork>();
      const auto world = std::make_shared<std::pair<std::shared_ptr<const Device>, std::shared_ptr<OpenWork>>>(
          device_.description, work);
      std::unique_ptr<Policy> policy = make_policy_(world);
      const std::unique_ptr<LiveGpu> gpu = device_.open();
      serve(*gpu, std::move(policy), work, world);
    });
  } catch (SessionFailure& failure) {
    fail(std::move(failure));
  } catch (...) {
    fail(SessionFailure(std::current_exception()));
  }
  std::vector<Request> left;
  const std::scoped_lock lock(mutex_);
  left.swap(requests_);
  is_over_ = true;
  own_thread_ = std::thread::id();
  changed_.notify_all();
}

void Session::serve(LiveGpu& gpu, std::unique_ptr<Policy> policy, const std::shared_ptr<OpenWork>& work,
                    const std::shared_ptr<const void>& world) {
  Service service(*this, gpu, std::move(policy), work, world);
  set_gpu(&gpu);
  try {
    serve_until_closed(service);
  } catch (const DeviceError& error) {
    set_gpu(nullptr);
    const BegunJobs begun(service.run, gpu, service.watcher);
    const std::vector<OperationId> suspects = begun.launches_on_device();
    const std::string message = failure_among(begun.names(suspects), error.what());
    gpu.stop(patience_at_the_end);  // what a device refuses need not concern what runs on it
    throw begun.blame(suspects, message);
  } catch (const SessionFailure&) {
    set_gpu(nullptr);
    throw;
  } catch (...) {
    set_gpu(nullptr);
    gpu.stop(patience_at_the_end);
    throw;
  }
  set_gpu(nullptr);
  give_up(service);
  if (!service.recorder) return;
  record_.trace = service.recorder->take();
  ClosedRun closed = service.run.close(record_.trace);
  record_.workload = std::move(closed.workload);
  record_.turnarounds = std::move(closed.turnarounds);
}

void Session::serve_until_closed(Service& service) {
  while (take_requests(service)) {
    service.run.advance();
    service.run.reach(service.gpu.now());
    forget_ended(service);
    require_progress(service);
  }
}

void Session::forget_ended(Service& service) {
  const std::vector<ApplicationId> ended = service.run.forget_ended();
  if (ended.empty()) return;
  const std::scoped_lock lock(mutex_);
  for (const ApplicationId id : ended) applications_.erase(id);
}

/// Does nothing where everything has ended.
void Session::give_up(Service& service) {
  {
    const std::scoped_lock lock(mutex_);
    if (service.run.is_idle() && jobs_.unfinished() == 0) return;
  }
  const BegunJobs before(service.run, service.gpu, service.watcher);
  const std::vector<OperationId> running = before.on_device();
  const std::string names = joined(before.names(running));
  const bool has_stopped = service.gpu.stop(patience_at_the_end);
  const BegunJobs after(service.run, service.gpu, service.watcher);
  if (has_stopped) throw after.blame(running, given_up_ + (names.empty() ? "" : "; still running: " + names));
  const std::vector<OperationId> left = after.on_device();
  const std::vector<OperationId>& endless = left.empty() ? running : left;
  throw after.blame(endless, given_up_ + "; blocks do not end, so this process cannot use the GPU any more: " +
                                 joined(after.names(endless)));
}

void Session::require_progress(const Service& service) const {
  const std::scoped_lock lock(mutex_);
  const bool starves =
      !service.run.is_idle() && service.gpu.is_idle() && !service.run.wake_at() && requests_.empty() && !closing_;
  if (starves) throw PolicyError(service.run.waiting());
}

/// Awake for a moment, where that has been worth it lately: who submits one launch after the other comes back soon.
void Session::wait_for_requests(const Service& service, std::unique_lock<std::mutex>& lock) {
  const auto is_wanted = [&] { return !requests_.empty() || closing_ || !service.run.is_idle(); };
  if (is_wanted()) return;
  const auto start = std::chrono::steady_clock::now();
  const auto until = start + spin_of_thread_.begin_wait();
  lock.unlock();
  while (!is_thread_wanted_.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < until) relax();
  lock.lock();
  requested_.wait(lock, is_wanted);
  spin_of_thread_.end_wait(std::chrono::steady_clock::now() - start);
}

bool Session::take_requests(Service& service) {
  {
    std::unique_lock lock(mutex_);
    wait_for_requests(service, lock);
    is_thread_wanted_ = false;
    if (closing_ && (!given_up_.empty() || (requests_.empty() && service.run.is_idle()))) return false;
    std::swap(requests_, service.requests);
  }
  for (Request& request : service.requests) {
    std::visit([&](auto& each) { carry_out(service, each); }, request);
  }
  service.requests.clear();
  return true;
}

void Session::carry_out(Service& service, Application& application) {
  service.run.add(std::move(application), service.gpu.now());
}

void Session::carry_out(Service& service, Job& job) {
  const Time now = service.gpu.now();
  const OperationId next = service.run.submit(job.application, std::move(job.operation), now, std::move(job.code));
  service.watcher.expect(next);
  service.history.submitted(next, now);
}

void Session::carry_out(Service& service, const Withdrawal& withdrawal) {
  const Time now = service.gpu.now();
  for (const OperationId dropped : service.run.withdraw(withdrawal.application, now)) {
    service.watcher.cancel(dropped, now);
    service.history.dropped(dropped);
  }
}

/// What else runs has a moment to stop at a block boundary: the device is lost, or has to be.
void Session::carry_out(Service& service, const EndlessBlock& endless) {
  const auto stream = service.run.streams().find(endless.application);
  if (stream == service.run.streams().end() || !stream->second.current) return;
  const std::vector<OperationId> culprit{*stream->second.current};
  service.gpu.stop(patience_at_the_end);
  const BegunJobs begun(service.run, service.gpu, service.watcher);
  throw begun.blame(culprit, "job " + begun.names(culprit).front() + " does not end: " + endless.why);
}

/// What goes wrong is the caller's business, unless it is the device.
void Session::carry_out(Service& service, Call* call) {
  std::exception_ptr failure;
  std::exception_ptr of_device;
  try {
    call->task(service);
  } catch (const DeviceError&) {
    failure = of_device = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::scoped_lock lock(mutex_);
    call->failure = std::move(failure);
    call->is_done = true;
    changed_.notify_all();
  }
  if (of_device) std::rethrow_exception(of_device);
}

void Session::change_priority(Service& service, ApplicationId application, int priority) {
  blamed_on(options_.policy_name, [&] { service.run.set_priority(application, priority, service.gpu.now()); });
}

void Session::replace_policy(Service& service, const MakePolicy& make_policy, const std::string& name) {
  blamed_on(name, [&] {
    std::unique_ptr<Policy> policy = make_policy(service.world);
    service.run.hand_over(*policy, service.gpu.now());
    std::swap(service.policy, policy);
  });
  options_.policy_name = name;
}

}  // namespace gpushare
