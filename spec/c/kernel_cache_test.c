/* The cache of compiled programs as C sees it: digests, entries damaged in every byte, names of included files. */
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

/* The files themselves, without NVRTC behind them. */
#include "cuda/sha256.c"
#include "cuda/includes.c"
#include "cuda/compile.c"
#include "cuda/cache.c"

xchg__nvrtc_table xchg__nvrtc;

const char *xchg__nvrtc_identity(void) {
  return "nvrtc of a test";
}

static char folder[64] = "/tmp/xchg_kernels_XXXXXX";

/* ---- SHA-256 ------------------------------------------------------------------------------------- */

static const char *digest_of(const char *text, size_t size, size_t step) {
  static char hex[2 * XCHG_SHA256_BYTES + 1];
  uint8_t out[XCHG_SHA256_BYTES];
  xchg__sha256 digest;
  xchg__sha256_begin(&digest);
  for (size_t at = 0; at < size; at += step)
    xchg__sha256_add(&digest, text + at, size - at < step ? size - at : step);
  xchg__sha256_end(&digest, out);
  for (int i = 0; i < XCHG_SHA256_BYTES; i++)
    snprintf(hex + 2 * i, 3, "%02x", out[i]);
  return hex;
}

/* The examples of FIPS 180-4, and one million times "a". */
static void test_digests(void) {
  static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  char *million = malloc(1000000);
  CHECK_TEXT(digest_of("", 0, 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK_TEXT(digest_of("abc", 3, 1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  for (size_t step = 1; step < sizeof two; step++)
    CHECK_TEXT(digest_of(two, sizeof two - 1, step),
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  if (million != NULL) {
    memset(million, 'a', 1000000);
    CHECK_TEXT(digest_of(million, 1000000, 977), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
  free(million);
}

/* ---- requests and outcomes ----------------------------------------------------------------------- */

static const char *const options[] = {"-arch=compute_90", "-DX=1"};
static const char *const names[] = {"scale<float>", "scale<int>"};
static const char *const header_names[] = {"a.h"};
static const char *const header_texts[] = {"#define A 1\n"};
static const char *const folders[] = {folder};

static xchg_compile_request request_make(const char *source) {
  return (xchg_compile_request){.source = source,
                                .name = "test.cu",
                                .options = options,
                                .option_count = 2,
                                .names = names,
                                .name_count = 2,
                                .header_names = header_names,
                                .header_texts = header_texts,
                                .header_count = 1,
                                .folders = folders,
                                .folder_count = 1,
                                .cache = folder,
                                .cache_bytes = 1 << 20};
}

static void test_copies(void) {
  xchg_compile_request request = request_make("__global__ void k() {}");
  xchg_compile_request *copy = xchg__compile_request_copy(&request, NULL);
  CHECK(copy != NULL);
  if (copy == NULL)
    return;
  CHECK(copy->source != request.source && copy->options != request.options && copy->names[1] != names[1]);
  CHECK_TEXT(copy->source, request.source);
  CHECK_TEXT(copy->options[1], "-DX=1");
  CHECK_TEXT(copy->names[1], "scale<int>");
  CHECK_TEXT(copy->header_names[0], "a.h");
  CHECK_TEXT(copy->header_texts[0], "#define A 1\n");
  CHECK_TEXT(copy->folders[0], folder);
  CHECK_TEXT(copy->cache, folder);
  free(copy);
}

/* PTX, cubin, log and two names, as compile.c would leave them. */
static void outcome_make(xchg__compile_outcome *outcome) {
  static const char block[] = "// ptx\0\177ELF\0\0cubin\0log\0_Z5scaleIfEvT_\0_Z5scaleIiEvT_";
  xchg__compile_sizes sizes = {6, 11, 3, 30};
  char *copy = malloc(sizeof block);
  memset(outcome, 0, sizeof *outcome);
  if (copy == NULL)
    return;
  memcpy(copy, block, sizeof block);
  CHECK_EQUAL(xchg__compile_outcome_take(outcome, copy, sizeof block, &sizes, 2), 0);
}

static void check_outcome(const xchg__compile_outcome *outcome) {
  const xchg_compile_result *result = &outcome->result;
  CHECK_EQUAL(result->ptx_size, 6);
  CHECK_TEXT(result->ptx, "// ptx");
  CHECK_EQUAL(result->cubin_size, 11);
  CHECK(result->cubin != NULL && memcmp(result->cubin, "\177ELF\0\0cubin", 12) == 0);
  CHECK_TEXT(result->log, "log");
  CHECK_TEXT(result->lowered[0], "_Z5scaleIfEvT_");
  CHECK_TEXT(result->lowered[1], "_Z5scaleIiEvT_");
}

/* ---- entries ------------------------------------------------------------------------------------- */

static char path[256];

static size_t file_read(char *out, size_t room) {
  FILE *file = fopen(path, "rb");
  size_t size = file != NULL ? fread(out, 1, room, file) : 0;
  if (file != NULL)
    fclose(file);
  return size;
}

static void file_write(const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  if (file == NULL)
    return;
  CHECK_EQUAL(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

static int is_readable(const char *key, int32_t name_count) {
  xchg__compile_outcome outcome = {0};
  int found = xchg__cache_get(&outcome, folder, key, name_count) == 0;
  if (found)
    check_outcome(&outcome);
  CHECK_EQUAL(outcome.note[0], 0);
  xchg__compile_outcome_free(&outcome);
  return found;
}

static void test_entries(void) {
  xchg_compile_request request = request_make("#include \"a.h\"\n");
  xchg__compile_outcome outcome;
  char key[KEY_CHARS + 1], why[256], bytes[4096];
  size_t size;
  CHECK_EQUAL(xchg__cache_key(key, &request, why, sizeof why), 0);
  CHECK_EQUAL(is_readable(key, 2), 0);
  outcome_make(&outcome);
  check_outcome(&outcome);
  xchg__cache_put(&outcome, folder, 1 << 20, key, 2);
  CHECK_EQUAL(outcome.note[0], 0);
  xchg__compile_outcome_free(&outcome);
  CHECK_EQUAL(is_readable(key, 2), 1);
  CHECK_EQUAL(is_readable(key, 1), 0); /* as many names as were asked for */
  CHECK_EQUAL(is_readable(key, 3), 0);

  snprintf(path, sizeof path, "%s/%s" SUFFIX, folder, key);
  size = file_read(bytes, sizeof bytes);
  CHECK(size > sizeof(entry_head) && size < sizeof bytes);
  for (size_t at = 0; at < size; at++)
    for (int bit = 0; bit < 8; bit++) {
      bytes[at] = (char)(bytes[at] ^ 1 << bit);
      file_write(bytes, size);
      CHECK_EQUAL(is_readable(key, 2), 0);
      bytes[at] = (char)(bytes[at] ^ 1 << bit);
    }
  for (size_t length = 0; length < size; length++) {
    file_write(bytes, length);
    CHECK_EQUAL(is_readable(key, 2), 0);
  }
  file_write(bytes, size + 1);
  CHECK_EQUAL(is_readable(key, 2), 0);
  file_write(bytes, size);
  CHECK_EQUAL(is_readable(key, 2), 1);
}

/* Sizes that lie, under a digest that does not: a program of another version could have written them. */
static void test_lying_sizes(void) {
  static const uint64_t lies[] = {0, 1, 5, 7, 12, 33, 1000, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63};
  char key[KEY_CHARS + 1], bytes[4096];
  size_t size = file_read(bytes, sizeof bytes), count = sizeof lies / sizeof *lies;
  entry_head good, head;
  memcpy(key, bytes + offsetof(entry_head, key), KEY_CHARS);
  key[KEY_CHARS] = '\0';
  memcpy(&good, bytes, sizeof good);
  for (size_t i = 0; i < 4 * count; i++) {
    uint64_t *sizes = (uint64_t *)&head.sizes;
    memcpy(&head, &good, sizeof head);
    if (sizes[i / count] == lies[i % count])
      continue;
    sizes[i / count] = lies[i % count];
    entry_digest(head.digest, &head, bytes + sizeof head, size - sizeof head);
    memcpy(bytes, &head, sizeof head);
    file_write(bytes, size);
    CHECK_EQUAL(is_readable(key, 2), 0);
  }
}

/* ---- included files ------------------------------------------------------------------------------ */

static int files_of(const char *source) {
  xchg_compile_request request = request_make(source);
  xchg__sha256 digest;
  char why[256];
  xchg__sha256_begin(&digest);
  return xchg__includes_digest(&digest, &request, why, sizeof why);
}

static void test_includes(void) {
  static const struct {
    const char *source;
    int files; /* -1: cannot be known */
  } rows[] = {
      {"", 0},
      {"int x;", 0},
      {"#include \"there.h\"\n", 1},
      {"#include <there.h>\n", 1},
      {"#include<there.h>", 1},
      {"  #  include  \"there.h\"", 1},
      {"%: include \"there.h\"", 1},
      {"#/* a */include/* b */\"there.h\"", 1},
      {"#include /* over\nlines */ \"there.h\"", 1},
      {"#inc\\\nlude \"there.h\"", 1},
      {"#inc\\ \t\r\nlude \"there.h\"", 1},
      {"#inc?\?/\nlude \"there.h\"", 1},
      {"#include_next <there.h>\n", 1},
      {"#import <there.h>\n", 1},
      {"// include \"there.h\"\n", 1}, /* one too many does no harm */
      {"#if __has_include(<there.h>)\n#endif", 1},
      {"#if __has_include ( \"there.h\" )\n#endif", 1},
      {"#include \"absent.h\"\n", 0},
      {"#include \"a.h\"\n", 0}, /* given as text */
      {"#include \"there.h", -1},
      {"#include <there.h\n>", -1},
      {"#include \"\"", 0},
      {"#include <>", 0},
      {"#include \".\"", 0},
      {"#include", -1},
      {"include", 0},
      {"my_include \"there.h\"", 0},
      {"include_ \"there.h\"", 0},
      {"#include NAME", -1},
      {"# /**/ include NAME", -1},
      {"%:include NAME(x)", -1},
      {"?\?=include NAME", -1},
      {"#if __has_include(NAME)", -1},
      {"const char *t = __TIME__;", -1},
      {"const char *t = __DA\\\nTE__;", -1},
      {"int __TIME__x;", 0},
      {"we include what we need", 0},
      {"#include \"/dev/null\"", -1},
      {"#include \"loop.h\"", 2},
  };
  char file[256];
  snprintf(path, sizeof path, "%s/there.h", folder);
  file_write("int there;\n", 11);
  snprintf(path, sizeof path, "%s/loop.h", folder);
  file_write("#include \"loop.h\"\n#include \"there.h\"\n", 36);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int files = files_of(rows[i].source);
    if (files != rows[i].files)
      printf("in: %s\n", rows[i].source);
    /* The one in the folder may be found beside the includer too: another name of it. */
    CHECK(rows[i].files == 2 ? files >= 2 : files == rows[i].files);
  }
  snprintf(file, sizeof file, "#include \"%s/there.h\"", folder);
  CHECK_EQUAL(files_of(file), 1);
}

/* Every beginning of a text that has everything in it, in memory of just that size. */
static void test_beginnings(void) {
  static const char text[] =
      "/* a */ # /* b */ inc\\\nlude <there.h>\n?\?=include \"x\"\n__has_include ( <y> ) \\\n%:import M\n"
      "// include \"z\nR\"(#include \"q\")\" __TIME__ /* open";
  for (size_t length = 0; length < sizeof text; length++) {
    char *copy = malloc(length + 1);
    if (copy == NULL)
      break;
    memcpy(copy, text, length);
    copy[length] = '\0';
    CHECK(files_of(copy) >= -1);
    free(copy);
  }
}

int main(void) {
  char command[128];
  if (mkdtemp(folder) == NULL)
    return 1;
  test_digests();
  test_copies();
  test_entries();
  test_lying_sizes();
  test_includes();
  test_beginnings();
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0)
    return 1;
  return test_end();
}
