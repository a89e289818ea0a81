/* event.h: CUDA's events, as the files of this folder use them to order streams. */
#ifndef XCHG_CUDA_EVENT_FILE_H
#define XCHG_CUDA_EVENT_FILE_H

/* A new event without timing behind all that is queued on a stream of the current device (xchg__cuda_event_destroy).
 * 0, or a result of CUDA with the function that answered it in *call, and then it is NULL. */
int xchg__cuda_event_behind(void **out, void *stream, const char **call);
/* NULL does nothing; whatever device is current. */
void xchg__cuda_event_destroy(void *event);

#endif
