// A program as a list of nodes, each naming its operands: the form in which derivatives are taken. Going down the list
// gives the values, going up it gives the derivative of the root by every constant at once.
constexpr uint8 MOVES = 1;    // the node depends on a constant, so its value changes during a fit
constexpr uint8 USED = 2;     // the root depends on it; a formula may ignore an argument
constexpr uint8 REACHED = 4;  // the root is linear in it

struct Node {
  double value;  // of a number
  short operand[2];
  short index;  // column, or number of the constant in pre-order
  uint8 opcode, flags;
};

struct Tape {  // in shared memory, one for each group
  Node nodes[NODES];
  short constant_nodes[MAX_K];  // where each constant is, pre-order
  int count, root;
  int size;       // K
  uint32 linear;  // constants in which the program is linear, all of them together, a bit each
};
static_assert(sizeof(Tape) <= TAPE_BYTES, "the host reserves too little shared memory");
static_assert(MAX_K <= 32, "a bit for each constant");

DEVICE int arity_of(int opcode) {
  switch (opcode) {
#define UNARY(CODE, VALUE, SLOPE, UNDERFLOW) \
  case CODE: return 1;
#define BINARY(CODE, VALUE, SLOPE_A, SLOPE_B, UNDERFLOW) \
  case CODE: return 2;
    OPERATIONS(UNARY, BINARY)
#undef UNARY
#undef BINARY
    default: return 0;
  }
}

// What a root is linear in lies below sums, and below one side of products and quotients.
enum Follows { NOTHING, FIRST, BOTH, FACTOR };
DEVICE Follows follows(int opcode) {
  if (opcode == ADD || opcode == SUB) return BOTH;
  if (opcode == NEG || opcode == DIV) return FIRST;
  return opcode == MUL ? FACTOR : NOTHING;
}

// A node that is used twice may be reached by a way that is linear and by one that is not, so only nodes that one
// node uses once are followed.
DEVICE void mark_linear(Tape& tape, const uint8 (&users)[NODES]) {
  tape.linear = 0;
  tape.nodes[tape.root].flags |= REACHED;
  for (int i = tape.count - 1; i >= 0; --i) {
    const Node node = tape.nodes[i];
    if (!(node.flags & REACHED) || !(node.flags & MOVES)) continue;
    if (node.opcode == CONSTANT) tape.linear |= 1u << node.index;
    const Follows way = follows(node.opcode);
    for (int k = 0; k < 2; ++k) {
      if (way == NOTHING || (way == FIRST && k == 1)) continue;
      // Linear in both factors is not linear in both at once.
      if (way == FACTOR && k != (tape.nodes[node.operand[0]].flags & MOVES ? 0 : 1)) continue;
      if (users[node.operand[k]] == 1 && node.operand[0] != node.operand[1])
        tape.nodes[node.operand[k]].flags |= REACHED;
    }
  }
}

// Reads a program; by one thread.
DEVICE void read_tape(Tape& tape, const Program& program) {
  short stack[STACK];
  uint8 users[NODES];  // nodes that have this one as an operand: none, one, or more
  int count = 0, height = 0;
  tape.size = program.constant_count;
  Step step;
  for (Walk walk(program); walk.next(step);) {
    if (step.opcode == ARGUMENT) {  // nothing to copy: the operand is a node
      stack[height] = stack[height - 1 - step.index];
      ++height;
      continue;
    }
    if (step.opcode == FINISH) {
      const short result = stack[height - 1];
      height -= step.index;
      stack[height - 1] = result;
      continue;
    }
    Node node{step.value, {-1, -1}, (short)step.index, (uint8)step.opcode, 0};
    if (step.opcode == CONSTANT) {
      node.flags = MOVES;
      tape.constant_nodes[node.index] = (short)count;
    }
    const int arity = arity_of(step.opcode);
    for (int k = 0; k < arity; ++k) {
      const short operand = stack[--height];
      node.operand[k] = operand;
      node.flags |= tape.nodes[operand].flags & MOVES;
      if (k == 0 || operand != node.operand[0]) users[operand] = users[operand] == 0 ? 1 : 2;
    }
    users[count] = 0;
    tape.nodes[count] = node;
    stack[height++] = (short)count++;
  }
  tape.count = count;
  tape.root = stack[height - 1];
  tape.nodes[tape.root].flags |= USED;
  for (int i = count - 1; i >= 0; --i)
    for (int k = 0; k < 2; ++k)
      if ((tape.nodes[i].flags & USED) && tape.nodes[i].operand[k] >= 0)
        tape.nodes[tape.nodes[i].operand[k]].flags |= USED;
  mark_linear(tape, users);
}
