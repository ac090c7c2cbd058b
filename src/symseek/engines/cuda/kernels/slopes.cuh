// The values of a program on rows of the data and their derivatives by its constants: what a fit asks for most. A thread
// works on ROWS rows at a time, so that reading a step of the program serves all of them.

constexpr int PAIRS = MAX_K * (MAX_K + 1) / 2;
// Loops over constants in what is done once for all rows: fewer are taken apart than in sums over the rows (SUM_UP_TO).
constexpr int UNROLLED = MAX_K <= 3 ? MAX_K : 1;
#define UP_TO(i, end) \
  _Pragma("unroll UNROLLED") for (int i = 0; i < (MANY ? (end) : MAX_K); ++i) if (MANY || i < (end))
#define FROM_TO(i, begin, end) UP_TO (i, end)
#define LINKED_BELOW(k, i) UP_TO (k, size) if (k > (i))
#define DOWN_FROM(i, end) \
  _Pragma("unroll UNROLLED") for (int i = (MANY ? (end) : MAX_K) - 1; i >= 0; --i) if (MANY || i < (end))

// The steps of the tape of this group.
struct TapeSteps {
  const Tape& tape;
  int at = 0;

  DEVICE bool next(Step& step, Operands& operands) {
    if (at == tape.count) return false;
    step = tape.steps[at];
    operands = tape.operands[at++];
    return true;
  }
};

template <bool SLOPES>
DEVICE void run(const Rows& rows, const double* at, const int (&row)[ROWS], double (&value)[ROWS],
                double (&slopes)[ROWS][MAX_K], uint32& worst) {
  const Tape& tape = own_tape();
  if constexpr (FORMULAS == 0) {
    TapeSteps steps{tape};
    read_program<true, SLOPES, ROWS>(steps, rows, at, tape.size, row, value, slopes, worst);
  } else {
    EACH_ROW {  // slopes on a stack leave no room for more rows at a time
      TapeSteps steps{tape};
      const int one[1] = {row[r]};
      double top[1], by[1][MAX_K];
      read_program<false, SLOPES, 1>(steps, rows, at, tape.size, one, top, by, worst);
      value[r] = top[0];
      if (SLOPES) SUM_UP_TO(k, summed(tape.size)) slopes[r][k] = by[0][k];
    }
  }
}
