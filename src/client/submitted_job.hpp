// SPDX-License-Identifier: Apache-2.0
// What Application and Job are made of.
#pragma once

#include "client/link.hpp"

namespace gpushare::client {

class RegisteredApplication {
 public:
  RegisteredApplication(std::shared_ptr<Link> link, std::string name, const Terms& terms);

  const std::shared_ptr<Link>& link() const { return link_; }
  const std::string& name() const { return name_; }
  /// The worker's handle. Throws Cancelled after cancel().
  Handle handle() const;
  void set_priority(int priority) const;
  void cancel();

 private:
  const std::shared_ptr<Link> link_;
  const std::string name_;
  Handle handle_ = 0;
  std::atomic<bool> is_cancelled_ = false;
};

class SubmittedJob {
 public:
  SubmittedJob(std::shared_ptr<RegisteredApplication> application, JobNumber number)
      : application_(std::move(application)), number_(number) {}
  SubmittedJob(const SubmittedJob&) = delete;
  SubmittedJob& operator=(const SubmittedJob&) = delete;
  ~SubmittedJob() { application_->link()->forget(number_); }

  /// False: not in this time. Throws the job's error.
  bool wait_for(std::chrono::nanoseconds timeout) const;

 private:
  [[noreturn]] void fail(const daemon::JobResult& result) const;
  [[noreturn]] void fail_with_worker(const daemon::JobResult& result) const;

  const std::shared_ptr<RegisteredApplication> application_;
  const JobNumber number_;
};

}  // namespace gpushare::client
