// A few threads that wait for work. One pool serves all stages of one search, so that its threads stay awake from
// stage to stage; searches in one process never share one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace symseek {

class Pool {
 public:
  explicit Pool(int threads) {
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { serve(i); });
    } catch (...) {  // the system gives no more of them; those that run must end before their places do
      end();
      throw;
    }
  }
  ~Pool() { end(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(item, thread) for every item, the caller's thread taking part. Which thread takes which item is left
  // to chance, so work must not depend on it. It waits for the items, not for the threads: on a busy machine the
  // caller simply does them all. The first exception is thrown again here.
  void each(int items, const std::function<void(int item, int thread)>& work) {
    if (items <= 1 || workers_.empty()) {
      for (int item = 0; item < items; ++item) work(item, 0);
      return;
    }
    std::lock_guard one_call_at_a_time(call_);
    std::unique_lock lock(mutex_);
    work_ = &work;
    items_ = items;
    next_ = 0;
    finished_.store(0, std::memory_order_relaxed);
    error_ = nullptr;
    calls_.fetch_add(1, std::memory_order_release);
    lock.unlock();
    wake_.notify_all();
    lock.lock();
    take(lock, 0);
    if (finished_ != items_) {  // the others' last items: they end about now
      lock.unlock();
      for (int spin = 0; spin < SPINS && finished_.load(std::memory_order_acquire) != items; ++spin) pause(spin);
      lock.lock();
    }
    done_.wait(lock, [this] { return finished_ == items_; });
    if (error_) std::rethrow_exception(error_);
  }

  // Calls work(begin, end) for as many equal parts of 0 ... count - 1 as there are threads.
  template <class Work>
  void divide(int count, const Work& work) {
    const int64_t parts = threads();
    if (parts == 1) return work(0, count);
    each(static_cast<int>(parts), [&](int part, int) {
      work(static_cast<int>(count * part / parts), static_cast<int>(count * (part + 1) / parts));
    });
  }

 private:
  void end() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      calls_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }
  // Items are few and large, so taking one under the lock costs nothing that can be measured.
  void take(std::unique_lock<std::mutex>& lock, int thread) {
    while (next_ < items_) {
      const int item = next_++;
      const auto& work = *work_;
      lock.unlock();
      std::exception_ptr error;
      try {
        work(item, thread);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error && !error_) error_ = error;
      if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == items_) done_.notify_one();
    }
  }
  void serve(int thread) {
    uint64_t seen = 0;
    for (;;) {
      // The next call often follows soon: look out for it before going to sleep, giving way to whoever needs the core.
      for (int spin = 0; spin < SPINS && calls_.load(std::memory_order_acquire) == seen; ++spin) pause(spin);
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || calls_.load(std::memory_order_relaxed) != seen; });
      if (stop_) return;
      seen = calls_.load(std::memory_order_relaxed);
      take(lock, thread);
    }
  }

  static constexpr int SPINS = 16000;  // about 200 us: the pauses between the stages of an iteration; waking costs 50
  static void pause(int spin) {
    if (spin % 64 == 63) return std::this_thread::yield();
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::vector<std::thread> workers_;
  std::mutex call_, mutex_;
  std::condition_variable wake_, done_;
  std::atomic<uint64_t> calls_{0};
  const std::function<void(int, int)>* work_ = nullptr;
  std::atomic<int> finished_{0};
  int items_ = 0, next_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

}  // namespace symseek
