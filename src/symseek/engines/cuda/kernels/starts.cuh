// From which places a fit descends.
constexpr int STARTS_TRIED = 32;  // random places that a restart tries, to descend from the best
constexpr double SAME = 1e-9;     // losses that differ by less, relatively, are of the same minimum

DEVICE uint64 mixed(uint64 h, uint64 word, uint64 odd) {
  h = (h ^ word) * odd;
  return h ^ (h >> 29);
}

// What the native core calls a program by, its constants left out.
DEVICE void program_key(const Token* tokens, int length, uint64& low, uint64& high) {
  low = 0x243f6a8885a308d3ull ^ (uint64)length;
  high = 0x13198a2e03707344ull + (uint64)length;
  for (int i = 0; i < length; i += 4) {
    uint64 word = 0;
    for (int k = 0; k < 4 && i + k < length; ++k) word |= (uint64)(unsigned short)tokens[i + k] << (16 * k);
    low = mixed(low, word, 0x9e3779b97f4a7c15ull);
    high = mixed(high, word + 0xa4093822299f31d0ull, 0xc2b2ae3d27d4eb4full);
  }
  low = mixed(low, high, 0xff51afd7ed558ccdull);
}

// A random start: either sign, sizes from 0.1 to 10, rather near 1.
DEVICE void Fitter::draw(int number, double* x) const {
  Block4 bits{};
  UP_TO(i, size) {
    if (i % 2 == 0)  // a block serves two constants
      bits = philox(key_low, (uint32)key_high, (uint32)i, (uint32)number, CONSTANTS);
    const uint32 one = bits.word[i % 2 * 2], other = bits.word[i % 2 * 2 + 1];
    const double u = uniform(one), amount = 1.0 + 9.0 * u * u;
    x[i] = (other & 1 ? -1.0 : 1.0) * (other & 2 ? amount : 1.0 / amount);
  }
}

// The best of some random places, constants that enter linearly being solved for at each; false when the program is
// invalid at all of them.
NOINLINE bool Fitter::find_start(int first, double* x, double& loss) {
  bool found = false;
  for (int number = first; number < first + STARTS_TRIED; ++number) {
    double here, solved;
    draw(number, trial);
    if (some_linear ? !look_at(trial, here) : !measure(trial, here)) continue;
    if (some_linear) {
      take();
      if (solve(0.0, true)) {
        UP_TO(i, size) step[i] += trial[i];
        if (measure(step, solved) && solved < here) {
          here = solved;
          copy(step, trial);
        }
      }
    }
    if (found && here >= loss) continue;
    found = true;
    loss = here;
    copy(trial, x);
  }
  return found;
}

// A mixed fit goes down by least squares, but every other restart, and the last descent, by BFGS first.
DEVICE uint8 Fitter::descend(int start_number, double to_beat, bool looked, double* x, double& loss) {
  if (options.method == BFGS) return bfgs(x, loss);
  if (options.method == MIXED && (start_number > options.restarts || (start_number > 0 && start_number % 2 == 0))) {
    bfgs(x, loss);
    looked = false;
  }
  return least_squares(to_beat, looked, x, loss);
}

NOINLINE uint8 Fitter::search(double* constants) {
  double lowest = infinity();
  uint8 ended = INVALID;
  // The last descent of a mixed fit is BFGS from where the first began: on the reward it takes other ways, far ones
  // where the program is far off.
  const int last = options.restarts + (options.method == MIXED);
  for (int number = 0; number <= last; ++number) {
    const bool again = number == 0 || number > options.restarts;
    double loss = infinity();
    copy(constants, start);
    const bool looked = again && options.method != BFGS;  // derivatives are wanted where least squares begin
    const bool begun = again && (looked ? look_at(start, loss) : measure(start, loss));
    if (number == 0 && !begun && !options.rescue) return INVALID;
    if (!begun && !find_start(again ? 0 : number * STARTS_TRIED, start, loss)) continue;
    // The last one goes to its end: otherwise a fit with more restarts could come out worse.
    const double to_beat = number > options.restarts ? infinity() : lowest;
    const uint8 status = descend(number, to_beat, looked && begun, start, loss);
    const bool again_there = fabs(loss - lowest) <= SAME * loss;
    if (ended == INVALID || loss < lowest) {
      lowest = loss;
      ended = status;
      copy(start, best);
    }
    // A restart that ends where the best one did is a sign that there is nothing else to find.
    if (again_there && number > 0 && number <= options.restarts) number = options.restarts;
    // Nothing better can be found where the fit is exact, or where there is one minimum only.
    if (lowest <= exact || (all_linear && ended == CONVERGED)) break;
  }
  if (ended != INVALID) copy(best, constants);
  return ended;
}
