// The constants of a program, fitted to data by its exact derivatives: by BFGS on the reward as the paper has it, by
// Levenberg and Marquardt's least squares, with the linear constants projected out or not, or by one after the other. A
// fit never ends worse than it began, and its work is bounded.
//
// An engine says before this file how it looks at a program: `Looks` has the numbers of the fit (`size` constants, the
// derivatives, places to look at; `stride` is the width of the matrix `inverse`), and
//   measure(x, loss)   the loss at x; false where the program is invalid
//   look_at(x, loss)   the same where derivatives may be wanted
//   pair(wanted)       whether such looks are to give the normal matrix from now on; BFGS does without
//   see_slopes()       next_gradient (sum of w r df/dc) and next_normal (sum of w df/dc df/dc') of the last such look
//   take()             makes those the present ones: gradient and normal
//   entry(i, j)        where the normal matrix and its factor keep that element, j <= i
//   first(i)           the first column of row i that is not 0 by itself
//   low(i), high(i)    between which a constant stays, where there are bounds
//   cornered()         whether the loss has a corner; `blur` is how far off it slopes are taken as those of a square
//   squares()          whether it is that of weighted squares
//   rows()             how many there are
//   alike(x)           makes numbers that a random start must not tell apart the same
// `Solution` is room for a system of equations. The loops UP_TO, FROM_TO, DOWN_FROM and LINKED_BELOW run over
// constants.
//
// Numbers that groups of rows have of their own are constants too, one for each group. They come first, group by group,
// and those that all rows share come last: so the matrix is a border around a diagonal of blocks, which Cholesky's
// method keeps when it works on the columns from the first of each row on. That eliminates each group's block alone.
#pragma once

#include "shared/fits.hpp"
#include "shared/linesearch.hpp"
#include "shared/random.hpp"

namespace symseek {

constexpr int STARTS_TRIED = 32;  // random places that a restart tries, to descend from the best
constexpr double SAME = 1e-9;     // losses that differ by less, relatively, are of the same minimum

constexpr int WATCH = 4;              // a descent that trails another is watched: how far it gains over this many steps
constexpr double SMALL_GAIN = 1e-13;  // of the loss, predicted and made: converged
constexpr double SMALLEST_GAIN = 1e-16;   // the same where steps are not those of squares, and come nearer and nearer
constexpr double SMALL_COSINE = 1e-7;     // between residuals and derivatives: converged
constexpr double SMALLEST_COSINE = 1e-9;  // the same of such steps
// The slope of the reward by any constant at which BFGS ends; SciPy's default. A smaller one makes formulas that are
// wrong fit a little better, and a search on them worse; near an exact fit the slope of 1/(1 + NRMSE) stays large, so
// that one is followed to the end.
constexpr double FLAT_REWARD = 1e-5;
// A trial is projected where that lowers the loss by more than this share of what the trial gained. Near a minimum it
// rarely does, and a look is saved.
constexpr double WORTH = 0.1;
constexpr double FIRST_DAMPING = 1e-3;
constexpr double LEAST_DAMPING = 1e-9;  // below this, none
constexpr double MOST_DAMPING = 1e12;   // no step this short helps: a minimum as far as float64 can tell
// A loss with a corner is blurred by a part of its mean, and less and less where that is no help any more: at the least
// as many rows are met as there are constants, and a step that saw the corners themselves would hold the first ones.
constexpr double FIRST_BLUR = 0.1;
constexpr double LEAST_BLUR = 1e-10;
constexpr double SHARPER = 0.1;
constexpr double BLURRED_GAIN = 0.1;  // a gain by a smaller part of the blur is none
// A fit of few steps, as a search makes, need not come to the last digits where that takes many.
constexpr int FEW_STEPS = 40;
constexpr double FEW_STEPS_BLUR = 0.01, FEW_STEPS_GAIN = 1e-4, FEW_STEPS_COSINE = 1e-3;
constexpr double FEW_STEPS_PREDICTED = 0.01;  // and not made: what is left is the blur's

// What a step is solved for: all constants, damped; the linear ones alone, the others held; or all, of which only those
// that are not linear are damped.
enum class System { all, linear, projected };

// Where a descent by least squares is.
struct Progress {
  double to_beat, damping, growth;
  double watched;    // the loss at the last multiple of WATCH steps
  double predicted;  // gain of the step that is tried
  int steps;
  bool linear_only;  // the constants that enter linearly are solved for, the others wait
  bool fresh;        // the place is new
  bool untaken;      // its derivatives are those of the last look
  bool again;        // the trial is projected and waits for its second look
  double part;       // of the mean loss, that corners are blurred by; 0 where there are none
  double blur;       // that itself, at the next look
  bool sharper;      // the place is looked at once more, less blurred

  // Less blur next time; false when there is as little as is wanted.
  SHARED bool sharpen(double least) {
    if (!(part > least)) return false;
    part *= SHARPER;
    return true;
  }

  // A shorter step next time; false when it is as short as can be.
  SHARED bool shorten() {
    damping = larger(damping, 0.1 * FIRST_DAMPING) * growth;
    growth *= 2.0;
    return !(damping > MOST_DAMPING);
  }
};

struct Fitter : Looks {
  using Looks::Looks;

  SHARED void copy(const double* from, double* to) const {
    UP_TO (i, size) to[i] = from[i];
  }

  // ---- bounds of the constants

  SHARED bool bounded() const { return options.low != nullptr; }

  // Moves x to the nearest place within the bounds.
  SHARED void confine(double* x) const {
    UP_TO (i, size) x[i] = between(x[i], low(i), high(i));
  }

  // Whether a constant stands at a bound that the loss pulls it across.
  SHARED bool at_wall(int i, double value) const {
    return (value <= low(i) && gradient[i] < 0.0) || (value >= high(i) && gradient[i] > 0.0);
  }

  // A place within the bounds for a random start: with the other sign, or as far from a bound.
  SHARED double inside(int i, double value) const {
    const double least = low(i), most = high(i), size = fabs(value);
    if (value >= least && value <= most) return value;
    if (-value >= least && -value <= most) return -value;
    if (isfinite(least) && isfinite(most)) return least + (most - least) * (size / (1.0 + size));
    return isfinite(least) ? least + size : most - size;
  }

  // The element of the normal matrix.
  SHARED double linked(int i, int j) const {
    const int row = i < j ? j : i, column = i < j ? i : j;
    return column < first(row) ? 0.0 : normal[entry(row, column)];
  }

  // Solves for a step that stays within the bounds: what it takes across one is held there, and the others are solved
  // for again. BFGS, which does not run then, leaves its arrays: `work` says what is held, `slope_before` how far that
  // moves, and `direction` has the gradient with it moved.
  NOINLINE bool solve_within(const double* x, double damping, System system, bool spares) {
    UP_TO (i, size) {
      work[i] = at_wall(i, x[i]);
      slope_before[i] = 0.0;
    }
    for (int round = 0; round <= size; ++round) {
      UP_TO (i, size) {
        direction[i] = gradient[i];
        UP_TO (j, size) direction[i] -= linked(i, j) * slope_before[j];
      }
      if (!solve(damping, system, spares, false)) return false;
      bool within = true;
      UP_TO (i, size) {
        const double to = x[i] + step[i], stays = between(to, low(i), high(i));
        if (work[i] == 0.0 && to != stays) {
          work[i] = 1.0;
          slope_before[i] = stays - x[i];
          within = false;
        }
        if (work[i] != 0.0) step[i] = slope_before[i];
      }
      if (within) break;
    }
    return true;
  }

  // Whether a constant is held at a bound.
  SHARED bool fixed(int i) const { return bounded() && work[i] != 0.0; }

  // What a step gains, were the program linear.
  SHARED double gain_of_step() const {
    double gain = 0.0;
    UP_TO (i, size) {
      double slope = 2.0 * gradient[i];
      UP_TO (j, size) slope -= linked(i, j) * step[j];
      gain += step[i] * slope;
    }
    return gain;
  }

  // ---- from which places a fit descends

  // Starts from `constants` and leaves the best ones there.
  NOINLINE FitStatus search(double* constants) {
    double lowest = infinity();
    FitStatus ended = FitStatus::invalid;
    // The last descent of a mixed fit is BFGS from where the first began: on the reward it takes other ways, far ones
    // where the program is far off.
    const int last = options.restarts + (options.method == FitMethod::mixed && !bounded());
    for (int number = 0; number <= last; ++number) {
      const bool again = number == 0 || number > options.restarts;
      double loss = infinity();
      copy(constants, start);
      const bool looked = again && options.method != FitMethod::bfgs;  // where least squares begin
      const bool begun = again && (looked ? look_at(start, loss) : measure(start, loss));
      if (number == 0 && !begun && !options.rescue) return FitStatus::invalid;
      if (!begun && !find_start(again ? 0 : number * STARTS_TRIED, start, loss)) continue;
      // The last one goes to its end: otherwise a fit with more restarts could come out worse.
      const double to_beat = number > options.restarts ? infinity() : lowest;
      const FitStatus status = descend(number, to_beat, looked && begun, start, loss);
      const bool again_there = fabs(loss - lowest) <= SAME * loss;
      if (ended == FitStatus::invalid || loss < lowest) {
        lowest = loss;
        ended = status;
        copy(start, best);
      }
      // A restart that ends where the best one did is a sign that there is nothing else to find.
      if (again_there && number > 0 && number <= options.restarts) number = options.restarts;
      // Nothing better can be found where the fit is exact, or where there is one minimum only.
      if (lowest <= exact || (all_linear && ended == FitStatus::converged)) break;
    }
    if (ended != FitStatus::invalid) copy(best, constants);
    return ended;
  }

  // A mixed fit goes down by least squares, but every other restart, and the last descent, by BFGS first. `looked` says
  // that x is where the program was last looked at.
  SHARED FitStatus descend(int number, double to_beat, bool looked, double* x, double& loss) {
    // Least squares have the minima of the reward, and take the way within bounds.
    if (options.method == FitMethod::bfgs && !bounded()) return bfgs(x, loss);
    if (options.method == FitMethod::mixed && !bounded() &&
        (number > options.restarts || (number > 0 && number % 2 == 0))) {
      bfgs(x, loss);
      looked = false;
    }
    return least_squares(to_beat, looked, x, loss);
  }

  // A random start: either sign, sizes from 0.1 to 10, rather near 1. It depends on the program and the number alone,
  // so that a program has the same fit in whichever batch it comes.
  SHARED void draw(int number, double* x) const {
    Block4 bits{};
    UP_TO (i, size) {
      if (i % 2 == 0)  // a block serves two constants
        bits = philox(key.low, (uint32)key.high, (uint32)i, (uint32)number, CONSTANTS);
      const uint32 one = bits.word[i % 2 * 2], other = bits.word[i % 2 * 2 + 1];
      const double u = uniform(one), amount = 1.0 + 9.0 * u * u;
      x[i] = (other & 1 ? -1.0 : 1.0) * (other & 2 ? amount : 1.0 / amount);
      if (bounded()) x[i] = inside(i, x[i]);
    }
    alike(x);
  }

  // The best of some random places, constants that enter linearly being solved for at each; false when the program is
  // invalid at all of them.
  NOINLINE bool find_start(int first, double* x, double& loss) {
    blur = 0.0;
    bool found = false;
    for (int number = first; number < first + STARTS_TRIED; ++number) {
      double here, solved;
      draw(number, trial);
      if (some_linear ? !look_at(trial, here) : !measure(trial, here)) continue;
      if (some_linear) {
        take();
        if (bounded() ? solve_within(trial, 0.0, System::linear, false) : solve(0.0, System::linear, false, false)) {
          UP_TO (i, size) step[i] += trial[i];
          if (bounded()) confine(step);
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

  // ---- Levenberg and Marquardt's method

  // The first step solves for the constants that enter linearly alone, the others waiting where they are. It gives up
  // when it will not come below `to_beat`. Each look is a step.
  //
  // A projected fit is variable projection (Golub and Pereyra 1973, with Kaufman's approximation of the derivatives):
  // the loss is a function of the constants that are not linear, the linear ones being at their best. So only the
  // former are damped, and every trial is looked at a second time with its linear constants solved for before it is
  // judged, unless no step is left for that. Where all constants are linear, or none is, there is nothing to project.
  NOINLINE FitStatus least_squares(double to_beat, bool looked, double* x, double& loss) {
    blur = 0.0;
    if (!looked) look_at(x, loss);
    Progress now = begin(to_beat, loss, true);
    FitStatus ended = propose(now, x, loss);
    while (ended == FitStatus::goes_on) {
      double found = 0.0;
      blur = now.blur;
      const bool valid = look_at(trial, found);
      ended = judge(now, valid, found, x, loss);
      if (ended == FitStatus::goes_on) ended = propose(now, x, loss);
    }
    return ended;
  }

  SHARED Progress begin(double to_beat, double loss, bool untaken) const {
    return Progress{to_beat, some_linear ? 0.0 : FIRST_DAMPING, 4.0, loss, 0.0, 0, some_linear, true, untaken,
                    false,   cornered() ? FIRST_BLUR : 0.0,     0.0, false};
  }

  // Puts the next place to look at into `trial`, or says how the descent has ended.
  NOINLINE FitStatus propose(Progress& now, const double* x, double loss) {
    if (now.again) return FitStatus::goes_on;  // `judge` has put it there
    now.blur = now.part * loss / rows();
    while (now.steps < options.max_steps) {
      if (loss <= exact) return FitStatus::converged;
      if (now.untaken) take();
      if (now.fresh && !now.sharper && flat(x, loss)) {
        if (!now.sharpen(least_blur())) return FitStatus::converged;
        now.sharper = true;
        now.blur = now.part * loss / rows();
      }
      if (now.sharper) {
        copy(x, trial);
        now.untaken = false;
        return FitStatus::goes_on;
      }
      now.fresh = now.untaken = false;
      const System system = now.linear_only ? System::linear : projects() ? System::projected : System::all;
      if (bounded()) {
        if (solve_within(x, now.damping, system, false) && (now.predicted = gain_of_step()) > 0.0) {
          UP_TO (i, size) trial[i] = x[i] + step[i];
          confine(trial);
          return FitStatus::goes_on;
        }
      } else if (solve(now.damping, system, projects(), false)) {
        now.predicted = 0.0;
        UP_TO (i, size) {
          const double pull = damped(i, system) ? now.damping * normal[entry(i, i)] * step[i] : 0.0;
          now.predicted += step[i] * (gradient[i] + pull);
          trial[i] = x[i] + step[i];
        }
        return FitStatus::goes_on;
      }
      if (!now.linear_only && !now.shorten()) return FitStatus::converged;
      if (now.linear_only) now.damping = FIRST_DAMPING;
      now.linear_only = false;
    }
    return FitStatus::limit;
  }

  // Goes to the trial if it is better: `found` is its loss, 0 where it is invalid.
  NOINLINE FitStatus judge(Progress& now, bool valid, double found, double* x, double& loss) {
    if (++now.steps % WATCH == 0) {
      const double needed = loss - now.to_beat, gain = now.watched - loss;
      if (needed > 0.0 && gain * (options.max_steps - now.steps) < needed * WATCH) return FitStatus::limit;
      now.watched = loss;
    }
    if (now.sharper) {
      now.sharper = false;
      now.fresh = now.untaken = true;
      return FitStatus::goes_on;
    }
    const bool first = projects() && !now.linear_only && !now.again;
    now.again = first && valid && now.steps < options.max_steps && project(loss, found);
    if (now.again) return FitStatus::goes_on;
    const double gain_of_nothing = (squares() ? SMALL_GAIN : few() ? FEW_STEPS_GAIN : SMALLEST_GAIN) * loss;
    bool small = now.predicted <= gain_of_nothing && loss - found <= gain_of_nothing;
    const bool better = valid && found < loss;
    if (now.part > 0.0 && !now.linear_only && !(better && loss - found > BLURRED_GAIN * now.part * loss) &&
        now.sharpen(least_blur())) {
      small = false;
      if (!better) {
        now.sharper = true;
        return FitStatus::goes_on;
      }
    }
    if (few() && now.part > 0.0 && !better && valid && now.predicted <= FEW_STEPS_PREDICTED * loss)
      return FitStatus::converged;
    if (better) {
      const double ratio = (loss - found) / now.predicted;
      copy(trial, x);
      loss = found;
      now.fresh = now.untaken = true;
      now.damping *= ratio > 0.75 ? 0.1 : ratio > 0.25 ? 0.5 : 2.0;
      if (now.damping < LEAST_DAMPING) now.damping = 0.0;
      now.growth = 4.0;
    } else if (!now.linear_only && !now.shorten()) {
      return FitStatus::converged;
    }
    if (now.linear_only)
      now.damping = FIRST_DAMPING;
    else if (small && now.predicted > 0.0)
      return FitStatus::converged;
    now.linear_only = false;
    return FitStatus::goes_on;
  }

  SHARED bool few() const { return options.max_steps < FEW_STEPS; }
  SHARED double least_blur() const { return few() ? FEW_STEPS_BLUR : LEAST_BLUR; }

  SHARED bool projects() const {
    return options.method == FitMethod::projected && some_linear && !all_linear && !bounded();
  }

  // Moves the linear constants of the trial, which was looked at last, to their best values for the others that it has:
  // the program is affine in them, so one step does it. False where that gains too little or cannot be solved for.
  NOINLINE bool project(double loss, double found) {
    see_slopes();
    if (!solve(0.0, System::linear, true, true)) return false;
    double gain = 0.0;
    UP_TO (i, size) gain += step[i] * next_gradient[i];
    if (!(gain > WORTH * (loss - found))) return false;
    UP_TO (i, size) trial[i] += step[i];
    return true;
  }

  // Whether the residuals are at right angles to every derivative: no constant can make them smaller.
  SHARED bool flat(const double* x, double loss) const {
    const double small = squares() ? SMALL_COSINE : few() ? FEW_STEPS_COSINE : SMALLEST_COSINE;
    bool all = true;
    UP_TO (i, size)
      if (!(bounded() && at_wall(i, x[i])) && fabs(gradient[i]) > small * sqrt(normal[entry(i, i)] * loss)) all = false;
    return all;
  }

  SHARED bool damped(int constant, System system) const { return system == System::all || !is_linear(constant); }

  // Solves (N + damping D) step = gradient by Cholesky's method; D is the diagonal of N where constants are damped.
  // False when the matrix is singular as far as float64 shows. With `spares`, a linear constant that does what others
  // before it do is held instead. `of_trial` takes the derivatives of the last look.
  NOINLINE bool solve(double damping, System system, bool spares, bool of_trial) {
    const double* const gradient = of_trial ? next_gradient : bounded() ? direction : this->gradient;
    const double* const normal = of_trial ? next_normal : this->normal;
    const bool linear_only = system == System::linear;
    Solution solution(*this);
    auto& factor = solution.factor;
    auto& found = solution.found;
    bool regular = true;
    UP_TO (i, size) {
      const double diagonal = normal[entry(i, i)];
      const double added = damped(i, system) ? damping : 0.0;
      const bool held = (linear_only && !is_linear(i)) || !(diagonal > 0.0) || fixed(i);
      FROM_TO(j, first(i), i + 1) {
        const bool apart = held || (linear_only && !is_linear(j)) || !(normal[entry(j, j)] > 0.0) || fixed(j);
        double sum = i == j ? (held ? 1.0 : diagonal * (1.0 + added)) : apart ? 0.0 : normal[entry(i, j)];
        FROM_TO(k, larger_of(first(i), first(j)), j) sum -= factor[entry(i, k)] * factor[entry(j, k)];
        if (i == j) {
          const bool spare = !(sum > 1e-14 * (held ? 1.0 : diagonal));
          if (spare && !(spares && is_linear(i))) regular = false;
          factor[entry(i, i)] = spare ? infinity() : sqrt(sum);  // divided by it, all that is linked to it is 0
        } else {
          factor[entry(i, j)] = sum / factor[entry(j, j)];
        }
      }
      double sum = held ? 0.0 : gradient[i];
      FROM_TO(k, first(i), i) sum -= factor[entry(i, k)] * found[k];
      found[i] = sum / factor[entry(i, i)];
    }
    if (!regular) return false;
    DOWN_FROM (i, size) {
      LINKED_BELOW(k, i) found[i] -= factor[entry(k, i)] * found[k];
      found[i] /= factor[entry(i, i)];
      if (!isfinite(found[i])) regular = false;
    }
    UP_TO (i, size) step[i] = found[i];
    return regular;
  }

  // ---- BFGS on the reward

  // Broyden, Fletcher, Goldfarb and Shanno's method with the first steps, the line search and the end of SciPy's, so
  // that a fit goes the way the paper's went, but with exact derivatives.
  SHARED FitStatus bfgs(double* x, double& loss) {
    blur = 0.0;
    pair(false);
    const FitStatus ended = quasi_newton(x, loss);
    pair(true);
    return ended;
  }

  NOINLINE FitStatus quasi_newton(double* x, double& loss) {
    UP_TO (i, size) {
      UP_TO (j, size) inverse[i * stride + j] = i == j;
      direction[i] = 0.0;
    }
    Point point;
    look(x, 0.0, point);
    double length = 0.0;
    UP_TO (i, size) length += slope[i] * slope[i];
    double before = point.value + 0.5 * sqrt(length);
    for (int steps = 1; steps < options.max_steps;) {
      double steepest = 0.0;
      UP_TO (i, size) steepest = larger(steepest, fabs(slope[i]));
      if (loss <= exact || steepest <= FLAT_REWARD) return FitStatus::converged;
      point.slope = 0.0;
      UP_TO (i, size) {
        double downhill = 0.0;
        UP_TO (j, size) downhill -= inverse[i * stride + j] * slope[j];
        direction[i] = downhill;
        point.slope += downhill * slope[i];
      }
      if (!(point.slope < 0.0)) return FitStatus::converged;  // rounding has eaten the curvature
      point.step = smaller(1.0, 2.02 * (point.value - before) / point.slope);
      if (!(point.step > 0.0)) point.step = 1.0;
      before = point.value;
      copy(slope, slope_before);
      if (!line_search(x, point, steps)) return steps < options.max_steps ? FitStatus::converged : FitStatus::limit;
      // Next to an exact fit two losses can have the same reward: a step that gains nothing is not taken.
      if (!(point.loss < loss)) return FitStatus::converged;
      const bool small = loss - point.loss <= SMALL_GAIN * loss;
      loss = point.loss;
      double along = 0.0;
      UP_TO (i, size) {
        step[i] = point.step * direction[i];
        x[i] = trial[i];
        slope_before[i] = slope[i] - slope_before[i];
        along += step[i] * slope_before[i];
      }
      if (small) return FitStatus::converged;
      if (along > 0.0) update_inverse(along);
    }
    return FitStatus::limit;
  }

  // A place along the line from x in the present direction.
  struct Point {
    double step, loss;
    double value;  // minus the reward: 0 where the program is invalid
    double slope;  // of the value along the line; Fitter's `slope` holds it by each constant
  };

  SHARED void look(const double* x, double along, Point& point) {
    UP_TO (i, size) trial[i] = x[i] + along * direction[i];
    point = Point{along, 0.0, 0.0, 0.0};
    if (!look_at(trial, point.loss)) return;
    const double ratio = point.loss / (options.scale * share), error = options.power == 0.5 ? sqrt(ratio) : ratio;
    const double by_loss =
        point.loss > 0.0 ? options.power * error / (point.loss * (1.0 + error) * (1.0 + error)) : 0.0;
    point.value = -1.0 / (1.0 + error);
    take();
    UP_TO (i, size) {
      slope[i] = -2.0 * by_loss * gradient[i];
      point.slope += slope[i] * direction[i];
    }
  }

  // A step along the direction that satisfies the strong Wolfe conditions. `point` holds the place to start from with
  // the first step to try, and then the place found.
  NOINLINE bool line_search(const double* x, Point& point, int& steps) {
    constexpr double ENOUGH = 1e-4, FLAT = 0.9, LEAST = 1e-100, MOST = 1e100;
    const double value0 = point.value, slope0 = point.slope, wanted = ENOUGH * slope0;
    End best{0.0, value0, slope0}, other = best;
    bool bracketed = false, first_stage = true;
    double along = point.step, low = 0.0, high = along + 4.0 * along, width = MOST, width_before = 2.0 * MOST;
    while (steps < options.max_steps) {
      look(x, along, point);
      ++steps;
      const double allowed = value0 + along * wanted;
      if (first_stage && point.value <= allowed && point.slope >= 0.0) first_stage = false;
      if (point.value <= allowed && fabs(point.slope) <= FLAT * -slope0) return true;
      if (bracketed && (along <= low || along >= high || high - low <= 1e-14 * high)) break;
      End tried{along, point.value, point.slope};
      // While no step is good enough, the function less the line of what is wanted is searched instead.
      const double tilt = first_stage && tried.value <= best.value && tried.value > allowed ? wanted : 0.0;
      tried.tilt(tilt), best.tilt(tilt), other.tilt(tilt);
      along = next_step(best, other, tried, bracketed, low, high);
      best.tilt(-tilt), other.tilt(-tilt);
      if (bracketed) {
        if (fabs(other.step - best.step) >= 0.66 * width_before) along = best.step + 0.5 * (other.step - best.step);
        width_before = width;
        width = fabs(other.step - best.step);
        low = smaller(best.step, other.step);
        high = larger(best.step, other.step);
      } else {
        low = along + 1.1 * (along - best.step);
        high = along + 4.0 * (along - best.step);
      }
      along = between(along, LEAST, MOST);
      if (!isfinite(along) || (bracketed && (along <= low || along >= high || high - low <= 1e-14 * high)))
        along = best.step;
      if (along == 0.0) break;
    }
    if (best.step > 0.0 && best.value < value0) {  // not flat enough, but lower: take it
      look(x, best.step, point);
      ++steps;
      return point.value < value0;
    }
    return false;
  }

  // H <- (I - s y'/y's) H (I - y s'/y's) + s s'/y's, with s the step, y the change of the slope and `along` y's.
  SHARED void update_inverse(double along) {
    double bent = 0.0;
    UP_TO (i, size) {
      double sum = 0.0;
      UP_TO (j, size) sum += inverse[i * stride + j] * slope_before[j];
      work[i] = sum;
      bent += sum * slope_before[i];
    }
    const double curvature = (1.0 + bent / along) / along;
    UP_TO (i, size)
      UP_TO (j, size)
        inverse[i * stride + j] += curvature * step[i] * step[j] - (work[i] * step[j] + step[i] * work[j]) / along;
  }
};

}  // namespace symseek
