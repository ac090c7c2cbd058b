// NumPy arrays as the bindings take them: of one type, C-contiguous, and of the sizes that a call asks for.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "checks.hpp"

namespace symseek {

template <class T>
using In = nanobind::ndarray<const T, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Out = nanobind::ndarray<T, nanobind::c_contig, nanobind::device::cpu>;

// An array that lies as C++ wants it, with the sizes that are asked for.
template <class Array>
const Array& shaped(const Array& array, const char* name, std::initializer_list<size_t> wanted) {
  bool fits = array.ndim() == wanted.size();
  for (size_t axis = 0; fits && axis < array.ndim(); ++axis) fits = array.shape(axis) == wanted.begin()[axis];
  if (!fits) {
    const auto text = [](const size_t* sizes, size_t count) {
      std::string out = "(";
      for (size_t i = 0; i < count; ++i) out += std::to_string(sizes[i]) + (i + 1 < count ? ", " : "");
      return out + ")";
    };
    std::vector<size_t> found(array.ndim());
    for (size_t axis = 0; axis < found.size(); ++axis) found[axis] = array.shape(axis);
    refuse("`" + std::string(name) + "` has shape " + text(found.data(), found.size()) + "; it must be " +
           text(wanted.begin(), wanted.size()));
  }
  if (reinterpret_cast<uintptr_t>(array.data()) % sizeof(typename Array::Scalar) != 0)
    refuse("`" + std::string(name) + "` is not aligned in memory; give a copy of it");
  return array;
}

// The size of one axis of an array of two.
template <class Array>
int axis(const Array& array, const char* name, size_t which) {
  if (array.ndim() != 2 || array.shape(0) > INT_MAX || array.shape(1) > INT_MAX)
    refuse("`" + std::string(name) + "` must have 2 dimensions, and not " + std::to_string(array.ndim()));
  return static_cast<int>(array.shape(which));
}

struct Memory {
  template <class Array>
  Memory(const Array& array)
      : begin(reinterpret_cast<uintptr_t>(array.data())), end(begin + array.size() * sizeof(typename Array::Scalar)) {}
  uintptr_t begin, end;
};

// Refuses arrays to fill that lie in one another, or in what is read while they are filled.
inline void check_apart(std::initializer_list<Memory> filled, std::initializer_list<Memory> read) {
  for (const Memory* one = filled.begin(); one != filled.end(); ++one) {
    const auto meets = [one](const Memory& other) { return one->begin < other.end && other.begin < one->end; };
    if (std::any_of(one + 1, filled.end(), meets) || std::any_of(read.begin(), read.end(), meets))
      refuse("an array to fill shares its memory with another array");
  }
}

}  // namespace symseek
