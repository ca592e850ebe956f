// SPDX-License-Identifier: Apache-2.0
#include "daemon/session_sink.hpp"

#include <algorithm>

#include "core/model/errors.hpp"

namespace gpushare::daemon {
namespace {

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "something that is no exception of C++";
  }
}

JobStatus status_of(JobFate fate) {
  if (fate == JobFate::Culprit) return JobStatus::Culprit;
  return fate == JobFate::Suspect ? JobStatus::Suspect : JobStatus::Retryable;
}

/// A failure of the session says nothing about a job that may be submitted again, and every client is told once.
JobOutcome outcome_of(JobFate fate, const std::exception_ptr& error, const std::exception_ptr& of_session) {
  const JobStatus status = status_of(fate);
  const bool says_nothing = status == JobStatus::Retryable && error == of_session;
  return {.status = status, .message = says_nothing ? "" : text_of(error)};
}

/// When the job began, on CLOCK_MONOTONIC: the time since then is the same on every clock, except for a simulated
/// device that falls behind. 0: it never did.
std::int64_t start_of(const gpushare::JobEnd& end, std::int64_t told, std::int64_t accepted) {
  return end.began ? std::max(told - (end.now - *end.began).count(), accepted) : 0;
}

std::int64_t blocks_of(const std::array<std::uint32_t, 3>& grid) { return std::int64_t{grid[0]} * grid[1] * grid[2]; }

}  // namespace

SessionSink::SessionSink(LiveDevice device, Session::MakePolicy make_policy, SessionSinkOptions options)
    : options_(std::move(options)),
      session_(std::move(device), std::move(make_policy),
               {.listener = this, .ordering = options_.ordering, .keeps_record = options_.keeps_record}) {}

SessionSink::~SessionSink() { session_.close(); }

void SessionSink::launch(LaunchCommand&& command) {
  const auto* kernel = static_cast<const SessionKernel*>(command.kernel->code.get());
  require_lazily(kernel != nullptr,
                 [&] { return "kernel '" + command.kernel->name + "' was not made for this device"; });
  auto code = kernel->code_of ? kernel->code_of(command) : nullptr;
  const std::int64_t blocks = blocks_of(command.grid);
  submit(std::move(command), Launch{.kernel = kernel->model, .blocks = blocks}, std::move(code));
}

void SessionSink::copy(CopyCommand&& command) {
  auto code = options_.copy_code ? options_.copy_code(command) : nullptr;
  const bool is_in = command.direction == CopyDirection::In;
  const Copy operation{.direction = is_in ? Copy::Direction::ToDevice : Copy::Direction::ToHost,
                       .size = Bytes{static_cast<std::int64_t>(command.bytes)}};
  submit(std::move(command), operation, std::move(code));
}

/// The lock is held until the job is in the table: it may end at once, and job_ended() waits for the lock.
template <typename Submitted>
void SessionSink::submit(Submitted&& command, Operation operation, std::shared_ptr<const DeviceCode> code) {
  const std::scoped_lock lock(mutex_);
  const ApplicationPtr& application = command.application->in_session;
  require_lazily(application != nullptr,
                 [&] { return "application '" + command.application->name + "' is of no session"; });
  auto& of_client = applications_[command.client];
  if (of_client.insert(application).second) {  // few do: these are the applications that are there
    std::erase_if(of_client, [&](const ApplicationPtr& each) { return each != application && each->is_withdrawn(); });
  }
  try {
    const ApplicationId number = application->arrive_with(operation);
    const JobId job = session_.submit(number, std::move(operation), std::move(code));
    unfinished_.emplace(job, std::move(command));
  } catch (const Cancelled& cancelled) {
    command.reply.complete({.status = JobStatus::Withdrawn, .message = cancelled.what()});
  } catch (const InvalidInput&) {
    throw;
  } catch (const std::exception&) {  // an error of the session, caused by an earlier job
    command.reply.complete(outcome_of(JobFate::NotRun, std::current_exception(), session_.failure()));
  }
}

void SessionSink::job_ended(const gpushare::JobEnd& end) {
  const std::int64_t told = monotonic_now();
  std::unique_lock lock(mutex_);
  const auto found = unfinished_.find(end.job);
  if (found == unfinished_.end()) return;  // not submitted through this sink
  Command command = std::move(found->second);
  unfinished_.erase(found);
  lock.unlock();
  const std::int64_t accepted = std::visit([](const auto& each) { return each.reply.accepted(); }, command);
  const std::int64_t started = start_of(end, told, accepted);
  if (auto* launch = std::get_if<LaunchCommand>(&command)) launch->arrays.clear();  // before the client may free them
  if (end.is_cancelled) {
    std::visit(
        [&](auto& each) {
          each.reply.complete({.status = JobStatus::Withdrawn,
                               .started = started,
                               .message = "application '" + each.application->name + "' has been cancelled"});
        },
        command);
  } else if (auto* copy = std::get_if<CopyCommand>(&command); copy != nullptr && !options_.copy_code) {
    copier_.copy(std::move(*copy), started);
  } else {
    std::visit([&](auto& each) { each.reply.complete({.started = started}); }, command);
  }
}

/// The thread that waits for the failure ends the process, so the failure is published last, and culprits are the first
/// jobs to be reported. A client's ring may not have room for all, and the rest is never reported.
void SessionSink::session_failed(const SessionFailure& failure) {
  std::unique_lock lock(mutex_);
  auto unfinished = std::exchange(unfinished_, {});
  lock.unlock();
  std::vector<std::pair<JobFate, JobId>> jobs;
  for (const auto& [job, command] : unfinished) jobs.emplace_back(failure.fate_of(job), job);
  std::ranges::sort(jobs, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;  // the gravest fate first
  });
  for (const auto& [fate, job] : jobs) {
    const JobOutcome outcome = outcome_of(fate, failure.error_of(job), failure.cause());
    std::visit([&](auto& each) { each.reply.complete(outcome); }, unfinished.at(job));
  }
  lock.lock();
  failure_ = failure.cause();
  failed_.notify_all();
}

std::exception_ptr SessionSink::wait_failure(Duration timeout) {
  std::unique_lock lock(mutex_);
  failed_.wait_for(lock, timeout, [&] { return failure_ != nullptr; });
  return failure_;
}

void SessionSink::client_gone(ClientId client) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = applications_.find(client);
  if (found == applications_.end()) return;
  const auto gone = std::move(found->second);
  applications_.erase(found);
  lock.unlock();
  for (const ApplicationPtr& application : gone) application->withdraw();
}

}  // namespace gpushare::daemon
