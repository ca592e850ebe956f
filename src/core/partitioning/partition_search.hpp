// SPDX-License-Identifier: Apache-2.0
// CD-search's search for a partition (section 4), told the rates on the SMs that it has asked for. Knows neither events
// nor launches: applications are numbers.
//
//   even part for each -> who is not classified yet gives up some SMs, one after the other (stall_test.hpp) -> as few
//   SMs for the memory-bound as keep their rate -> the rest to the compute-bound, or to nobody.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/kernel_rates/off_sm_bandwidth.hpp"
#include "core/partitioning/sm_need.hpp"
#include "core/partitioning/stall_test.hpp"

namespace gpushare {

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
  /// The rates on parts(), in any unit, of those who could be measured. Who cannot be, at the beginning or while its
  /// own SMs are stalled, as its blocks last too long, is taken for compute-bound: nothing is taken away from it.
  void measured(const Rates& rates);

  /// As given, or as found out by the first measurements.
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
  std::size_t tested_ = 0;                      // who gives up SMs to be classified
  std::vector<std::shared_ptr<SmNeed>> needs_;  // nullptr for the compute-bound
  Stage stage_ = Stage::Even;
};

}  // namespace gpushare
