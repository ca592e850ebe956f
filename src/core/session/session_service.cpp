// SPDX-License-Identifier: Apache-2.0
#include "core/session/session_service.hpp"

#include "core/model/job_names.hpp"
#include "core/session/jobs/begun_jobs.hpp"

namespace gpushare {
namespace {

/// How long a block may take to end when the session is given up.
constexpr Duration patience_at_the_end(1'000'000'000);

/// A user's policy may raise anything: that becomes a PolicyError, which names the policy if it has a name.
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

Session::Service::Service(Session& session, LiveGpu& gpu, std::unique_ptr<Policy> policy,
                          std::shared_ptr<OpenWork> work, std::shared_ptr<const void> world)
    : session_(session),
      gpu_(gpu),
      world_(std::move(world)),
      policy_(std::move(policy)),
      recorder_(session.options_.keeps_record ? std::make_optional<TraceRecorder>() : std::nullopt),
      watcher_(session.jobs_, session.options_.listener),
      history_(session.history_),
      run_(gpu, *policy_, std::move(work), observers(), recorder_ ? EndedWork::IsKept : EndedWork::IsForgotten,
           session.options_.ordering.get()) {
  watcher_.watch(run_, gpu);
  history_.watch(run_);
}

std::vector<RunObserver*> Session::Service::observers() {
  if (!recorder_) return {&history_, &watcher_};
  return {&*recorder_, &watcher_};
}

void Session::Service::serve(Session& session) {
  try {
    blamed_on(session.options_.policy_name, [&session] { serve_on_device(session); });
  } catch (SessionFailure& failure) {
    session.fail(std::move(failure));
  } catch (...) {
    session.fail(SessionFailure(std::current_exception()));
  }
  session.end_thread();
}

void Session::Service::serve_on_device(Session& session) {
  const auto work = std::make_shared<OpenWork>();
  // A policy may keep states, and with them the work. Its code goes in any case, behind the launches that use it: what
  // waits for a part of a grid would wait for ever.
  struct EndOfCode {
    OpenWork& work;
    ~EndOfCode() { work.codes.clear(); }
  };
  const EndOfCode end_of_code{*work};
  const auto world = std::make_shared<std::pair<std::shared_ptr<const Device>, std::shared_ptr<OpenWork>>>(
      session.device_.description, work);
  std::unique_ptr<Policy> policy = session.make_policy_(world);
  const std::unique_ptr<LiveGpu> gpu = session.device_.open();
  Service(session, *gpu, std::move(policy), work, world).serve_until_end();
}

void Session::Service::serve_until_end() {
  session_.set_gpu(&gpu_);
  try {
    serve_until_closed();
  } catch (const DeviceError& error) {
    session_.set_gpu(nullptr);
    const BegunJobs begun(run_, gpu_, watcher_);
    const std::vector<OperationId> suspects = begun.launches_on_device();
    const std::string message = failure_among(begun.names(suspects), error.what());
    gpu_.stop(patience_at_the_end);  // what a device refuses need not concern what runs on it
    throw begun.blame(suspects, message);
  } catch (const SessionFailure&) {
    session_.set_gpu(nullptr);
    throw;
  } catch (...) {
    session_.set_gpu(nullptr);
    gpu_.stop(patience_at_the_end);
    throw;
  }
  session_.set_gpu(nullptr);
  give_up();
  if (recorder_) leave_record();
}

void Session::Service::leave_record() {
  SessionRecord& record = session_.record_;
  record.trace = recorder_->take();
  ClosedRun closed = run_.close(record.trace);
  record.workload = std::move(closed.workload);
  record.turnarounds = std::move(closed.turnarounds);
}

void Session::Service::serve_until_closed() {
  while (take_requests()) {
    run_.advance();
    run_.reach(gpu_.now());
    forget_ended();
    require_progress();
  }
}

void Session::Service::forget_ended() {
  const std::vector<ApplicationId> ended = run_.forget_ended();
  if (ended.empty()) return;
  const std::scoped_lock lock(session_.mutex_);
  for (const ApplicationId id : ended) session_.applications_.forget(id);
}

/// Does nothing where everything has ended.
void Session::Service::give_up() {
  {
    const std::scoped_lock lock(session_.mutex_);
    if (run_.is_idle() && session_.jobs_.board().unfinished() == 0) return;
  }
  const BegunJobs before(run_, gpu_, watcher_);
  const std::vector<OperationId> running = before.on_device();
  const std::string names = joined(before.names(running));
  const bool has_stopped = gpu_.stop(patience_at_the_end);
  const BegunJobs after(run_, gpu_, watcher_);
  const std::string& reason = session_.lifecycle_.why_given_up();
  if (has_stopped) throw after.blame(running, reason + (names.empty() ? "" : "; still running: " + names));
  const std::vector<OperationId> left = after.on_device();
  const std::vector<OperationId>& endless = left.empty() ? running : left;
  throw after.blame(endless, reason + "; blocks do not end, so this process cannot use the GPU any more: " +
                                 joined(after.names(endless)));
}

void Session::Service::require_progress() const {
  const std::scoped_lock lock(session_.mutex_);
  const bool is_left_alone = !run_.is_at_rest() && !run_.wake_at() && session_.requests_.is_empty();
  if (!is_left_alone) return gpu_.goes_on();
  if (gpu_.waits_in_vain() && !session_.lifecycle_.is_closing()) throw PolicyError(run_.waiting());
}

bool Session::Service::take_requests() {
  {
    std::unique_lock lock(session_.mutex_);
    const SessionLifecycle& lifecycle = session_.lifecycle_;
    session_.requests_.await(lock, [&] { return lifecycle.is_closing() || !run_.is_at_rest(); });
    const bool has_no_work = session_.requests_.is_empty() && run_.is_idle();
    if (lifecycle.gives_up() || (lifecycle.is_closing() && has_no_work)) return false;
    session_.requests_.take(requests_);
  }
  for (Request& request : requests_) {
    std::visit([this](auto& each) { carry_out(each); }, request);
  }
  requests_.clear();
  return true;
}

void Session::Service::carry_out(Application& application) { run_.add(std::move(application), gpu_.now()); }

void Session::Service::carry_out(SubmittedJob& job) {
  const Time now = gpu_.now();
  const OperationId next =
      run_.submit(job.application, std::move(job.operation), now, std::move(job.code), job.is_held);
  watcher_.expect(next);
  history_.submitted(next, now);
  if (job.is_held) held_.emplace(watcher_.job_of(next), next);
}

void Session::Service::carry_out(const Release& release) {
  const auto found = held_.find(release.job);
  if (found == held_.end()) return;
  const OperationId operation = found->second;
  held_.erase(found);
  const Time now = gpu_.now();
  if (release.failure.empty()) return run_.release(operation, now);
  watcher_.cancel(operation, now, release.failure);
  history_.dropped(operation);
  run_.abandon(operation, now);
}

void Session::Service::carry_out(const Withdrawal& withdrawal) {
  const Time now = gpu_.now();
  for (const OperationId dropped : run_.withdraw(withdrawal.application, now)) {
    held_.erase(watcher_.job_of(dropped));
    watcher_.cancel(dropped, now);
    history_.dropped(dropped);
  }
}

/// Other launches have a moment to stop at a block boundary: the device is lost, or has to be.
void Session::Service::carry_out(const EndlessBlock& endless) {
  const auto stream = run_.streams().find(endless.application);
  if (stream == run_.streams().end() || !stream->second.current) return;
  const std::vector<OperationId> culprit{*stream->second.current};
  gpu_.stop(patience_at_the_end);
  const BegunJobs begun(run_, gpu_, watcher_);
  throw begun.blame(culprit, "job " + begun.names(culprit).front() + " does not end: " + endless.why);
}

/// An error is the caller's, unless it is the device's.
void Session::Service::carry_out(Call* call) {
  std::exception_ptr failure;
  std::exception_ptr of_device;
  try {
    call->task(*this);
  } catch (const DeviceError&) {
    failure = of_device = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::scoped_lock lock(session_.mutex_);
    call->failure = std::move(failure);
    call->is_done = true;
    session_.changed_.notify_all();
  }
  if (of_device) std::rethrow_exception(of_device);
}

void Session::Service::change_priority(ApplicationId application, int priority) {
  blamed_on(session_.options_.policy_name, [&] { run_.set_priority(application, priority, gpu_.now()); });
}

void Session::Service::replace_policy(const MakePolicy& make_policy, const std::string& name) {
  blamed_on(name, [&] {
    std::unique_ptr<Policy> policy = make_policy(world_);
    run_.hand_over(*policy, gpu_.now());
    std::swap(policy_, policy);
  });
  session_.options_.policy_name = name;
}

}  // namespace gpushare
