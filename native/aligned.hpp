// Numbers that begin where a cache line does: eight of them, loaded at once, then touch one line and not two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace symseek {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t LINE{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), LINE)); }
  void deallocate(T* at, size_t) { ::operator delete(at, LINE); }
  bool operator==(const LineAllocator&) const { return true; }
};

using Doubles = std::vector<double, LineAllocator<double>>;

}  // namespace symseek
