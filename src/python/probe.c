#include "python/probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "python/child.h"
#include "python/libpython.h"

enum { TIMEOUT_S = 20, LONGEST_TIMEOUT_S = 600 };

static const char FIRST[] = "\nxchg probe 1\n";
static const char LAST[] = "\nxchg probe end\n";

/* sysconfig describes the build, not where it was installed: what the process has mapped comes first, and the
 * usual names in the folders of the installation come too. */
static const char SCRIPT[] =
    "import os, sys\n"
    "try:\n"
    "    from sysconfig import get_config_var as var\n"
    "except Exception:\n"
    "    var = lambda name: None\n"
    "short = 'libpython%d.%d' % sys.version_info[:2]\n"
    "def mapped():\n"
    "    try:\n"
    "        with open('/proc/self/maps', 'rb') as maps:\n"
    "            for line in maps:\n"
    "                path = os.fsdecode(line.rstrip(b'\\n').split(None, 5)[-1])\n"
    "                if path[:1] == '/' and os.path.basename(path).startswith(short) and '.so' in path:\n"
    "                    return path\n"
    "    except OSError:\n"
    "        pass\n"
    "def installed():\n"
    "    flags = getattr(sys, 'abiflags', '')\n"
    "    names = [var('INSTSONAME'), var('LDLIBRARY'), short + flags + '.so.1.0', short + flags + '.so']\n"
    "    home = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))\n"
    "    folders = [var('LIBDIR'), var('LIBPL')]\n"
    "    if var('LIBDIR') and var('MULTIARCH'):\n"
    "        folders.append(os.path.join(var('LIBDIR'), var('MULTIARCH')))\n"
    "    for prefix in sys.base_prefix, sys.base_exec_prefix, home:\n"
    "        folders += [os.path.join(prefix, 'lib'), os.path.join(prefix, 'lib64')]\n"
    "    for folder in folders:\n"
    "        for name in names:\n"
    "            if folder and name and '.so' in name and os.path.isfile(os.path.join(folder, name)):\n"
    "                return os.path.join(folder, name)\n"
    "answer = [('executable', sys.executable), ('prefix', sys.prefix), ('base_prefix', sys.base_prefix),\n"
    "          ('version', sys.version.split()[0]), ('xy', '%d.%d' % sys.version_info[:2]),\n"
    "          ('name', getattr(sys.implementation, 'name', '?')), ('bits', 64 if sys.maxsize > 2**32 else 32),\n"
    "          ('shared', 1 if var('Py_ENABLE_SHARED') else 0), ('library_name', var('LDLIBRARY') or ''),\n"
    "          ('library', mapped() or installed() or '')]\n"
    "text = '\\nxchg probe 1\\n' + ''.join('%s\\t%s\\n' % (k, str(v).replace('\\n', '?')) for k, v in answer)\n"
    "os.write(1, os.fsencode(text + '\\nxchg probe end\\n'))\n";

static int timeout_ms(void) {
  const char *text = getenv("XCHG_PROBE_TIMEOUT");
  char *end;
  double seconds = text != NULL ? strtod(text, &end) : TIMEOUT_S;
  if (text != NULL && (end == text || *end != '\0' || !(seconds >= 0.1) || seconds > LONGEST_TIMEOUT_S))
    seconds = TIMEOUT_S;
  return (int)(seconds * 1000);
}

/* ---- what the program said -------------------------------------------------------------------------- */

/* The value of "key\tvalue\n" between `text` and its end, cut out in place; "" where there is none. */
static const char *answer_take(char *text, const char *key) {
  size_t length = strlen(key);
  for (char *line = text; *line != '\0'; line += strlen(line) + 1)
    if (strncmp(line, key, length) == 0 && line[length] == '\t')
      return line + length + 1;
  return "";
}

/* Cuts the text into lines, each closed by a NUL, the last by two. */
static void answer_cut(char *text) {
  for (char *at = text; *at != '\0'; at++)
    if (*at == '\n')
      *at = '\0';
}

/* A first line for a message: short, without control characters. */
static void line_quote(char *out, size_t room, const char *text) {
  size_t used = 0;
  text += strspn(text, " \t\r\n");
  while (*text != '\0' && *text != '\n' && used + 1 < room) {
    unsigned char c = (unsigned char)*text++;
    out[used++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
  }
  out[used] = '\0';
}

/* The program gave no answer: what is known instead. */
static int silence_explain(const xchg__child *child, xchg_error *err) {
  char said[100];
  line_quote(said, sizeof said, child->complaint[0] != '\0' ? child->complaint : child->output);
  if (child->failure == ENOEXEC)
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "is no program that this system can run");
  if (child->failure != 0)
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "cannot be run: %s", strerror(child->failure));
  if (child->timed_out)
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "gave no answer in %g s", timeout_ms() / 1000.0);
  if (child->status != -1 && WIFSIGNALED(child->status)) {
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "was ended by signal %d%s%s", WTERMSIG(child->status),
                           said[0] != '\0' ? ": " : "", said);
  }
  if (child->status > 0) {
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "failed with status %d%s%s", WEXITSTATUS(child->status),
                           said[0] != '\0' ? ": " : "", said);
  }
  return xchg__error_set(err, XCHG_E_NO_PYTHON, said[0] != '\0' ? "is no Python, it says: %s" : "is no Python%s", said);
}

static int answer_judge(xchg__probe *out, xchg_error *err) {
  const char *name = answer_take(out->text, "name");
  int major = 0;
  out->executable = answer_take(out->text, "executable");
  out->prefix = answer_take(out->text, "prefix");
  out->base_prefix = answer_take(out->text, "base_prefix");
  out->version = answer_take(out->text, "version");
  out->library = answer_take(out->text, "library");
  out->library_name = answer_take(out->text, "library_name");
  out->shared = strcmp(answer_take(out->text, "shared"), "1") == 0;
  if (sscanf(answer_take(out->text, "xy"), "%d.%d", &major, &out->minor) != 2 || out->executable[0] != '/')
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "gave an answer that makes no sense");
  if (strcmp(name, "cpython") != 0)
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "is %.40s; CPython is needed", name);
  if (major != 3 || out->minor < XCHG_PY_OLDEST_MINOR) {
    return xchg__error_set(err, XCHG_E_VERSION, "is Python %.40s; CPython 3.%d or newer is needed", out->version,
                           XCHG_PY_OLDEST_MINOR);
  }
  if (atoi(answer_take(out->text, "bits")) != (int)sizeof(void *) * 8) {
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "is a Python of %.8s bits, this process has %d",
                           answer_take(out->text, "bits"), (int)sizeof(void *) * 8);
  }
  if (out->library[0] != '\0' && out->library[0] != '/')
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "gave an answer that makes no sense");
  return 0;
}

int xchg__probe_run(xchg__probe *out, const char *path, xchg_error *err) {
  xchg__child *child = malloc(sizeof *child);
  char *const argv[] = {(char *)(uintptr_t)path, "-I", "-c", (char *)(uintptr_t)SCRIPT, NULL};
  struct stat about;
  char *first, *last = NULL;
  int code;
  memset(out, 0, sizeof *out);
  if (child == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "could not be asked: out of memory");
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
    code = xchg__error_set(err, XCHG_E_NO_PYTHON, "is a folder; name the executable in it (bin/python)");
    goto done;
  }
  if (access(path, X_OK) != 0) {
    code = xchg__error_set(err, XCHG_E_NO_PYTHON, "cannot be run: %s", strerror(errno));
    goto done;
  }
  xchg__child_run(child, path, argv, LAST, timeout_ms());
  first = child->failure == 0 ? strstr(child->output, FIRST) : NULL;
  last = first != NULL ? strstr(first, LAST) : NULL;
  /* The text alone decides: hosts take their children's status. */
  if (last == NULL) {
    code = silence_explain(child, err);
    goto done;
  }
  out->text = strndup(first + sizeof FIRST - 1, (size_t)(last - first) + 1 - (sizeof FIRST - 1));
  if (out->text == NULL) {
    code = xchg__error_set(err, XCHG_E_MEMORY, "could not be asked: out of memory");
    goto done;
  }
  answer_cut(out->text);
  code = answer_judge(out, err);
  if (code != 0)
    xchg__probe_free(out);
done:
  free(child);
  return code;
}

void xchg__probe_cure(const xchg__probe *probe, xchg_error *err) {
  if (probe->shared) {
    xchg__error_set(
        err, XCHG_E_NO_PYTHON,
        "is Python %.40s without its shared library; install it (Debian, Ubuntu: apt install libpython3.%d)",
        probe->version, probe->minor);
  } else {
    xchg__error_set(err, XCHG_E_NO_PYTHON,
                    "is Python %.40s built without a shared library (%.60s); rebuild it with --enable-shared (pyenv: "
                    "PYTHON_CONFIGURE_OPTS=--enable-shared), or load LuaJIT into it",
                    probe->version, probe->library_name[0] != '\0' ? probe->library_name : "static");
  }
}

void xchg__probe_free(xchg__probe *probe) {
  free(probe->text);
  memset(probe, 0, sizeof *probe);
}
