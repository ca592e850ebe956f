// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/sm_groups.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "cuda/driver/driver.hpp"
#include "cuda/driver/green_contexts.hpp"

namespace gpushare::cuda {
namespace {

/// A kernel that writes 1 for its SM.
constexpr std::string_view tell_sm = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry tell_sm(.param .u64 seen)
{
  .reg .b32 %sm;
  .reg .b32 %one;
  .reg .b64 %seen;
  .reg .b64 %offset;
  ld.param.u64 %seen, [seen];
  mov.u32 %sm, %smid;
  mov.u32 %one, 1;
  mul.wide.u32 %offset, %sm, 4;
  add.u64 %seen, %seen, %offset;
  st.global.u32 [%seen], %one;
  ret;
}
)";
/// The hardware fills the emptiest SM first, so that few blocks would suffice.
constexpr unsigned blocks_per_sm = 16;
constexpr unsigned threads_of_each = 32;

constexpr unsigned smallest_group = 1;

std::vector<CUdevResource> split(const SharedContext& context) {
  CUdevResource all{};
  GPUSHARE_CU(cuDeviceGetDevResource(context->device(), &all, CU_DEV_RESOURCE_TYPE_SM));
  unsigned count = all.sm.smCount;
  std::vector<CUdevResource> groups(count);
  CUdevResource rest{};
  GPUSHARE_CU(cuDevSmResourceSplitByCount(groups.data(), &count, &all, &rest,
                                          CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, smallest_group));
  groups.resize(count);
  if (rest.type == CU_DEV_RESOURCE_TYPE_SM && rest.sm.smCount > 0) groups.push_back(rest);
  return groups;
}

/// By SM: was the kernel there?
std::vector<std::uint32_t> sms_of(const SharedContext& context, std::span<CUdevResource> groups) {
  const Drain drain = context->drain_requests().ask();  // one for all of it; and the kernel finds room
  GreenContext green(context, groups);
  const CUfunction function = green.load(tell_sm, "tell_sm");
  const auto sms = static_cast<std::size_t>(context->description().sms);
  std::vector<std::uint32_t> seen(sms);
  const DeviceMemory memory = make_device_memory(context, sms * sizeof seen[0]);
  CUdeviceptr address = memory.get();
  void* argument = &address;
  const auto blocks = static_cast<unsigned>(sms) * blocks_per_sm;
  GPUSHARE_CU(cuLaunchKernel(function, blocks, 1, 1, threads_of_each, 1, 1, 0, green.stream(), &argument, nullptr));
  GPUSHARE_CU(cuStreamSynchronize(green.stream()));
  const CurrentContext current(*context);
  GPUSHARE_CU(cuMemcpyDtoHAsync(seen.data(), address, sms * sizeof seen[0], CU_STREAM_PER_THREAD));
  GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  return seen;
}

}  // namespace

SmGroups::SmGroups(const SharedContext& context)
    : groups_(split(context)), group_of_(static_cast<std::size_t>(context->description().sms)) {
  learn(context);
  require_all_found();
}

// A context for each group would take a tenth of a second. So there is one for each binary digit of the groups'
// numbers, with all groups that have a 1 there.
void SmGroups::learn(const SharedContext& context) {
  for (std::size_t digit = 1; digit <= std::bit_floor(groups_.size()); digit *= 2) {
    std::vector<CUdevResource> chosen;
    for (std::size_t group = 1; group <= groups_.size(); ++group) {
      if ((group & digit) != 0) chosen.push_back(groups_[group - 1]);
    }
    const std::vector<std::uint32_t> seen = sms_of(context, chosen);
    for (std::size_t sm = 0; sm < group_of_.size(); ++sm) group_of_[sm] += seen[sm] * digit;
  }
}

// A missed SM would be assigned to another group.
void SmGroups::require_all_found() const {
  for (std::size_t group = 1; group <= groups_.size(); ++group) {
    const auto found = static_cast<unsigned>(std::ranges::count(group_of_, group));
    if (found == groups_[group - 1].sm.smCount) continue;
    throw CudaError("a green context of " + std::to_string(groups_[group - 1].sm.smCount) + " SMs was seen on " +
                    std::to_string(found));
  }
}

SmGroups::Within SmGroups::within(const std::vector<SmId>& sms) const {
  std::vector<std::vector<SmId>> of_group(groups_.size() + 1);
  for (const SmId sm : sms) of_group[group_of_[index(sm)]].push_back(sm);
  Within found;
  for (std::size_t group = 1; group <= groups_.size(); ++group) {
    if (of_group[group].size() != groups_[group - 1].sm.smCount) continue;
    found.groups.push_back(groups_[group - 1]);
    found.sms.insert(found.sms.end(), of_group[group].begin(), of_group[group].end());
  }
  return found;
}

}  // namespace gpushare::cuda
