/* What the decoder of video instructions tells its handlers in op->extra. */
#ifndef SIM_EXEC_VIDEO_H
#define SIM_EXEC_VIDEO_H

#include <stdbool.h>
#include <stdint.h>

/* A part of a word as a number: word >> up & ones, whose top bit is `sign` where it is signed (else 0). */
typedef struct {
  uint32_t ones, sign;
  uint8_t up;
} sim_video_part;

typedef enum { SIM_VIDEO_NONE, SIM_VIDEO_ADD, SIM_VIDEO_MIN, SIM_VIDEO_MAX } sim_video_second;

/* One number: op->in[0] and [1] give it, [2] is what a second operation or a merge takes. */
typedef struct {
  sim_video_part sources[2];
  int64_t low, high;           /* what .sat clamps to */
  int64_t sure_low, sure_high; /* results outside of these are refused */
  const char *unsure;          /* static: and what is said then */
  sim_video_second second;
  uint32_t sign; /* of the third source */
  uint32_t keep; /* its bits that a merge leaves */
  uint32_t ones; /* the result's bits, */
  uint8_t up;    /* and where they go */
} sim_video;

/* vmad */
typedef struct {
  sim_video_part sources[2];
  bool is_signed; /* the result, so the third source too */
  bool negates_product, negates_sum, one_more, sat;
  uint8_t scale;
  uint32_t unsure_from; /* third sources that are refused; 0: none */
} sim_video_product;

/* Two halves or four bytes. Each source's parts are chosen among those of both. */
typedef struct {
  struct {
    uint32_t sign;
    uint8_t from[4]; /* which op->in */
    uint8_t up[4];
  } sources[2];
  int32_t low, high; /* what .sat clamps to */
  uint32_t part;     /* the bits of one */
  uint32_t keep;     /* bits of the third source that stay */
  uint32_t ones;     /* bits of each result that are added to it, */
  uint8_t up[4];     /* and where */
  uint8_t count, mask;
} sim_video_parts;

#endif
