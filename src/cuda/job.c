/* Compilations, in the caller's thread or behind its back: few threads, which end when there is nothing more to do. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda/compile.h"
#include "cuda/nvrtc.h"

enum { MOST_THREADS = 8, STACK_BYTES = 64 << 20, EXIT_SECONDS = 10 };

struct xchg_compile_job {
  xchg_compile_request *request;
  xchg__compile_outcome outcome;
  atomic_int references;
  atomic_int done;
  atomic_int unwanted; /* nobody waits for it any more */
  pid_t process;
  xchg_compile_job *next; /* in the queue */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static xchg_compile_job *first, **last = &first; /* the queue */
static int threads;
static atomic_int leaving; /* the process ends: nothing new is begun, and what runs is asked to stop */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int job_stops(void *job, void *unused) {
  (void)unused;
  return atomic_load(&leaving) || atomic_load(&((xchg_compile_job *)job)->unwanted);
}

static void job_run(xchg_compile_job *job) {
  const xchg_compile_request *request = job->request;
  xchg__compile_outcome *outcome = &job->outcome;
  char key[2 * XCHG_SHA256_BYTES + 1], again[sizeof key], why[256] = "";
  int files = xchg__cache_key(key, request, why, sizeof why), use = request->cache != NULL && files >= 0;
  outcome->result.files = files;
  if (files < 0 && request->cache != NULL) {
    snprintf(outcome->note, sizeof outcome->note, "it is not kept in the cache: %.200s", why);
    outcome->result.note = outcome->note;
  }
  if (use && xchg__cache_get(outcome, request->cache, key, request->name_count) == 0) {
    outcome->result.cached = 1;
    return;
  }
  xchg__compile_run(outcome, request, job_stops, job);
  /* A header that was changed meanwhile would be filed under its old text. */
  if (use && outcome->result.code == 0 &&
      (files == 0 ||
       (xchg__cache_key(again, request, why, sizeof why) == files && memcmp(key, again, sizeof key) == 0)))
    xchg__cache_put(outcome, request->cache, request->cache_bytes, key, request->name_count);
}

static void job_end(xchg_compile_job *job) {
  if (atomic_fetch_sub_explicit(&job->references, 1, memory_order_acq_rel) > 1)
    return;
  xchg__compile_outcome_free(&job->outcome);
  free(job->request);
  free(job);
}

/* ---- threads ------------------------------------------------------------------------------------- */

static void *work(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  while (first != NULL) {
    xchg_compile_job *job = first;
    if ((first = job->next) == NULL)
      last = &first;
    pthread_mutex_unlock(&lock);
    if (!job_stops(job, NULL))
      job_run(job);
    else
      job->outcome.result.code = XCHG_E_COMPILE; /* nobody will read it */
    pthread_mutex_lock(&lock);
    atomic_store_explicit(&job->done, 1, memory_order_release);
    pthread_cond_broadcast(&ended);
    job_end(job);
  }
  threads--;
  pthread_cond_broadcast(&ended);
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* NVRTC's own ending takes away what a compilation stands on, so those that run are waited for. They are asked to be
 * quick. Registered after NVRTC was opened, so run before. */
static void leave(void) {
  struct timespec until;
  atomic_store(&leaving, 1);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += EXIT_SECONDS;
  pthread_mutex_lock(&lock);
  while (threads > 0)
    if (pthread_cond_timedwait(&ended, &lock, &until) != 0)
      break;
  pthread_mutex_unlock(&lock);
}

static void fork_prepare(void) {
  pthread_mutex_lock(&lock);
}

static void fork_parent(void) {
  pthread_mutex_unlock(&lock);
}

/* The threads are not in the child. What they worked on stays as it was. */
static void fork_child(void) {
  pthread_mutex_unlock(&lock);
  ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* forgets who waited */
  threads = 0;
  first = NULL;
  last = &first;
}

static void prepare(void) {
  atexit(leave);
  pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static int thread_limit(void) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors < 1 ? 1 : processors > MOST_THREADS ? MOST_THREADS : (int)processors;
}

/* With the lock held. 0 where there is a thread that will take the job. */
static int thread_start(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  int failed;
  if (threads >= thread_limit())
    return 0;
  if (pthread_attr_init(&attributes) != 0)
    return threads > 0 ? 0 : -1;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK_BYTES); /* templates nest; only what is touched is memory */
  failed = pthread_create(&thread, &attributes, work, NULL);
  pthread_attr_destroy(&attributes);
  if (failed)
    return threads > 0 ? 0 : -1;
  threads++;
  return 0;
}

/* ---- the door ------------------------------------------------------------------------------------ */

int32_t xchg_compile_start(xchg_compile_job **out, const xchg_compile_request *request, int32_t background,
                           xchg_error *err) {
  xchg_compile_job *job;
  int code = xchg__nvrtc_ready(err);
  *out = NULL;
  if (code != 0)
    return code;
  pthread_once(&once, prepare);
  job = calloc(1, sizeof *job);
  if (job == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "compile: no memory for its record");
  if ((job->request = xchg__compile_request_copy(request, err)) == NULL) {
    free(job);
    return XCHG_E_MEMORY;
  }
  job->outcome.result.message = job->outcome.result.note = "";
  job->process = getpid();
  atomic_init(&job->references, background ? 2 : 1);
  atomic_init(&job->done, 0);
  if (!background) {
    job_run(job);
    atomic_store(&job->done, 1);
    *out = job;
    return 0;
  }
  pthread_mutex_lock(&lock);
  if (!atomic_load(&leaving) && thread_start() == 0) {
    *last = job;
    last = &job->next;
    *out = job;
  }
  pthread_mutex_unlock(&lock);
  if (*out != NULL)
    return 0;
  free(job->request);
  free(job);
  return xchg__error_set(err, XCHG_E_MEMORY, "compile_async: no thread could be started; compile() needs none");
}

/* 0 where the job will end, or has. */
static int job_check(const xchg_compile_job *job, xchg_error *err) {
  if (job->process == getpid() || atomic_load(&((xchg_compile_job *)job)->done))
    return 0;
  return xchg__error_set(
      err, XCHG_E_FORKED,
      "compile_async: this process was forked while the compilation ran, and its thread stayed in the "
      "parent; compile again");
}

int32_t xchg_compile_done(xchg_compile_job *job, xchg_error *err) {
  int code = job_check(job, err);
  return code != 0 ? code : atomic_load_explicit(&job->done, memory_order_acquire);
}

const xchg_compile_result *xchg_compile_wait(xchg_compile_job *job, xchg_error *err) {
  if (job_check(job, err) != 0)
    return NULL;
  if (!atomic_load_explicit(&job->done, memory_order_acquire)) {
    pthread_mutex_lock(&lock);
    while (!atomic_load_explicit(&job->done, memory_order_acquire))
      pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
  }
  return &job->outcome.result;
}

void xchg_compile_release(xchg_compile_job *job) {
  if (job == NULL)
    return;
  atomic_store(&job->unwanted, 1);
  job_end(job);
}
