// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/sm_need.hpp"

#include <algorithm>
#include <cmath>

namespace gpushare {
namespace {

constexpr int least_step = 2;

/// Steps are even, as SMs come in pairs (TPCs).
int halved(int step) { return step / 4 * 2; }

}  // namespace

SteppedDown::SteppedDown(int even, double rate, const SmNeedOptions& options)
    : SmNeed(even, rate, options), step_(std::max(options.step, least_step)), enough_(even) {
  try_fewer();
}

void SteppedDown::begin_at(int sms, double rate) {
  if (keeps(rate)) enough_ = sms;
  try_fewer();
}

void SteppedDown::measured(double rate) {
  (keeps(rate) ? enough_ : too_few_) = sms_;
  try_fewer();
}

void SteppedDown::try_fewer() {
  while (step_ >= least_step && enough_ - step_ <= too_few_) step_ = halved(step_);
  if (step_ < least_step) return settle(enough_);
  sms_ = enough_ - step_;
}

SteppedUp::SteppedUp(int even, double rate, const SmNeedOptions& options) : SmNeed(even, rate, options) {
  sms_ = 1;
  if (even == 1) settle(1);
}

void SteppedUp::measured(double rate) {
  if (keeps(rate) || sms_ == even_) return settle(sms_);
  const int suggested = on_one_sm_ ? static_cast<int>(std::ceil(std::min(rate_ / rate, double(even_))))
                                   : sms_ + std::max(options_.step / 2, 1);
  on_one_sm_ = false;
  sms_ = std::clamp(suggested, sms_ + 1, even_);
  if (sms_ == even_) settle(even_);
}

}  // namespace gpushare
