// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ordered_dispatch.hpp"

#include <utility>

#include "core/model/errors.hpp"

namespace gpushare {

void OrderedDispatch::add(const Application& application, ApplicationId expected) {
  GPUSHARE_EXPECT(ordering_.add(application) == expected, "an ordering numbers applications as the run does");
}

void OrderedDispatch::issue(ApplicationId application, const Operation& operation) {
  ordering_.issue(application, operation);
}

void OrderedDispatch::offer(const Submission& operation) {
  ordering_.offer(operation, dispatcher_.now());
  has_news_ = true;
  if (!ordering_.waits_for_all_offers()) let_go();
}

void OrderedDispatch::ended(ApplicationId application) {
  ordering_.ended(application, dispatcher_.now());
  has_news_ = true;
}

void OrderedDispatch::withdraw(ApplicationId application) {
  ordering_.withdraw(application);
  has_news_ = true;
}

void OrderedDispatch::set_priority(ApplicationId application, int priority) {
  ordering_.set_priority(application, priority);
}

void OrderedDispatch::let_go() {
  if (!std::exchange(has_news_, false)) return;
  while (const auto operation = ordering_.next(dispatcher_.now())) go(*operation);
}

void OrderedDispatch::go(const Submission& operation) {
  source_.going(operation);
  dispatcher_.submit(operation);
  announce_following(operation.application);
}

void OrderedDispatch::announce_following(ApplicationId application) {
  if (!ordering_.goes_on(application)) return;
  if (const auto next = source_.following(application)) gpu_.announce(*next);
}

}  // namespace gpushare
