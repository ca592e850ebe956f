// SPDX-License-Identifier: Apache-2.0
// The best division by the contention model. Three steps, each of which begins where the one before it ended:
//
// 1. The best blocks per SM, the same on all SMs: for two kernels every vector on a grid, for more a climb from several
//    starts; from the best one, steps of one block.
// 2. The best counts of SMs, where each SM is one kernel's alone or holds the vector of step 1: steps that are halved.
// 3. Whatever is less simple than all SMs alike must promise 1 % more: the model is not that exact.
//
// Never asks the model more than `most_questions` times, so that a decision stays short: 8 kernels have more vectors
// than anybody could try.
#pragma once

#include "core/tuning/outlook.hpp"

namespace gpushare {

struct Choice {
  Division division;  ///< empty: these contenders cannot run side by side
  Outlook outlook;
};

constexpr int most_questions = 400;

/// For the contenders of the forecast. Where floors cannot all be kept, who comes off worst by his own is as fast as
/// can be; where the bounds cannot, the mean slowdown is as small.
Choice best_division(const Forecast& forecast, const Bounds& bounds);

/// The same where the model is not to be trusted that far: an equal number of SMs for each, unless other numbers, or
/// SMs that are shared, promise clearly more. On an H100 the best of five splits is 0.9 % better than equal parts in
/// the geomean of 190 pairs, and to take the model's best whenever it promises 5 % more is 0.5 % worse
/// (docs/internals/tuner.md): it does not know what kernels that wait for memory lose beside others that fill it. And
/// which launch an SM serves first, where several share it, changes with every launch. Of what is shared only vectors
/// are looked at.
Choice cautious_division(const Forecast& forecast, const Bounds& bounds);

/// Of divisions in which all SMs hold the same blocks.
Choice best_vector(const Forecast& forecast, const Bounds& bounds);

}  // namespace gpushare
