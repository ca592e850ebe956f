// SPDX-License-Identifier: Apache-2.0
// CD-search's search for a partition (section 4), told the rates on the SMs that it has asked for. Knows neither events
// nor launches: applications are numbers.
//
//   even part for each -> who is not classified gives up a quarter of it, and memory-bound is who loses less than half
//   of that -> as few SMs for the memory-bound as keep their rate -> the rest to the compute-bound, or to nobody.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/policies/sm_need.hpp"
#include "core/predictors/off_sm_bandwidth.hpp"

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
  PartitionSearch(std::vector<std::optional<Intensity>> intensities, int sms, const SearchOptions& options);

  /// SMs of each application, to measure on next; once finished, to stay with.
  const std::vector<int>& parts() const { return parts_; }
  bool finished() const { return stage_ == Stage::Finished; }
  /// Must this application's rate be known before measured()?
  bool needs_rate(std::size_t application) const;
  /// The rates on parts(), in any unit; those that are not needed may be anything.
  void measured(std::span<const double> rates);

  /// As given, or as found out by the first measurements.
  const std::vector<std::optional<Intensity>>& intensities() const { return intensities_; }

 private:
  enum class Stage { Even, Classification, Need, Finished };

  bool all_classified() const;
  void classify(std::span<const double> rates);
  void begin_needs(std::span<const double> rates);
  void ask_for_needs();
  void finish();
  bool has(Intensity intensity) const;
  bool leaves_idle() const;

  std::vector<std::optional<Intensity>> intensities_;
  int sms_;
  SearchOptions options_;
  std::vector<int> even_;
  std::vector<int> parts_;
  std::vector<double> even_rates_;
  std::vector<std::shared_ptr<SmNeed>> needs_;  // nullptr for the compute-bound
  Stage stage_ = Stage::Even;
};

}  // namespace gpushare
