// SPDX-License-Identifier: Apache-2.0
// Searches for the fewest SMs on which a memory-bound application keeps the rate that it has with an even part
// (CD-search sections 4.2 and 4.3), in two ways. Each names the SMs to measure on next and is given the rate.
#pragma once

#include <algorithm>

namespace gpushare {

struct SmNeedOptions {
  int step = 2;             ///< SMs stalled at a time
  double rate_loss = 0.05;  ///< share of the rate that may be lost
};

class SmNeed {
 public:
  virtual ~SmNeed() = default;

  /// The SMs to measure the rate on next; once finished, the SMs that are needed.
  int sms() const { return sms_; }
  bool finished() const { return finished_; }

  /// The rate on sms(), in the unit of that on the even part.
  virtual void measured(double rate) = 0;

 protected:
  /// `rate` is that on `even` SMs.
  SmNeed(int even, double rate, const SmNeedOptions& options) : even_(even), rate_(rate), options_(options) {}

  /// A rate does not fall with more SMs, so a higher one on fewer SMs shows that the first measurement was too low, as
  /// where caches were cold.
  bool keeps(double rate) {
    rate_ = std::max(rate_, rate);
    return rate >= (1 - options_.rate_loss) * rate_;
  }
  void settle(int sms) {
    sms_ = sms;
    finished_ = true;
  }

  int even_;
  double rate_;
  SmNeedOptions options_;
  int sms_ = 0;

 private:
  bool finished_ = false;
};

/// Performance mode: steps down from the even part. A step that loses too much is taken back and halved, down to two
/// SMs; with steps of two from the start this is the paper's search.
class SteppedDown : public SmNeed {
 public:
  SteppedDown(int even, double rate, const SmNeedOptions& options);
  /// Begins at fewer SMs, if the rate is kept on them. If not, they may still be enough once others have fewer, too.
  void begin_at(int sms, double rate);
  void measured(double rate) override;

 private:
  void try_fewer();

  int step_;
  int enough_;
  int too_few_ = 0;
};

/// Power mode: one SM, then as many as its rate suggests, then more until the rate is kept. Fewer measurements, each of
/// which may cost throughput.
class SteppedUp : public SmNeed {
 public:
  SteppedUp(int even, double rate, const SmNeedOptions& options);
  void measured(double rate) override;

 private:
  bool on_one_sm_ = true;
};

}  // namespace gpushare
