// A program as the list of its steps, in the order in which a stack of values takes them, and what a fit wants to know
// of its constants. Half of a program is leaves, so an operator takes an operand that is a leaf from the step itself and
// not from the stack; only libraries with formulas have the steps as they are.
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

// A node as `linear_constants` sees it: what it does to which other nodes.
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

// Writes the steps of a tape; leaves wait until it is known which operator takes them.
struct Writer {
  Tape& tape;
  int count = 0;

  DEVICE void write(const Step& step, const Operands& operands) {
    tape.steps[count] = step;
    tape.operands[count++] = operands;
  }
  DEVICE void push(const Step& leaf) { write({leaf.value, PUSH | leaf.opcode << LEAF_KIND, leaf.index}, {0, 0}); }

  // An operator; its operands are leaves, or null where they are on the stack already.
  DEVICE void operate(const Step& step, int arity, const Step* first, const Step* second, const Operands& operands) {
    if (arity == 1) {
      if (first) push(*first);
      write(step, operands);
    } else if (first || second) {
      if (first && second) push(*second);
      const Step& leaf = first ? *first : *second;
      const int which = (first ? LEAF_FIRST : LEAF_SECOND) | leaf.opcode << LEAF_KIND;
      write({leaf.value, step.opcode | which, leaf.index}, operands);
    } else {
      write({0.0, step.opcode | STACKED, 0}, operands);
    }
  }
};

// Reads a program; by one thread.
DEVICE void read_tape(Tape& tape, const Program& program) {
  short stack[STACK];
  Node nodes[NODES];
  Step leaves[FORMULAS ? 1 : NODES];  // by node
  int count = 0, height = 0;
  tape.size = program.constant_count;
  Writer writer{tape};
  Step step;
  for (Walk walk(program); walk.next(step);) {
    if (FORMULAS && step.opcode == ARGUMENT) {  // the operand is a node already
      writer.write(step, {0, 0});
      stack[height] = stack[height - 1 - step.index];
      ++height;
      continue;
    }
    if (FORMULAS && step.opcode == FINISH) {
      writer.write(step, {0, 0});
      const short result = stack[height - 1];
      height -= step.index;
      stack[height - 1] = result;
      continue;
    }
    Node node{{-1, -1}, (short)step.index, (uint8)step.opcode, false, 0, 0};
    if (step.opcode == CONSTANT) node.below = 1u << step.index;
    const int arity = arity_of(step.opcode);
    Operands operands{0, 0};
    const Step* taken[2] = {nullptr, nullptr};
    for (int k = 0; k < arity; ++k) {
      const short operand = stack[--height];
      node.operand[k] = operand;
      node.below |= (k == 0 ? operands.first : operands.second) = nodes[operand].below;
      if (k == 0 || operand != node.operand[0]) nodes[operand].users = nodes[operand].users == 0 ? 1 : 2;
      if (!FORMULAS && is_leaf(nodes[operand].opcode)) taken[k] = &leaves[operand];
    }
    if (FORMULAS)
      writer.write(step, operands);
    else if (arity > 0)
      writer.operate(step, arity, taken[0], taken[1], operands);
    else
      leaves[count] = step;
    nodes[count] = node;
    stack[height++] = (short)count++;
  }
  if (!FORMULAS && is_leaf(nodes[count - 1].opcode)) writer.push(leaves[count - 1]);
  tape.count = writer.count;
  tape.linear = linear_constants(nodes, count, stack[height - 1]);
}
