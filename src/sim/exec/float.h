/* Floating values as bits: what several of the executor's files need of them. */
#ifndef SIM_EXEC_FLOAT_H
#define SIM_EXEC_FLOAT_H

#include <stdint.h>
#include <string.h>

/* What f32 arithmetic answers where a result is no number. */
#define SIM_NAN_F32 0x7fffffffu

static inline float sim_f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint32_t sim_bits32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline double sim_f64(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint64_t sim_bits64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline uint32_t sim_flush_bits(uint32_t bits) {
  return (bits & 0x7f800000u) != 0 ? bits : bits & 0x80000000u;
}
/* A subnormal becomes the zero of its sign. */
static inline float sim_flush(float value) {
  return sim_f32(sim_flush_bits(sim_bits32(value)));
}
/* A NaN becomes the canonical one. */
static inline float sim_canonical(float value) {
  return value != value ? sim_f32(SIM_NAN_F32) : value;
}
/* Of a sum rounded to nearest and the exact error that it lacks: the same sum rounded to odd, which a later rounding
   to a shorter format cannot tell from the exact one. */
static inline float sim_odd_f32(float value, float error) {
  uint32_t bits = sim_bits32(value), lacks = (error > 0.0f) | (error < 0.0f);
  uint32_t away = (error > 0.0f) == (bits >> 31 == 0);
  return sim_f32((lacks & ~bits & 1u) != 0 ? (away ? bits + 1 : bits - 1) : bits);
}
static inline double sim_odd_f64(double value, double error) {
  uint64_t bits = sim_bits64(value), lacks = (error > 0.0) | (error < 0.0);
  uint64_t away = (error > 0.0) == (bits >> 63 == 0);
  return sim_f64((lacks & ~bits & 1u) != 0 ? (away ? bits + 1 : bits - 1) : bits);
}
/* A double as a float, rounded to odd. */
static inline float sim_narrow_odd(double value) {
  float near = (float)value;
  double error = value - (double)near;
  uint32_t bits = sim_bits32(near), lacks = (error > 0.0) | (error < 0.0);
  uint32_t away = (error > 0.0) == (bits >> 31 == 0);
  return sim_f32((lacks & ~bits & 1u) != 0 ? (away ? bits + 1 : bits - 1) : bits);
}

#endif
