/* Every word of the texts once: comparing names is comparing pointers, and what a name means is found without a
   search. */
#ifndef SIM_PTX_NAMES_H
#define SIM_PTX_NAMES_H

#include "ptx.h"

typedef struct ptx_binding ptx_binding;
typedef struct ptx_reference ptx_reference;

/* An opcode with its modifiers: what the same words of all instructions share. */
typedef struct {
  ptx_opcode opcode;
  bool outside; /* of what is executed: its operands are not read */
  uint16_t modifier_count;
  const char *modifiers[PTX_MODIFIERS_MAX];
  uint8_t types[PTX_MODIFIERS_MAX];
} ptx_form;

typedef struct ptx_name {
  const char *text; /* of the module's arena */
  uint32_t length, hash;
  struct ptx_name *next;
  ptx_binding *binding;   /* what it means in the innermost scope */
  ptx_binding *family;    /* the innermost family of registers with this prefix */
  ptx_reference *pending; /* labels that were named and are not yet known, last one first */
  ptx_form *form;         /* as an instruction's first words */
  ptx_symbol *symbol;     /* what the link takes for it */
  ptx_function *function;
  ptx_type type;
} ptx_name;

typedef struct {
  ptx_name **buckets; /* owned */
  uint32_t bucket_count, count;
  ptx_arena *texts, *records; /* borrowed */
} ptx_names;

/* false without memory. */
bool ptx_names_begin(ptx_names *names, ptx_arena *texts, ptx_arena *records);
void ptx_names_end(ptx_names *names);

uint32_t ptx_names_hash(const char *text, size_t length);

/* borrowed. The name of a text, made where it is new; NULL without memory. */
ptx_name *ptx_names_take(ptx_names *names, const char *text, size_t length);
/* borrowed, or NULL where nobody took it so far. */
ptx_name *ptx_names_find(const ptx_names *names, const char *text, size_t length);

#endif
