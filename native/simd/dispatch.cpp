// Chooses the kernels at start-up: the widest instruction set the machine has, or the one SYMSEEK_SIMD names.
#include <cstdlib>
#include <stdexcept>

#include "simd/kernels.hpp"

namespace symseek {

namespace baseline {
extern const Kernels table;
}
#ifdef SYMSEEK_X86_VARIANTS
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
#endif

static std::vector<const Kernels*> available() {
  std::vector<const Kernels*> found;
#ifdef SYMSEEK_X86_VARIANTS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    found.push_back(&avx512::table);
  if (__builtin_cpu_supports("avx2")) found.push_back(&avx2::table);
#endif
  found.push_back(&baseline::table);
  return found;
}

std::vector<std::string> available_variants() {
  std::vector<std::string> names;
  for (const Kernels* table : available()) names.emplace_back(table->name);
  return names;
}

static const Kernels& choose() {
  const char* wanted = std::getenv("SYMSEEK_SIMD");
  std::string names;
  for (const Kernels* table : available()) {
    if (!wanted || !*wanted || std::string(wanted) == table->name) return *table;
    names += (names.empty() ? "" : ", ") + std::string(table->name);
  }
  throw std::runtime_error("SYMSEEK_SIMD is '" + std::string(wanted) + "', but this machine runs only: " + names +
                           ". Unset it, or name one of these.");
}

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace symseek
