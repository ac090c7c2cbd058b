// A few threads that wait for work. One pool belongs to one engine, so searches in one process never share one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace symseek {

class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { serve(i); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(item, thread) for every item, the caller's thread taking part. Which thread takes which item is
  // left to chance, so work must not depend on it. The first exception is thrown again here.
  void each(int items, const std::function<void(int item, int thread)>& work) {
    if (items <= 1 || workers_.empty()) {
      for (int item = 0; item < items; ++item) work(item, 0);
      return;
    }
    {
      std::lock_guard lock(mutex_);
      work_ = &work;
      items_ = items;
      next_.store(0, std::memory_order_relaxed);
      busy_ = static_cast<int>(workers_.size());
      error_ = nullptr;
      ++generation_;
    }
    wake_.notify_all();
    take(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    work_ = nullptr;
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void take(int thread) {
    for (int item; (item = next_.fetch_add(1, std::memory_order_relaxed)) < items_;) {
      try {
        (*work_)(item, thread);
      } catch (...) {
        std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
    }
  }
  void serve(int thread) {
    uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
        if (stop_) return;
        seen = generation_;
      }
      take(thread);
      std::lock_guard lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int, int)>* work_ = nullptr;
  std::atomic<int> next_{0};
  int items_ = 0;
  int busy_ = 0;
  uint64_t generation_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

}  // namespace symseek
