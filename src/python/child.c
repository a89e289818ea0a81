#include "python/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOMENT_MS = 1000 };

static const char DEFAULT_PATH[] = "/usr/local/bin:/usr/bin:/bin";

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What the host set for itself must not reach the child: a shell that ignores SIGCHLD cannot wait. The child
 * leads a group, so that a hanging script is killed with what it started. */
static int child_attributes(posix_spawnattr_t *attributes) {
  static const int reset[] = {SIGPIPE, SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  sigset_t set;
  int failure;
  sigemptyset(&set);
  failure = posix_spawnattr_setsigmask(attributes, &set);
  for (size_t i = 0; i < sizeof reset / sizeof reset[0]; i++)
    sigaddset(&set, reset[i]);
  if (failure == 0)
    failure = posix_spawnattr_setsigdefault(attributes, &set);
  if (failure == 0)
    failure = posix_spawnattr_setpgroup(attributes, 0);
  if (failure == 0) {
    failure =
        posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  return failure;
}

/* posix_spawn runs no fork handlers of the host. */
static int child_start(pid_t *child, const char *file, char *const argv[], int output, int complaint) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure != 0)
    return failure;
  failure = posix_spawnattr_init(&attributes);
  if (failure == 0) {
    failure = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failure == 0)
      failure = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (failure == 0)
      failure = posix_spawn_file_actions_adddup2(&actions, complaint, STDERR_FILENO);
    if (failure == 0)
      failure = child_attributes(&attributes);
    if (failure == 0)
      failure = posix_spawn(child, file, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

/* Appends what can be read now; what does not fit is dropped. 0 at the end of the stream. */
static int stream_take(int stream, char *text, size_t *length, size_t room) {
  char piece[4096];
  ssize_t got = read(stream, piece, sizeof piece);
  if (got > 0) {
    size_t fits = room - *length < (size_t)got ? room - *length : (size_t)got;
    memcpy(text + *length, piece, fits);
    *length += fits;
    text[*length] = '\0';
  }
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Reads both streams to their end, or to the deadline: 1 where that came first. */
static int child_listen(xchg__child *out, int output, int complaint, const char *last, int64_t deadline) {
  struct pollfd streams[2] = {{.fd = output, .events = POLLIN}, {.fd = complaint, .events = POLLIN}};
  size_t complained = 0;
  int complete = 0;
  /* The answer is on the first; the second may be held open by whatever the program left behind. */
  while (streams[0].fd >= 0) {
    int64_t left = deadline - now_ms();
    int ready = left > 0 ? poll(streams, 2, (int)left) : 0;
    if (ready == 0)
      return !complete;
    if (ready < 0) {
      if (errno == EINTR)
        continue;
      return 1;
    }
    if (streams[1].revents != 0 && !stream_take(complaint, out->complaint, &complained, XCHG_CHILD_COMPLAINT))
      streams[1].fd = -1;
    if (streams[0].revents != 0 && !stream_take(output, out->output, &out->length, XCHG_CHILD_OUTPUT))
      streams[0].fd = -1;
    if (!complete && strstr(out->output, last) != NULL) {
      complete = 1;
      deadline = now_ms() + MOMENT_MS < deadline ? now_ms() + MOMENT_MS : deadline;
    }
  }
  while (streams[1].fd >= 0 && poll(&streams[1], 1, 0) > 0 &&
         stream_take(complaint, out->complaint, &complained, XCHG_CHILD_COMPLAINT)) {
  }
  return 0;
}

/* The status, or -1: SIGCHLD ignored, another part of the host was faster, or it had to be killed. */
static int child_wait(pid_t child, int64_t deadline) {
  static const struct timespec pause = {0, 2000000};
  int status;
  for (;;) {
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child)
      return status;
    if (ended < 0 && errno != EINTR)
      return -1;
    if (now_ms() >= deadline)
      break;
    nanosleep(&pause, NULL);
  }
  kill(-child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return -1;
}

void xchg__child_run(xchg__child *out, const char *file, char *const argv[], const char *last, int timeout_ms) {
  int output[2], complaint[2];
  int64_t deadline = now_ms() + timeout_ms;
  pid_t child;
  out->failure = out->timed_out = 0;
  out->status = -1;
  out->length = 0;
  out->output[0] = out->complaint[0] = '\0';
  if (pipe2(output, O_CLOEXEC) != 0) {
    out->failure = errno;
    return;
  }
  if (pipe2(complaint, O_CLOEXEC) != 0) {
    out->failure = errno;
    close(output[0]);
    close(output[1]);
    return;
  }
  out->failure = child_start(&child, file, argv, output[1], complaint[1]);
  close(output[1]);
  close(complaint[1]);
  if (out->failure == 0) {
    out->timed_out = child_listen(out, output[0], complaint[0], last, deadline);
    if (out->timed_out)
      deadline = 0;
    out->status = child_wait(child, deadline < now_ms() + MOMENT_MS ? deadline : now_ms() + MOMENT_MS);
  }
  close(output[0]);
  close(complaint[0]);
}

static int is_program(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

char *xchg__child_which(const char *command) {
  const char *path = getenv("PATH");
  const char *end;
  char *file;
  for (path = path != NULL ? path : DEFAULT_PATH;; path = end + 1) {
    end = path + strcspn(path, ":");
    /* An empty entry means the current folder, where nobody should look for a Python. */
    if (end > path) {
      if (asprintf(&file, "%.*s/%s", (int)(end - path), path, command) < 0)
        return NULL;
      if (is_program(file))
        return file;
      free(file);
    }
    if (*end == '\0')
      return NULL;
  }
}
