// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/launch_factory.hpp"

#include <algorithm>

#include "core/model/errors.hpp"
#include "cuda/launch/original_launch.hpp"
#include "cuda/launch/worker_launch.hpp"

namespace gpushare::cuda {
namespace {

/// Anywhere on the GPU, reported on the last SMs.
OriginalSetup anywhere(const Device& device, const DeviceLaunch& code, std::int64_t sms) {
  OriginalSetup setup{.function = code.kernel->original()};
  for (std::int64_t sm = device.sms - sms; sm < device.sms; ++sm) setup.sms.push_back(static_cast<SmId>(sm));
  return setup;
}

}  // namespace

const DeviceOperation& LaunchFactory::operation_of(const Submission& submission) const {
  if (submission.code == nullptr) return program_[index(submission.id)];
  const auto* code = dynamic_cast<const SubmittedCode*>(submission.code);
  GPUSHARE_EXPECT(code != nullptr, "a GPU gets code for GPUs");
  return code->operation();
}

LaunchTraits LaunchFactory::traits_of(const Submission& submission, const DeviceLaunch& code) const {
  const BlockNeeds& needs = std::get<Launch>(*submission.operation).kernel.needs;
  return {.kernel = code.kernel->id(),
          .has_worker = code.has_worker(),
          .blocks = count(code.grid),
          .block = footprint(device(), needs),
          .max_residency = max_residency(device(), needs),
          .split = shared_memory_split(device(), needs),
          .part = code.part.get()};
}

std::unique_ptr<GpuLaunch> LaunchFactory::make(const Submission& submission) {
  const auto& code = std::get<DeviceLaunch>(operation_of(submission));
  const LaunchTraits traits = traits_of(submission, code);
  if (traits.has_worker) return std::make_unique<WorkerLaunch>(*this, submission, traits, code);
  return std::make_unique<OriginalLaunch>(*this, submission, traits, code, anywhere(device(), code, device().sms));
}

// The places of its blocks do not matter to the device: they are reported on as few SMs as hold them, since each of
// these costs two events for every observer.
std::unique_ptr<GpuLaunch> LaunchFactory::make_on_reserved_sms(const GpuLaunch& launch) {
  const auto& code = std::get<DeviceLaunch>(operation_of(launch.submission()));
  const LaunchTraits& traits = launch.traits();
  const std::int64_t sms = (traits.blocks + traits.max_residency - 1) / traits.max_residency;
  return std::make_unique<OriginalLaunch>(*this, launch.submission(), traits, code,
                                          anywhere(device(), code, std::min<std::int64_t>(sms, device().sms)));
}

std::unique_ptr<GpuLaunch> LaunchFactory::in_better_mode(const GpuLaunch& launch) {
  if (launch.has_begun()) return nullptr;
  const LaunchTraits& traits = launch.traits();
  const auto& code = std::get<DeviceLaunch>(operation_of(launch.submission()));
  const auto sms = fully_shared_sms(launch.share().wanted(), traits.max_residency);
  const auto* original =
      launch.mode() == ExecutionMode::Original ? &static_cast<const OriginalLaunch&>(launch) : nullptr;
  const bool was_chosen = original != nullptr && original->was_chosen();
  // One that was admitted, and that a plan has a share for now, obeys that share as workers.
  if (original != nullptr && !was_chosen && traits.has_worker) return make(launch.submission());
  const bool is_misplaced = was_chosen && original->wanted_sms() != sms;
  std::optional<OriginalSetup> setup;
  if (!is_misplaced) setup = setup_for(traits, code, sms, launch.share().original_up_to());
  if (setup.has_value() == was_chosen) return nullptr;
  if (was_chosen) return make(launch.submission());
  return std::make_unique<OriginalLaunch>(*this, launch.submission(), traits, code, *std::move(setup));
}

std::optional<OriginalSetup> LaunchFactory::setup_for(const LaunchTraits& traits, const DeviceLaunch& code,
                                                      const std::optional<std::vector<SmId>>& sms,
                                                      Duration original_up_to, bool is_behind_workers) const {
  if (traits.part != nullptr) return std::nullopt;
  const ModeLimits& limits = resources_.mode_limits;
  const ModeChoice choice = choose_mode(resources_.history,
                                        {.kernel = traits.kernel,
                                         .has_worker = traits.has_worker,
                                         .blocks = traits.blocks,
                                         .max_residency = traits.max_residency,
                                         .sms = sms,
                                         .original_up_to = original_up_to,
                                         .is_behind_workers = is_behind_workers},
                                        limits);
  if (choice.mode == ExecutionMode::Worker || choice.longest == Duration{}) return std::nullopt;
  std::optional<OriginalSetup> setup;
  if (sms->size() == limits.sms) {
    setup = OriginalSetup{.function = code.kernel->original(), .sms = *sms, .wanted = *sms};
  } else if (code.kernel->may_be_copied()) {
    setup = resources_.partitions.find(code.kernel, *sms, choice.expected);
  }
  if (!setup) return std::nullopt;
  setup->longest = choice.longest;
  setup->is_brief = choice.reason == ModeReason::Brief;
  return setup;
}

}  // namespace gpushare::cuda
