/* Video instructions of the simulated device: texts made at random from all that the grammar has, each against an account of its own
   of what the PTX manual says, in 128 bits; known values; what is refused. */
#include "sim_arith.h"
#include "sim_kernel.h"

__extension__ typedef __int128 wide;

/* The form under test. */
static struct {
  const char *op;
  bool signs[3]; /* of the destination, a and b: .s32 */
  char selectors[3][6];
  const char *second; /* "add", "min", "max", "" */
  const char *mode;   /* .lt, .clamp */
  bool sat, minus[3], one_more;
  int scale;
  int parts;       /* 2, 4; 0: scalar */
  unsigned cut[3]; /* how many bits a, b and c lose before */
} form;

static bool op_is(const char *name) {
  return strncmp(form.op, name, strlen(name)) == 0 && (strlen(form.op) == strlen(name) || form.parts);
}

/* The bits from `up` on as a number. */
static wide field(uint64_t word, int up, int bits, bool is_signed) {
  wide value = (word >> up) % ((uint64_t)1 << bits);
  return is_signed && value >= (wide)1 << (bits - 1) ? value - ((wide)1 << bits) : value;
}

static wide clamp_to(wide value, int bits, bool is_signed) {
  wide low = is_signed ? -((wide)1 << (bits - 1)) : 0, high = low + ((wide)1 << bits) - 1;
  return value < low ? low : value > high ? high : value;
}

static int width_of(const char *selector) {
  return selector[0] == 0 ? 32 : selector[0] == 'b' ? 8 : 16;
}

static wide compute(wide x, wide y) {
  if (op_is("vadd"))
    return x + y;
  if (op_is("vsub"))
    return x - y;
  if (op_is("vabsdiff"))
    return x - y < 0 ? y - x : x - y;
  if (op_is("vmin"))
    return x < y ? x : y;
  if (op_is("vmax"))
    return x < y ? y : x;
  if (op_is("vavrg")) {
    wide sum = x + y; /* halves go away from zero */
    return sum >= 0 ? (sum + 1) / 2 : -((1 - sum) / 2);
  }
  if (op_is("vset")) {
    static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const bool holds[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    for (int i = 0; i < 6; i++)
      if (strcmp(names[i], form.mode) == 0)
        return holds[i];
  }
  wide count = strcmp(form.mode, "wrap") == 0 ? y % 32 : y > 32 ? 32 : y, factor = (wide)1 << (int)count;
  if (op_is("vshl"))
    return x * factor;
  wide floor = x / factor; /* vshr */
  return x % factor < 0 ? floor - 1 : floor;
}

static void operands_of(const lane_values *in, uint64_t words[3]) {
  for (int i = 0; i < 3; i++)
    words[i] = (uint32_t)in->v[i + 1] >> form.cut[i];
}

static uint64_t scalar_wanted(const lane_values *in) {
  uint64_t words[3];
  wide sources[2];
  operands_of(in, words);
  for (int i = 0; i < 2; i++) {
    int bits = width_of(form.selectors[i + 1]);
    int part = bits == 32 ? 0 : form.selectors[i + 1][1] - '0';
    sources[i] = field(words[i], part * bits, bits, form.signs[i + 1]);
  }
  wide value = compute(sources[0], sources[1]), third = field(words[2], 0, 32, form.signs[0]);
  int bits = width_of(form.selectors[0]);
  if (form.sat)
    value = clamp_to(value, bits, form.signs[0]);
  if (strcmp(form.second, "add") == 0)
    value += third;
  if (strcmp(form.second, "min") == 0 && third < value)
    value = third;
  if (strcmp(form.second, "max") == 0 && third > value)
    value = third;
  if (bits == 32)
    return (uint32_t)value;
  uint64_t whole = words[2];
  uint8_t bytes[4];
  int first = (form.selectors[0][1] - '0') * bits / 8;
  for (int i = 0; i < 4; i++)
    bytes[i] = (uint8_t)(whole >> (8 * i));
  for (int i = 0; i < bits / 8; i++)
    bytes[first + i] = (uint8_t)(value >> (8 * i));
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint64_t parts_wanted(const lane_values *in) {
  uint64_t words[3], out = 0;
  operands_of(in, words);
  uint64_t both = words[0] | words[1] << 32; /* parts are counted through a and b */
  int bits = 32 / form.parts, n = form.parts;
  wide sum = (wide)words[2];
  for (int i = 0; i < n; i++) {
    const char *a = form.selectors[1], *b = form.selectors[2], *mask = form.selectors[0];
    int from_a = a[0] ? a[n - i] - '0' : i, from_b = b[0] ? b[n - i] - '0' : n + i;
    wide value =
        compute(field(both, from_a * bits, bits, form.signs[1]), field(both, from_b * bits, bits, form.signs[2]));
    if (form.sat)
      value = clamp_to(value, bits, form.signs[0]);
    bool chosen = mask[0] == 0 || strchr(mask + 1, '0' + i) != NULL;
    sum += chosen ? value : 0;
    out |= (uint64_t)field((uint64_t)(chosen ? value : field(words[2], i * bits, bits, false)), 0, bits, false)
           << i * bits;
  }
  return strcmp(form.second, "add") == 0 ? (uint32_t)sum : out;
}

static uint64_t product_wanted(const lane_values *in) {
  uint64_t words[3];
  wide product = 1;
  operands_of(in, words);
  for (int i = 0; i < 2; i++) {
    int bits = width_of(form.selectors[i + 1]);
    product *= field(words[i], bits == 32 ? 0 : (form.selectors[i + 1][1] - '0') * bits, bits, form.signs[i + 1]);
    product = form.minus[i] ? -product : product;
  }
  bool minus = form.minus[0] != form.minus[1];
  bool is_signed = form.signs[1] || form.signs[2] || minus || form.minus[2];
  wide third = field(words[2], 0, 32, is_signed), factor = (wide)1 << form.scale;
  wide sum = product + (form.minus[2] ? -third : third) + form.one_more, scaled = sum / factor;
  scaled -= sum % factor < 0;
  return (uint32_t)(form.sat ? clamp_to(scaled, 32, is_signed) : scaled);
}

/* ---- texts ---- */

static bool coin(void) {
  return test_below(2) != 0;
}

static void selector_make(char *out) {
  out[0] = 0;
  if (test_below(3) == 0)
    return;
  bool byte = coin();
  snprintf(out, 6, "%c%u", byte ? 'b' : 'h', (unsigned)test_below(byte ? 4 : 2));
}

static const char *type_text(int i) {
  return form.signs[i] ? ".s32" : ".u32";
}

static const char *dotted(const char *selector) {
  static char texts[8][8];
  static unsigned next;
  char *text = texts[next++ % 8];
  snprintf(text, sizeof texts[0], selector[0] ? ".%s" : "%s", selector);
  return text;
}

static void form_begin(const char *op) {
  memset(&form, 0, sizeof form);
  form.op = op;
  form.second = form.mode = "";
  for (int i = 0; i < 3; i++)
    form.signs[i] = coin();
}

/* Runs the form; `out` may be the third source. */
static void form_check(reference *wanted, bool third) {
  char text[500];
  size_t used = 0;
  const char *out = third && coin() ? "r3" : "r0";
  for (int i = 0; i < 3; i++)
    if (form.cut[i])
      used += (size_t)snprintf(text + used, sizeof text - used, "shr.u32 %%r%d,%%r%d,%u; ", i + 1, i + 1, form.cut[i]);
  used += (size_t)snprintf(text + used, sizeof text - used, "%s", form.op);
  if (strncmp(form.op, "vset", 4) != 0)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s", type_text(0));
  used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s%s%s%s%s", type_text(1), type_text(2),
                           form.one_more ? ".po" : "", form.sat ? ".sat" : "", dotted(form.mode), dotted(form.second),
                           form.scale == 7    ? ".shr7"
                           : form.scale == 15 ? ".shr15"
                                              : "");
  used += (size_t)snprintf(text + used, sizeof text - used, " %%%s%s, %s%%r1%s, %s%%r2%s", out,
                           dotted(form.selectors[0]), form.minus[0] ? "-" : "", dotted(form.selectors[1]),
                           form.minus[1] ? "-" : "", dotted(form.selectors[2]));
  snprintf(text + used, sizeof text - used, third ? ", %s%%r3;" : ";", form.minus[2] ? "-" : "");
  check_form(text, out, coin() ? "i" : "w", wanted, 6);
}

static void scalar_check(void) {
  static const char *const ops[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"};
  static const char *const relations[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  static const char *const seconds[] = {"add", "min", "max"};
  form_begin(ops[test_below(8)]);
  bool compares = op_is("vset"), shifts = op_is("vshl") || op_is("vshr");
  selector_make(form.selectors[1]);
  selector_make(form.selectors[2]);
  form.sat = !compares && coin();
  if (compares) {
    form.signs[0] = false;
    form.mode = relations[test_below(6)];
  }
  if (shifts) {
    form.signs[2] = false;
    form.mode = coin() ? "clamp" : "wrap";
    form.cut[1] = form.selectors[2][0] ? 0 : 25;
  }
  if (op_is("vshl") && form.sat) { /* nothing leaves 34 bits */
    form.selectors[2][0] = 0;
    form.cut[1] = form.selectors[1][0] ? 28 : 31;
  }
  switch (test_below(3)) {
  case 0: selector_make(form.selectors[0]); break;
  case 1: form.second = seconds[test_below(3)];
  }
  if (form.second[0] == 'm' && !form.sat) { /* no result leaves its type */
    form.signs[0] = !compares;
    form.cut[0] = form.cut[1] = 2;
    if (shifts)
      form.op = "vshr";
  }
  form_check(scalar_wanted, form.selectors[0][0] || form.second[0]);
}

static void parts_check(void) {
  static const char *const ops[][2] = {{"vadd2", "vadd4"},         {"vsub2", "vsub4"}, {"vavrg2", "vavrg4"},
                                       {"vabsdiff2", "vabsdiff4"}, {"vmin2", "vmin4"}, {"vmax2", "vmax4"},
                                       {"vset2", "vset4"}};
  static const char *const relations[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  bool four = coin();
  form_begin(ops[test_below(7)][four]);
  form.parts = four ? 4 : 2;
  if (op_is("vset")) {
    form.signs[0] = false;
    form.mode = relations[test_below(6)];
  }
  form.second = coin() ? "add" : "";
  form.sat = !op_is("vset") && form.second[0] == 0 && coin();
  for (int i = 1; i < 3; i++) {
    char *selector = form.selectors[i];
    if (coin())
      continue;
    *selector++ = four ? 'b' : 'h';
    for (int part = 0; part < form.parts; part++)
      *selector++ = (char)('0' + test_below((uint64_t)form.parts * 2));
  }
  if (coin()) {
    uint64_t mask = 1 + test_below(four ? 15 : 3);
    char *selector = form.selectors[0];
    *selector++ = four ? 'b' : 'h';
    for (int part = form.parts - 1; part >= 0; part--)
      if (mask >> part & 1)
        *selector++ = (char)('0' + part);
  }
  form_check(parts_wanted, true);
}

static void product_check(void) {
  form_begin("vmad");
  selector_make(form.selectors[1]);
  selector_make(form.selectors[2]);
  form.sat = coin();
  form.scale = (int[]){0, 7, 15}[test_below(3)];
  form.one_more = coin();
  if (!form.one_more) {
    form.minus[0] = coin();
    form.minus[1] = coin();
    form.minus[2] = form.minus[0] == form.minus[1] && coin();
  }
  bool is_unsigned = !form.signs[1] && !form.signs[2];
  if (form.minus[2] && is_unsigned && (form.sat || form.scale))
    form.cut[2] = 1;
  if (form.sat && is_unsigned && (form.minus[2] || form.minus[0] != form.minus[1]))
    form.cut[0] = 2;
  form_check(product_wanted, true);
}

/* ---- known values ---- */

#define RESULT(name, value)                                                                                            \
  static uint64_t name(const lane_values *in) {                                                                        \
    (void)in;                                                                                                          \
    return value;                                                                                                      \
  }
RESULT(distances, 0x7f01fe00)
RESULT(distance_sum, 5 + 0x7f + 0x01 + 0xfe)
RESULT(saturated, 0xffffffff)
RESULT(averages, 0xfffe0002)
RESULT(low_byte, 0x1234567f)
RESULT(crossed, 0x00020001)
RESULT(signed_sum, 5 - 2)
RESULT(constant, 0xfffffffb)

static const struct {
  const char *text;
  reference *wanted;
} known[] = {
    {"mov.b32 %r1,0x80fe00ff; mov.b32 %r2,0x01fffeff; vabsdiff4.u32.u32.u32 %r0,%r1,%r2,%r3;", distances},
    {"mov.b32 %r1,0x80fe00ff; mov.b32 %r2,0x01fffeff; vabsdiff4.u32.u32.u32.add %r0,%r1,%r2,5;", distance_sum},
    {"mov.b32 %r1,0xfffffff0; vadd.u32.u32.u32.sat %r0,%r1,16;", saturated},
    /* -3 / 2 and 3 / 2, away from zero */
    {"mov.b32 %r1,0xfffe0002; mov.b32 %r2,0xffff0001; vavrg2.s32.s32.s32 %r0,%r1,%r2,0;", averages},
    {"mov.b32 %r1,300; mov.b32 %r3,0x12345678; vadd.s32.u32.u32.sat %r0.b0,%r1,%r1,%r3;", low_byte},
    /* The upper half of b into the lower one, the lower one of a plus 0 into the upper. */
    {"mov.b32 %r1,2; mov.b32 %r2,0x10000; vmax2.u32.u32.u32 %r0,%r1.h03,%r2.h11,0;", crossed},
    {"mov.b32 %r1,0xff00ff00; vadd4.s32.s32.s32.add %r0,%r1,%r2.b0000,5;", signed_sum},
    {"vmad.s32.s32.s32 %r0,5,-1,0;", constant},
};

static const struct {
  const char *text, *words;
} refused[] = {
    {"vadd.u32.u32.u32 %r0,%r1,%r2,%r3;", "it takes 3 operands"},
    {"vadd.u32.u32.u32.add %r0,%r1,%r2;", "operand 4 is missing"},
    {"vadd.u32.u32.u32 %r0.b0,%r1,%r2;", "operand 4 is missing"},
    {"vadd.u32.u32.u32.min %r0.h1,%r1,%r2,%r3;", ".min does not go with a part of the destination"},
    {"vadd.u32.u32.u32.add %r0,%r1,%r2,%r3.b0;", "a third source is a whole word"},
    {"vadd.u32.u32.u32 %r0,%r1.b4,%r2;", "a part of a word is .b0 to .b3, .h0 or .h1"},
    {"vadd.u32.u32.u32 %r0,%r1.h2,%r2;", "a part of a word"},
    {"vadd.u32.u32.u32 %r0,%r1.h10,%r2;", "a part of a word"},
    {"vadd.u32.u32.u32 %r0,-%r1,%r2;", "an operand cannot be negated here"},
    {"vadd.u32.u32.b32 %r0,%r1,%r2;", "type"},
    {"vadd.u32.u32.u32.sub %r0,%r1,%r2,%r3;", "sub"},
    {"vadd.u32.u32.u32.sat.sat %r0,%r1,%r2;", "sat"},
    {"vadd.u32.u32.u32 %d0,%r1,%r2;", "%d0 is .b64"},
    {"vavrg.u32.u32.u32 %r0,%r1,%r2;", "no instruction 'vavrg'"},
    {"vshl.u32.u32.s32.clamp %r0,%r1,%r2;", "type"},
    {"vshr.u32.u32.u32 %r0,%r1,%r2;", "one of .clamp and .wrap is missing"},
    {"vset.u32.u32 %r0,%r1,%r2;", "one of .eq, .ne, .lt, .le, .gt and .ge is missing"},
    {"vset.u32.u32.lo %r0,%r1,%r2;", "is missing"},
    {"vset.u32.u32.eq.sat %r0,%r1,%r2;", "sat"},
    {"vmad.u32.u32.u32.po %r0,%r1,%r2,-%r3;", "nothing is negated with .po"},
    {"vmad.u32.u32.u32 %r0,-%r1,%r2,-%r3;", "either the product or the third source is negated"},
    {"vmad.u32.u32.u32 %r0,%r1,%r2,-5;", "a negative constant"},
    {"vmad.u32.u32.u32 %r0.h0,%r1,%r2,%r3;", "parts of a register cannot be named here"},
    {"vmad.u32.u32.u32 %r0,%r1,%r2,%r3.h0;", "a third source is a whole word"},
    {"vadd4.u32.u32.u32 %r0,%r1,%r2;", "operand 4 is missing"},
    {"vadd4.u32.u32.u32.sat.add %r0,%r1,%r2,%r3;", ".sat does not go with .add"},
    {"vadd4.u32.u32.u32.min %r0,%r1,%r2,%r3;", "min"},
    {"vadd4.u32.u32.u32 %r0.b01,%r1,%r2,%r3;", "the highest first"},
    {"vadd4.u32.u32.u32 %r0.b33,%r1,%r2,%r3;", "the highest first"},
    {"vadd4.u32.u32.u32 %r0.b4,%r1,%r2,%r3;", "the highest first"},
    {"vadd4.u32.u32.u32 %r0.h1,%r1,%r2,%r3;", "the highest first"},
    {"vadd2.u32.u32.u32 %r0.h01,%r1,%r2,%r3;", "the highest first"},
    {"vadd4.u32.u32.u32 %r0,%r1.b321,%r2,%r3;", "a source's parts are .bxyzw of 0 to 7"},
    {"vadd2.u32.u32.u32 %r0,%r1,%r2.h40,%r3;", "a source's parts are .hxy of 0 to 3"},
    {"vadd2.u32.u32.u32 %r0,%r1.b10,%r2,%r3;", "a source's parts are .hxy of 0 to 3"},
    {"vadd4.u32.u32.u32 %r0,%r1.b8888,%r2,%r3;", "is no vector"},
    {"vadd4.u32.u32.u32 %r0,%r1.b32100,%r2,%r3;", "is no vector"},
    {"add.u32 %r0,%r1.b0,%r2;", "parts of a register cannot be named here"},
    {"add.u32 %r0.h1,%r1,%r2;", "parts of a register cannot be named here"},
    {"add.u32 %r0,-%r1,%r2;", "an operand cannot be negated here"},
    {"mov.b32 -%r0,%r1;", "what is written must be a register"},
    {"and.pred %p0,-%p1,%p2;", ""},
};

/* Values for which the manual leaves the result open stop the kernel; others give it. */
static void unsure_check(void) {
  static const struct {
    const char *text;
    uint32_t a, b, c, wanted;
    const char *words; /* NULL: `wanted` comes out */
  } rows[] = {
      {"vadd.s32.s32.s32.max %r0,%r1,%r2,%r3;", 5, (uint32_t)-9, (uint32_t)-2, (uint32_t)-2, NULL},
      {"vadd.s32.s32.s32.max %r0,%r1,%r2,%r3;", 0x7fffffff, 1, 0, 0, ".min and .max"},
      {"vsub.u32.u32.u32.min %r0,%r1,%r2,%r3;", 9, 5, 7, 4, NULL},
      {"vsub.u32.u32.u32.min %r0,%r1,%r2,%r3;", 5, 9, 7, 0, ".min and .max"},
      {"vshl.u32.u32.u32.sat.clamp %r0,%r1,%r2;", 3, 31, 0, 0xffffffff, NULL},
      {"vshl.u32.u32.u32.sat.clamp %r0,%r1,%r2;", 3, 33, 0, 0, "vshl.sat"},
      {"vshl.u32.u32.u32.sat.clamp %r0,%r1,%r2;", 0xffffffff, 32, 0, 0, "vshl.sat"},
      {"vmad.s32.u32.u32.sat %r0,%r1,%r2,-%r3;", 3, 5, 0x7fffffff, 15 - 0x7fffffffu, NULL},
      {"vmad.s32.u32.u32.sat %r0,%r1,%r2,-%r3;", 3, 5, 0x80000000, 0, "whose sign above 2^31"},
      {"vmad.s32.u32.u32.shr7 %r0,%r1,%r2,-%r3;", 3, 5, 0x80000000, 0, "whose sign above 2^31"},
      {"vmad.s32.u32.u32 %r0,%r1,%r2,-%r3;", 3, 5, 0x80000000, 0x8000000f, NULL},
      {"vmad.s32.u32.u32.sat %r0,-%r1,%r2,%r3;", 0xffffffff, 0xffffffff, 0, 0, "more than 64 bits"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[1000];
    snprintf(text, sizeof text,
             HEAD ".visible .entry k(.param .u64 o)\n{\n.reg .b32 %%r<4>;\n.reg .b64 %%d<2>;\nld.param.u64 %%d0,[o];\n"
                  "mov.b32 %%r1,%u; mov.b32 %%r2,%u; mov.b32 %%r3,%u;\n%s\nst.global.u32 [%%d0],%%r0;\nret;\n}\n",
             rows[i].a, rows[i].b, rows[i].c, rows[i].text);
    sim_allocation *memory = kernel_memory(4);
    sim_library *library = kernel_load(text);
    int result = kernel_run(library, "k", (kernel_shape){1, 1, 0, false}, (uint64_t[]){memory->address}, 1);
    CHECK_EQUAL(result, rows[i].words == NULL ? SIM_SUCCESS : SIM_LAUNCH_FAILED);
    if (rows[i].words == NULL)
      CHECK_EQUAL(*(uint32_t *)(void *)memory->host, rows[i].wanted);
    else
      CHECK(strstr(kernel_fault(), rows[i].words) != NULL);
    sim_library_unload(library);
    sim_memory_release(memory);
  }
}

int main(void) {
  copies_find();
  for (int i = 0; i < 1500; i++) {
    scalar_check();
    parts_check();
    product_check();
  }
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    check_form(known[i].text, "r0", "w", known[i].wanted, 1);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    check_refused(refused[i].text, refused[i].words);
  kernel_start();
  unsure_check();
  return test_end();
}
