// SPDX-License-Identifier: Apache-2.0
#include "core/session/session.hpp"

#include <array>
#include <future>

#include "core/quoted_list.hpp"
#include "core/residency.hpp"
#include "core/session/job_watcher.hpp"

namespace gpushare {
namespace {

/// How long a block may take to end when the session is given up.
constexpr Duration patience_at_the_end(1'000'000'000);

void require_runnable(const Operation& operation, const Device& device) {
  const auto* launch = std::get_if<Launch>(&operation);
  if (launch == nullptr) return require(std::get<Copy>(operation).size.count > 0, "a copy needs at least a byte");
  require(max_residency(device, launch->kernel.needs) > 0,
          "kernel '" + launch->kernel.name + "': no block of it fits an SM of '" + device.name + "'");
  require(launch->blocks > 0, "kernel '" + launch->kernel.name + "': a launch needs at least one block");
}

}  // namespace

/// What the session's thread works with.
struct Session::Service {
  Service(Session& session, LiveGpu& device, std::unique_ptr<Policy> first, std::shared_ptr<OpenWork> work,
          std::shared_ptr<const void> owner)
      : gpu(device),
        world(std::move(owner)),
        policy(std::move(first)),
        watcher(session.mutex_, session.changed_, session.jobs_, session.options_.listener),
        run(gpu, *policy, std::move(work), observers(session.options_.keeps_record),
            session.options_.keeps_record ? EndedWork::IsKept : EndedWork::IsForgotten) {
    watcher.watch(run);
  }

  std::vector<RunObserver*> observers(bool keeps_record) {
    if (!keeps_record) return {&watcher};
    return {&recorder, &watcher};
  }

  LiveGpu& gpu;
  std::shared_ptr<const void> world;
  std::unique_ptr<Policy> policy;
  TraceRecorder recorder;
  JobWatcher watcher;
  OpenRun run;
  std::vector<Request> requests;  // being carried out
};

Session::Session(LiveDevice device, MakePolicy make_policy, SessionOptions options)
    : device_(std::move(device)),
      make_policy_(std::move(make_policy)),
      options_(options),
      thread_([this] { serve(); }) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return gpu_ != nullptr || failure_; });
  if (!failure_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(failure_);
}

void Session::require_alive() const {
  if (failure_) std::rethrow_exception(failure_);
  require(!closing_, "the session has been finished: open another one");
}

void Session::require_present(ApplicationId application) const {
  const Known& known = applications_.at(index(application));
  if (known.is_withdrawn) throw Cancelled("application '" + known.name + "' has been cancelled");
}

void Session::push(Request request) {
  const bool is_first = requests_.empty();  // the thread has been woken for those before, and has not seen to them yet
  requests_.push_back(std::move(request));
  if (!is_first) return;
  if (gpu_ != nullptr) gpu_->wake();
  requested_.notify_one();
}

ApplicationId Session::add(Application application) {
  const std::scoped_lock lock(mutex_);
  require_alive();
  applications_.push_back({application.name});
  push(std::move(application));
  return static_cast<ApplicationId>(applications_.size() - 1);
}

JobId Session::submit(ApplicationId application, Operation operation, std::shared_ptr<const DeviceCode> code) {
  require_runnable(operation, *device_.description);
  const std::scoped_lock lock(mutex_);
  require_alive();
  require_present(application);
  push(Job{application, std::move(operation), std::move(code)});
  return jobs_.open();
}

void Session::withdraw(ApplicationId application) {
  const std::scoped_lock lock(mutex_);
  Known& known = applications_.at(index(application));
  if (failure_ || closing_ || known.is_withdrawn) return;
  known.is_withdrawn = true;
  push([this, application](Service& service) { drop(service, application); });
}

void Session::set_priority(ApplicationId application, int priority) {
  call([application, priority](Service& service) {
    service.run.set_priority(application, priority, service.gpu.now());
  });
}

void Session::set_policy(MakePolicy make_policy) {
  call([this, &make_policy](Service& service) { replace_policy(service, make_policy); });
}

SessionStatus Session::status() {
  SessionStatus status;
  call([&status](Service& service) { status = status_of(service.run, service.gpu.now()); });
  return status;
}

void Session::call(Task task) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> result = done->get_future();
  {
    const std::scoped_lock lock(mutex_);
    require_alive();
    push([task = std::move(task), done](Service& service) {
      try {
        task(service);
        done->set_value();
      } catch (const DeviceError&) {
        done->set_exception(std::current_exception());
        throw;  // the session fails with it
      } catch (...) {
        done->set_exception(std::current_exception());
      }
    });
  }
  done.reset();
  try {
    result.get();
  } catch (const std::future_error&) {  // the session has ended before
    const std::scoped_lock lock(mutex_);
    require_alive();
    throw;
  }
}

bool Session::wait(JobId job, Duration timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return jobs_.is_over(job) || failure_; });
  if (jobs_.is_over(job)) {
    jobs_.require_not_cancelled(job);
    return true;
  }
  if (failure_) std::rethrow_exception(failure_);
  return false;
}

SessionRecord Session::finish(Duration timeout) {
  bool done = false;
  {
    std::unique_lock lock(mutex_);
    require_alive();
    done = changed_.wait_for(lock, timeout, [&] { return jobs_.unfinished() == 0 || failure_; });
  }
  end(done ? "" : "jobs did not end in time");
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
  return std::move(record_);
}

void Session::close() {
  if (!thread_.joinable()) return;
  end("the session has been closed");
  thread_.join();
}

/// With a reason, what has not ended is given up.
void Session::end(std::string reason) {
  const std::scoped_lock lock(mutex_);
  closing_ = true;
  given_up_ = std::move(reason);
  if (gpu_ != nullptr) gpu_->wake();
  requested_.notify_one();
}

void Session::fail(std::exception_ptr failure) {
  std::exception_ptr first;
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = first = std::move(failure);
    changed_.notify_all();
  }
  if (first && options_.listener != nullptr) options_.listener->session_failed(first);
}

void Session::set_gpu(LiveGpu* gpu) {
  const std::scoped_lock lock(mutex_);
  gpu_ = gpu;
  changed_.notify_all();
}

std::string Session::names_on_gpu(const LiveGpu& gpu) const {
  const std::scoped_lock lock(mutex_);
  return quoted_list(gpu.applications_on_gpu(), [this](ApplicationId id) { return applications_[index(id)].name; });
}

void Session::serve() {
  try {
    const auto work = std::make_shared<OpenWork>();
    const auto world = std::make_shared<std::pair<std::shared_ptr<const Device>, std::shared_ptr<OpenWork>>>(
        device_.description, work);
    std::unique_ptr<Policy> policy = make_policy_(world);
    const std::unique_ptr<LiveGpu> gpu = device_.open();
    serve(*gpu, std::move(policy), work, world);
  } catch (const InvalidInput&) {
    fail(std::current_exception());
  } catch (const DeviceError&) {
    fail(std::current_exception());
  } catch (const PolicyError&) {
    fail(std::current_exception());
  } catch (const std::exception& error) {  // a policy of the user's may raise anything
    fail(std::make_exception_ptr(PolicyError(error.what())));
  }
  // Who waits for one of these learns that it will not be done.
  std::unique_lock lock(mutex_);
  const std::vector<Request> left = std::exchange(requests_, {});
  lock.unlock();
}

void Session::serve(LiveGpu& gpu, std::unique_ptr<Policy> policy, const std::shared_ptr<OpenWork>& work,
                    const std::shared_ptr<const void>& world) {
  Service service(*this, gpu, std::move(policy), work, world);
  set_gpu(&gpu);
  try {
    serve_until_closed(service);
  } catch (const DeviceError& error) {
    const std::string names = names_on_gpu(gpu);
    set_gpu(nullptr);
    if (names.empty()) throw;
    gpu.fail("a kernel of " + names + " failed: " + error.what());
  } catch (...) {
    set_gpu(nullptr);
    gpu.stop(patience_at_the_end);
    throw;
  }
  set_gpu(nullptr);
  give_up(service);
  if (!options_.keeps_record) return;
  record_.trace = service.recorder.take();
  record_.workload = service.run.close(record_.trace);
}

void Session::serve_until_closed(Service& service) {
  while (take_requests(service)) {
    service.run.advance();
    service.run.reach(service.gpu.now());
    require_progress(service);
  }
}

/// Does nothing where everything has ended.
void Session::give_up(const Service& service) {
  if (service.run.is_idle()) {
    std::unique_lock lock(mutex_);
    if (jobs_.unfinished() == 0) return;
    lock.unlock();
    service.gpu.fail(given_up_);  // before what was submitted last could begin
  }
  const std::string names = names_on_gpu(service.gpu);
  if (service.gpu.stop(patience_at_the_end)) {
    service.gpu.fail(given_up_ + ": jobs of " + names + " were still running");
  }
  service.gpu.fail(given_up_ + ": a block of " + names + " does not end, so this process cannot use the GPU any more");
}

void Session::require_progress(const Service& service) const {
  const std::scoped_lock lock(mutex_);
  const bool starves =
      !service.run.is_idle() && service.gpu.is_idle() && !service.run.wake_at() && requests_.empty() && !closing_;
  if (starves) throw PolicyError(service.run.waiting());
}

bool Session::take_requests(Service& service) {
  {
    std::unique_lock lock(mutex_);
    requested_.wait(lock, [&] { return !requests_.empty() || closing_ || !service.run.is_idle(); });
    if (closing_ && (!given_up_.empty() || (requests_.empty() && service.run.is_idle()))) return false;
    std::swap(requests_, service.requests);
  }
  for (Request& request : service.requests) carry_out(service, request);
  service.requests.clear();
  return true;
}

void Session::carry_out(Service& service, Request& request) {
  if (auto* job = std::get_if<Job>(&request)) {
    service.watcher.expect(
        service.run.submit(job->application, std::move(job->operation), service.gpu.now(), std::move(job->code)));
  } else if (auto* application = std::get_if<Application>(&request)) {
    service.run.add(std::move(*application), service.gpu.now());
  } else {
    std::get<Task>(request)(service);
  }
}

void Session::drop(Service& service, ApplicationId application) {
  const std::vector<OperationId> dropped = service.run.withdraw(application, service.gpu.now());
  for (const OperationId operation : dropped) service.watcher.cancel(operation, service.gpu.now());
}

void Session::replace_policy(Service& service, const MakePolicy& make_policy) {
  std::unique_ptr<Policy> policy = make_policy(service.world);
  service.run.hand_over(*policy, service.gpu.now());
  std::swap(service.policy, policy);
}

}  // namespace gpushare
