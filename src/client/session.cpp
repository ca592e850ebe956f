// SPDX-License-Identifier: Apache-2.0
#include "client/allocation.hpp"
#include "client/registered_kernel.hpp"
#include "client/submitted_job.hpp"

namespace gpushare::client {

Session::Session(const Options& options) : link_(Link::open(options)), memory_patience_(options.memory_patience) {}

const std::string& Session::device() const { return link_->device(); }

Application Session::application(std::string_view name, const Terms& terms) {
  return Application(std::make_shared<RegisteredApplication>(link_, std::string(name), terms));
}

Memory Session::allocate(std::size_t bytes) {
  const double patience = std::chrono::duration<double>(memory_patience_).count();
  const Handle handle =
      link_->request_handle("array", {{"shape", {bytes}}, {"dtype", "|u1"}, {"patience_s", patience}});
  return Memory(std::make_unique<Allocation>(link_, handle, bytes));
}

PinnedMemory Session::pin(std::size_t bytes) { return PinnedMemory(std::make_shared<PinnedBlock>(link_, bytes)); }

Kernel Session::kernel(std::string_view source, std::string_view name, const KernelOptions& options) {
  return Kernel(
      std::make_unique<RegisteredKernel>(link_, std::string(name), std::as_bytes(std::span(source)), false, options));
}

Kernel Session::cubin(std::span<const std::byte> code, std::string_view name, const KernelOptions& options) {
  return Kernel(std::make_unique<RegisteredKernel>(link_, std::string(name), code, true, options));
}

void Session::synchronize() {
  while (!synchronize_for(std::chrono::nanoseconds::max())) {
  }
}

bool Session::synchronize_for(std::chrono::nanoseconds timeout) {
  const JobNumber fence = link_->fence();
  const auto result = link_->wait(fence, timeout);
  link_->forget(fence);
  if (!result) return false;
  if (result->is_lost) std::rethrow_exception(link_->wait_for_loss().error);
  if (result->status != daemon::JobStatus::Done) throw DeviceError(result->message);
  return true;
}

Kernel::Kernel(std::unique_ptr<RegisteredKernel> kernel) : kernel_(std::move(kernel)) {}
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;
Kernel::~Kernel() = default;

const std::string& Kernel::name() const { return in_place(kernel_, "kernel").name(); }

void Kernel::load() { in_place(kernel_, "kernel").load(); }

}  // namespace gpushare::client
