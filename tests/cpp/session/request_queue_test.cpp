// SPDX-License-Identifier: Apache-2.0
#include "core/session/request_queue.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "core/session/realtime_simulated_gpu.hpp"
#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;
using namespace std::chrono_literals;

class RequestQueueTest : public testing::Test {
 protected:
  /// As the session's thread takes them.
  std::vector<int> next() {
    std::unique_lock lock(mutex_);
    queue_.await(lock, [&] { return is_closing_; });
    std::vector<int> taken;
    queue_.take(taken);
    return taken;
  }

  std::mutex mutex_;
  RequestQueue<int> queue_;
  bool is_closing_ = false;
};

TEST_F(RequestQueueTest, RequestsAreTakenOnceAndInTheirOrder) {
  constexpr int all = 2000;
  std::jthread pushing([&] {
    for (int i = 0; i < all; ++i) {
      if (i % 500 == 0) std::this_thread::sleep_for(1ms);  // the other one sleeps
      const std::scoped_lock lock(mutex_);
      queue_.push(i);
    }
  });
  int expected = 0;
  while (expected < all) {
    for (const int each : next()) ASSERT_EQ(each, expected++);
  }
}

TEST_F(RequestQueueTest, WakeEndsTheWaitWithoutARequestWhereThereIsReason) {
  std::jthread closing([&] {
    std::this_thread::sleep_for(1ms);
    const std::scoped_lock lock(mutex_);
    queue_.wake();  // without a reason, which ends nothing
    is_closing_ = true;
    queue_.wake();
  });
  EXPECT_EQ(next(), std::vector<int>());
  EXPECT_EQ(next(), std::vector<int>());  // at once
}

TEST_F(RequestQueueTest, RequestWakesTheThreadInItsDevice) {
  const std::unique_ptr<LiveGpu> gpu = realtime_device(small_device(), 1, 1.0).open();
  queue_.set_gpu(gpu.get());
  EXPECT_TRUE(queue_.has_gpu());
  std::jthread pushing([&] {
    std::this_thread::sleep_for(1ms);
    const std::scoped_lock lock(mutex_);
    queue_.push(7);
  });
  EXPECT_EQ(gpu->next_event(Time::max()), std::nullopt);
  EXPECT_EQ(next(), std::vector{7});
}

}  // namespace
}  // namespace gpushare
