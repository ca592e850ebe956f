// SPDX-License-Identifier: Apache-2.0
#include "core/trace/device_events.hpp"

#include <algorithm>
#include <numeric>

#include "core/model/errors.hpp"

namespace gpushare {

std::vector<Trace> traces_by_device(const Trace& trace, const std::vector<int>& sms) {
  std::vector<int> end(sms.size());  // by device: the first SM behind it
  std::partial_sum(sms.begin(), sms.end(), end.begin());
  std::vector<Trace> traces(sms.size());
  auto decision = trace.decisions.begin();
  for (std::size_t position = 0; position < trace.events.size(); ++position) {
    Event event = trace.events[position];
    const int sm = static_cast<int>(event.sm);
    require(sm >= 0 && !end.empty() && sm < end.back(),
            "this trace is of other devices: it has an SM " + std::to_string(sm) + " that they do not have");
    const auto device = static_cast<std::size_t>(std::ranges::upper_bound(end, sm) - end.begin());
    Trace& own = traces[device];
    event.sm = static_cast<SmId>(sm - (end[device] - sms[device]));
    own.events.push_back(event);
    for (; decision != trace.decisions.end() && decision->after_event == position; ++decision) {
      own.decisions.push_back({own.events.size() - 1, decision->plan});
    }
  }
  return traces;
}

}  // namespace gpushare
