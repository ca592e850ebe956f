// SPDX-License-Identifier: Apache-2.0
// What a program waits for has ended: the page says so at once, though no mark has come. So a program that has nothing
// to do is seen to have nothing, between its launches and the next ones.
#include "intercept/calls/host_waits.hpp"

#include "intercept/calls/captures.hpp"
#include "intercept/calls/events.hpp"
#include "intercept/launch_samples.hpp"
#include "intercept/phases.hpp"
#include "intercept/progress.hpp"

namespace gpushare::intercept {
namespace {

template <class Wait>
CUresult waiting(const Wait& wait) {
  const WaitMark noted(this_member());
  return wait();
}

/// Where work waits behind gates, launches that are timed have not ended when later ones are made.
void note_task(const Membership& member, CUresult result) {
  note_result(member, result);
  if (is_ordered(member)) read_samples(member);
}

/// `wait` asks the driver about the stream, as `named` names it.
template <class Wait>
CUresult waited_for_stream(CUstream stream, const Wait& wait) {
  const Membership* member = this_member();
  if (member == nullptr) return wait();
  complete_task();
  StreamWords& words = words_of(*member, stream);
  const std::uint64_t launched = words.progress->launched;
  const CUresult result = wait();
  if (result == CUDA_SUCCESS && !words.is_shared) note_end(words, launched);
  note_task(*member, result);
  return result;
}

/// `record` is the driver's call. A captured record does not count: the stream does not pass the event.
template <class Record>
CUresult recorded(CUevent event, CUstream stream, const Record& record) {
  const Membership* member = this_member();
  if (member == nullptr || is_captured(stream)) return record();
  const StreamWords& words = words_of(*member, stream);
  const std::uint64_t launched = words.progress->launched;
  const CUresult result = record();
  if (result == CUDA_SUCCESS && !words.is_shared) remember_record(event, words, launched);
  return result;
}

CUresult waited_for_event(CUevent event, decltype(real.cuEventSynchronize) wait) {
  complete_task();
  const Membership* member = this_member();
  const Recorded behind = member != nullptr ? recorded_in(event) : Recorded{};
  const CUresult result = call(wait, event);
  if (member != nullptr) note_result(*member, result);
  if (result == CUDA_SUCCESS && behind.words != nullptr) note_end(*behind.words, behind.launched);
  return result;
}

/// `wait` waits for this context; nullptr: for the current one.
template <class Wait>
CUresult waited_for_context(CUcontext context, const Wait& wait) {
  complete_task();
  const Membership* member = this_member();
  if (member == nullptr) return wait();
  if (context == nullptr && call(real.cuCtxGetCurrent, &context) != CUDA_SUCCESS) return wait();
  std::array<std::uint64_t, programs::most_streams> launched{};
  const std::size_t count = words_in_use(*member);
  for (std::size_t index = 0; index < count; ++index) launched[index] = all_words()[index].progress->launched;
  const CUresult result = wait();
  note_task(*member, result);
  if (result != CUDA_SUCCESS) return result;
  for (std::size_t index = 0; index < count; ++index) {
    StreamWords& words = all_words()[index];
    if (words.context == context && !words.is_shared) note_end(words, launched[index]);
  }
  return result;
}

}  // namespace
}  // namespace gpushare::intercept

using namespace gpushare::intercept;

extern "C" {

CUresult cuStreamSynchronize(CUstream stream) {
  return waited_for_stream(named(stream, DefaultStream::Legacy),
                           [&] { return waiting([&] { return call(real.cuStreamSynchronize, stream); }); });
}
CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  return waited_for_stream(named(stream, DefaultStream::PerThread),
                           [&] { return waiting([&] { return call(real.cuStreamSynchronize_ptsz, stream); }); });
}
CUresult cuStreamQuery(CUstream stream) {
  return waited_for_stream(named(stream, DefaultStream::Legacy), [&] { return call(real.cuStreamQuery, stream); });
}
CUresult cuStreamQuery_ptsz(CUstream stream) {
  return waited_for_stream(named(stream, DefaultStream::PerThread),
                           [&] { return call(real.cuStreamQuery_ptsz, stream); });
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return recorded(event, named(stream, DefaultStream::Legacy), [&] { return call(real.cuEventRecord, event, stream); });
}
CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
  return recorded(event, named(stream, DefaultStream::PerThread),
                  [&] { return call(real.cuEventRecord_ptsz, event, stream); });
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return recorded(event, named(stream, DefaultStream::Legacy),
                  [&] { return call(real.cuEventRecordWithFlags, event, stream, flags); });
}
CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags) {
  return recorded(event, named(stream, DefaultStream::PerThread),
                  [&] { return call(real.cuEventRecordWithFlags_ptsz, event, stream, flags); });
}
CUresult cuEventQuery(CUevent event) { return waited_for_event(event, real.cuEventQuery); }
CUresult cuEventSynchronize(CUevent event) {
  return waiting([&] { return waited_for_event(event, real.cuEventSynchronize); });
}

CUresult cuCtxSynchronize() {
  return waiting([] { return waited_for_context(nullptr, [] { return call(real.cuCtxSynchronize); }); });
}
CUresult cuCtxSynchronize_v2(CUcontext context) {
  const auto wait = [=] {  // older drivers have the other one alone
    return real.cuCtxSynchronize_v2 != nullptr ? real.cuCtxSynchronize_v2(context) : call(real.cuCtxSynchronize);
  };
  return waiting([=] { return waited_for_context(context, wait); });
}

}  // extern "C"
