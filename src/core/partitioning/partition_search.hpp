// SPDX-License-Identifier: Apache-2.0
// CD-search's search for a partition (section 4), told the rates on the SMs that it has asked for. Knows neither events
// nor launches: applications are numbers.
//
//   even part for each -> applications without a class give up some SMs, one after the other -> as few
//   SMs for the memory-bound as keep their rate -> the rest to the compute-bound, or unused.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/kernel_rates/off_sm_bandwidth.hpp"
#include "core/partitioning/sm_need.hpp"

namespace gpushare {

// The stall test is a classification without counters: an application is memory-bound if the rates keep up while it
// gives up SMs. Where CD-search reads hardware counters (section 4.1.1 finds trying out SM counts too slow), this takes
// one more measurement for each application, which is also the first one of its search. What counts is the loss of all
// together: of two memory-bound applications that compete for bandwidth, the one that gives up SMs is slower alone, but
// only because the other is as much faster.

/// By application; nullopt where it was not measured.
using Rates = std::vector<std::optional<double>>;

/// The sum of all losses, each as a share of the rate before.
inline double lost_together(const Rates& before, const Rates& now) {
  double lost = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before[i] && now[i]) lost += 1 - *now[i] / *before[i];
  }
  return lost;
}

/// SMs that are left in the test: about a quarter is stalled, enough for a clear answer, and soon given back. An even
/// number where there are enough, so that the search, which begins there, goes on by the paper's steps of two.
inline int sms_in_stall_test(int sms) {
  const int stalled = std::max(sms / 4, 1);
  return sms - (sms >= 4 ? (stalled + 1) / 2 * 2 : stalled);
}

/// `lost`: the loss of all together. A compute-bound application loses the share of its SMs that is stalled, a
/// memory-bound one nothing; the border is half-way.
inline BoundBy intensity_by_stall_test(int sms, double lost) {
  const double stalled = 1 - static_cast<double>(sms_in_stall_test(sms)) / sms;
  return lost > stalled / 2 ? BoundBy::Compute : BoundBy::Memory;
}

/// What is done with SMs that the memory-bound applications do not need. Auto: they go to the compute-bound ones where
/// there are any, and stay idle where there are none.
enum class SearchMode { Auto, Performance, Power };

struct SearchOptions {
  SearchMode mode = SearchMode::Auto;
  SmNeedOptions need{};
};

class PartitionSearch {
 public:
  /// `intensities`: of each application, where it is known. With one application or too few SMs there is no search.
  PartitionSearch(std::vector<std::optional<BoundBy>> intensities, int sms, const SearchOptions& options);

  /// SMs of each application, to measure on next; once finished, to stay with.
  const std::vector<int>& parts() const { return parts_; }
  bool finished() const { return stage_ == Stage::Finished; }
  /// Is this application's rate needed for the next step?
  bool needs_rate(std::size_t application) const;
  /// The rates on parts(), in any unit, of the applications that could be measured. One with blocks that are too long
  /// to be measured, at the beginning or while its own SMs are stalled, counts as compute-bound: it keeps its SMs.
  void measured(const Rates& rates);

  /// As given, or as the first measurements have shown.
  const std::vector<std::optional<BoundBy>>& intensities() const { return intensities_; }

 private:
  enum class Stage { Even, Classification, Need, Finished };

  bool all_classified() const;
  void begin_classification(const Rates& even_rates);
  void test_next();
  void begin_needs();
  void ask_for_needs();
  void finish();
  bool has(BoundBy intensity) const;
  bool leaves_idle() const;

  std::vector<std::optional<BoundBy>> intensities_;
  int sms_;
  SearchOptions options_;
  std::vector<int> even_;
  std::vector<int> parts_;
  Rates even_rates_;
  Rates test_rates_;                            // where there was a test
  std::size_t tested_ = 0;                      // the application that gives up SMs to be classified
  std::vector<std::shared_ptr<SmNeed>> needs_;  // nullptr for the compute-bound
  Stage stage_ = Stage::Even;
};

}  // namespace gpushare
