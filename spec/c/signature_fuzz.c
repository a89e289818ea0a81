/* Any text as PTX whose kernels' parameters are read: they are told, or refused with a reason, and nothing is read past
 * the end.
 *
 * libFuzzer: clang -fsanitize=fuzzer,address,undefined -Isrc -Ispec/c spec/c/signature_fuzz.c src/core/(*).c, run over a
 * copy of spec/c/ptx. With XCHG_FUZZ_RUNS defined it is a program that changes those texts itself, that many times. */
#include "test.h"

#include <dirent.h>
#include <stdlib.h>

#include "cuda/signature.c"

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("signature_fuzz: %s\n", #condition);                                                                      \
      fflush(stdout);                                                                                                  \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

enum { ENOUGH = 8 << 10 };

static int told; /* entries that were read with at least one parameter */

static void check_parameters(size_t size, const xchg_cuda_entry *entry, const xchg_cuda_parameter *list,
                             int32_t count) {
  int32_t end = 0;
  for (int32_t i = 0; i < count; i++) {
    const xchg_cuda_parameter *p = &list[i];
    EXPECT(p->kind >= XCHG_CUDA_PARAMETER_INTEGER && p->kind <= XCHG_CUDA_PARAMETER_BITS);
    EXPECT(p->size > 0 && p->align > 0 && (p->align & (p->align - 1)) == 0);
    EXPECT(p->offset >= end && p->offset % p->align == 0 && p->offset - end < p->align);
    EXPECT(p->kind == XCHG_CUDA_PARAMETER_BYTES || p->size == 1 || p->size == 2 || p->size == 4 || p->size == 8 ||
           p->size == 16);
    EXPECT(p->kind != XCHG_CUDA_PARAMETER_POINTER || p->size == 8);
    EXPECT(p->kind == XCHG_CUDA_PARAMETER_POINTER || p->pointee_align == 0);
    EXPECT(p->name_length > 0 && (size_t)p->name_at + (size_t)p->name_length <= size);
    end = p->offset + p->size;
  }
  EXPECT(end == entry->bytes && end <= XCHG_CUDA_PARAMETER_MOST);
}

static void check_entry(const char *text, size_t size, const char *name) {
  enum { ROOM = 16 };
  xchg_cuda_parameter list[ROOM + 1], again[1];
  xchg_cuda_entry entry, other;
  xchg_error err = {0};
  int32_t count;
  memset(list, 0x5a, sizeof list);
  count = xchg_cuda_signature_parse(&entry, list, ROOM, text, size, name, &err);
  EXPECT((count < 0) == (err.code != 0) && (count >= 0 || count == err.code));
  for (size_t i = 0; i < sizeof *list; i++)
    EXPECT(((unsigned char *)&list[ROOM])[i] == 0x5a);
  EXPECT(xchg_cuda_signature_parse(&other, again, 0, text, size, name, NULL) == count);
  if (count < 0) {
    EXPECT(strncmp(err.message, "signature: ", 11) == 0);
    return;
  }
  EXPECT(memcmp(&entry, &other, sizeof entry) == 0);
  if (count <= ROOM)
    check_parameters(size, &entry, list, count);
  told += count > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { MOST = 3 };
  char *text, name[256];
  xchg_cuda_span spans[MOST];
  xchg_cuda_entry entry;
  int32_t count;
  text = malloc(size ? size : 1); /* of exactly that size: a checker of memory sees a step too far */
  if (text == NULL)
    return 0;
  if (size)
    memcpy(text, data, size);
  count = xchg_cuda_signature_entries(spans, MOST, text, size, NULL);
  EXPECT(count >= 0);
  for (int32_t i = 0; i < count && i < MOST; i++) {
    EXPECT(spans[i].length > 0 && (size_t)spans[i].at + (size_t)spans[i].length <= size);
    if (spans[i].length < (int32_t)sizeof name) {
      memcpy(name, text + spans[i].at, (size_t)spans[i].length);
      name[spans[i].length] = 0;
      check_entry(text, size, name);
    }
  }
  EXPECT(xchg_cuda_signature_parse(&entry, NULL, 0, text, size, "", NULL) < 0);
  free(text);
  return 0;
}

/* Changes that keep much of a text: words of the heads of entries come, go and are put elsewhere. */
static const char *const words[] = {
    ".entry ", ".visible ", ".param ",  ".align ", ".u64 ", ".u32 ", ".f32 ", ".b8 ",       ".b64 ",     ".s8 ",
    ".ptr ",   ".global ",  "[",        "]",       "(",     ")",     "{",     "}",          ",",         ";",
    "0",       "1",         "8",        "24",      "3",     "0x10",  "017",   "4294967296", "32764",     "99999999999",
    "name",    "_p$%",      "/*",       "*/",      "//",    "\n",    "\"",    ".maxntid ",  ".reqntid ", ".v4 ",
    ".local ", ".f64 ",     ".pragma ", ".weak ",  "%",     ".",     "saxpy", "\\"};

static uint64_t change_state;
static size_t change_below(size_t limit) {
  change_state ^= change_state << 13;
  change_state ^= change_state >> 7;
  change_state ^= change_state << 17;
  return limit ? (size_t)(change_state % limit) : 0;
}

static size_t change_once(char *text, size_t size, size_t room) {
  /* Most changes fall where an entry begins. */
  size_t at = change_below(size + 1), gone = change_below(3) ? change_below(12) : 0;
  const char *word = words[change_below(sizeof words / sizeof *words)];
  size_t length = change_below(5) ? strlen(word) : 0;
  const char *head = size > 0 && change_below(4) ? memmem(text, size, ".entry", 6) : NULL;
  if (head != NULL)
    at = (size_t)(head - text) + change_below(400);
  if (at > size)
    at = size;
  if (gone > size - at)
    gone = size - at;
  if (size - gone + length > room)
    return size;
  memmove(text + at + length, text + at + gone, size - at - gone);
  memcpy(text + at, word, length);
  return size - gone + length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
  change_state = ((uint64_t)seed + 1) * 0x9e3779b97f4a7c15u;
  if (size > ENOUGH) /* what follows would only cost time */
    size = ENOUGH;
  for (size_t times = 1 + change_below(4); times > 0; times--)
    size = change_once((char *)data, size, room);
  return size;
}

#ifdef XCHG_FUZZ_RUNS
static const char nasty[] =
    "// .entry no(\n.version 8.0 /* .entry neither( */\n.file 1 \".entry nor(\"\n.func inner { .entry hidden( .param "
    ".u8 a ) }\n"
    ".visible\n.entry\n$odd%name\n(\n.param/**/.u64/*)*/.ptr\n.global .align\n16 a,\n.param .align 8 .b8 b[24],\n"
    ".param .b8 c[2][0x3], .param .align 16 .v4 .f32 d, .param .s16 e\n)\n.maxntid 32,\n2 .reqntid 8, 4, "
    "2\n.minnctapersm 3 "
    ".maxnreg 40U .reqnctapercluster 2 .explicitcluster .pragma \"nounroll\"; { ret; }\n.entry last;\n";

int main(void) {
  enum { ROOM = 64 << 10, MOST = 64 };
  static char *texts[MOST];
  static size_t sizes[MOST];
  static uint8_t text[ROOM];
  size_t count = 0;
  struct dirent **entries;
  int found = scandir("spec/c/ptx", &entries, NULL, alphasort), before;
  for (int i = 0; i < found; i++) {
    char path[512];
    FILE *file;
    snprintf(path, sizeof path, "spec/c/ptx/%s", entries[i]->d_name);
    if (strstr(entries[i]->d_name, ".ptx") && count < MOST && (file = fopen(path, "rb"))) {
      texts[count] = malloc(ROOM);
      sizes[count] = fread(texts[count], 1, ROOM, file);
      fclose(file);
      count++;
    }
    free(entries[i]);
  }
  if (found >= 0)
    free(entries);
  CHECK(count >= 8);
  for (size_t i = 0; i < count; i++) {
    before = told;
    LLVMFuzzerTestOneInput((const uint8_t *)texts[i], sizes[i]);
    CHECK(told > before);
  }
  before = told;
  LLVMFuzzerTestOneInput((const uint8_t *)nasty, sizeof nasty - 1);
  CHECK(told == before + 1);
  for (size_t size = 0; size < sizeof nasty; size++)
    LLVMFuzzerTestOneInput((const uint8_t *)nasty, size);
  for (int run = 0; count && run < XCHG_FUZZ_RUNS; run++) {
    size_t which = (size_t)test_below((int64_t)count + 1), size = which < count ? sizes[which] : sizeof nasty - 1;
    memcpy(text, which < count ? texts[which] : nasty, size);
    size = LLVMFuzzerCustomMutator(text, size, ROOM, (unsigned)test_random());
    LLVMFuzzerTestOneInput(text, size);
    test_checks++;
  }
  /* Changes so small that much is still told. */
  CHECK(told > XCHG_FUZZ_RUNS / 10);
  for (size_t i = 0; i < count; i++)
    free(texts[i]);
  return test_end();
}
#endif
