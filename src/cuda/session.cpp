// SPDX-License-Identifier: Apache-2.0
#include "cuda/session.hpp"

#include "core/errors.hpp"
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
    : resources_(std::move(resources)), make_policy_(std::move(make_policy)), thread_([this] { serve(); }) {}

Session::~Session() {
  fail("the session has been closed");
  if (thread_.joinable()) thread_.join();
}

void Session::require_alive() const {
  if (!failure_.empty()) throw CudaError(failure_);
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
  changed_.wait_for(lock, timeout, [&] { return ended_[job] || !failure_.empty(); });
  if (!ended_[job] && !failure_.empty()) throw CudaError(failure_);
  return ended_[job];
}

SessionRecord Session::finish(Duration timeout) {
  {
    std::unique_lock lock(mutex_);
    require_alive();
    const bool done = changed_.wait_for(lock, timeout, [&] { return unfinished_ == 0 || !failure_.empty(); });
    closing_ = true;
    if (!done && failure_.empty()) failure_ = "jobs did not end in time: " + (gpu_ ? names_on_gpu(*gpu_) : "");
    if (gpu_ != nullptr) gpu_->wake();
    changed_.notify_all();
  }
  thread_.join();
  if (!failure_.empty()) throw CudaError(failure_);
  return std::move(record_);
}

void Session::fail(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  closing_ = true;
  if (failure_.empty()) failure_ = reason;
  if (gpu_ != nullptr) gpu_->wake();
  changed_.notify_all();
}

std::string Session::names_on_gpu(const CudaGpu& gpu) const {
  std::string names;
  for (const ApplicationId application : gpu.applications_on_gpu()) {
    names += (names.empty() ? "'" : ", '") + names_[index(application)] + "'";
  }
  return names.empty() ? "none" : names;
}

void Session::serve() {
  try {
    Program program;
    const auto work = std::make_shared<OpenWork>();
    const std::unique_ptr<Policy> policy =
        make_policy_(std::make_shared<std::pair<SharedContext, decltype(work)>>(resources_->context, work));
    CudaGpu gpu(*resources_, program);
    serve(gpu, program, *policy, work);
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void Session::serve(CudaGpu& gpu, Program& program, Policy& policy, std::shared_ptr<OpenWork> work) {
  TraceRecorder recorder;
  JobWatcher watcher(*this);
  std::array<RunObserver*, 2> observers{&recorder, &watcher};
  OpenRun run(gpu, policy, std::move(work), observers);
  const auto set_gpu = [this](CudaGpu* current) {
    const std::scoped_lock lock(mutex_);
    gpu_ = current;
  };
  set_gpu(&gpu);
  try {
    while (take_requests(gpu, program, run)) {
      run.advance();
      run.reach(gpu.now());
      require_progress(gpu, run);
    }
    record_.trace = recorder.take();
    if (failure_.empty()) record_.workload = run.close(record_.trace);
  } catch (const CudaError& error) {
    fail("a kernel of " + names_on_gpu(gpu) + " failed: " + error.what());
  } catch (const std::exception& error) {
    fail(error.what());
  }
  set_gpu(nullptr);
  if (!gpu.stop(patience_at_the_end)) fail("a block did not end; this process cannot use the GPU any more");
}

void Session::require_progress(const CudaGpu& gpu, const OpenRun& run) const {
  const std::scoped_lock lock(mutex_);
  const bool starves = !run.is_idle() && gpu.is_idle() && !run.wake_at() && requests_.empty();
  if (starves) throw PolicyError(run.waiting());
}

bool Session::take_requests(CudaGpu& gpu, Program& program, OpenRun& run) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !requests_.empty() || closing_ || !run.is_idle(); });
  if (closing_ && (!failure_.empty() || (requests_.empty() && run.is_idle()))) return false;
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
