// SPDX-License-Identifier: Apache-2.0
#include "client/launch_limits.hpp"
#include "client/registered_kernel.hpp"
#include "client/submitted_job.hpp"

namespace gpushare::client {
namespace {

Json fields_of(const std::string& name, const Terms& terms) {
  Json fields{{"name", name}, {"priority", terms.priority}, {"weight", terms.weight}};
  if (terms.deadline) fields["deadline_ns"] = static_cast<double>(terms.deadline->count());
  if (terms.min_speed) fields["min_speed"] = *terms.min_speed;
  if (terms.latency) fields["latency_ns"] = static_cast<double>(terms.latency->count());
  return fields;
}

}  // namespace

RegisteredApplication::RegisteredApplication(std::shared_ptr<Link> link, std::string name, const Terms& terms)
    : link_(std::move(link)), name_(std::move(name)) {
  handle_ = link_->request_handle("application", fields_of(name_, terms));
}

Handle RegisteredApplication::handle() const {
  if (is_cancelled_) throw Cancelled("application '" + name_ + "' has been cancelled");
  return handle_;
}

void RegisteredApplication::set_priority(int priority) const {
  link_->request("own_priority", {{"application", handle()}, {"priority", priority}});
}

void RegisteredApplication::cancel() {
  if (is_cancelled_.exchange(true)) return;
  link_->request("cancel", {{"application", handle_}, {"after", link_->last_job()}});
}

bool SubmittedJob::wait_for(std::chrono::nanoseconds timeout) const {
  const auto result = application_->link()->wait(number_, timeout);
  if (!result) return false;
  if (result->is_lost || result->status != daemon::JobStatus::Done) fail(*result);
  return true;
}

void SubmittedJob::fail(const daemon::JobResult& result) const {
  if (result.is_lost) fail_with_worker(result);
  switch (result.status) {
    case daemon::JobStatus::Refused:
      throw InvalidInput(result.message);
    case daemon::JobStatus::Withdrawn:
      throw Cancelled(result.message);
    case daemon::JobStatus::Retryable:
    case daemon::JobStatus::Suspect:
    case daemon::JobStatus::Culprit:
      fail_with_worker(result);
    default:
      throw DeviceError(result.message);
  }
}

/// The worker says why it ends after it has told the ends of jobs.
void SubmittedJob::fail_with_worker(const daemon::JobResult& result) const {
  const Loss& loss = application_->link()->wait_for_loss();
  const bool may_run_again = !result.is_lost && result.status == daemon::JobStatus::Retryable;
  const bool is_culprit =
      result.is_lost ? !loss.culprit.empty() && loss.culprit == application_->name() : !may_run_again;
  if (is_culprit && loss.failure != nullptr) std::rethrow_exception(loss.failure);
  if (is_culprit) throw DeviceError(result.message);
  if (may_run_again && loss.failure != nullptr && !result.message.empty()) throw WorkerLostError(result.message);
  std::rethrow_exception(loss.error);
}

Job::Job(std::unique_ptr<SubmittedJob> job) : job_(std::move(job)) {}
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;
Job::~Job() = default;

void Job::wait() {
  while (!wait_for(longest_wait)) {
  }
}

bool Job::wait_for(std::chrono::nanoseconds timeout) { return in_place(job_, "job").wait_for(timeout); }

Application::Application(std::shared_ptr<RegisteredApplication> application) : application_(std::move(application)) {}

const std::string& Application::name() const { return application_->name(); }

Job Application::launch(const Kernel& kernel, const Geometry& geometry, std::span<const Argument> arguments) {
  RegisteredKernel& registered = in_place(kernel.kernel_, "kernel");
  Link& link = *application_->link();
  if (registered.link().get() != &link) {
    throw InvalidInput("kernel '" + registered.name() + "' belongs to another session than application '" + name() +
                       "'");
  }
  const ArgumentPacker& packer = registered.launches(geometry.block, geometry.shared_bytes);
  require_grid(registered.name(), geometry.grid);
  thread_local PackedArguments packed;  // its memory is used again
  packer.pack(arguments, link, packed);
  const JobNumber number = link.launch({.application = application_->handle(),
                                        .kernel = packer.kernel(),
                                        .grid = geometry.grid.values,
                                        .arguments = packed.bytes,
                                        .arrays = packed.arrays});
  return Job(std::make_unique<SubmittedJob>(application_, number));
}

void Application::set_priority(int priority) { application_->set_priority(priority); }

void Application::cancel() { application_->cancel(); }

}  // namespace gpushare::client
