// SPDX-License-Identifier: Apache-2.0
// Static-priority preemptive scheduling (EffiSha section 7): the application with the highest priority has the GPU to
// itself, and one that arrives with a higher priority takes it over at block boundary. Equal priorities are served in
// order of arrival, each to its end.
//
// Options: queue_gets_leftover=yes lets the others use, in order of priority, the SMs that are free once all
// higher-ranked launches have started their last block; a GPU of the paper's time could not do that for other
// processes.
//
// Suits: few urgent applications among patient ones. Fails: low priorities starve while higher ones keep arriving.
#include <algorithm>

#include "core/policy_support/options.hpp"
#include "core/priorities/requests.hpp"

namespace gpushare {
namespace {

class EffishaStatic : public Policy {
 public:
  explicit EffishaStatic(const PolicyOptions& options)
      : leftover_(options.word("queue_gets_leftover", "may the others have the SM room that the current one leaves",
                               {"no", "yes"}) == "yes") {}

  void observe(const Event& event, const State& state) override { requests_.observe(event, state); }

  Plan decide(const State& state) const override {
    std::vector<const Request*> order;
    for (const auto& [id, request] : requests_.all()) {
      if (request.is_there()) order.push_back(&request);
    }
    std::ranges::stable_sort(order, [](const Request* left, const Request* right) {
      return left->priority != right->priority ? left->priority > right->priority : left->arrival < right->arrival;
    });
    if (!leftover_) order.resize(1);
    Plan plan;
    for (const Request* request : order) add_shares(plan, *request, state);
    return plan;
  }

 private:
  Requests requests_;
  bool leftover_;
};

}  // namespace

std::unique_ptr<Policy> make_effisha_static(const PolicyOptions& options) {
  return std::make_unique<EffishaStatic>(options);
}

}  // namespace gpushare
