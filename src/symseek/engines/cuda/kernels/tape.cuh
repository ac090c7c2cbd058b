// A program as the list of its steps, in the order in which a stack of values takes them, and what a fit wants to know
// of its constants.
struct alignas(8) Operands {  // of a step: the constants that they depend on, a bit each
  uint32 first, second;
};

struct Tape {  // in shared memory, one for each group
  Step steps[NODES];
  Operands operands[NODES];
  int count;
  int size;       // K
  uint32 linear;  // constants in which the program is linear, all of them together, a bit each
};
static_assert(sizeof(Tape) <= TAPE_BYTES, "the host reserves too little shared memory");
static_assert(MAX_K <= 32, "a bit for each constant");

// Where the tape of this group is. Said in this way, the compiler knows that it is shared memory.
DEVICE Tape& own_tape() { return *(Tape*)(shared_memory + SUM_BYTES + threadIdx.y * TAPE_BYTES); }

// A node as `mark_linear` sees it: what it does to which other nodes.
struct Node {
  short operand[2];
  short index;  // number of the constant in pre-order
  uint8 opcode;
  bool reached;  // the root is linear in it
  uint8 users;   // nodes that have this one as an operand: none, one, or more
  uint32 below;  // constants that it depends on, a bit each
};

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
DEVICE uint32 linear_constants(Node* nodes, int count, int root) {
  uint32 linear = 0;
  nodes[root].reached = true;
  for (int i = count - 1; i >= 0; --i) {
    const Node node = nodes[i];
    if (!node.reached || !node.below) continue;
    if (node.opcode == CONSTANT) linear |= 1u << node.index;
    const Follows way = follows(node.opcode);
    for (int k = 0; k < 2; ++k) {
      if (way == NOTHING || (way == FIRST && k == 1)) continue;
      // Linear in both factors is not linear in both at once.
      if (way == FACTOR && k != (nodes[node.operand[0]].below ? 0 : 1)) continue;
      if (nodes[node.operand[k]].users == 1 && node.operand[0] != node.operand[1])
        nodes[node.operand[k]].reached = true;
    }
  }
  return linear;
}

// Reads a program; by one thread.
DEVICE void read_tape(Tape& tape, const Program& program) {
  short stack[STACK];
  Node nodes[NODES];
  int count = 0, height = 0, steps = 0;
  tape.size = program.constant_count;
  Step step;
  for (Walk walk(program); walk.next(step);) {
    tape.steps[steps] = step;
    Operands& operands = tape.operands[steps++];
    operands = {0, 0};
    if (step.opcode == ARGUMENT) {  // the operand is a node already
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
    Node node{{-1, -1}, (short)step.index, (uint8)step.opcode, false, 0, 0};
    if (step.opcode == CONSTANT) node.below = 1u << step.index;
    const int arity = arity_of(step.opcode);
    for (int k = 0; k < arity; ++k) {
      const short operand = stack[--height];
      node.operand[k] = operand;
      node.below |= (k == 0 ? operands.first : operands.second) = nodes[operand].below;
      if (k == 0 || operand != node.operand[0]) nodes[operand].users = nodes[operand].users == 0 ? 1 : 2;
    }
    nodes[count] = node;
    stack[height++] = (short)count++;
  }
  tape.count = steps;
  tape.linear = linear_constants(nodes, count, stack[height - 1]);
}
