// SPDX-License-Identifier: Apache-2.0
#include "cuda/session.hpp"

#include <array>

#include "core/errors.hpp"
#include "core/quoted_list.hpp"
#include "core/residency.hpp"
#include "cuda/shared_library.hpp"

namespace gpushare::cuda {
namespace {

/// How long a block may take to end when the session is given up.
constexpr Duration patience_at_the_end(1'000'000'000);

}  // namespace

/// Tells those who wait for a job that it has ended.
class Session::JobWatcher : public RunObserver {
 public:
  explicit JobWatcher(Session& session) : session_(session) {}

  void saw(const gpushare::Event& event) override {
    if (event.kind != EventKind::LaunchEnded) return;
    const std::scoped_lock lock(session_.mutex_);
    session_.ended_[index(event.operation)] = true;
    --session_.unfinished_;
    session_.changed_.notify_all();
  }

 private:
  Session& session_;
};

Session::Session(std::shared_ptr<LaunchResources> resources, MakePolicy make_policy)
    : resources_(std::move(resources)), make_policy_(std::move(make_policy)), thread_([this] { serve(); }) {
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

ApplicationId Session::add(Application application) {
  const std::scoped_lock lock(mutex_);
  require_alive();
  names_.push_back(application.name);
  requests_.emplace_back(std::move(application));
  return static_cast<ApplicationId>(names_.size() - 1);
}

std::size_t Session::submit(ApplicationId application, Launch launch, DeviceLaunch code) {
  require(max_residency(resources_->device, launch.kernel.needs) > 0,
          "kernel '" + launch.kernel.name + "': no block of it fits an SM of '" + resources_->device.name + "'");
  const std::scoped_lock lock(mutex_);
  require_alive();
  requests_.emplace_back(Job{application, std::move(launch), std::move(code)});
  ended_.push_back(false);
  ++unfinished_;
  if (gpu_ != nullptr) gpu_->wake();
  changed_.notify_all();
  return ended_.size() - 1;
}

bool Session::wait(std::size_t job, Duration timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return ended_[job] || failure_; });
  if (!ended_[job] && failure_) std::rethrow_exception(failure_);
  return ended_[job];
}

SessionRecord Session::finish(Duration timeout) {
  bool done = false;
  {
    std::unique_lock lock(mutex_);
    require_alive();
    done = changed_.wait_for(lock, timeout, [&] { return unfinished_ == 0 || failure_; });
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
  changed_.notify_all();
}

void Session::fail(std::exception_ptr failure) {
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  changed_.notify_all();
}

void Session::set_gpu(CudaGpu* gpu) {
  const std::scoped_lock lock(mutex_);
  gpu_ = gpu;
  changed_.notify_all();
}

std::string Session::names_on_gpu(const CudaGpu& gpu) const {
  const std::scoped_lock lock(mutex_);
  return quoted_list(gpu.applications_on_gpu(), [this](ApplicationId id) { return names_[index(id)]; });
}

void Session::serve() {
  try {
    Program program;
    const auto work = std::make_shared<OpenWork>();
    const std::unique_ptr<Policy> policy =
        make_policy_(std::make_shared<std::pair<SharedContext, decltype(work)>>(resources_->context, work));
    CudaGpu gpu(*resources_, program);
    serve(gpu, program, *policy, work);
  } catch (const InvalidInput&) {
    fail(std::current_exception());
  } catch (const CudaError&) {
    fail(std::current_exception());
  } catch (const PolicyError&) {
    fail(std::current_exception());
  } catch (const std::exception& error) {  // a policy of the user's may raise anything
    fail(std::make_exception_ptr(PolicyError(error.what())));
  }
}

void Session::serve(CudaGpu& gpu, Program& program, Policy& policy, std::shared_ptr<OpenWork> work) {
  TraceRecorder recorder;
  JobWatcher watcher(*this);
  std::array<RunObserver*, 2> observers{&recorder, &watcher};
  OpenRun run(gpu, policy, std::move(work), observers);
  set_gpu(&gpu);
  try {
    serve_until_closed(gpu, program, run);
  } catch (const CudaError& error) {
    const std::string names = names_on_gpu(gpu);
    set_gpu(nullptr);
    if (names.empty()) throw;
    throw CudaError("a kernel of " + names + " failed: " + error.what());
  } catch (...) {
    set_gpu(nullptr);
    gpu.stop(patience_at_the_end);
    throw;
  }
  set_gpu(nullptr);
  give_up(gpu, run);
  record_.trace = recorder.take();
  record_.workload = run.close(record_.trace);
}

void Session::serve_until_closed(CudaGpu& gpu, Program& program, OpenRun& run) {
  while (take_requests(gpu, program, run)) {
    run.advance();
    run.reach(gpu.now());
    require_progress(gpu, run);
  }
}

/// Does nothing where everything has ended.
void Session::give_up(CudaGpu& gpu, const OpenRun& run) {
  if (run.is_idle()) return;
  const std::string names = names_on_gpu(gpu);
  if (gpu.stop(patience_at_the_end)) throw CudaError(given_up_ + ": jobs of " + names + " were still running");
  throw CudaError(given_up_ + ": a block of " + names + " does not end, so this process cannot use the GPU any more");
}

void Session::require_progress(const CudaGpu& gpu, const OpenRun& run) const {
  const std::scoped_lock lock(mutex_);
  const bool starves = !run.is_idle() && gpu.is_idle() && !run.wake_at() && requests_.empty() && !closing_;
  if (starves) throw PolicyError(run.waiting());
}

bool Session::take_requests(CudaGpu& gpu, Program& program, OpenRun& run) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !requests_.empty() || closing_ || !run.is_idle(); });
  if (closing_ && (!given_up_.empty() || (requests_.empty() && run.is_idle()))) return false;
  std::deque<Request> requests = std::exchange(requests_, {});
  lock.unlock();
  for (Request& request : requests) {
    if (auto* application = std::get_if<Application>(&request)) {
      run.add(std::move(*application), gpu.now());
    } else {
      Job& job = std::get<Job>(request);
      program.emplace_back(std::move(job.code));
      run.submit(job.application, std::move(job.launch), gpu.now());
    }
  }
  return true;
}

}  // namespace gpushare::cuda
